"""`tilescan run`: results against the recurrence in float64, expected values, options, outputs."""

import json
import math
import os

import pytest

import problems
import safetensors_file as st
from problems import TOLERANCE, relative_l2

BACKENDS = ["cpu", "reference"]


def run_file(tilescan, tmp_path, tensors, *arguments, metadata=None):
    st.write(tmp_path / "in", tensors, metadata)
    tilescan("run", "in", "-o", "out", *arguments)
    return st.read(tmp_path / "out")[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["F32", "BF16", "F16"])
def test_scan_forward(tilescan, tmp_path, backend, dtype):
    problem = problems.scan_problem(dtype)
    out, final_states, _ = problems.scan(problem, dt_softplus=True)
    tensors = run_file(tilescan, tmp_path, problem, "--backend", backend, "--dt-softplus")
    assert set(tensors) == {"out", "final_states"}
    assert (tensors["out"].dtype, tensors["out"].shape) == (dtype, problem["x"].shape)
    assert tensors["final_states"].dtype == "F32"
    assert tensors["final_states"].shape == problem["initial_states"].shape
    assert relative_l2(tensors["out"].values, out) < TOLERANCE[dtype]
    assert relative_l2(tensors["final_states"].values, final_states) < TOLERANCE[dtype]


def test_float64_goes_to_the_reference(tilescan, tmp_path):
    problem = problems.scan_problem("F64")
    problem = {name: st.Tensor("F64", t.shape, t.rounded()) for name, t in problem.items()}
    out, final_states, _ = problems.scan(problem)
    tensors = run_file(tilescan, tmp_path, problem)
    assert tensors["out"].dtype == tensors["final_states"].dtype == "F64"
    assert relative_l2(tensors["out"].values, out) < TOLERANCE["F64"]
    assert relative_l2(tensors["final_states"].values, final_states) < TOLERANCE["F64"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["F32", "BF16"])
@pytest.mark.parametrize("slots", [None, 6])
def test_state_update(tilescan, tmp_path, backend, dtype, slots):
    problem = problems.update_problem(dtype, slots=slots)
    out, state = problems.update(problem, dt_softplus=True)
    tensors = run_file(tilescan, tmp_path, problem, "--backend", backend,
                       metadata={"operation": "state_update", "dt_softplus": "true"})
    assert set(tensors) == {"out", "state"}
    assert tensors["state"].dtype == dtype
    assert tensors["state"].shape == problem["state"].shape
    assert relative_l2(tensors["out"].values, out) < TOLERANCE["F32"]
    assert relative_l2(tensors["state"].values, state) < TOLERANCE[dtype]


def test_repeats_of_state_update_start_from_the_same_state(tilescan, tmp_path):
    problem = problems.update_problem()
    metadata = {"operation": "state_update"}
    once = run_file(tilescan, tmp_path, problem, metadata=metadata)
    often = run_file(tilescan, tmp_path, problem, "--repeats", 5, metadata=metadata)
    assert often == once


def test_states_every(tilescan, tmp_path):
    problem = problems.scan_problem(batch=1, seqlen=7)
    _, _, states = problems.scan(problem)
    tensors = run_file(tilescan, tmp_path, problem, "--states-every", 3)
    assert tensors["states_out"].shape == (1, 2, 4, 3, 5)
    assert relative_l2(tensors["states_out"].values, states[2] + states[5]) < TOLERANCE["F32"]


