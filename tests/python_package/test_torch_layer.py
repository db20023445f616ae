"""The operators around the scan in tilescan.torch, under torch's own checks."""

import pytest
import tilescan
import tilescan.torch
import torch

from test_torch_operators import OPCHECKS, normal

# x with channels side by side in a wide row, and with tokens side by side.
X = {"rows": lambda: normal(2, 19, 40)[..., 4:28], "tokens": lambda: normal(2, 24, 19).mT}


def assert_opcheck(operator, operands, options):
    result = torch.library.opcheck(operator.default, operands, options, test_utils=OPCHECKS)
    assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("layout,options", [
    ("rows", {}), ("tokens", {"activation": "silu", "return_final_states": True}),
    ("rows", {"return_final_states": True, "state_dtype": torch.bfloat16,
              "initial_states": normal(2, 24, 3)}),
    ("tokens", {"seq_idx": torch.zeros(2, 19, dtype=torch.int32), "bias": normal(24)})],
    ids=lambda value: value if isinstance(value, str) else "-".join(value) or "plain")
def test_opcheck_forward(layout, options):
    assert_opcheck(torch.ops.tilescan.causal_conv1d_forward, (X[layout](), normal(24, 4)), options)


def test_opcheck_packed():
    assert_opcheck(torch.ops.tilescan.causal_conv1d_forward, (X["rows"]()[:1], normal(24, 3)),
                   {"cu_seqlens": torch.tensor([0, 5, 5, 19]), "return_final_states": True})


@pytest.mark.parametrize("x", [normal(2, 24), normal(2, 24, 3).mT], ids=["step", "tokens"])
def test_opcheck_update(x):
    assert_opcheck(torch.ops.tilescan.causal_conv1d_update, (normal(2, 24, 4), x, normal(24, 4)),
                   {"activation": "silu"})


def test_opcheck_norm():
    assert_opcheck(torch.ops.tilescan.rms_norm_gated_forward, (X["rows"](), normal(24)),
                   {"z": X["tokens"](), "group_size": 8, "norm_before_gate": True})


def split_operands(batch=2):
    """zxbcdt in a wider row, conv1d_weight and A: 4 heads of 6 channels, 2 groups of 5 states."""
    return normal(batch, 19, 80)[..., 4:76], normal(44, 4), -normal(4).abs()


@pytest.mark.parametrize("options", [
    {}, {"activation": "silu", "dt_softplus": True, "return_final_states": True},
    {"rmsnorm_weight": normal(24), "return_conv_final_states": True},
    {"return_final_states": True, "return_conv_final_states": True, "state_dtype": torch.bfloat16,
     "seq_idx": torch.zeros(2, 19, dtype=torch.int32)}],
    ids=lambda options: "-".join(options) or "plain")
def test_opcheck_split(options):
    assert_opcheck(torch.ops.tilescan.split_conv1d_scan_forward, split_operands(),
                   {"ngroups": 2} | options)


def test_opcheck_split_packed():
    assert_opcheck(torch.ops.tilescan.split_conv1d_scan_forward, split_operands(batch=1),
                   {"ngroups": 2, "cu_seqlens": torch.tensor([0, 5, 5, 19]), "return_final_states": True,
                    "return_conv_final_states": True})


def test_opcheck_with_gradients_wanted():
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    for operator, operands in {"causal_conv1d_forward": (X["rows"](), normal(24, 4)),
                               "rms_norm_gated_forward": (X["rows"](), normal(24)),
                               "split_conv1d_scan_forward": split_operands()}.items():
        result = torch.library.opcheck(
            getattr(torch.ops.tilescan, operator).default,
            (operands[0].requires_grad_(), *operands[1:]), test_utils=checks)
        assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("states", [{}, {"return_final_states": True}, {"return_conv_final_states": True},
                                    {"return_final_states": True, "return_conv_final_states": True}],
                         ids=lambda states: "-".join(states) or "out")
def test_split_is_the_plain_function(states):
    """As an operator too, where something looks at the call."""
    operands = split_operands()
    options = {"ngroups": 2, "rmsnorm_weight": normal(24), "group_size": 8, "rmsnorm_eps": 0.1,
               "initial_states": normal(2, 4, 6, 5), "conv_initial_states": normal(2, 44, 3),
               "D": normal(4), "activation": "silu", "dt_softplus": True} | states
    want = tilescan.split_conv1d_scan(*operands, **options)
    got = tilescan.torch.split_conv1d_scan(*operands, **options)
    with torch.overrides.BaseTorchFunctionMode():
        seen = tilescan.torch.split_conv1d_scan(*operands, **options)
    for results in (got, seen):
        assert isinstance(results, torch.Tensor) == (len(states) == 0)
        pairs = [(results, want)] if len(states) == 0 else zip(results, want, strict=True)
        assert all(torch.equal(left, right) for left, right in pairs)
    if len(states) == 2:
        assert [tuple(result.shape) for result in want] == [(2, 19, 24), (2, 4, 6, 5), (2, 44, 3)]


@pytest.mark.parametrize("layout", X)
def test_is_the_plain_function(layout):
    x, z, weight, bias = X[layout](), X["rows"](), normal(24, 4), normal(24)
    options = {"bias": bias, "activation": "silu", "return_final_states": True}
    got = tilescan.torch.causal_conv1d_forward(x, weight, **options)
    want = tilescan.causal_conv1d_forward(x, weight, **options)
    assert all(torch.equal(left, right) for left, right in zip(got, want, strict=True))
    assert got[0].stride() == torch.empty_like(x).stride() and want[0].is_contiguous()

    options = {"z": z, "bias": bias, "group_size": 8, "eps": 0.1}
    assert torch.equal(tilescan.torch.rms_norm_gated(x, bias, **options),
                       tilescan.rms_norm_gated(x, bias, **options))

    states = [normal(2, 24, 30) for _ in range(2)]
    version = states[0]._version
    got = tilescan.torch.causal_conv1d_update(states[0], x, weight, bias=bias)
    assert states[0]._version > version, "autograd is not told that conv_state changed"
    assert torch.equal(got, tilescan.causal_conv1d_update(states[1], x, weight, bias=bias))
    assert torch.equal(*states)


def test_inference_mode():
    with torch.inference_mode():
        out = tilescan.torch.causal_conv1d_update(normal(2, 24, 4), normal(2, 24), normal(24, 4))
        assert tilescan.torch.rms_norm_gated(out, normal(24)).shape == (2, 24)
