"""tilescan.torch under torch's own checks, torch.compile and torch.export."""

import pytest
import tilescan
import tilescan.torch
import torch
from tilescan import _tilescan
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor",
            "test_aot_dispatch_dynamic")
SCAN_OPTIONS = [
    {}, {"dt_softplus": True, "dt_limit": [0.0, float("inf")], "return_final_states": True},
    {"states_every": 8}, {"states_every": 4, "return_final_states": True,
                          "state_dtype": torch.bfloat16}]


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


def scan_operands(dtype=torch.float32):
    # x is a view of a wide tensor, as in models.
    return (normal(2, 37, 4, 20, dtype=dtype)[..., :8], normal(2, 37, 4, dtype=dtype),
            -normal(4).abs(), normal(2, 37, 2, 16, dtype=dtype), normal(2, 37, 2, 16, dtype=dtype))


def update_operands():
    return (normal(2, 4, 8, 16), normal(2, 4, 8), normal(2, 4), -normal(4).abs(),
            normal(2, 2, 16), normal(2, 2, 16))


@pytest.mark.parametrize("options", SCAN_OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_opcheck_scan(options):
    operator = torch.ops.tilescan.scan_forward.default
    result = torch.library.opcheck(operator, scan_operands(), options, test_utils=OPCHECKS)
    assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("packed", ["seq_idx", "cu_seqlens"])
def test_opcheck_sequences(packed):
    operands = tuple(t[:1] if t.dim() > 1 else t for t in scan_operands())
    value = {"seq_idx": torch.zeros(1, 37, dtype=torch.int32),
             "cu_seqlens": torch.tensor([0, 5, 5, 37])}[packed]
    result = torch.library.opcheck(
        torch.ops.tilescan.scan_forward.default, operands,
        {packed: value, "return_final_states": True, "states_every": 4, "D": normal(4)},
        test_utils=("test_schema", "test_faketensor"))
    assert set(result.values()) == {"SUCCESS"}


def test_opcheck_state_update():
    result = torch.library.opcheck(torch.ops.tilescan.state_update.default, update_operands(),
                                   {"dt_softplus": True}, test_utils=OPCHECKS)
    assert set(result.values()) == {"SUCCESS"}


def test_opcheck_with_gradients_wanted():
    x, *rest = scan_operands()
    result = torch.library.opcheck(
        torch.ops.tilescan.scan_forward.default, (x.requires_grad_(), *rest),
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))
    assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("options", SCAN_OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_is_the_plain_function(options, dtype):
    operands = scan_operands(dtype)
    got, want = tilescan.torch.scan(*operands, **options), tilescan.scan(*operands, **options)
    assert type(got) is type(want)
    for left, right in zip(got if isinstance(got, tuple) else [got],
                           want if isinstance(want, tuple) else [want]):
        assert torch.equal(left, right) and left.stride() == right.stride()


def test_state_update_is_the_plain_function():
    state, *operands = update_operands()
    plain_state = state.clone()
    version = state._version
    out = tilescan.torch.state_update(state, *operands)
    assert state._version > version, "autograd is not told that state changed"
    assert torch.equal(out, tilescan.state_update(plain_state, *operands))
    assert torch.equal(state, plain_state)


def layer(state, x, dt, A, B, C):
    out, states = tilescan.torch.scan(x, dt, A, B, C, dt_softplus=True, return_final_states=True,
                                      dt_limit=(0.0, float("inf")))
    step = tilescan.torch.state_update(state, x[:, 0], dt[:, 0], A, B[:, 0], C[:, 0])
    return out * 2, states, step + 1


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiles_as_one_graph(backend):
    operands = scan_operands()
    states = [normal(2, 4, 8, 16) for _ in range(2)]
    want = layer(states[0], *operands)
    got = torch.compile(layer, fullgraph=True, backend=backend)(states[1], *operands)
    assert all(torch.equal(left, right) for left, right in zip(want, got))
    assert torch.equal(*states)


class Layer(torch.nn.Module):
    def __init__(self, A):
        super().__init__()
        self.A = torch.nn.Parameter(A)

    def forward(self, x, dt, B, C):
        return tilescan.torch.scan(x, dt, self.A, B, C, return_final_states=True)


def test_exports_with_any_seqlen():
    x, dt, A, B, C = scan_operands()
    seqlen = torch.export.Dim("seqlen", min=2, max=512)
    program = torch.export.export(Layer(A), (x, dt, B, C), dynamic_shapes=({1: seqlen},) * 4)
    shorter = [tensor[:, :21] for tensor in (x, dt, B, C)]
    got, want = program.module()(*shorter), Layer(A)(*shorter)
    assert all(torch.equal(left, right) for left, right in zip(got, want))


def test_backward_is_refused():
    x, dt, A, B, C = scan_operands()
    out, _ = Layer(A)(x, dt, B, C)  # a forward call with parameters alone is no request
    with pytest.raises(tilescan.Unsupported, match="scan_forward: a gradient was asked for"):
        out.sum().backward()
    state, step_x, *rest = update_operands()
    out = tilescan.torch.state_update(state, step_x.requires_grad_(), *rest)
    with pytest.raises(tilescan.Unsupported, match="state_update: a gradient was asked for"):
        out.sum().backward()


def test_inference_mode():
    with torch.inference_mode():
        state, *operands = update_operands()
        assert tilescan.torch.state_update(state, *operands).shape == (2, 4, 8)


def test_errors_are_the_library_s():
    x, dt, A, B, C = scan_operands()
    with pytest.raises(tilescan.InvalidArgument, match="scan_forward: A has shape"):
        tilescan.torch.scan(x, dt, A[:3], B, C)


# ---- Calls that go past torch's dispatcher, and those that must not ----------------------------

class Seen(TorchDispatchMode):
    """The operators that torch sees."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function.name())
        return function(*args, **(kwargs or {}))


def calls(operands=None, **options):
    """One call of each function."""
    tilescan.torch.scan(*(operands or scan_operands()), **options)
    tilescan.torch.state_update(*update_operands(), **options)


def test_modes_see_the_operators():
    with Seen() as seen:
        calls()
    names = [name for name in seen.names if name.startswith("tilescan::")]
    assert names == ["tilescan::scan_forward", "tilescan::state_update"]


def test_profilers_see_the_operators():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        calls()
    assert {"tilescan::scan_forward", "tilescan::state_update"} <= {
        event.key for event in profile.key_averages()}


def test_tracers_see_the_operator():
    traced = torch.jit.trace(lambda *operands: tilescan.torch.scan(*operands), scan_operands(),
                             check_trace=False)
    assert "tilescan::scan_forward" in str(traced.graph)


def test_plain_calls_reach_the_library_alone(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("torch's dispatcher was called")

    monkeypatch.setattr(torch.ops.tilescan, "scan_forward", refuse)
    monkeypatch.setattr(torch.ops.tilescan, "state_update", refuse)
    calls()
    x, dt, A, B, C = scan_operands()
    A = torch.nn.Parameter(A)
    with torch.no_grad():
        calls((x, dt, A, B, C))
    with pytest.raises(AssertionError, match="dispatcher"):
        calls((x, dt, A, B, C))


def test_mapped_over_a_dimension():
    x, dt, A, B, C = scan_operands()
    many = torch.stack([x, 2 * x, -x])
    got = torch.vmap(lambda each: tilescan.torch.scan(each, dt, A, B, C))(many)
    want = torch.stack([tilescan.torch.scan(each, dt, A, B, C) for each in many])
    assert torch.equal(got, want)


@pytest.mark.parametrize("kind", ["fake", "meta"])
def test_shapes_alone(kind):
    operands = scan_operands()
    with FakeTensorMode() if kind == "fake" else torch.device("meta"):
        operands = [torch.empty_strided(operand.shape, operand.stride()) for operand in operands]
        out = tilescan.torch.scan(*operands)
    assert out.shape == (2, 37, 4, 8) and type(out) is type(operands[0])


def test_threads_are_those_of_torch():
    before = torch.get_num_threads()
    try:
        for num_threads in (1, 3):
            torch.set_num_threads(num_threads)
            _tilescan.forget_plans()
            calls()
            torch.ops.tilescan.scan_forward(*scan_operands())
            calls(num_threads=num_threads)
            assert _tilescan.num_plans() == 2, "one plan of each operation"
            calls(num_threads=num_threads + 1)
            assert _tilescan.num_plans() == 4
    finally:
        torch.set_num_threads(before)
