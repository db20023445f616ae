"""`tilescan plan`: what would run, from sizes, presets and files."""

import json

import pytest

import problems
import safetensors_file as st

SIZES = ["--seqlen", 512, "--nheads", 24, "--headdim", 64, "--dstate", 128]
KEYS = {"operation", "backend", "kernel", "instruction_set", "chunk_size", "num_threads",
        "workspace_bytes", "sizes", "reason", "rejected"}


def plan(tilescan, *arguments):
    return tilescan("plan", *arguments, "--json", "-").json()


def test_sizes(tilescan):
    description = plan(tilescan, *SIZES)
    assert set(description) == KEYS
    assert description["operation"] == "scan_forward" and description["backend"] == "cpu"
    sizes = description["sizes"]
    assert (sizes["batch"], sizes["seqlen"], sizes["nheads"]) == (1, 512, 24)
    assert (sizes["headdim"], sizes["ngroups"], sizes["dstate"]) == (64, 1, 128)


def test_state_update(tilescan):
    description = plan(tilescan, "--operation", "state_update", "--batch", 8, *SIZES[2:])
    assert description["operation"] == "state_update"
    assert description["sizes"]["batch"] == 8 and description["sizes"]["num_tokens"] == 1


def test_text_says_what_and_why(tilescan):
    description = plan(tilescan, *SIZES)
    stdout = tilescan("plan", *SIZES).stdout
    assert f"cpu/{description['kernel']}" in stdout
    assert description["reason"] in stdout
    for row in description["rejected"]:
        assert row["reason"] in stdout


def test_json_file_and_text_together(tilescan, tmp_path):
    stdout = tilescan("plan", *SIZES, "--json", "plan.json").stdout
    assert "scan_forward" in stdout
    assert json.loads((tmp_path / "plan.json").read_text()) == plan(tilescan, *SIZES)


def test_forced_choices_are_kept(tilescan):
    description = plan(tilescan, *SIZES, "--backend", "reference", "--threads", 1)
    assert description["backend"] == "reference"
    description = plan(tilescan, *SIZES, "--instruction-set", "scalar", "--threads", 1)
    assert (description["instruction_set"], description["num_threads"]) == ("scalar", 1)


def test_float64_goes_to_the_reference(tilescan):
    assert plan(tilescan, *SIZES, "--dtype", "fp64")["backend"] == "reference"


def test_what_a_backend_cannot_do_is_an_error_with_the_reason(tilescan):
    stderr = tilescan("plan", *SIZES, "--dtype", "fp64", "--backend", "cpu", code=2).stderr
    assert stderr.startswith("tilescan: unsupported: ") and "float64" in stderr


@pytest.mark.parametrize("missing", ["--seqlen", "--nheads", "--headdim", "--dstate"])
def test_missing_size_is_named(tilescan, missing):
    at = SIZES.index(missing)
    stderr = tilescan("plan", *SIZES[:at], *SIZES[at + 2:], code=2).stderr
    assert f"tilescan: plan: {missing}" in stderr and "is needed" in stderr


def test_groups_that_do_not_divide_heads_are_refused(tilescan):
    stderr = tilescan("plan", *SIZES, "--ngroups", 7, code=2).stderr
    assert "invalid argument" in stderr and "ngroups" in stderr


def test_sizes_that_overflow_are_refused(tilescan):
    sizes = [size if str(size).startswith("--") else 2**62 for size in SIZES]
    assert "invalid argument" in tilescan("plan", *sizes, code=2).stderr


def test_preset_and_flags_over_it(tilescan):
    sizes = plan(tilescan, "--preset", "mamba2-130m", "--seqlen", 64)["sizes"]
    assert (sizes["nheads"], sizes["headdim"], sizes["dstate"], sizes["ngroups"]) == (24, 64, 128, 1)
    sizes = plan(tilescan, "--preset", "mamba2-130m", "--seqlen", 64, "--ngroups", 8)["sizes"]
    assert (sizes["nheads"], sizes["ngroups"], sizes["seqlen"]) == (24, 8, 64)


def test_unknown_preset_lists_those_there_are(tilescan):
    stderr = tilescan("plan", "--preset", "mamba2-131m", "--seqlen", 64, code=2).stderr
    assert "mamba2-131m" in stderr and "mamba2-130m" in stderr


def test_file(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem(), {"states_every": "2"})
    sizes = plan(tilescan, "in")["sizes"]
    assert (sizes["batch"], sizes["seqlen"], sizes["nheads"]) == (2, 7, 4)


def test_file_and_sizes_exclude_each_other(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem())
    assert "not both" in tilescan("plan", "in", "--nheads", 4, code=2).stderr


def test_seqlen_is_no_size_of_state_update(tilescan):
    stderr = tilescan("plan", *SIZES, "--operation", "state_update", code=2).stderr
    assert "--seqlen is a size of scan_forward" in stderr
