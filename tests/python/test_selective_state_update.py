"""state_update against mamba_ssm's selective_state_update_ref."""

import dataclasses
import math

import pytest
import torch

from accuracy import assert_agrees
from peers import selective_state_update_ref
from problems import to_float32, to_float64

# The peer clamps nothing.
NO_LIMIT = (-math.inf, math.inf)


@dataclasses.dataclass(frozen=True)
class Step:
    """Sizes and presence of a decoding step; T tokens, or one without a token dimension."""

    seed: int
    batch: int
    nheads: int
    headdim: int
    ngroups: int
    dstate: int
    num_tokens: int | None = None
    dt_softplus: bool = True
    has_D: bool = True
    has_z: bool = False
    has_dt_bias: bool = True

    def __str__(self) -> str:
        flags = [name for name in ("dt_softplus", "has_D", "has_z", "has_dt_bias")
                 if getattr(self, name)]
        return (f"b{self.batch}-t{self.num_tokens}-h{self.nheads}-p{self.headdim}-g{self.ngroups}-"
                f"n{self.dstate}-" + "-".join(flags))


STEPS = [
    Step(seed=11, batch=3, nheads=4, headdim=64, ngroups=1, dstate=128),
    Step(seed=12, batch=2, nheads=6, headdim=5, ngroups=2, dstate=7, has_z=True),
    Step(seed=13, batch=1, nheads=8, headdim=64, ngroups=8, dstate=64, has_D=False, has_z=True,
         has_dt_bias=False),
    Step(seed=14, batch=4, nheads=2, headdim=33, ngroups=1, dstate=100, dt_softplus=False,
         has_dt_bias=False),
    Step(seed=15, batch=2, nheads=3, headdim=1, ngroups=3, dstate=1, dt_softplus=False,
         has_D=False),
]
SEVERAL_TOKENS = [
    Step(seed=21, batch=3, nheads=4, headdim=16, ngroups=2, dstate=48, num_tokens=4, has_z=True),
    Step(seed=22, batch=4, nheads=2, headdim=64, ngroups=1, dstate=128, num_tokens=3),
]


