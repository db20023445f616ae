"""The operations around the scan on arrays of NumPy and torch, against the reference in float64."""

import numpy
import pytest
import tilescan
from tilescan import _tilescan

from arrays import RESULT_ROUNDOFF, ROUNDOFF, is_float, normal
from test_arrays import DTYPES, as_list, to_numpy, to_torch

# Products and sums of a window or a group of 24 and a few factors, each rounding once: of the largest
# value of the result.
BOUND = (24 + 16) * ROUNDOFF


def conv_operands(dtype="float32"):
    rng = numpy.random.default_rng(1)
    # Channels side by side in a wide projection.
    return {"x": normal(rng, 2, 19, 60, dtype=dtype)[..., 20:44], "weight": normal(rng, 24, 4),
            "bias": normal(rng, 24, dtype=dtype), "initial_states": normal(rng, 2, 24, 3)}


def packed_operands(dtype="float32"):
    given = {name: value[:1] if value.ndim == 3 else value
             for name, value in conv_operands(dtype).items()}
    rng = numpy.random.default_rng(2)
    return given | {"cu_seqlens": numpy.array([0, 2, 2, 19]),
                    "initial_states": normal(rng, 3, 24, 3)}


def seq_idx_operands(dtype="float32"):
    ids = numpy.array([[0] * 5 + [1] * 9 + [-1] * 5, [3] * 19], "int32")
    return conv_operands(dtype) | {"seq_idx": ids}


def update_operands(dtype="float32"):
    rng = numpy.random.default_rng(3)
    return {"conv_state": normal(rng, 5, 24, 6), "x": normal(rng, 3, 2, 24, dtype=dtype),
            "weight": normal(rng, 24, 4), "bias": normal(rng, 24, dtype=dtype),
            "conv_state_indices": numpy.array([4, -1, 0]),
            "cache_seqlens": numpy.array([0, 3, 11], "int32")}


def norm_operands(dtype="float32"):
    rng = numpy.random.default_rng(4)
    return {"x": normal(rng, 2, 7, 24, dtype=dtype), "weight": normal(rng, 24),
            "bias": normal(rng, 24), "z": normal(rng, 2, 7, 60, dtype=dtype)[..., 5:29]}


CASES = {
    "conv": ("causal_conv1d_forward", conv_operands,
             {"activation": "silu", "return_final_states": True}),
    "conv_packed": ("causal_conv1d_forward", packed_operands,
                    {"activation": "swish", "return_final_states": True}),
    "conv_seq_idx": ("causal_conv1d_forward", seq_idx_operands, {}),
    "update": ("causal_conv1d_update", update_operands, {"activation": "silu"}),
    "norm": ("rms_norm_gated", norm_operands, {"group_size": 8, "eps": 0.01}),
    "norm_before": ("rms_norm_gated", norm_operands, {"norm_before_gate": True}),
}


def assert_near(actual, truth):
    assert actual.shape == truth.shape
    size = max(numpy.abs(truth).max(), 1.0)
    error = numpy.abs(actual.astype("float64") - truth).max()
    assert error <= (BOUND + RESULT_ROUNDOFF[actual.dtype]) * size


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_operation(case, dtype):
    name, make, options = CASES[case]
    operation = getattr(tilescan, name)
    given = make(dtype)
    wide = {name: value.astype("float64") if is_float(value) else value
            for name, value in given.items()}
    truth = as_list(operation(**wide, **options, backend="reference"))
    tensors = {name: to_torch(value.copy()) for name, value in given.items()}
    outputs = as_list(operation(**given, **options))
    assert len(outputs) == len(truth) == 1 + options.get("return_final_states", False)
    for actual, expected in zip(outputs, truth):
        assert type(actual) is numpy.ndarray and actual.flags.c_contiguous
        assert actual.dtype == given["x"].dtype
        assert_near(actual, expected)
    same = as_list(operation(**tensors, **options))
    assert [to_numpy(tensor).tobytes() for tensor in same] == [out.tobytes() for out in outputs]
    if name == "causal_conv1d_update":
        assert_near(given["conv_state"], wide["conv_state"])
        assert to_numpy(tensors["conv_state"]).tobytes() == given["conv_state"].tobytes()


def test_writes_where_told():
    given = conv_operands()
    out, states = numpy.empty((2, 24, 19), "float32").swapaxes(1, 2), numpy.empty((2, 24, 3), "float16")
    returned = tilescan.causal_conv1d_forward(**given, out=out, final_states=states)
    assert returned[0] is out and returned[1] is states
    want = tilescan.causal_conv1d_forward(**given, return_final_states=True, state_dtype="float16")
    assert want[1].dtype == "float16"
    assert all(numpy.array_equal(left, right) for left, right in zip(returned, want))
    # A norm may be done in place.
    given = norm_operands()
    want = tilescan.rms_norm_gated(**given)
    assert tilescan.rms_norm_gated(**given, out=given["x"]) is given["x"]
    assert numpy.array_equal(given["x"], want)