def test_packed_sequences(tilescan, tmp_path):
    """Two sequences in a row of 7 tokens, against each on its own."""
    problem = problems.scan_problem(batch=1, seqlen=7)
    del problem["initial_states"]
    packed = problem | {"cu_seqlens": st.Tensor("I64", (3,), [0, 4, 7])}
    tensors = run_file(tilescan, tmp_path, packed)
    assert tensors["final_states"].shape == (2, 4, 3, 5)
    outs, finals = [], []
    for begin, end in ((0, 4), (4, 7)):
        alone = dict(problem)
        for name in ("x", "dt", "B", "C"):
            tensor = problem[name]
            token = len(tensor.values) // 7
            alone[name] = st.Tensor(tensor.dtype, (1, end - begin, *tensor.shape[2:]),
                                    tensor.values[begin * token:end * token])
        alone["initial_states"] = st.Tensor("F32", (1, 4, 3, 5), [0.0] * 60)
        out, final_states, _ = problems.scan(alone)
        outs += out
        finals += final_states
    assert relative_l2(tensors["out"].values, outs) < TOLERANCE["F32"]
    assert relative_l2(tensors["final_states"].values, finals) < TOLERANCE["F32"]


@pytest.mark.parametrize("option, flags, metadata", [
    ({"dt_softplus": True}, ["--dt-softplus"], {"dt_softplus": "true"}),
    ({"dt_limit": (0.1, 0.5)}, ["--dt-limit", "0.1,0.5"], {"dt_limit": "0.1, 0.5"}),
    ({"dt_limit": (-math.inf, 0.25)}, ["--dt-limit=-inf,0.25"], {"dt_limit": "-inf,0.25"}),
    ({"dt_softplus": True, "dt_limit": (0.25, math.inf)}, ["--dt-softplus", "--dt-limit=0.25,inf"],
     {"dt_softplus": "true", "dt_limit": "0.25,inf"}),
])
def test_options_come_from_metadata_or_flags(tilescan, tmp_path, option, flags, metadata):
    problem = problems.scan_problem()
    expected, _, _ = problems.scan(problem, **option)
    without, _, _ = problems.scan(problem)
    # Otherwise the test could not tell whether the option was read.
    assert relative_l2(without, expected) > 1e-2
    by_metadata = run_file(tilescan, tmp_path, problem, metadata=metadata)
    by_flags = run_file(tilescan, tmp_path, problem, *flags)
    assert relative_l2(by_metadata["out"].values, expected) < TOLERANCE["F32"]
    assert by_flags == by_metadata


def test_flags_override_metadata(tilescan, tmp_path):
    problem = problems.scan_problem()
    plain = run_file(tilescan, tmp_path, problem)
    overridden = run_file(tilescan, tmp_path, problem, "--no-dt-softplus", "--dt-limit", "0,inf",
                          "--states-every", 0, "--state-dtype", "fp32",
                          metadata={"dt_softplus": "true", "dt_limit": "0.2,0.3",
                                    "states_every": "2", "state_dtype": "bf16"})
    assert overridden == plain


def test_operation_flag_overrides_metadata(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.update_problem(), {"operation": "scan_forward"})
    tilescan("run", "in", code=2)
    result = tilescan("run", "in", "--operation", "state_update", "--json", "-")
    assert result.json()["operation"] == "state_update"


@pytest.mark.parametrize("name, dtype", [("bf16", "BF16"), ("float16", "F16"), ("fp32", "F32")])
def test_state_dtype(tilescan, tmp_path, name, dtype):
    problem = problems.scan_problem()
    tensors = run_file(tilescan, tmp_path, problem, metadata={"state_dtype": name})
    assert tensors["final_states"].dtype == dtype
    _, final_states, _ = problems.scan(problem)
    assert relative_l2(tensors["final_states"].values, final_states) < TOLERANCE[dtype]