def step_operands(step: Step, dtype: torch.dtype = torch.float32,
                  state_dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Compact operands; A, D and dt_bias are fp32, one value a head."""
    generator = torch.Generator().manual_seed(step.seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    rows = (step.batch,) if step.num_tokens is None else (step.batch, step.num_tokens)
    operands = {
        "state": normal(step.batch, step.nheads, step.headdim, step.dstate).to(state_dtype),
        "x": normal(*rows, step.nheads, step.headdim).to(dtype),
        # Without softplus some steps are negative, which this peer does not clamp.
        "dt": (normal(*rows, step.nheads) * (1.0 if step.dt_softplus else 0.1)).to(dtype),
        "A": -torch.exp(math.log(16.0) * torch.rand(step.nheads, generator=generator)),
        "B": normal(*rows, step.ngroups, step.dstate).to(dtype),
        "C": normal(*rows, step.ngroups, step.dstate).to(dtype),
    }
    if step.has_D:
        operands["D"] = normal(step.nheads)
    if step.has_z:
        operands["z"] = normal(*rows, step.nheads, step.headdim).to(dtype)
    if step.has_dt_bias:
        operands["dt_bias"] = normal(step.nheads) - 3.0
    return operands


def expanded(step: Step, operands: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A, dt, D and dt_bias expanded with stride 0, as the public implementation passes them."""
    sizes = {"A": (step.headdim, step.dstate), "dt": (step.headdim,), "D": (step.headdim,),
             "dt_bias": (step.headdim,)}
    return {name: tensor[(...,) + (None,) * len(sizes[name])].expand(*tensor.shape, *sizes[name])
            if name in sizes else tensor for name, tensor in operands.items()}


def run_peer(step: Step, operands: dict[str, torch.Tensor],
             num_accepted: list[int] | None = None) -> dict[str, torch.Tensor]:
    """The peer on one token after another; operands are all of one dtype and stay unchanged."""
    operands = expanded(step, operands)
    state = operands["state"].clone()
    if step.num_tokens is None:
        out = selective_state_update_ref(state, dt_softplus=step.dt_softplus,
                                         **{k: v for k, v in operands.items() if k != "state"})
        return {"out": out, "state": state}
    states, outs = [state.clone()], []
    for token in range(step.num_tokens):
        of_token = {name: tensor[:, token] if name in ("x", "dt", "B", "C", "z") else tensor
                    for name, tensor in operands.items() if name != "state"}
        outs.append(selective_state_update_ref(state, dt_softplus=step.dt_softplus, **of_token))
        states.append(state.clone())
    counts = num_accepted or [step.num_tokens] * step.batch
    kept = torch.stack([states[count][row] for row, count in enumerate(counts)])
    return {"out": torch.stack(outs, dim=1), "state": kept}


def assert_step_agrees(step, operands, actual, num_accepted=None):
    truth = run_peer(step, to_float64(operands), num_accepted)
    peer = run_peer(step, to_float32(operands), num_accepted)
    for name in ("out", "state"):
        assert_agrees(name, actual[name], truth[name], peer[name])


@pytest.mark.parametrize("step", STEPS + SEVERAL_TOKENS, ids=str)
def test_agrees_in_float32(engine, step):
    operands = step_operands(step)
    actual = engine.state_update(operands, dt_softplus=step.dt_softplus, dt_limit=NO_LIMIT)
    assert_step_agrees(step, operands, actual)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_takes_expanded_operands(engine, step):
    """The public implementation's stride-0 views give the bits of the compact operands."""
    if not engine.takes_any_strides:
        # A file holds compact tensors; expanded by copying, A is Mamba-1's and must be refused.
        copies = {name: tensor.contiguous()
                  for name, tensor in expanded(step, step_operands(step)).items()}
        if step.headdim * step.dstate > 1:
            with pytest.raises(RuntimeError, match="Mamba-1"):
                engine.state_update(copies, dt_softplus=step.dt_softplus, dt_limit=NO_LIMIT)
        return
    operands = step_operands(step)
    options = {"dt_softplus": step.dt_softplus, "dt_limit": NO_LIMIT}
    actual = engine.state_update(expanded(step, operands), **options)
    compact = engine.state_update(operands, **options)
    assert_step_agrees(step, operands, actual)
    assert all(torch.equal(actual[name], compact[name]) for name in compact)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("step", STEPS[:2] + SEVERAL_TOKENS[:1], ids=str)
def test_agrees_in_half_precision(engine, step, dtype):
    """Arithmetic is fp32 whatever the operands are, so only the results' rounding is added."""
    operands = step_operands(step, dtype, state_dtype=dtype)
    actual = engine.state_update(operands, dt_softplus=step.dt_softplus, dt_limit=NO_LIMIT)
    assert actual["out"].dtype == dtype and actual["state"].dtype == dtype
    assert_step_agrees(step, operands, actual)


@pytest.mark.parametrize("step", SEVERAL_TOKENS, ids=str)
def test_rejected_tokens_never_reach_the_state(engine, step):
    num_accepted = [row % (step.num_tokens + 1) for row in range(step.batch)]
    operands = step_operands(step)
    counted = operands | {"num_accepted": torch.tensor(num_accepted, dtype=torch.int32)}
    actual = engine.state_update(counted, dt_softplus=step.dt_softplus, dt_limit=NO_LIMIT)
    assert_step_agrees(step, operands, actual, num_accepted)
    assert torch.equal(actual["state"][0], operands["state"][0])  # row 0 accepts no token


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=["int32", "int64"])
def test_slots_pad_and_fresh(engine, index_dtype):
    """The peer has no slots: its rows are gathered, and what it is not given must not change."""
    step = Step(seed=31, batch=5, nheads=4, headdim=24, ngroups=2, dstate=40)
    slots, fresh_row, num_slots = [6, 2, -1, 0, 3], 1, 8
    operands = step_operands(step)
    pool = torch.randn((num_slots, *operands["state"].shape[1:]),
                       generator=torch.Generator().manual_seed(32))
    pool[slots[fresh_row]] = torch.nan  # a fresh slot counts as zeros, whatever it holds
    fresh = torch.zeros(step.batch, dtype=torch.bool)
    fresh[fresh_row] = True
    given = operands | {"state": pool, "fresh": fresh,
                        "state_batch_indices": torch.tensor(slots, dtype=index_dtype)}
    actual = engine.state_update(given, dt_softplus=True, dt_limit=NO_LIMIT)

    rows = [row for row, slot in enumerate(slots) if slot >= 0]
    used = [slots[row] for row in rows]
    gathered = {name: tensor[rows] if tensor.shape[0] == step.batch else tensor
                for name, tensor in operands.items()}
    gathered["state"] = pool[used].clone()
    gathered["state"][rows.index(fresh_row)] = 0.0
    assert_step_agrees(dataclasses.replace(step, batch=len(rows)), gathered,
                       {"out": actual["out"][rows], "state": actual["state"][used]})
    assert torch.equal(actual["out"][slots.index(-1)],
                       torch.zeros(step.nheads, step.headdim)), "a padded row's out is not 0"
    others = [slot for slot in range(num_slots) if slot not in used]
    assert torch.equal(actual["state"][others], pool[others]), "a slot that no row names changed"
