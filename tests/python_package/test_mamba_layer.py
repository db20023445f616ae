"""The drop-ins for mamba_ssm's gated norm and whole layer against its references, and its behaviour kept."""

import functools
import inspect
import math

import pytest
import tilescan
import torch
from tilescan.causal_conv1d import causal_conv1d_fn, causal_conv1d_update
from tilescan.mamba_ssm.ops.triton.layernorm_gated import RMSNorm, rmsnorm_fn
from tilescan.mamba_ssm.ops.triton.ssd_combined import (mamba_chunk_scan_combined,
                                                        mamba_split_conv1d_scan_combined)

from accuracy import assert_agrees
from chunk_scan_ref import mamba_split_conv1d_scan_ref, rms_norm_ref
from peers import float64_arithmetic, to_double

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SIGNATURES = {
    rmsnorm_fn: dict(x=None, weight=None, bias=None, z=None, eps=1e-6, group_size=None,
                     norm_before_gate=True),
    RMSNorm: dict(hidden_size=None, eps=1e-5, group_size=None, norm_before_gate=True, device=None,
                  dtype=None),
    mamba_split_conv1d_scan_combined: dict(
        zxbcdt=None, conv1d_weight=None, conv1d_bias=None, dt_bias=None, A=None, D=None,
        chunk_size=None, initial_states=None, seq_idx=None, dt_limit=(0.0, math.inf),
        return_final_states=False, activation="silu", rmsnorm_weight=None, rmsnorm_eps=1e-6,
        outproj_weight=None, outproj_bias=None, headdim=None, ngroups=1, norm_before_gate=True,
        state_dtype=None)}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_signature(function):
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters] == list(SIGNATURES[function])
    assert all(p.default in (p.empty, SIGNATURES[function][p.name]) for p in parameters)


def normal(*shape, dtype=torch.float32, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def to_single(given):
    return {name: value.float() if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value for name, value in given.items()}


def truth_and_peer(function, given):
    with float64_arithmetic():  # references take operands to fp32 whatever they are
        truth = function(**to_double(given))
    return truth, function(**to_single(given))


# ---- norm --------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("options", [
    {}, {"z": True}, {"z": True, "norm_before_gate": False, "group_size": 8},
    {"z": True, "bias": True, "group_size": 4}, {"bias": True, "eps": 0.1, "group_size": 24},
    {"z": True, "bias": True, "norm_before_gate": False}], ids=lambda options: "-".join(options) or
    "plain")
@pytest.mark.parametrize("shape", [(5, 24), (2, 5, 24), (24,), (2, 3, 2, 24)], ids=str)
def test_norm(shape, options, dtype):
    given = {"x": normal(*shape, dtype=dtype), "weight": normal(24, seed=2), "bias": None} | options
    if given.get("z"):
        given["z"] = normal(*shape[:-1], 30, dtype=dtype, seed=3)[..., 3:27]
    if given["bias"]:
        given["bias"] = normal(24, seed=4)
    out = rmsnorm_fn(**given)
    assert out.shape == shape and out.dtype == dtype
    assert_agrees("out", out, *truth_and_peer(rms_norm_ref, given))


def test_norm_module():
    norm = RMSNorm(24, group_size=8, norm_before_gate=False)
    assert list(norm.state_dict()) == ["weight"] and norm.bias is None
    with torch.no_grad():
        norm.weight.copy_(normal(24))
    x, z = normal(2, 5, 24, seed=2), normal(2, 5, 24, seed=3)
    want = rmsnorm_fn(x, norm.weight, None, z, 1e-5, 8, False)
    assert torch.equal(norm(x, z), want)
    with pytest.raises(tilescan.Unsupported, match="rms_norm_gated_forward: a gradient"):
        norm(x, z).sum().backward()


@pytest.mark.parametrize("change,text", [({"group_size": 7}, "group_size"), ({"eps": -1.0}, "eps"),
                                         ({"weight": normal(23)}, "weight has shape"),
                                         ({"z": normal(2, 4, 24)}, "z has shape")], ids=str)