@pytest.mark.parametrize("metadata, message", [
    ({"operation": "scan"}, 'operation: expected scan_forward or state_update, got "scan"'),
    ({"dt_softplus": "True"}, 'dt_softplus: expected true or false, got "True"'),
    ({"dt_limit": "0"}, 'dt_limit: expected LOW,HIGH with LOW <= HIGH, like 0,inf, got "0"'),
    ({"dt_limit": "1,0"}, 'dt_limit: expected LOW,HIGH with LOW <= HIGH, like 0,inf, got "1,0"'),
    ({"dt_limit": "nan,1"}, "dt_limit: expected LOW,HIGH"),
    ({"dt_limit": "0,1,2"}, "dt_limit: expected LOW,HIGH"),
    ({"chunk_size": "-1"}, 'chunk_size: expected a count, got "-1"'),
    ({"chunk_size": "64.0"}, 'chunk_size: expected a count, got "64.0"'),
    ({"states_every": "many"}, 'states_every: expected a count, got "many"'),
    ({"state_dtype": "int8"}, 'state_dtype: expected fp32, bf16, fp16 or fp64, got "int8"'),
])
def test_bad_metadata_is_refused(tilescan, tmp_path, metadata, message):
    st.write(tmp_path / "in", problems.scan_problem(), metadata)
    assert f"in: __metadata__ {message}" in tilescan("run", "in", code=2).stderr


def test_other_metadata_is_left_alone(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem(), {"format": "pt", "text": "any"})
    tilescan("run", "in")


def test_chunk_size_is_handed_on(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem(seqlen=40), {"chunk_size": "16"})
    by_metadata = tilescan("plan", "in", "--json", "-").json()
    by_flag = tilescan("plan", "in", "--chunk-size", 32, "--json", "-").json()
    assert by_metadata["chunk_size"] != by_flag["chunk_size"]


@pytest.mark.parametrize("operation, problem, name", [
    ("scan_forward", problems.scan_problem, "dtbias"),
    ("scan_forward", problems.scan_problem, "expected_state"),
    ("scan_forward", problems.scan_problem, "out"),
    ("state_update", problems.update_problem, "initial_states"),
])
def test_tensor_that_is_no_operand_is_refused(tilescan, tmp_path, operation, problem, name):
    tensors = problem() | {name: st.Tensor("F32", (1,), [0.0])}
    st.write(tmp_path / "in", tensors, {"operation": operation})
    stderr = tilescan("run", "in", "-o", "out", code=2).stderr
    assert f'in: tensor "{name}" is not an operand of {operation} (' in stderr
    assert not (tmp_path / "out").exists()


def test_missing_operand_is_named_by_the_library(tilescan, tmp_path):
    problem = problems.scan_problem()
    del problem["A"]
    st.write(tmp_path / "in", problem)
    stderr = tilescan("run", "in", code=2).stderr
    assert "invalid argument" in stderr and "A " in stderr


def test_wrong_values_of_indices_leave_no_output(tilescan, tmp_path):
    problem = problems.scan_problem(batch=1)
    del problem["initial_states"]
    problem["cu_seqlens"] = st.Tensor("I32", (3,), [0, 5, 6])
    st.write(tmp_path / "in", problem)
    assert "cu_seqlens" in tilescan("run", "in", "-o", "out", code=2).stderr
    assert os.listdir(tmp_path) == ["in"]


def test_state_update_refuses_another_state_dtype(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.update_problem(), {"operation": "state_update"})
    stderr = tilescan("run", "in", "--state-dtype", "bf16", code=2).stderr
    assert "state is float32 and is updated in place" in stderr


def test_forced_kernel_that_does_not_exist_is_refused(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem())
    assert "none-such" in tilescan("run", "in", "--kernel", "none-such", code=2).stderr


def expected_file(tmp_path, change=lambda values: values):
    problem = problems.scan_problem()
    out, final_states, _ = problems.scan(problem)
    problem["expected_out"] = st.Tensor("F32", problem["x"].shape, change(out))
    problem["expected_final_states"] = st.Tensor("F64", problem["initial_states"].shape,
                                                 final_states)
    return st.write(tmp_path / "in", problem)


def test_expected_values_that_agree(tilescan, tmp_path):
    expected_file(tmp_path)
    result = tilescan("run", "in", "--check", TOLERANCE["F32"], "--json", "-").json()
    assert [row["name"] for row in result["expected"]] == ["out", "final_states"]
    for row in result["expected"]:
        assert row["passed"] and 0 < row["relative_l2"] < TOLERANCE["F32"]
        assert 0 < row["max_abs_error"] < 1e-5


