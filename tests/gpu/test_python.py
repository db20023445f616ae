"""The Python package on a GPU: run where torch has CUDA and the package was built with it.

    python -m pytest tests/gpu/test_python.py
"""

import importlib

import pytest
import tilescan
import tilescan.torch
import torch
from tilescan.mamba_ssm.ops.triton.selective_state_update import selective_state_update
from tilescan.mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

# Of the largest value: bf16 rounds results and one factor of each product, tf32 (docs/numerics.md)
# rounds factors of fp16 problems to 11 bits; fp32 sums over 300 tokens and 64 states round as in
# tests/python_package/arrays.py.
BOUND = {torch.bfloat16: 2 * 2.0**-8, torch.float16: 4 * 2.0**-11,
         torch.float32: (2 * 300 + 2 * 64 + 16) * 2.0**-24}
DTYPES = list(BOUND)


def operands(dtype, seqlen=300, device="cuda"):
    generator = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    made = {"x": normal(2, seqlen, 4, 64), "dt": normal(2, seqlen, 4),
            "A": -normal(4).abs(), "B": normal(2, seqlen, 2, 64), "C": normal(2, seqlen, 2, 64),
            "D": normal(4), "dt_bias": normal(4)}
    for name in ("x", "dt", "B", "C"):
        made[name] = made[name].to(dtype)
    return {name: value.to(device) for name, value in made.items()}


def one_token(given):
    return {name: value[:, 0] if name in ("x", "dt", "B", "C") else value
            for name, value in given.items()}


def assert_near(actual, truth, dtype):
    error = (actual.double().cpu() - truth).abs().max().item()
    size = max(truth.abs().max().item(), 1.0)
    assert error <= BOUND[dtype] * size, f"error {error:.3e} of {size:.3e}"


