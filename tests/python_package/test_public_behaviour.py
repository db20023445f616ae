"""What callers of mamba_ssm rely on: its signatures, forms, returns, dtypes and combinations of options.

The truth is the recurrence in float64, token by token, with the public operators' rules for seq_idx,
initial states and clamping written out.
"""

import inspect
import itertools
import math
import random

import pytest
import tilescan
import torch
import torch.nn.functional as F
from tilescan.mamba_ssm.ops.triton.selective_state_update import selective_state_update
from tilescan.mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

import chunk_scan_ref
from arrays import RESULT_ROUNDOFF, fp32_bound

BATCH, SEQLEN, NHEADS, HEADDIM, NGROUPS, DSTATE = 2, 40, 4, 6, 2, 8
INF = math.inf
RESULT_ROUNDOFF_OF = {getattr(torch, dtype.name): bound for dtype, bound in RESULT_ROUNDOFF.items()}


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def processed(dt, dt_bias, dt_softplus, dt_limit):
    dt = dt.double() if dt_bias is None else dt.double() + dt_bias.double()
    dt = F.softplus(dt) if dt_softplus else dt
    return dt.clamp(*dt_limit)


def step_truth(state, x, dt, A, B, C, D=None, z=None):
    """One token of float64 operands, dt processed: (out, state)."""
    heads_each = x.shape[1] // B.shape[1]
    B, C = (each.double().repeat_interleave(heads_each, 1) for each in (B, C))
    decay = torch.exp(dt * A.double())[..., None, None]
    state = decay * state.double() + (dt[..., None] * x.double())[..., None] * B[:, :, None]
    out = (state * C[:, :, None]).sum(-1)
    if D is not None:
        out = out + x.double() * (D.double() if D.dim() == 2 else D.double()[:, None])
    return (out if z is None else out * F.silu(z.double())), state


def scan_truth(x, dt, A, B, C, D=None, z=None, dt_bias=None, initial_states=None, seq_idx=None,
               dt_softplus=False, dt_limit=(0.0, INF)):
    dt = processed(dt, dt_bias, dt_softplus, dt_limit)
    batch, seqlen, nheads, headdim = x.shape
    state = torch.zeros(batch, nheads, headdim, B.shape[-1], dtype=torch.float64)
    if initial_states is not None:
        # With seq_idx, to tokens of id 0, so to rows that begin with it.
        takes = torch.ones(batch, dtype=bool) if seq_idx is None else seq_idx[:, 0] == 0
        state = torch.where(takes[:, None, None, None], initial_states.double(), state)
    outs = []
    for token in range(seqlen):
        if seq_idx is not None and token > 0:
            is_same = (seq_idx[:, token] == seq_idx[:, token - 1])[:, None, None, None]
            state = torch.where(is_same, state, 0)
        out, state = step_truth(state, x[:, token], dt[:, token], A, B[:, token], C[:, token], D,
                                None if z is None else z[:, token])
        outs.append(out)
    return torch.stack(outs, 1), state


def assert_near(actual, truth, dtype=torch.float32):
    bound = fp32_bound(SEQLEN, DSTATE) + RESULT_ROUNDOFF_OF[dtype]
    assert actual.shape == truth.shape
    error, size = ((each.abs().max().item() if each.numel() else 0.0)
                   for each in (actual.double() - truth, truth))
    assert error <= bound * max(size, 1.0), (error, bound, size)


def test_signatures_are_those_of_the_installed_package():
    """Ours may end in more: state_dtype is of a later version than some installed ones."""
    theirs = [(mamba_chunk_scan_combined, chunk_scan_ref._combined.mamba_chunk_scan_combined),
              (selective_state_update,
               chunk_scan_ref._load("selective_state_update").selective_state_update)]
    for own, public in theirs:
        own, public = ([(p.name, p.kind, p.default)
                        for p in inspect.signature(function).parameters.values()]
                       for function in (own, public))
        assert own[:len(public)] == public
        assert [name for name, _, _ in own[len(public):]] in ([], ["state_dtype"])


# ---- scan --------------------------------------------------------------------------------------

