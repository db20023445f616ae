"""tools/model_tables.py: every figure of a model's result file reaches its place."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import model_tables  # noqa: E402


def result(implementation, **more):
    return {"case": "some/128", "operation": "model_prefill", "implementation": implementation,
            "dtype": "float32", "num_layers": 4, "median_us": 250000.0, "min_us": 240000.0,
            "max_us": 260000.0, "repeats": 7, "error_out": 1.5e-6} | more


def test_model():
    ratio = {"against": "transformers", "median": 2.5, "min": 2.25, "max": 2.75}
    decode = {"case": "some/decode-32", "operation": "model_decode", "error_out": None}
    data = {"results": [result("transformers", median_us=625000.0, error_out=2.5e-6),
                        result("tilescan", ratio=ratio), result("transformers", **decode),
                        result("tilescan", ratio=ratio, **decode)]}
    text, header, rows = model_tables.model_table(data)
    assert "4 layers, float32" in text and "7 rounds" in text
    assert all(len(header) == len(row) for row in rows)
    assert rows == [["some/128", "a prompt", "625.0 ms (240.0 to 260.0)", "250.0 ms (240.0 to 260.0)",
                     "2.50 (2.25 to 2.75)", "2.5e-06", "1.5e-06"],
                    ["some/decode-32", "a token", "250.0 ms (240.0 to 260.0)",
                     "250.0 ms (240.0 to 260.0)", "2.50 (2.25 to 2.75)", "-", "-"]]