def test_expected_values_that_differ(tilescan, tmp_path):
    """One value off by 0.5: the figures are known."""
    def change(values):
        return [values[0] + 0.5, *values[1:]]

    out, _, _ = problems.scan(problems.scan_problem())
    expected_file(tmp_path, change)
    text = tilescan("run", "in", "--check", 1e-3, code=1)
    assert "out" in text.stdout and text.stderr.startswith("tilescan: check failed")
    result = tilescan("run", "in", "--check", 1e-3, "--json", "-", code=1).json()
    row = {row["name"]: row for row in result["expected"]}
    assert not row["out"]["passed"] and row["final_states"]["passed"]
    assert row["out"]["max_abs_error"] == pytest.approx(0.5, abs=1e-5)
    norm = math.sqrt(math.fsum(value * value for value in change(out)))
    assert row["out"]["relative_l2"] == pytest.approx(0.5 / norm, rel=1e-4)


def test_without_check_a_difference_is_only_shown(tilescan, tmp_path):
    expected_file(tmp_path, lambda values: [0.0] * len(values))
    assert "out" in tilescan("run", "in").stdout


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_value_that_is_not_finite_fails_the_check(tilescan, tmp_path, value):
    expected_file(tmp_path, lambda values: [*values[:-1], value])
    tilescan("run", "in", "--check", 1e30, code=1)


def test_values_not_finite_on_both_sides_agree(tilescan, tmp_path):
    problem = problems.scan_problem(batch=1, seqlen=1)
    problem["x"].values[0] = math.nan
    out, _, _ = problems.scan(problem)
    problem["expected_out"] = st.Tensor("F32", problem["x"].shape, out)
    st.write(tmp_path / "in", problem)
    tilescan("run", "in", "--check", TOLERANCE["F32"])


def test_check_without_expected_values_is_an_error(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem())
    stderr = tilescan("run", "in", "--check", 1, code=2).stderr
    assert "in: --check needs tensors named expected_" in stderr


def test_expected_of_another_shape_is_an_error(tilescan, tmp_path):
    problem = problems.scan_problem()
    problem["expected_out"] = st.Tensor("F32", (1,), [0.0])
    st.write(tmp_path / "in", problem)
    assert "expected_out has shape (1)" in tilescan("run", "in", code=2).stderr


def test_text_and_json_report(tilescan, tmp_path):
    st.write(tmp_path / "in", problems.scan_problem(), {"dt_limit": "0,inf"})
    stdout = tilescan("run", "in", "-o", "out", "--repeats", 3, "--json", "report.json").stdout
    for word in ("scan_forward", "seqlen 7", "nheads 4", "median of 3", "tokens/s", "GB/s", "out"):
        assert word in stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["input"] == "in" and report["output"] == "out"
    assert report["plan"]["sizes"]["seqlen"] == 7
    assert report["options"] == {"dt_softplus": False, "dt_limit": [0.0, "inf"], "states_every": 0}
    time = report["time"]
    assert time["repeats"] == 3
    assert 0 < time["min_us"] <= time["median_us"] <= time["max_us"]
    tokens_per_s = 2 * 7 / (time["median_us"] * 1e-6)
    assert report["throughput"]["tokens_per_s"] == pytest.approx(tokens_per_s)
    assert report["throughput"]["gbytes_per_s"] > 0 and report["throughput"]["gflops_per_s"] > 0
    assert report["expected"] == []


def test_same_bits_whatever_the_thread_count(tilescan, tmp_path):
    problem = problems.scan_problem(nheads=8, seqlen=65)
    one = run_file(tilescan, tmp_path, problem, "--threads", 1)
    assert run_file(tilescan, tmp_path, problem, "--threads", 2) == one