def test_norm_refuses(change, text):
    given = {"x": normal(2, 5, 24), "weight": normal(24), "bias": None} | change
    with pytest.raises(tilescan.InvalidArgument, match=text):
        rmsnorm_fn(**given)


# ---- layer -------------------------------------------------------------------------------------

NHEADS, HEADDIM, DSTATE = 4, 6, 5
DIM = NHEADS * HEADDIM


def layer(dtype=torch.float32, ngroups=2, d_nonssm=0, seqlen=19, width=4):
    conv_dim = DIM + 2 * ngroups * DSTATE
    return {"zxbcdt": normal(2, seqlen, 2 * d_nonssm + DIM + conv_dim + NHEADS, dtype=dtype),
            "conv1d_weight": normal(conv_dim, width, seed=2) / 2, "conv1d_bias": normal(conv_dim, seed=3),
            "dt_bias": normal(NHEADS, seed=4) - 2, "A": -normal(NHEADS, seed=5).abs(),
            "D": normal(NHEADS, seed=6), "chunk_size": 16, "headdim": HEADDIM, "ngroups": ngroups}


@pytest.mark.parametrize("options", [
    {}, {"ngroups": 1, "D": normal(NHEADS, HEADDIM), "headdim": None, "activation": None},
    {"rmsnorm_weight": normal(DIM), "norm_before_gate": False, "rmsnorm_eps": 1e-5},
    {"rmsnorm_weight": normal(DIM), "dt_limit": (0.015625, 0.125), "conv1d_bias": None,
     "outproj_weight": normal(7, DIM), "outproj_bias": normal(7)}],
    ids=lambda options: "-".join(options) or "plain")
def test_layer(options):
    given = layer(ngroups=options.get("ngroups", 2)) | options
    out = mamba_split_conv1d_scan_combined(**given)
    assert_agrees("out", out, *truth_and_peer(mamba_split_conv1d_scan_ref, given))