def truth_of(given, **options):
    wide = {name: value.cpu().double() for name, value in given.items()}
    return tilescan.scan(**wide, backend="reference", return_final_states=True, **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("function", [tilescan.scan, tilescan.torch.scan], ids=["plain", "torch"])
def test_scan(function, dtype):
    given = operands(dtype)
    out, states = function(**given, dt_softplus=True, return_final_states=True)
    assert out.is_cuda and out.dtype == dtype and states.dtype == torch.float32
    want, want_states = truth_of(given, dt_softplus=True)
    assert_near(out, want, dtype)
    assert_near(states, want_states, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_state_update(dtype):
    given = one_token(operands(dtype))
    state = torch.ones(2, 4, 64, 64, device="cuda")
    out = tilescan.torch.state_update(state, **given, dt_softplus=True)
    want_state = torch.ones(2, 4, 64, 64, dtype=torch.float64)
    want = tilescan.state_update(want_state, **{k: v.cpu().double() for k, v in given.items()},
                                 dt_softplus=True, backend="reference")
    assert_near(out, want, dtype)
    assert_near(state, want_state, torch.float32)


def test_runs_on_torch_s_current_stream():
    """Work is ordered after a long one on the same stream, and reads what that wrote."""
    given = operands(torch.float32)
    want = tilescan.scan(**given)
    late = torch.empty_like(given["x"])
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late.copy_(given["x"])
        out = tilescan.scan(**dict(given, x=late))
    stream.synchronize()
    assert torch.equal(out, want)


def test_runs_on_the_stream_it_is_given():
    given = operands(torch.float32)
    want = tilescan.scan(**given)
    late = torch.empty_like(given["x"])
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        late.copy_(given["x"])
    for form in (stream, stream.cuda_stream):
        out = tilescan.scan(**dict(given, x=late), stream=form)
        stream.synchronize()
        assert torch.equal(out, want)


def test_memory_is_of_the_stream_it_is_given():
    """What torch's own stream still writes is not handed out for a run on another one."""
    given = operands(torch.float32)
    want = tilescan.scan(**given)
    big = torch.ones(want.numel() * 8, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    torch.cuda._sleep(200_000_000)
    freed = [big.mul(2)[: want.numel()].clone() for _ in range(8)]
    del freed
    out = tilescan.scan(**given, stream=stream)
    torch.cuda.synchronize()
    assert torch.equal(out, want)


def test_does_not_wait():
    given = operands(torch.float32)
    tilescan.scan(**given)
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    sleeping = torch.cuda.Event()
    sleeping.record()
    tilescan.scan(**given)
    assert not sleeping.query(), "the call waited for its stream"
    torch.cuda.synchronize()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_a_graph_captures_it(dtype):
    tilescan.prepare()
    given = operands(dtype)
    state = torch.zeros(2, 4, 64, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = tilescan.torch.scan(**given)
        step = tilescan.torch.state_update(state, **one_token(given))
    for seed in range(3):
        given["x"].copy_(torch.randn(given["x"].shape,
                                     generator=torch.Generator().manual_seed(seed)).to(dtype))
        state.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, tilescan.scan(**given))
        again = torch.zeros_like(state)
        assert torch.equal(step, tilescan.state_update(again, **one_token(given)))
        assert torch.equal(state, again)


def test_opcheck():
    given = operands(torch.bfloat16, seqlen=40)
    D, bias = given.pop("D"), given.pop("dt_bias")
    for operator, args in (("scan_forward", tuple(given.values())),
                           ("state_update", (torch.zeros(2, 4, 64, 64, device="cuda"),
                                             *one_token(given).values()))):
        result = torch.library.opcheck(getattr(torch.ops.tilescan, operator).default, args,
                                       {"D": D, "dt_bias": bias, "dt_softplus": True})
        assert set(result.values()) == {"SUCCESS"}


def test_other_device_is_named():
    given = operands(torch.float32)
    with pytest.raises(tilescan.InvalidArgument, match="A is on cpu, expected cuda:0 because x is"):
        tilescan.scan(**dict(given, A=given["A"].cpu()))


# ---- Against the public operators ---------------------------------------------------------------

def public(module, function):
    return getattr(importlib.import_module(f"mamba_ssm.ops.triton.{module}"), function)


@pytest.mark.parametrize("options", [
    {}, {"dt_limit": (0.0, 0.1)}, {"return_final_states": True}, {"seq_idx": [0, 1, 2]},
    {"seq_idx": [0, 1, 2], "initial_states": True, "return_final_states": True},
    {"seq_idx": [3, 4, 5], "initial_states": True, "return_final_states": True},
    {"seq_idx": [0, 1, 2], "return_varlen_states": True},
    {"initial_states": True, "z": True}], ids=lambda options: "-".join(options) or "plain")
def test_scan_agrees_with_mamba_ssm(options):
    given = {name: value[:1].contiguous() if value.dim() > 1 else value
             for name, value in operands(torch.bfloat16).items()}
    options = dict(options)
    bounds = torch.tensor([0, 70, 200, 300], dtype=torch.int32, device="cuda")
    if "seq_idx" in options:
        ids = torch.tensor(options["seq_idx"], dtype=torch.int32, device="cuda")
        options["seq_idx"] = ids.repeat_interleave(bounds.diff())[None].contiguous()
    if options.get("return_varlen_states"):
        options["cu_seqlens"] = bounds
    if options.get("initial_states"):
        options["initial_states"] = torch.randn(1, 4, 64, 64, device="cuda")
    if options.get("z"):
        options["z"] = torch.randn_like(given["x"])
    theirs = public("ssd_combined", "mamba_chunk_scan_combined")
    with torch.no_grad():
        got = mamba_chunk_scan_combined(**given, chunk_size=64, dt_softplus=True, **options)
        want = theirs(**given, chunk_size=64, dt_softplus=True, **options)
    for left, right in zip(got if isinstance(got, tuple) else [got],
                           want if isinstance(want, tuple) else [want], strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        # Both are of bf16 products, each off by as much.
        assert_near(left, right.double().cpu(), torch.bfloat16)


def test_state_update_agrees_with_mamba_ssm():
    given = one_token(operands(torch.bfloat16))
    given["A"] = given["A"][:, None, None].expand(4, 64, 64)
    given["dt"] = given["dt"][..., None].expand(2, 4, 64)
    for name in ("D", "dt_bias"):
        given[name] = given[name][:, None].expand(4, 64)
    states = [torch.ones(2, 4, 64, 64, device="cuda") for _ in range(2)]
    theirs = public("selective_state_update", "selective_state_update")
    got = selective_state_update(states[0], **given, dt_softplus=True)
    want = theirs(states[1], **given, dt_softplus=True)
    assert_near(got, want.double().cpu(), torch.bfloat16)
    assert_near(states[0], states[1].double().cpu(), torch.bfloat16)
