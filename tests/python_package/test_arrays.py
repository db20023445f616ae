"""scan and state_update on arrays of NumPy and torch, against the recurrence in float64."""

import array

import numpy
import pytest
import tilescan
import torch

from arrays import BFLOAT16, assert_near, scan_case, update_case

DTYPES = ("float32", "float16", BFLOAT16)
TORCH_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def to_torch(value):
    """The same memory as a torch tensor."""
    if not isinstance(value, numpy.ndarray):
        return value
    if value.dtype != BFLOAT16:
        return torch.from_numpy(value)
    return torch.from_numpy(value.view("uint16")).view(torch.bfloat16)


def to_numpy(tensor: torch.Tensor) -> numpy.ndarray:
    if tensor.dtype != torch.bfloat16:
        return tensor.numpy()
    return tensor.view(torch.uint16).numpy().view(BFLOAT16)


def as_list(outputs) -> list:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seed", range(24))
def test_scan(seed, dtype):
    case = scan_case(seed, dtype)
    truth = case.truth(tilescan.scan)
    outputs = as_list(tilescan.scan(**case.operands, **case.options))
    assert len(outputs) == len(truth)
    assert len(truth) == 1 + case.options["return_final_states"] + (
        case.options["states_every"] > 0)
    seqlen, dstate = case.operands["B"].shape[1], case.operands["B"].shape[3]
    is_packed = "cu_seqlens" in case.operands
    for place, (actual, expected) in enumerate(zip(outputs, truth)):
        assert type(actual) is numpy.ndarray and actual.flags.c_contiguous
        assert actual.dtype == (case.operands["x"].dtype if place == 0 else "float32")
        if is_packed and actual.ndim == 5:  # rows of no sequence are not written
            bounds, every = case.operands["cu_seqlens"], case.options["states_every"]
            rows = [int(begin) // every + idx + step
                    for idx, (begin, end) in enumerate(zip(bounds[:-1], bounds[1:]))
                    for step in range(int(end - begin) // every)]
            actual, expected = actual[:, rows], expected[:, rows]
        assert_near(actual, expected, seqlen, dstate)

    # torch tensors of the same memory: the same bits, in torch tensors.
    tensors = {name: to_torch(value) for name, value in case.operands.items()}
    for actual, expected in zip(outputs, as_list(tilescan.scan(**tensors, **case.options))):
        assert isinstance(expected, torch.Tensor)
        expected = to_numpy(expected)
        if not (is_packed and actual.ndim == 5):
            assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seed", range(24))
def test_state_update(seed, dtype):
    case = update_case(seed, dtype)
    given = case.operands["state"]
    want_state = given.astype("float64")
    truth = type(case)(dict(case.operands, state=want_state), case.options)
    # The reference updates the float64 state in place too.
    operands = {name: value.astype("float64") if value.dtype in (BFLOAT16, "f4", "f2") else value
                for name, value in truth.operands.items()}
    operands["state"] = want_state
    want_out = tilescan.state_update(**operands, **case.options, backend="reference")

    state = given.copy()
    out = tilescan.state_update(**dict(case.operands, state=state), **case.options)
    assert type(out) is numpy.ndarray and out.dtype == case.operands["x"].dtype
    dstate = state.shape[-1]
    assert_near(out, want_out, 4, dstate)
    assert_near(state, want_state, 4, dstate)

    tensors = {name: to_torch(value) for name, value in case.operands.items()}
    tensors["state"] = torch.from_numpy(given.copy())
    same = tilescan.state_update(**tensors, **case.options)
    assert to_numpy(same).tobytes() == out.tobytes()
    assert tensors["state"].numpy().tobytes() == state.tobytes()


@pytest.mark.parametrize("options", [
    {"backend": "cpu"}, {"backend": "reference", "kernel": "stages"}, {"chunk_size": 16},
    {"num_threads": 1}, {"instruction_set": "scalar"}, {"check_indices": True}],
    ids=lambda options: "-".join(options))
def test_options_reach_the_library(options):
    case = scan_case(2)
    out = as_list(tilescan.scan(**case.operands, **case.options, **options))[0]
    assert_near(out, case.truth(tilescan.scan)[0], *case.operands["B"].shape[1::2])
    plan = tilescan.plan("scan", **case.operands, **case.options, **options)
    for name, value in options.items():
        assert name == "check_indices" or plan[name] == value


@pytest.mark.parametrize("name,expected", [
    ("bfloat16", BFLOAT16), ("float16", "float16"), (numpy.float16, "float16"),
    (numpy.dtype("float32"), "float32"), (torch.bfloat16, BFLOAT16)], ids=str)
def test_state_dtype(name, expected):
    case = scan_case(3)
    _, states = tilescan.scan(**case.operands, return_final_states=True, state_dtype=name)
    assert states.dtype == expected


def test_writes_where_told():
    case = scan_case(4)
    x, dstate = case.operands["x"], case.operands["B"].shape[3]
    wide = numpy.full((*x.shape[:-1], 2 * x.shape[-1]), 7.0, "float32")
    out, states = wide[..., ::2], numpy.empty((x.shape[0], *x.shape[2:], dstate), "float16")
    operands = {name: value for name, value in case.operands.items()
                if name not in ("cu_seqlens", "seq_idx", "initial_states")}
    returned = tilescan.scan(**operands, out=out, final_states=states)
    assert returned[0] is out and returned[1] is states
    want = tilescan.scan(**operands, return_final_states=True, state_dtype="float16")
    assert numpy.array_equal(out, want[0]) and numpy.array_equal(states, want[1])
    assert (wide[..., 1::2] == 7.0).all(), "wrote beside out"


def test_final_states_may_be_the_initial_ones():
    case = scan_case(4)
    operands = {name: case.operands[name] for name in ("x", "dt", "A", "B", "C")}
    states = numpy.ones((*operands["x"].shape[:1], *operands["x"].shape[2:],
                         operands["B"].shape[3]), "float32")
    want = tilescan.scan(**operands, initial_states=states, return_final_states=True)[1]
    tilescan.scan(**operands, initial_states=states, final_states=states)
    assert numpy.array_equal(states, want)


def test_reads_any_strides_and_read_only_arrays():
    case = scan_case(5)
    operands = {name: case.operands[name] for name in ("x", "dt", "A", "B", "C")}
    want = tilescan.scan(**operands)
    strided = dict(operands, x=operands["x"][..., ::-1].copy()[..., ::-1],
                   dt=numpy.asfortranarray(operands["dt"]))
    for value in strided.values():
        value.flags.writeable = False
    assert numpy.array_equal(tilescan.scan(**strided), want)


def test_reads_expanded_arrays():
    case = update_case(6)
    operands = {name: case.operands[name] for name in ("x", "dt", "A", "B", "C")}
    shape = (*operands["x"].shape, operands["B"].shape[-1])
    state = numpy.ones((shape[0], *shape[-3:]), "float32")
    want = tilescan.state_update(state.copy(), **operands)
    expanded = dict(operands,
                    A=numpy.broadcast_to(operands["A"][:, None, None], shape[-3:]),
                    dt=numpy.broadcast_to(operands["dt"][..., None], shape[:-1]))
    assert not expanded["A"].flags.writeable and expanded["A"].strides[-2:] == (0, 0)
    assert numpy.array_equal(tilescan.state_update(state, **expanded), want)


def test_no_copy_is_made():
    """A view of memory that NumPy does not own, too: what is written there is what comes out."""
    memory = array.array("f", [0.0] * 24)
    state = numpy.frombuffer(memory, "float32").reshape(1, 2, 3, 4)
    ones = numpy.ones((1, 2, 3), "float32")
    tilescan.state_update(state, ones, ones[..., 0], -ones[0, :, 0], numpy.ones((1, 1, 4), "f4"),
                          numpy.ones((1, 1, 4), "f4"))
    assert list(memory) == [1.0] * 24
    tensor = torch.zeros(1, 2, 3, 4)
    out = torch.empty(1, 2, 3)
    address = tensor.data_ptr(), out.data_ptr()
    operands = [torch.from_numpy(a) for a in (ones, ones[..., 0], -ones[0, :, 0])]
    returned = tilescan.state_update(tensor, *operands, torch.ones(1, 1, 4), torch.ones(1, 1, 4),
                                     out=out)
    assert returned is out and (tensor.data_ptr(), out.data_ptr()) == address
    assert tensor.unique().tolist() == [1.0] and out.unique().tolist() == [4.0]


class OnlyDlpack:
    """An array of a framework that is not known: DLPack is all it has."""

    def __init__(self, owner):
        self.owner = owner

    def __dlpack__(self, **kwargs):
        return self.owner.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.owner.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_takes_any_dlpack_array(dtype):
    """bf16 through DLPack needs no NumPy dtype; outputs then are NumPy's."""
    case = update_case(7, BFLOAT16 if dtype == "bfloat16" else dtype)
    operands = {name: to_torch(value) for name, value in case.operands.items()}
    state = operands["state"].clone()
    want = tilescan.state_update(**dict(operands, state=state), **case.options)
    wrapped = {name: OnlyDlpack(tensor) for name, tensor in operands.items()}
    got = tilescan.state_update(**wrapped, **case.options)
    assert type(got) is numpy.ndarray and got.tobytes() == to_numpy(want).tobytes()
    assert torch.equal(operands["state"], state)


def test_takes_memoryview():
    case = scan_case(8)
    operands = {name: case.operands[name] for name in ("x", "dt", "A", "B", "C")}
    views = {name: memoryview(numpy.ascontiguousarray(value)) for name, value in operands.items()}
    assert numpy.array_equal(tilescan.scan(**views), tilescan.scan(**operands))
