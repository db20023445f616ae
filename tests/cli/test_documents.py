"""The programs and commands of README.md and docs/ do what they say."""

import re
import subprocess

import pytest

from conftest import REPOSITORY

MARK = "<!-- compiled and run by tests/cli/test_documents.py -->\n"
DOCUMENTS = ["README.md", "docs/c_api.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_c_program(request, tmp_path, document):
    """Compiles as C99, runs against the library beside the tool, prints and returns 0."""
    build = request.config.getoption("--tool").resolve().parent
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    programs = re.findall(re.escape(MARK) + r"```c\n(.*?)```", text, re.DOTALL)
    assert programs, f"{document} has no marked program"
    for program in programs:
        (tmp_path / "program.c").write_text(program)
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I",
                        REPOSITORY / "include", "program.c", "-o", "program", "-L", build,
                        "-ltilescan", f"-Wl,-rpath,{build}"], cwd=tmp_path, check=True)
        done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() and "nan" not in done.stdout


@pytest.mark.parametrize("command", ["plan", "run"])
def test_documented_flags_exist(tilescan, command):
    """Every flag that docs/cli.md names under a command is in that command's help."""
    text = (REPOSITORY / "docs/cli.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {command}\n(.*?)(?=^## )", text, re.DOTALL | re.MULTILINE).group(1)
    flags = set(re.findall(r"(--[a-z][a-z-]*)", section))
    assert flags
    stdout = tilescan(command, "--help").stdout
    assert {flag for flag in flags if flag not in stdout} == set()
