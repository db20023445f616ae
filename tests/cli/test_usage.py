"""Help, versions, wrong usage, `tilescan info`."""

import re
import subprocess

import pytest

COMMANDS = ["info", "plan", "run", "verify", "bench"]


def test_help_lists_the_commands_and_exit_codes(tilescan):
    stdout = tilescan("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", stdout, re.MULTILINE)
    assert "Exit codes:" in stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_examples(tilescan, command):
    stdout = tilescan(command, "--help").stdout
    assert f"\n  tilescan {command}" in stdout[stdout.index("Examples:"):]
    assert "--json" in stdout


@pytest.mark.parametrize("command", ["info", "plan"])
def test_examples_of_the_help_work(tilescan, command):
    """Those that need no file; the documents' examples are run by test_documents.py."""
    stdout = tilescan(command, "--help").stdout
    examples = re.findall(r"^  tilescan (.*)$", stdout, re.MULTILINE)
    examples = [example for example in examples if ".safetensors" not in example]
    assert examples
    for example in examples:
        tilescan(*example.split())


def test_version(tilescan):
    assert re.fullmatch(r"tilescan \d+\.\d+\.\d+\n", tilescan("--version").stdout)


@pytest.mark.parametrize("arguments, message", [
    ([], "a command is needed"),
    (["none"], 'no command "none"'),
    (["plan", "--none"], "--none"),
    (["plan", "--nheads", "-1"], '--nheads: expected at least 0, got "-1"'),
    (["plan", "--nheads", "many"], '--nheads: expected at least 0, got "many"'),
    (["plan", "--nheads", "9999999999999999999"],
     '--nheads: expected at least 0, got "9999999999999999999"'),
    (["plan", "--dtype", "int8"], '--dtype: expected fp32, bf16, fp16 or fp64, got "int8"'),
    (["plan", "--operation", "scan"],
     '--operation: expected scan_forward or state_update, got "scan"'),
    (["run"], "FILE is required"),
    (["run", "a", "b"], "b"),
    (["run", "a", "--repeats", "0"], '--repeats: expected at least 1, got "0"'),
    (["run", "a", "--check", "-1"], '--check: expected 0 or more, got "-1"'),
    (["run", "a", "--check", "nan"], '--check: expected 0 or more, got "nan"'),
    (["run", "a", "--dt-limit", "1,0"], "--dt-limit: expected LOW,HIGH with LOW <= HIGH"),
    (["run", "a", "--states-every", "-2"], '--states-every: expected a count, got "-2"'),
    (["run", "a", "--threads", "-1"], "--threads"),
    (["info", "--json"], "--json"),
])
def test_wrong_usage(tilescan, arguments, message):
    result = tilescan(*arguments, code=2)
    assert result.stdout == "" and message in result.stderr


def test_info_json(tilescan):
    info = tilescan("info", "--json", "-").json()
    assert {"version", "build", "cpu", "instruction_sets", "backends"} <= set(info)
    assert {"compiler", "type", "commit"} <= set(info["build"])
    assert info["cpu"]["num_threads"] >= 1
    available = {row["name"]: row["available"] for row in info["instruction_sets"]}
    assert available["scalar"] is True
    backends = {backend["name"]: backend["kernels"] for backend in info["backends"]}
    assert {"cpu", "reference"} <= set(backends)
    for kernels in backends.values():
        assert {row["operation"] for row in kernels} == {
            "scan_forward", "state_update", "causal_conv1d_forward", "causal_conv1d_update",
            "rms_norm_gated_forward"}


def test_info_text_names_the_same(tilescan):
    info = tilescan("info", "--json", "-").json()
    stdout = tilescan("info").stdout
    for text in (info["version"], info["cpu"]["name"], info["build"]["compiler"]):
        assert text in stdout
    for row in info["instruction_sets"]:
        assert row["name"] in stdout


def test_closed_stdout_does_not_count_as_success(request):
    tool = request.config.getoption("--tool").resolve()
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([tool, "info", "--json", "-"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "tilescan: cannot write to stdout\n")