@pytest.mark.parametrize("case,change", [
    ("conv", {"activation": None}), ("conv", {"bias": None}), ("norm", {"eps": 0.02}),
    ("norm", {"group_size": 4}), ("norm", {"norm_before_gate": True})], ids=str)
def test_plans_are_kept_by_all_they_depend_on(case, change):
    name, make, options = CASES[case]
    given = make() | options
    _tilescan.forget_plans()
    for _ in range(2):
        getattr(tilescan, name)(**given)
    assert _tilescan.num_plans() == 1
    getattr(tilescan, name)(**(given | change))
    assert _tilescan.num_plans() == 2


@pytest.mark.parametrize("case", ["conv", "update", "norm"])
def test_plan_describes_and_writes_nothing(case):
    name, make, options = CASES[case]
    given = make()
    before = {name: value.copy() for name, value in given.items()}
    plan = tilescan.plan(name, **given, **options)
    assert plan["operation"] == name + ("" if "conv" in name else "_forward")
    assert all(numpy.array_equal(given[name], value) for name, value in before.items())


@pytest.mark.parametrize("case,change,error,text", [
    ("conv", {"weight": numpy.ones((24, 5), "float32")}, tilescan.InvalidArgument, "weight"),
    ("conv", {"activation": "gelu"}, tilescan.Unsupported,
     'causal_conv1d_forward: activation is "gelu", expected "silu", "swish" or None'),
    ("conv", {"activation": 1}, TypeError, "activation is int, expected a string"),
    ("conv", {"x": numpy.ones((2, 19), "float32"), "return_final_states": True},
     tilescan.InvalidArgument, "x has shape (2, 19)"),
    ("conv", {"state_dtype": "int8"}, tilescan.InvalidArgument,
     "causal_conv1d_forward: state_dtype is int8"),
    ("conv", {"chunk_size": 64}, TypeError, "unexpected keyword argument 'chunk_size'"),
    ("update", {"conv_state_indices": numpy.array([0, 0, 1])}, tilescan.InvalidArgument,
     "conv_state_indices"),
    ("update", {"return_final_states": True}, TypeError, "unexpected keyword argument"),
    ("norm", {"eps": "a"}, TypeError, "eps is str, expected a number"),
    ("norm", {"eps": float("nan")}, tilescan.InvalidArgument, "eps"),
    ("norm", {"group_size": 7}, tilescan.InvalidArgument, "group_size"),
    ("norm", {"group_size": 1.5}, TypeError, "group_size is float, expected an integer")],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
def test_refuses(case, change, error, text):
    name, make, _ = CASES[case]
    given = make()
    state = given["conv_state"].copy() if name == "causal_conv1d_update" else None
    with pytest.raises(error) as raised:
        getattr(tilescan, name)(**(given | change))
    assert text in str(raised.value)
    assert state is None or numpy.array_equal(given["conv_state"], state)


def test_gradients_are_refused_on_plain_arrays():
    given = {name: to_torch(value) for name, value in norm_operands().items()}
    given["weight"].requires_grad_()
    with pytest.raises(tilescan.Unsupported, match="rms_norm_gated_forward: weight requires a gradient"):
        tilescan.rms_norm_gated(**given)


# ---- The whole between two projections -----------------------------------------------------------

def split_operands(dtype="float32"):
    """4 heads of 6 channels, 2 groups of 5 states; zxbcdt in a wider row."""
    rng = numpy.random.default_rng(5)
    return {"zxbcdt": normal(rng, 2, 19, 90, dtype=dtype)[..., 7:79],
            "conv1d_weight": normal(rng, 44, 4), "A": -numpy.abs(normal(rng, 4)),
            "conv1d_bias": normal(rng, 44), "dt_bias": normal(rng, 4), "D": normal(rng, 4, 6),
            "rmsnorm_weight": normal(rng, 24), "initial_states": normal(rng, 2, 4, 6, 5),
            "conv_initial_states": normal(rng, 2, 44, 3, dtype=dtype)}


SPLIT_OPTIONS = {"ngroups": 2, "activation": "silu", "dt_softplus": True, "dt_limit": (0.01, 0.5)}


@pytest.mark.parametrize("has_norm", [False, True], ids=["gate", "norm"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_split_is_its_operations(dtype, has_norm):
    given = split_operands(dtype)
    if not has_norm:
        del given["rmsnorm_weight"]
    z, xBC, dt = numpy.split(given["zxbcdt"], [24, 68], axis=-1)
    xBC, conv_states = tilescan.causal_conv1d_forward(
        xBC, given["conv1d_weight"], bias=given["conv1d_bias"], activation="silu",
        initial_states=given["conv_initial_states"], return_final_states=True)
    x, B, C = numpy.split(xBC, [24, 34], axis=-1)
    heads = (2, 19, 4, 6)
    y, states = tilescan.scan(
        x.reshape(heads), dt, given["A"], B.reshape(2, 19, 2, 5), C.reshape(2, 19, 2, 5), D=given["D"],
        z=None if has_norm else z.reshape(heads), dt_bias=given["dt_bias"], dt_softplus=True,
        dt_limit=(0.01, 0.5), initial_states=given["initial_states"], return_final_states=True)
    want = y.reshape(2, 19, 24)
    if has_norm:
        want = tilescan.rms_norm_gated(want, given["rmsnorm_weight"], z=z, group_size=12)
    options = SPLIT_OPTIONS | {"return_final_states": True, "return_conv_final_states": True}
    got = tilescan.split_conv1d_scan(**given, **options)
    tensors = {name: to_torch(value.copy()) for name, value in given.items()}
    same = tilescan.split_conv1d_scan(**tensors, **options)
    for left, right, tensor in zip(got, (want, states, conv_states), same, strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        assert left.tobytes() == right.tobytes() == to_numpy(tensor).tobytes()


def test_split_writes_where_told():
    given = split_operands()
    want = tilescan.split_conv1d_scan(**given, **SPLIT_OPTIONS, return_final_states=True,
                                      return_conv_final_states=True)
    out = numpy.empty((2, 19, 30), "float32")[..., :24]
    got = tilescan.split_conv1d_scan(
        **given, **SPLIT_OPTIONS, out=out, final_states=given["initial_states"],
        conv_final_states=given["conv_initial_states"])
    assert got[0] is out and got[1] is given["initial_states"]
    assert got[2] is given["conv_initial_states"]
    assert all(numpy.array_equal(left, right) for left, right in zip(got, want, strict=True))


def test_split_plans():
    given = split_operands() | SPLIT_OPTIONS
    plan = tilescan.plan("split_conv1d_scan", **given, chunk_size=32)
    assert plan["operation"] == "split_conv1d_scan_forward" and plan["chunk_size"] == 32
    assert [part["operation"] for part in plan["parts"]] == [
        "causal_conv1d_forward", "scan_forward", "rms_norm_gated_forward"]
    _tilescan.forget_plans()
    for num_plans, change in enumerate(({}, {"rmsnorm_eps": 0.1}, {"group_size": 4},
                                        {"norm_before_gate": True}, {"activation": None}), 1):
        for _ in range(2):
            tilescan.split_conv1d_scan(**(given | change))
        assert _tilescan.num_plans() == num_plans


@pytest.mark.parametrize("change,error,text", [
    ({"ngroups": 3}, tilescan.InvalidArgument, "ngroups is 3, expected a divisor of nheads 4"),
    ({"zxbcdt": numpy.ones((2, 19, 71), "float32")}, tilescan.InvalidArgument, "zxbcdt has shape"),
    ({"zxbcdt": numpy.ones((2, 19, 7), "float32"), "return_final_states": True}, tilescan.InvalidArgument,
     "zxbcdt has shape"),
    ({"A": numpy.ones((0,), "float32"), "return_final_states": True}, tilescan.InvalidArgument,
     "A has shape (0)"),
    ({"D": numpy.ones((4, 7), "float32")}, tilescan.InvalidArgument, "D has shape (4, 7)"),
    ({"rmsnorm_eps": -1.0}, tilescan.InvalidArgument, "rmsnorm_eps is -1"),
    ({"activation": "gelu"}, tilescan.Unsupported, 'split_conv1d_scan: activation is "gelu"'),
    ({"kernel": "direct"}, tilescan.InvalidArgument, 'options.kernel is "direct"'),
    ({"cu_seqlens": numpy.array([0, 20]), "zxbcdt": numpy.ones((1, 19, 72), "float32"),
      "initial_states": None, "conv_initial_states": None}, tilescan.InvalidArgument,
     "split_conv1d_scan_forward: cu_seqlens[1] is 20"),
    ({"bias": numpy.ones(44, "float32")}, TypeError, "unexpected keyword argument 'bias'")],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None)
def test_split_refuses(change, error, text):
    with pytest.raises(error) as raised:
        tilescan.split_conv1d_scan(**(split_operands() | SPLIT_OPTIONS | change))
    assert text in str(raised.value)