def scan_operands(dtype=torch.float32):
    # Views of one wide projection, as models pass them.
    widths = [NHEADS * HEADDIM, NGROUPS * DSTATE, NGROUPS * DSTATE, NHEADS]
    x, B, C, dt = normal(BATCH, SEQLEN, sum(widths), dtype=dtype).split(widths, -1)
    return dict(x=x.unflatten(-1, (NHEADS, HEADDIM)), dt=dt, A=-normal(NHEADS).abs(),
                B=B.unflatten(-1, (NGROUPS, DSTATE)), C=C.unflatten(-1, (NGROUPS, DSTATE)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("seed", range(16))
def test_scan_options_in_any_combination(seed, dtype):
    draw = random.Random(seed)
    options = dict(dt_softplus=draw.random() < 0.5,
                   dt_limit=draw.choice([(0.0, INF), (0.0, 0.25), (0.125, INF), (-0.0625, 0.5)]))
    # Each by a bit of the seed: every combination once.
    bits = [bool(seed >> bit & 1) for bit in range(4)]
    wanted = dict(zip(("D", "z", "initial_states", "seq_idx"), bits))
    if wanted["D"]:
        options["D"] = draw.choice([normal(NHEADS), normal(NHEADS, HEADDIM),
                                    normal(NHEADS)[:, None].expand(-1, HEADDIM)])
    if wanted["z"]:
        options["z"] = normal(BATCH, SEQLEN, NHEADS, HEADDIM, dtype=dtype)
    if wanted["initial_states"]:
        options["initial_states"] = normal(BATCH, NHEADS, HEADDIM, DSTATE, dtype=draw.choice(
            [torch.float32, dtype]))
    if wanted["seq_idx"]:
        # One row begins with id 0, the other does not; ids are any integers.
        rows = [[0] * 7 + [1] * 20 + [2] * 13, [3] * 1 + [0] * 30 + [-5] * 9]
        options["seq_idx"] = torch.tensor(rows, dtype=draw.choice([torch.int32, torch.int64]))
    if draw.random() < 0.5:
        options["dt_bias"] = normal(NHEADS) - 1
    operands = scan_operands(dtype)
    out, states = mamba_chunk_scan_combined(**operands, chunk_size=16, return_final_states=True,
                                            **options)
    truth_out, truth_states = scan_truth(**operands, **options)
    assert out.dtype == dtype and states.dtype == torch.float32
    assert_near(out, truth_out, dtype)
    # One factor of each product is rounded to the operands' dtype.
    assert_near(states, truth_states, dtype)


@pytest.mark.parametrize("final,varlen", list(itertools.product([False, True], repeat=2)))
def test_what_scan_returns(final, varlen):
    operands = {name: value[:1] if value.dim() > 1 else value
                for name, value in scan_operands().items()}
    bounds = torch.tensor([0, 7, SEQLEN])
    results = mamba_chunk_scan_combined(
        *operands.values(), 16, cu_seqlens=bounds, return_final_states=final,
        return_varlen_states=varlen)
    if not final and not varlen:
        assert isinstance(results, torch.Tensor)
        results = (results,)
    shapes = [(1, SEQLEN, NHEADS, HEADDIM), *[(1, NHEADS, HEADDIM, DSTATE)] * final,
              *[(2, NHEADS, HEADDIM, DSTATE)] * varlen]
    assert isinstance(results, tuple) and [tuple(each.shape) for each in results] == shapes


def test_varlen_states_of_several_rows_are_refused():
    with pytest.raises(tilescan.InvalidArgument, match="cu_seqlens"):
        mamba_chunk_scan_combined(**scan_operands(), chunk_size=16, return_varlen_states=True,
                                  cu_seqlens=torch.tensor([0, SEQLEN]))


# ---- decoding ----------------------------------------------------------------------------------

def step_operands(dtype=torch.float32, nheads=NHEADS, headdim=HEADDIM, dstate=DSTATE, batch=3):
    """With A, dt and dt_bias expanded by stride 0."""
    groups = NGROUPS if nheads > 1 else 1
    return dict(state=normal(batch, nheads, headdim, dstate), x=normal(batch, nheads, headdim,
                                                                       dtype=dtype),
                dt=normal(batch, nheads, dtype=dtype)[..., None].expand(-1, -1, headdim),
                A=(-normal(nheads).abs())[:, None, None].expand(-1, headdim, dstate),
                B=normal(batch, groups, dstate, dtype=dtype),
                C=normal(batch, groups, dstate + 1, dtype=dtype)[..., 1:])


def update_truth(state, x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False):
    bias = None if dt_bias is None else dt_bias[:, 0]
    dt = processed(dt[..., 0], bias, dt_softplus, (-INF, INF))  # nothing is clamped
    return step_truth(state, x, dt, A[:, 0, 0], B, C, D, z)


@pytest.mark.parametrize("dtype,state_dtype", [
    (torch.float32, torch.float32), (torch.bfloat16, torch.float32),
    (torch.float16, torch.float16), (torch.float32, torch.bfloat16)], ids=str)
@pytest.mark.parametrize("bits", range(16))
def test_step_options_in_any_combination(bits, dtype, state_dtype):
    operands = step_operands(dtype)
    options = {"dt_softplus": bool(bits & 1)}
    if bits & 2:
        options["D"] = normal(NHEADS)[:, None].expand(-1, HEADDIM) if bits & 1 else normal(
            NHEADS, HEADDIM)
    if bits & 4:
        options["z"] = normal(3, NHEADS, HEADDIM, dtype=dtype)
    if bits & 8:
        options["dt_bias"] = normal(NHEADS)[:, None].expand(-1, HEADDIM)
    operands["state"] = operands["state"].to(state_dtype)
    truth_out, truth_state = update_truth(**operands, **options)
    out = selective_state_update(**operands, **options)
    assert out.dtype == dtype  # from the state before it is rounded
    assert_near(out, truth_out, dtype)
    assert_near(operands["state"], truth_state, state_dtype)


@pytest.mark.parametrize("slot_dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("has_heads", [True, False], ids=["heads", "no heads"])
@pytest.mark.parametrize("slots", [[4, -1, 0], [-1, -1, -1], [-7, 2, -1]], ids=str)
def test_padding_slots(slots, has_heads, slot_dtype):
    """out is 0 there, and no state is read (NaN would show) or written."""
    operands = step_operands(nheads=NHEADS if has_heads else 1)
    pool = normal(6, *operands["state"].shape[1:])
    pool[[1, 3, 5]] = math.nan
    options = dict(z=normal(*operands["x"].shape), dt_softplus=True)
    rows = [row for row, slot in enumerate(slots) if slot >= 0]
    operands["state"] = pool[[max(slot, 0) for slot in slots]]
    want, want_state = update_truth(**operands, **options)
    state = pool.clone()
    given = dict(operands, state=state, z=options["z"])
    if not has_heads:
        given = {name: value.squeeze(0 if name == "A" else 1) for name, value in given.items()}
    out = selective_state_update(**given, dt_softplus=True,
                                 state_batch_indices=torch.tensor(slots, dtype=slot_dtype))
    out = out if has_heads else out[:, None]
    padding = [row for row in range(3) if row not in rows]
    assert (out[padding] == 0).all()
    assert_near(out[rows], want[rows])
    assert_near(state[[slots[row] for row in rows]], want_state[rows])
    others = [slot for slot in range(6) if slot not in slots]
    assert torch.equal(state[others].nan_to_num(7), pool[others].nan_to_num(7))


def test_operands_without_heads_beside_a_state_with_one():
    """Each operand is looked at by itself; out has heads where the state has."""
    operands = step_operands(nheads=1)
    want, _ = update_truth(**operands)
    for names in (("x",), ("dt", "A"), ("B", "C"), ("x", "dt", "A", "B", "C")):
        flat = {name: value.squeeze(0 if name == "A" else 1) if name in names else value
                for name, value in operands.items()}
        out = selective_state_update(**dict(flat, state=operands["state"].clone()))
        assert_near(out, want)


@pytest.mark.parametrize("headdim,dstate", [(1, 1), (1, DSTATE)])
def test_one_channel_needs_no_expansion(headdim, dstate):
    """A value per channel is a value per head where there is one channel."""
    operands = step_operands(headdim=headdim, dstate=dstate)
    want, _ = update_truth(**operands)
    operands["dt"] = operands["dt"].contiguous()
    if dstate == 1:
        operands["A"] = operands["A"].contiguous()
    assert_near(selective_state_update(**operands), want)


@pytest.mark.parametrize("change,text", [
    ({"D": normal(NHEADS)}, "D has shape"),  # is (dim) without heads
    ({"x": normal(3, NHEADS, HEADDIM + 1)}, "because x is"),
    ({"B": normal(3, 3, DSTATE), "C": normal(3, 3, DSTATE)}, "B has ngroups 3"),
    ({"state_batch_indices": torch.tensor([0, 1])}, "state_batch_indices has shape"),
    ({"state_batch_indices": torch.tensor([0, 3, 1])}, "state_batch_indices")],
    ids=lambda value: value if isinstance(value, str) else "")
def test_what_steps_refuse(change, text):
    """Assertions, or memory out of bounds, in the public operator."""
    operands = step_operands() | change
    before = operands["state"].clone()
    with pytest.raises(tilescan.InvalidArgument, match=text):
        selective_state_update(**operands)
    assert torch.equal(operands["state"], before)
