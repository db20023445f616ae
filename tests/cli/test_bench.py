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
        for figure in ("error_out", "error_state", "difference_out", "difference_state"):
            assert 0 < own[figure] < 1e-5
        # Against float64, and not against each other: the reference rounds once.
        assert other["error_out"] < own["error_out"]


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
    assert 0 < row["error_out"] < 3.1e-3 and 0 < row["error_state"] < 3.1e-3


def why_no_gpu(tilescan, operation):
    """What the library says where it has no GPU; skips where it has one."""
    info = tilescan("info", "--json", "-").json()
    if info["cuda"]["available"]:
        pytest.skip("this machine has a GPU")
    if "cuda" not in [backend["name"] for backend in info["backends"]]:
        return 'options.backend is "cuda", expected'
    return f"unsupported: {operation}: no kernel can do this"


CUDA = ["--backend", "cuda", "--dtype", "bf16"]


@pytest.mark.parametrize("arguments", [
    ["--seqlen", "64"],
    ["--operation", "state_update", "--batch", "2"],
    ["--seqlen", "64", "--compare", "cpu"],
])
def test_gpu_that_is_not_there(tilescan, arguments):
    """The library's message, before anything is printed or measured."""
    reason = why_no_gpu(tilescan, "state_update" if "state_update" in arguments else "scan_forward")
    refused = tilescan("bench", *QUICK, *CUDA, *arguments, code=2)
    assert reason in refused.stderr and refused.stdout == ""


def test_compared_gpu_that_is_not_there(tilescan):
    reason = why_no_gpu(tilescan, "scan_forward")
    refused = tilescan("bench", *QUICK, "--seqlen", 16, "--compare", "cuda", code=2)
    assert reason in refused.stderr


def test_text_and_file(tilescan, tmp_path):
    stdout = tilescan("bench", *QUICK, "--seqlen", 16, "--json", "bench.json").stdout
    (row,) = json.loads((tmp_path / "bench.json").read_text())["results"]
    assert "mamba2-130m/16" in stdout and row["kernel"] in stdout
    for unit in ("median of 2", "GFLOP/s", "GB/s", "% of the ceiling", "error of out"):
        assert unit in stdout


@pytest.mark.parametrize("arguments, message", [
    (["--preset", "mamba2-131m"], "no preset is called"),
    (["--operation", "state_update", "--seqlen", "8"], "--seqlen is a size of scan_forward"),
    (["--seqlen", "0"], "--seqlen"),
    (["--backend", "none"], "none"),
    (["--compare", "none"], "none"),
    (["--backend", "cuda", "--kernel", "none"], "options."),
    (["--backend", "reference", "--kernel", "step"], "options.kernel"),
    (["--json", "missing/bench.json"], "cannot write missing/bench.json"),
])
def test_wrong_usage(tilescan, arguments, message):
    assert message in tilescan("bench", *arguments, code=2).stderr
