"""`tilescan verify`: the report and the exit codes. Whether cases pass is for tests/ to say; here a
handful stand for all."""

import json

import pytest


def report(tilescan, *arguments, code=0):
    return tilescan("verify", *arguments, "--json", "-", code=code).json()


def test_report(tilescan):
    result = report(tilescan, "--filter", "C05")
    rows = result["results"]
    assert result["passed"] == sum(row["outcome"] == "passed" for row in rows) > 0
    assert result["failed"] == 0
    assert {row["backend"] for row in rows} == {"cpu", "reference"}
    info = tilescan("info", "--json", "-").json()
    here = {row["name"] for row in info["instruction_sets"] if row["available"]}
    assert {row["instruction_set"] for row in rows if row["backend"] == "cpu"} == here
    for row in rows:
        assert "C05" in row["case"] and row["about"]
        if row["outcome"] == "passed":
            assert row["errors"] and row["message"] == ""
        for error in row["errors"]:
            assert error["max_scaled"] <= error["max_scaled_limit"]
            assert error["max_relative"] <= error["max_relative_limit"]


def test_filters(tilescan):
    rows = report(tilescan, "--filter", "C05", "--backend", "cpu",
                  "--instruction-set", "scalar")["results"]
    assert rows
    assert {(row["backend"], row["instruction_set"]) for row in rows} == {("cpu", "scalar")}


def test_text_has_a_line_a_case_and_the_counts(tilescan, tmp_path):
    stdout = tilescan("verify", "--filter", "C05", "--json", "verify.json").stdout.splitlines()
    result = json.loads((tmp_path / "verify.json").read_text())
    assert len(stdout) == len(result["results"]) + 1
    assert stdout[-1] == (f"{result['passed']} passed, {result['failed']} failed, "
                          f"{result['unsupported']} unsupported")
    assert all(line.startswith(("passed ", "unsupported ")) for line in stdout[:-1])


@pytest.mark.parametrize("arguments", [["--filter", "none-such"], ["--backend", "none-such"]])
def test_nothing_verified_is_not_a_success(tilescan, arguments):
    assert "nothing was verified" in tilescan("verify", *arguments, code=2).stderr
