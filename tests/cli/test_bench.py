"""`tilescan bench`: the report. Speeds are for docs/performance.md; here only their arithmetic."""

import json

import pytest

# The smallest preset and short sequences: the figures themselves do not matter here.
QUICK = ["--preset", "mamba2-130m", "--repeats", 2, "--threads", 1]


def bench(tilescan, *arguments):
    return tilescan("bench", *QUICK, *arguments, "--json", "-").json()


def check_figures(result):
    assert 0 < result["min_us"] <= result["median_us"] <= result["max_us"]
    assert result["repeats"] == 2
    tokens = result["batch"] * result["seqlen"]
    seconds = result["median_us"] * 1e-6
    assert result["ns_per_token_head"] == pytest.approx(seconds * 1e9 / (tokens * 24))
    assert result["gflops"] == pytest.approx(4 * tokens * 24 * 64 * 128 / seconds * 1e-9)


def test_scan_with_comparison(tilescan):
    report = bench(tilescan, "--seqlen", "16,32", "--compare", "reference")
    assert {"cpu", "date", "ceilings"} <= set(report["environment"])
    assert report["environment"]["ceilings"]
    results = report["results"]
    assert [row["case"] for row in results] == ["mamba2-130m/16"] * 2 + ["mamba2-130m/32"] * 2
    for row in results:
        assert (row["operation"], row["dtype"]) == ("scan_forward", "float32")
        check_figures(row)
    for own, other in zip(results[::2], results[1::2]):
        assert own["implementation"] == "tilescan" and own["kernel"].startswith("cpu/")
        assert other["kernel"] == "reference/recurrence"
        assert other["implementation"] == "tilescan reference/recurrence"
        assert own["ratio"]["against"] == other["implementation"]
        assert own["ratio"]["min"] <= own["ratio"]["median"] <= own["ratio"]["max"]
        assert own["fraction_of_ceiling"] > 0
        # Sums of at most 128 + 32 products: far below what a wrong operand costs.
        assert 0 < own["error_out"] < 1e-5 and 0 < own["error_state"] < 1e-5


def test_state_update(tilescan):
    results = bench(tilescan, "--operation", "state_update", "--batch", 2, "--dtype", "bf16",
                    "--state-dtype", "bf16")["results"]
    (row,) = results
    assert (row["case"], row["operation"]) == ("mamba2-130m/decode-2/cold", "state_update")
    assert (row["dtype"], row["state_dtype"]) == ("bfloat16", "bfloat16")
    check_figures(row)
    state_bytes = 2 * 24 * 64 * 128 * 2
    seconds = row["median_us"] * 1e-6
    assert row["gbytes_per_s"] == pytest.approx(2 * state_bytes / seconds * 1e-9)
    assert 0 < row["fraction_of_ceiling"]


def test_text_and_file(tilescan, tmp_path):
    stdout = tilescan("bench", *QUICK, "--seqlen", 16, "--json", "bench.json").stdout
    (row,) = json.loads((tmp_path / "bench.json").read_text())["results"]
    assert "mamba2-130m/16" in stdout and row["kernel"] in stdout
    for unit in ("median of 2", "GFLOP/s", "GB/s", "% of the ceiling"):
        assert unit in stdout


@pytest.mark.parametrize("arguments, message", [
    (["--preset", "mamba2-131m"], "no preset is called"),
    (["--operation", "state_update", "--seqlen", "8"], "--seqlen is a size of scan_forward"),
    (["--seqlen", "0"], "--seqlen"),
    (["--backend", "none"], "none"),
    (["--json", "missing/bench.json"], "cannot write missing/bench.json"),
])
def test_wrong_usage(tilescan, arguments, message):
    assert message in tilescan("bench", *arguments, code=2).stderr
