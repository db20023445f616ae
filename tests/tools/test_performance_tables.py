"""tools/performance_tables.py: figures come from result files, and mistakes are named."""

import json
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def result(case, implementation, median_us, ratio=None, **more):
    row = {"case": case, "operation": "scan_forward", "implementation": implementation,
           "dtype": "float32", "state_dtype": "float32", "preset": case.split("/")[0], "batch": 1,
           "seqlen": 2048, "median_us": median_us, "min_us": median_us / 2, "max_us": median_us * 2,
           "repeats": 9, "disturbed": 1, "mode": "short", "error_out": 1.25e-7, "error_state": None,
           "peak_bytes": 100, "kernel": "cpu/chunked/avx2", "precise": False,
           "ns_per_token_head": median_us / 10, "gflops": 55.5, "fraction_of_ceiling": 0.613}
    if ratio is not None:
        row["ratio"] = {"against": "other", "median": ratio, "min": ratio / 2, "max": ratio * 2}
    return row | more


DATA = {
    "environment": {
        "device": "cpu", "driver": "Linux 6", "cpu": "A Processor", "cpu_model": "family 1 model 2",
        "instruction_set": "avx2", "l2_cache_bytes": 1, "l3_cache_bytes": 1, "processors": 2, "threads": 2,
        "version": "0.1.0", "commit": "abc", "compiler": "gcc 12", "build_type": "Release", "flags": "-O3",
        "date": "2026-11-30T08:15:00Z", "implementations": {"other": "version 7"},
        "ceilings": {"copy_gbytes_per_s": {"median": 20.5, "min": 19.0, "max": 21.0, "repeats": 7, "disturbed": 0}}},
    "results": [result("a/2048", "other", 4000.0), result("a/2048", "tilescan", 2000.0, ratio=2.0),
                result("b/2048", "other", 90.0), result("b/2048", "tilescan", 11.25, ratio=8.0)]}

DOCUMENT = """# Speed
<!-- table:environment:run -->
<!-- /table -->
Between.
<!-- table:scan_forward:run -->
stale
<!-- /table -->
After.
"""


@pytest.fixture
def tables(tmp_path):
    """tables(*flags, document=..., data=..., code=0) -> (the document afterwards, stderr)."""

    def run(*flags, document=DOCUMENT, data=DATA, code=0):
        path = tmp_path / "performance.md"
        path.write_text(document)
        if data is not None:
            (tmp_path / "run.json").write_text(json.dumps(data))
        done = subprocess.run([sys.executable, REPOSITORY / "tools" / "performance_tables.py", "--document", path,
                               "--results", tmp_path, *flags], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return path.read_text(), done.stderr

    return run


def cells(document, first_cell):
    lines = [line for line in document.splitlines() if line.startswith(f"| {first_cell} ")]
    assert len(lines) == 1, document
    return [cell.strip() for cell in lines[0].strip("|").split("|")]


def test_tables_hold_the_figures(tables):
    document, _ = tables()
    assert "stale" not in document
    assert document.startswith("# Speed\n<!-- table:environment:run -->\n")
    assert "\nBetween.\n" in document and document.endswith("<!-- /table -->\nAfter.\n")
    assert cells(document, "processor")[1] == "A Processor (family 1 model 2), avx2"
    assert cells(document, "other")[1] == "version 7"
    assert cells(document, "copy")[1] == "20.5 GB/s (19.0 to 21.0)"
    own = cells(document, "a/2048")
    assert own[1] == "2.00 ms (1.00 ms to 4.00 ms)"
    assert own[2:7] == ["200", "55.5", "61 %", "1.2e-07", "-"]
    assert own[7] == "4.00 ms (2.00 ms to 8.00 ms)"
    assert own[-1] == "2.00 (1.00 to 4.00)"
    assert cells(document, "b/2048")[1] == "11.25 us (5.62 us to 22.50 us)"
    assert cells(document, "**geometric mean**")[-1] == "**4.00**"  # of 2 and 8
    assert "4 of 36 samples were disturbed" in document
    assert "Medians of 9 samples" in document


def test_rewriting_changes_nothing(tables):
    once, _ = tables()
    twice, _ = tables(document=once)
    assert twice == once
    tables("--check", document=once)


def test_check_fails_when_out_of_date(tables):
    document, stderr = tables("--check", code=1)
    assert document == DOCUMENT, "--check writes nothing"
    assert "not up to date" in stderr


def test_means_of_decoding_are_of_hot_and_cold_apart(tables):
    def decode(case, ratio):
        return [result(case, name, 10.0, ratio if name == "tilescan" else None, operation="state_update",
                       gbytes_per_s=30.0) for name in ("other", "tilescan")]
    data = DATA | {"results": decode("a/decode-1/hot", 5.0) + decode("a/decode-1/cold", 2.0) +
                   decode("a/decode-8/cold", 8.0)}
    document, _ = tables(document="<!-- table:state_update:run -->\n<!-- /table -->\n", data=data)
    assert cells(document, "**geometric mean, hot**")[-1] == "**5.00**"
    assert cells(document, "**geometric mean, cold**")[-1] == "**4.00**"


def test_without_a_peer_there_is_no_ratio(tables):
    data = DATA | {"results": [result("a/2048", "tilescan", 5.0)]}
    document, _ = tables(data=data)
    assert "ratio" not in document.split("| case", 1)[1]
    assert "geometric" not in document


@pytest.mark.parametrize(("document", "data", "part"), [
    ("<!-- table:speed:run -->\n<!-- /table -->\n", DATA, "the kind must be one of"),
    ("<!-- table:environment:run -->\nno end\n", DATA, "no <!-- /table -->"),
    ("<!-- table:environment:run -->\n<!-- /table -->\n", None, "No such file"),
    ("<!-- table:state_update:run -->\n<!-- /table -->\n", DATA, "no results of state_update"),
    (DOCUMENT, {"environment": DATA["environment"], "results": [result("a", "other", 1.0)]},
     "case a has no result of tilescan"),
    (DOCUMENT, {"results": []}, "no 'environment'"),
])
def test_mistakes_are_named(tables, document, data, part):
    after, stderr = tables(document=document, data=data, code=2)
    assert part in stderr
    assert after == document
