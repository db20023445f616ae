"""How calls behave in a process: plans kept, the GIL released, threads, streams."""

import threading
import time

import numpy
import pytest
import tilescan
from tilescan import _tilescan

from arrays import scan_case


def operands(seqlen=8, nheads=2):
    rng = numpy.random.default_rng(0)
    return {"x": rng.random((1, seqlen, nheads, 4), "float32"),
            "dt": rng.random((1, seqlen, nheads), "float32"), "A": -rng.random(nheads, "float32"),
            "B": rng.random((1, seqlen, 1, 8), "float32"),
            "C": rng.random((1, seqlen, 1, 8), "float32")}


def test_plans_are_kept_by_all_they_depend_on():
    _tilescan.forget_plans()
    given = operands()
    tilescan.scan(**given)
    tilescan.scan(**{name: value.copy() for name, value in given.items()})
    assert _tilescan.num_plans() == 1
    for change in ({"dt_softplus": True}, {"chunk_size": 16}, {"num_threads": 1},
                   {"dt_limit": (0.0, 1.0)}, {"D": given["A"]}, {"states_every": 2},
                   {"states_every": 4}, {"backend": "reference"}, {"instruction_set": "scalar"},
                   {"x": numpy.asfortranarray(given["x"])}, {"A": given["A"].astype("float16")}):
        before = _tilescan.num_plans()
        tilescan.scan(**(given | change))
        assert _tilescan.num_plans() == before + 1, f"{change} took another call's plan"


def test_plans_that_were_not_used_for_long_go():
    _tilescan.forget_plans()
    for seqlen in range(1, 300):
        tilescan.scan(**operands(seqlen))
    assert _tilescan.num_plans() == 256


def test_plan_describes_and_writes_nothing():
    given = operands() | {"out": numpy.full((1, 8, 2, 4), 7.0, "float32")}
    plan = tilescan.plan("scan", **given)
    assert plan["operation"] == "scan_forward" and plan["backend"] == "cpu"
    assert plan["sizes"]["seqlen"] == 8 and (given["out"] == 7.0).all()
    with pytest.raises(tilescan.InvalidArgument, match='operation is "convolve"'):
        tilescan.plan("convolve")
    with pytest.raises(TypeError, match="operation's name first"):
        tilescan.plan()


def test_info():
    info = tilescan.info()
    assert info["version"] == tilescan.__version__
    assert {"cpu", "reference"} <= {backend["name"] for backend in info["backends"]}


def test_other_threads_run_meanwhile():
    """With the GIL held a thread of Python would not get to look at the clock within the call."""
    given = operands(seqlen=20000, nheads=16)
    seen, is_done = [], threading.Event()

    def watch():
        while not is_done.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    tilescan.scan(**given, backend="reference")
    end = time.perf_counter()
    is_done.set()
    watcher.join()
    quarter = (end - begin) / 4
    assert [moment for moment in seen if begin + quarter < moment < end - quarter]


def test_threads_at_once():
    cases = [scan_case(seed) for seed in range(8)]
    want = [tilescan.scan(**case.operands) for case in cases]
    wrong = []

    def work(which):
        for _ in range(50):
            if not numpy.array_equal(tilescan.scan(**cases[which].operands), want[which]):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(len(cases))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class CudaStream:
    def __init__(self, address):
        self._address = address

    def __cuda_stream__(self):
        return 0, self._address


class TorchStream:
    cuda_stream = 48


class CuPyStream:
    ptr = 48


@pytest.mark.parametrize("stream", [48, CudaStream(48), TorchStream(), CuPyStream()],
                         ids=lambda stream: type(stream).__name__)
def test_streams_are_read(stream):
    with pytest.raises(tilescan.InvalidArgument, match="stream is not NULL"):
        tilescan.scan(**operands(), stream=stream)
    tilescan.scan(**operands(), stream=CudaStream(0))  # the CPU's
