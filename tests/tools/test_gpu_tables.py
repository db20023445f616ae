"""tools/gpu_tables.py: every figure of a GPU's result file reaches its place."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import gpu_tables  # noqa: E402


def result(implementation, **more):
    return {"case": "W1", "operation": "scan_forward", "implementation": implementation,
            "dtype": "bfloat16", "state_dtype": "float32", "median_us": 250.0, "min_us": 240.0,
            "max_us": 260.0, "repeats": 9, "kernel": "stream", "error_out": 0.00204,
            "peak_bytes": 4200000, "fraction_of_ceiling": 0.657} | more


RATIO = {"against": "peer/128", "median": 5.5, "min": 5.25, "max": 5.75}


def test_scan():
    data = {"results": [result("tilescan", ratio=RATIO),
                        result("peer", kernel="peer/128", median_us=1400.0, error_out=0.0021)]}
    text, header, rows = gpu_tables.scan_table(data)
    assert "9 rounds" in text
    assert len(header) == len(rows[0])
    assert rows == [["W1", "250.0 us (240.0 to 260.0)", "stream", "65.7 %", "2.04e-03", "4.2 MB",
                     "1400.0 us (240.0 to 260.0)", "peer/128", "2.10e-03", "5.50 (5.25 to 5.75)"]]


def test_update_keeps_state_dtypes_apart():
    update = {"operation": "state_update", "case": "decode-64", "gbytes_per_s": 3800.4}
    data = {"results": [result("tilescan", **update),
                        result("tilescan", **update, state_dtype="bfloat16")]}
    _, header, rows = gpu_tables.update_table(data)
    assert [row[1] for row in rows] == ["float32", "bfloat16"]
    assert len(header) == len(rows[0])
    assert rows[0][2:6] == ["250.0 us (240.0 to 260.0)", "3800", "65.7 %", "2.04e-03"]
    assert rows[0][6:] == ["-", "-", "-"]


@pytest.mark.parametrize("results", [[], [result("peer")]])
def test_missing_results_are_named(results):
    with pytest.raises(KeyError):
        gpu_tables.scan_table({"results": results})
