"""The tool under test and a way to run it.

Needs the built tool and nothing beyond pytest and the standard library:
  python3 -m pytest tests/cli --tool build/release/tilescan
"""

import dataclasses
import json
import pathlib
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--tool", type=pathlib.Path,
                     default=REPOSITORY / "build" / "release" / "tilescan",
                     help="the program to test (default: build/release/tilescan)")


@dataclasses.dataclass
class Result:
    """What a command returned and printed."""

    code: int
    stdout: str
    stderr: str

    def json(self):
        return json.loads(self.stdout)


@pytest.fixture
def tilescan(request, tmp_path):
    """Runs the tool in an empty folder: tilescan("plan", "--nheads", 8, code=2) -> Result."""
    tool = request.config.getoption("--tool").resolve()
    if not tool.is_file():
        raise FileNotFoundError(f"no program at {tool}: build it, or give --tool")

    def run(*arguments, code=0):
        done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, timeout=300, check=False)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        for line in done.stderr.splitlines():
            assert line.startswith("tilescan: "), f"unexpected on stderr: {line}"
        return Result(done.returncode, done.stdout, done.stderr)

    return run