@pytest.mark.parametrize("has_ids", [False, True], ids=["rows", "ids"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layer_is_its_operators(dtype, has_ids):
    """On views of zxbcdt, with what the reference does not have: bits of the operators one by one."""
    given = layer(dtype, d_nonssm=3) | {
        "rmsnorm_weight": normal(DIM), "seq_idx": torch.tensor([[0] * 7 + [1] * 12, [2] * 19],
                                                               dtype=torch.int32),
        "initial_states": normal(2, NHEADS, HEADDIM, DSTATE), "norm_before_gate": False}
    if not has_ids:
        given["seq_idx"] = None
    out, states = mamba_split_conv1d_scan_combined(**given, return_final_states=True)
    zx0, z, xBC, dt = (part.contiguous() for part in given["zxbcdt"].split(
        [6, DIM, DIM + 4 * DSTATE, NHEADS], dim=-1))
    xBC = causal_conv1d_fn(xBC.mT, given["conv1d_weight"], given["conv1d_bias"], given["seq_idx"],
                           activation="silu").mT
    x, B, C = xBC.split([DIM, 2 * DSTATE, 2 * DSTATE], dim=-1)
    want, want_states = mamba_chunk_scan_combined(
        x.reshape(2, 19, NHEADS, HEADDIM), dt, given["A"], B.reshape(2, 19, 2, DSTATE),
        C.reshape(2, 19, 2, DSTATE), 16, given["D"], dt_bias=given["dt_bias"], dt_softplus=True,
        initial_states=given["initial_states"], seq_idx=given["seq_idx"], return_final_states=True)
    want = rmsnorm_fn(want.reshape(2, 19, DIM), given["rmsnorm_weight"], None, z,
                      group_size=DIM // 2, norm_before_gate=False)
    assert torch.equal(out[..., 3:], want) and torch.equal(states, want_states)
    assert out.dtype == dtype and states.dtype == torch.float32
    gate, value = zx0.float().chunk(2, dim=-1)
    assert torch.equal(out[..., :3], (torch.nn.functional.silu(gate) * value).to(dtype))


def test_layer_copies_no_part(monkeypatch):
    """What goes to the operators lies in zxbcdt and in the convolution's result: one operator, or three
    where ids of sequences count differently in them."""
    given = layer() | {"rmsnorm_weight": normal(DIM)}
    places = {}

    def recorded(name):
        function = getattr(tilescan.torch, name)

        @functools.wraps(function)
        def record(*args, **kwargs):
            out = function(*args, **kwargs)
            places[name] = {t.untyped_storage().data_ptr() for t in (*args, *kwargs.values())
                            if isinstance(t, torch.Tensor)}, out.untyped_storage().data_ptr()
            return out

        monkeypatch.setattr(tilescan.torch, name, record)

    for name in ("causal_conv1d_forward", "scan", "rms_norm_gated", "split_conv1d_scan"):
        recorded(name)
    mamba_split_conv1d_scan_combined(**given)
    row = given["zxbcdt"].untyped_storage().data_ptr()
    assert list(places) == ["split_conv1d_scan"]
    assert places.pop("split_conv1d_scan")[0] == {
        value.untyped_storage().data_ptr() for value in given.values() if isinstance(value, torch.Tensor)}

    seq_idx = torch.zeros(2, 19, dtype=torch.int32)
    mamba_split_conv1d_scan_combined(**given, seq_idx=seq_idx)
    assert list(places) == ["causal_conv1d_forward", "scan", "rms_norm_gated"]
    assert all(row in operands for operands, _ in places.values())
    assert places["causal_conv1d_forward"][1] in places["scan"][0]
    assert places["scan"][1] in places["rms_norm_gated"][0]


@pytest.mark.parametrize("change,error,text", [
    ({"headdim": None}, tilescan.InvalidArgument, "headdim is None"),
    ({"ngroups": 3}, tilescan.InvalidArgument, "ngroups is 3"),
    ({"headdim": 7}, tilescan.InvalidArgument, "zxbcdt has shape"),
    ({"conv1d_weight": normal(DIM + 3, 4)}, tilescan.InvalidArgument, "conv1d_weight has shape"),
    ({"zxbcdt": normal(19, 76)}, tilescan.InvalidArgument, "zxbcdt has shape .* expected ndim 3"),
    ({"outproj_bias": normal(7)}, tilescan.InvalidArgument, "outproj_bias is given"),
    ({"activation": "relu"}, NotImplementedError, "activation"),
    ({"chunk_size": 0}, tilescan.InvalidArgument, "chunk_size is 0"),
    ({"rmsnorm_weight": normal(5)}, tilescan.InvalidArgument, "weight has shape")],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
def test_layer_refuses(change, error, text):
    with pytest.raises(error, match=text):
        mamba_split_conv1d_scan_combined(**(layer() | change))


def test_layer_refuses_backward():
    given = layer() | {"rmsnorm_weight": normal(DIM).requires_grad_()}
    with pytest.raises(tilescan.Unsupported, match="a gradient was asked for"):
        mamba_split_conv1d_scan_combined(**given).sum().backward()


def test_layer_compiles_as_one_graph():
    """With a decoding step of the convolution behind it, whose state changes."""
    given = layer() | {"rmsnorm_weight": normal(DIM), "outproj_weight": normal(24, DIM)}
    weight, states = normal(24, 4), [normal(2, 24, 4, seed=2) for _ in range(2)]

    def run(state, given):
        out = mamba_split_conv1d_scan_combined(**given)
        # Tokens side by side, and a slice of them.
        step = causal_conv1d_update((out * 2).mT.contiguous()[..., 3:5], state, weight)
        return out, step + 1

    want = run(states[0], given)
    got = torch.compile(run, fullgraph=True, backend="inductor")(states[1], given)
    assert all(torch.equal(left, right) for left, right in zip((*want, states[0]),
                                                               (*got, states[1])))
