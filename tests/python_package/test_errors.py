"""What is refused: the class, the library's message unchanged, and nothing written."""

import numpy
import pytest
import tilescan
import torch


def ones(*shape, dtype="float32"):
    return numpy.ones(shape, dtype)


def scan_operands():
    return {"x": ones(2, 5, 4, 3), "dt": ones(2, 5, 4), "A": -ones(4), "B": ones(2, 5, 2, 6),
            "C": ones(2, 5, 2, 6)}


def update_operands():
    return {"state": ones(2, 4, 3, 6), "x": ones(2, 4, 3), "dt": ones(2, 4), "A": -ones(4),
            "B": ones(2, 2, 6), "C": ones(2, 2, 6)}


def test_classes():
    for name, base in (("InvalidArgument", ValueError), ("Unsupported", NotImplementedError),
                       ("OutOfMemory", MemoryError), ("InternalError", RuntimeError)):
        assert issubclass(getattr(tilescan, name), tilescan.Error)
        assert issubclass(getattr(tilescan, name), base)


def test_names_every_violation_as_in_c():
    operands = scan_operands() | {"B": ones(2, 5, 3, 6), "A": ones(5), "out": ones(2, 5, 4, 3)}
    with pytest.raises(tilescan.InvalidArgument) as raised:
        tilescan.scan(**operands)
    assert str(raised.value) == (
        "scan_forward: A has shape (5), expected (4) because x is (2, 5, 4, 3); "
        "C has shape (2, 5, 2, 6), expected (2, 5, 3, 6) because B is (2, 5, 3, 6); "
        "B has ngroups 3, expected a divisor of nheads 4 because x is (2, 5, 4, 3)")
    assert (operands["out"] == 1).all()


@pytest.mark.parametrize("operation,change,text", [
    ("scan", {"A": "text"}, "A is str, expected an array"),
    ("scan", {"x": 3}, "x is int, expected an array"),
    ("scan", {"B": numpy.array(["a"])}, "B has elements of format"),
    ("scan", {"backend": 3}, "backend is int, expected a string"),
    ("scan", {"chunk_size": 1.5}, "chunk_size is float, expected an integer"),
    ("scan", {"dt_limit": 1.0}, "dt_limit is float, expected a pair"),
    ("scan", {"dt_limit": (1, "a")}, "dt_limit is tuple, expected a pair"),
    ("scan", {"stream": "a"}, "stream is str, expected an integer"),
    ("scan", {"chunksize": 4}, "scan() got an unexpected keyword argument 'chunksize'"),
    ("scan", {"C": None}, "scan() missing required argument 'C'"),
    ("state_update", {"state_dtype": "float32"},
     "state_update() got an unexpected keyword argument 'state_dtype'"),
])
def test_wrong_types(operation, change, text):
    operands = (scan_operands() if operation == "scan" else update_operands()) | change
    with pytest.raises(TypeError) as raised:
        getattr(tilescan, operation)(**operands)
    assert text in str(raised.value)


