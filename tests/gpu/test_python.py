"""The Python package on a GPU: run where torch has CUDA and the package was built with it.

    python -m pytest tests/gpu/test_python.py
"""

import importlib
import pathlib
import sys

import pytest
import tilescan
import tilescan.torch
import torch
from tilescan.causal_conv1d import causal_conv1d_fn, causal_conv1d_update
from tilescan.mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn
from tilescan.mamba_ssm.ops.triton.selective_state_update import selective_state_update
from tilescan.mamba_ssm.ops.triton.ssd_combined import (mamba_chunk_scan_combined,
                                                        mamba_split_conv1d_scan_combined)

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


def assert_near(actual, truth, dtype, parts=1):
    """parts: how many results, one made of the other, have been rounded."""
    error = (actual.double().cpu() - truth).abs().max().item()
    size = max(truth.abs().max().item(), 1.0)
    assert error <= parts * BOUND[dtype] * size, f"error {error:.3e} of {size:.3e}"


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


# ---- Around the scan ----------------------------------------------------------------------------

CHANNELS = 320


def layer_operands(dtype, device="cuda"):
    """x and z with channels side by side in a wide projection."""
    generator = torch.Generator().manual_seed(2)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    wide = normal(2, 300, 2 * CHANNELS + 64).to(device, dtype)
    return {"x": wide[..., 64:64 + CHANNELS], "z": wide[..., 64 + CHANNELS:],
            "weight": normal(CHANNELS, 4).to(device), "bias": normal(CHANNELS).to(device)}


def layer_calls(given):
    """(operation, operands and options) of each; conv_state is made anew by every call of this."""
    x, z, weight, bias = given.values()
    device = x.device
    conv = {"x": x, "weight": weight, "bias": bias, "activation": "silu"}
    ids = torch.arange(3, dtype=torch.int32).repeat_interleave(100).repeat(2, 1).to(device)
    return [("causal_conv1d_forward", dict(conv, return_final_states=True)),
            ("causal_conv1d_forward", dict(conv, x=x.mT.contiguous().mT, seq_idx=ids)),
            ("causal_conv1d_update", dict(conv, x=x[:, 0], conv_state=torch.ones(
                2, CHANNELS, 4, dtype=x.dtype, device=device))),
            ("rms_norm_gated", {"x": x, "weight": bias, "z": z, "group_size": CHANNELS // 5})]


def zxbcdt_operands(dtype):
    """A layer of 5 heads of 64 channels, one group of 64 states: rows of z, xBC, dt."""
    generator = torch.Generator().manual_seed(3)

    def normal(*shape):
        return torch.randn(shape, generator=generator).cuda()

    # Rows of a multiple of 8 elements, which the public convolution asks for.
    given = {"zxbcdt": normal(2, 300, 776).to(dtype)[..., :773],
             "conv1d_weight": normal(448, 4) / 2, "conv1d_bias": normal(448),
             "dt_bias": normal(5) - 2, "A": -normal(5).abs(), "D": normal(5),
             "chunk_size": 64, "headdim": 64}
    return given, {"rmsnorm_weight": normal(320), "norm_before_gate": False}


def as_list(outputs):
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("module", [tilescan, tilescan.torch], ids=["plain", "torch"])
def test_around_the_scan(module, dtype):
    given = layer_operands(dtype)
    wide = {name: value.cpu().double() for name, value in given.items()}
    for (name, call), (_, reference) in zip(layer_calls(given), layer_calls(wide)):
        outputs = as_list(getattr(module, name)(**call))
        want = as_list(getattr(tilescan, name)(**reference, backend="reference"))
        outputs += [call["conv_state"]] if "conv_state" in call else []
        want += [reference["conv_state"]] if "conv_state" in call else []
        for left, right in zip(outputs, want, strict=True):
            assert left.is_cuda and left.dtype == dtype
            assert_near(left, right, dtype)


def test_around_the_scan_on_torch_s_current_stream():
    given = layer_operands(torch.float32)
    want = [as_list(getattr(tilescan, name)(**call)) for name, call in layer_calls(given)]
    calls = layer_calls(given)
    late = [torch.empty_like(call["x"]) for _, call in calls]
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    got = []
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        for (name, call), x in zip(calls, late):
            x.copy_(call["x"])
            got.append(as_list(getattr(tilescan, name)(**dict(call, x=x))))
    stream.synchronize()
    for left, right in zip(sum(got, []), sum(want, []), strict=True):
        assert torch.equal(left, right)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_a_graph_captures_a_layer(dtype):
    tilescan.prepare()
    given, options = zxbcdt_operands(dtype)
    state = torch.zeros(2, 448, 4, dtype=dtype, device="cuda")
    step = given["zxbcdt"][:, 0, 320:768]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = mamba_split_conv1d_scan_combined(**given, **options)
        next_out = causal_conv1d_update(step, state, given["conv1d_weight"])
    for seed in range(3):
        given["zxbcdt"].copy_(torch.randn(given["zxbcdt"].shape,
                                          generator=torch.Generator().manual_seed(seed)).to(dtype))
        state.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, mamba_split_conv1d_scan_combined(**given, **options))
        again = torch.zeros_like(state)
        assert torch.equal(next_out, causal_conv1d_update(step, again, given["conv1d_weight"]))
        assert torch.equal(state, again)


def test_opcheck_around_the_scan():
    given = layer_operands(torch.bfloat16)
    x, z, weight, bias = given.values()
    for operator, args, options in (
            ("causal_conv1d_forward", (x[:, :40].mT.contiguous().mT, weight),
             {"return_final_states": True}),
            ("causal_conv1d_update",
             (torch.zeros(2, CHANNELS, 4, device="cuda"), x[:, 0], weight), {}),
            ("rms_norm_gated_forward", (x, bias), {"z": z})):
        result = torch.library.opcheck(getattr(torch.ops.tilescan, operator).default, args, options)
        assert set(result.values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:patch:RuntimeWarning", "ignore:tilescan.patch:RuntimeWarning")
@pytest.mark.parametrize("model", ["mamba2", "bamba"])
def test_transformers_on_the_gpu(model, monkeypatch):
    """Small models in fp32: logits as near to float64 as the fallback's, and the same greedy tokens,
    with all of the convolutions, scans and steps by tilescan."""
    pytest.importorskip("transformers")
    tests = pathlib.Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(tests / "python_package"), str(tests / "python")]
    from accuracy import assert_agrees
    from peers import float64_arithmetic
    from test_patch import NEW_TOKENS, PROMPT_LENGTH, make_pair, record_calls

    # So that the other model finds PyTorch's operators alone, where these are installed.
    for name in ("causal_conv1d", "mamba_ssm"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # their convolution
    calls = record_calls(monkeypatch)
    ours, theirs = make_pair(model)
    ids = torch.randint(0, 199, (2, PROMPT_LENGTH), generator=torch.Generator().manual_seed(6))
    options = {"max_new_tokens": NEW_TOKENS, "do_sample": False}
    with torch.no_grad():
        in_training_on_the_cpu = ours.train()(ids, use_cache=False).logits
        ours, theirs, ids = ours.eval().cuda(), theirs.cuda(), ids.cuda()
        calls.clear()
        logits, peer = ours(ids).logits, theirs(ids).logits
        tokens = ours.generate(ids, **options)
        assert set(calls) == {"causal_conv1d_forward", "causal_conv1d_update", "scan", "state_update"}
        assert torch.equal(tokens, theirs.generate(ids, **options))
        calls.clear()
        in_training = ours.train()(ids, use_cache=False).logits
        assert set(calls) == {"split_conv1d_scan"}
        with float64_arithmetic():
            truth = theirs.double()(ids).logits
    assert_agrees("logits", logits, truth.double(), peer)
    # The fused operator; fp32 rounding of logits below 4, after three layers.
    assert (in_training.cpu() - in_training_on_the_cpu).abs().max() <= 2e-5


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


@pytest.mark.parametrize("norm_before_gate", [False, True])
def test_norm_agrees_with_mamba_ssm(norm_before_gate):
    x, z, _, weight = layer_operands(torch.bfloat16).values()
    options = {"z": z, "eps": 1e-5, "group_size": 64, "norm_before_gate": norm_before_gate}
    with torch.no_grad():
        got = rmsnorm_fn(x, weight, None, **options)
        want = public("layernorm_gated", "rmsnorm_fn")(x, weight, None, **options)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert_near(got, want.double().cpu(), torch.bfloat16)


@pytest.mark.parametrize("options", [{}, {"seq_idx": True}, {"initial_states": True}],
                         ids=lambda options: "-".join(options) or "plain")
def test_conv_agrees_with_causal_conv1d(options):
    theirs = pytest.importorskip("causal_conv1d")
    x, _, weight, bias = layer_operands(torch.bfloat16).values()
    x, weight, bias = x.mT, weight.bfloat16(), bias.bfloat16()
    options = dict(options, activation="silu")
    if "seq_idx" in options:
        options["seq_idx"] = torch.arange(3, dtype=torch.int32, device="cuda").repeat_interleave(
            100).repeat(2, 1)
    else:
        options["return_final_states"] = True
    if "initial_states" in options:
        options["initial_states"] = torch.randn(2, 3, CHANNELS, device="cuda").bfloat16().mT
    with torch.no_grad():
        got = as_list(causal_conv1d_fn(x, weight, bias, **options))
        want = as_list(theirs.causal_conv1d_fn(x, weight, bias, **options))
        states = [torch.ones(2, CHANNELS, 4, dtype=x.dtype, device="cuda") for _ in range(2)]
        got += [causal_conv1d_update(x[..., 0], states[0], weight, bias, "silu"), states[0]]
        want += [theirs.causal_conv1d_update(x[..., 0], states[1], weight, bias, "silu"), states[1]]
    for left, right in zip(got, want, strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        assert_near(left, right.double().cpu(), torch.bfloat16)
    assert got[0].stride() == want[0].stride()


@pytest.mark.parametrize("has_norm", [False, True], ids=["z", "norm"])
def test_layer_agrees_with_mamba_ssm(has_norm):
    pytest.importorskip("causal_conv1d")  # mamba_ssm's calls it
    given, options = zxbcdt_operands(torch.bfloat16)
    for name in ("conv1d_weight", "conv1d_bias"):
        given[name] = given[name].bfloat16()
    theirs = public("ssd_combined", "mamba_split_conv1d_scan_combined")
    options = dict(options if has_norm else {}, return_final_states=True)
    with torch.no_grad():
        got = mamba_split_conv1d_scan_combined(**given, **options)
        want = theirs(**given, **options)
    for left, right in zip(got, want, strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        # The parts before the last round to bf16, too: the convolution's and the scan's results.
        assert_near(left, right.double().cpu(), torch.bfloat16, parts=3)