@pytest.mark.parametrize("operation,change,error,text", [
    ("scan", {"state_dtype": "int8"}, tilescan.InvalidArgument, "state_dtype is int8"),
    ("scan", {"num_threads": 2**40}, tilescan.InvalidArgument, "num_threads is 1099511627776"),
    ("scan", {"num_threads": -1}, tilescan.InvalidArgument, "num_threads is -1"),
    ("scan", {"stream": 1}, tilescan.InvalidArgument, "stream is not NULL"),
    ("scan", {"states_every": -1}, tilescan.InvalidArgument, "states_every"),
    ("scan", {"x": ones(5, 4, 3)}, tilescan.InvalidArgument, "x has shape (5, 4, 3)"),
    ("scan", {"x": ones(1, 1, 1, 1, 1, 1)}, tilescan.InvalidArgument,
     "x has ndim 6, expected 0 to 5"),
    ("scan", {"x": ones(2, 5, 4, 3, dtype="int32")}, tilescan.InvalidArgument,
     "x has dtype int32"),
    ("scan", {"kernel": "no_such"}, tilescan.InvalidArgument, "no_such"),
    ("scan", {"backend": "cpu", "instruction_set": "no_such"}, tilescan.Error, "no_such"),
    ("scan", {"cu_seqlens": numpy.array([0, 9])}, tilescan.InvalidArgument, "cu_seqlens"),
    ("scan", {"seq_idx": ones(2, 5, dtype="int64")}, tilescan.InvalidArgument, "seq_idx"),
    ("state_update", {"chunk_size": 4}, tilescan.InvalidArgument, "chunk_size"),
    ("state_update", {"A": ones(4, 3, 6)}, tilescan.InvalidArgument, "Mamba-1"),
    ("state_update", {"state_batch_indices": numpy.array([0, 0])}, tilescan.InvalidArgument,
     "state_batch_indices"),
    ("state_update", {"state_batch_indices": numpy.array([0, 7])}, tilescan.InvalidArgument,
     "state_batch_indices"),
])
def test_wrong_arguments(operation, change, error, text):
    operands = (scan_operands() if operation == "scan" else update_operands()) | change
    with pytest.raises(error) as raised:
        getattr(tilescan, operation)(**operands)
    assert text in str(raised.value)
    if operation == "state_update":
        assert (operands["state"] == 1).all()


@pytest.mark.parametrize("operation,name", [("scan", "out"), ("scan", "final_states"),
                                            ("state_update", "out"), ("state_update", "state")])
def test_outputs_must_be_writable(operation, name):
    operands = scan_operands() if operation == "scan" else update_operands()
    shape = (2, 4, 3, 6) if name in ("state", "final_states") else operands["x"].shape
    operands[name] = ones(*shape)
    operands[name].flags.writeable = False
    with pytest.raises(tilescan.InvalidArgument, match=f"{name} is read-only"):
        getattr(tilescan, operation)(**operands)


def test_gradients_are_refused_on_plain_arrays():
    operands = {name: torch.from_numpy(value) for name, value in scan_operands().items()}
    operands["A"].requires_grad_()
    with pytest.raises(tilescan.Unsupported, match="A requires a gradient"):
        tilescan.scan(**operands)
    with torch.no_grad():
        assert tilescan.scan(**operands).shape == (2, 5, 4, 3)


def test_gradients_are_refused_beside_arrays_of_others():
    operands = scan_operands()
    operands["A"] = torch.from_numpy(operands["A"]).requires_grad_()
    with pytest.raises(tilescan.Unsupported, match="A requires a gradient"):
        tilescan.scan(**operands)


def test_other_devices_are_refused():
    operands = {name: torch.from_numpy(value) for name, value in scan_operands().items()}
    with pytest.raises(TypeError, match="dt is torch.Tensor, which DLPack does not carry"):
        tilescan.scan(**dict(operands, dt=operands["dt"].to("meta")))
    with pytest.raises(TypeError, match="scan_forward: x is torch.Tensor, which DLPack does not carry"):
        tilescan.scan(**dict(operands, x=operands["x"].to_sparse()))


def test_views_that_are_negated_in_memory_are_refused():
    operands = {name: torch.from_numpy(value) for name, value in scan_operands().items()}
    negated = torch.complex(torch.zeros_like(operands["x"]), operands["x"]).conj().imag
    with pytest.raises(tilescan.InvalidArgument, match=r"x is a view .*x\.resolve_neg\(\)"):
        tilescan.scan(**dict(operands, x=negated))
    assert torch.equal(tilescan.scan(**dict(operands, x=negated.resolve_neg())),
                       tilescan.scan(**dict(operands, x=-operands["x"])))


@pytest.mark.parametrize("make", [lambda value: value, torch.from_numpy], ids=["numpy", "torch"])
def test_a_stream_without_a_gpu_is_refused(make):
    operands = {name: make(value) for name, value in scan_operands().items()}
    with pytest.raises(tilescan.InvalidArgument, match="stream"):
        tilescan.scan(**operands, stream=123)


def test_prepare_says_why_not():
    if tilescan.info()["cuda"]["available"]:
        tilescan.prepare()
        return
    with pytest.raises(tilescan.Unsupported, match="prepare: "):
        tilescan.prepare()
