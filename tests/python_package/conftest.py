"""Tests of the installed Python package: run them in an environment that has it."""

import pathlib
import sys

import tilescan

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# accuracy, peers, problems; tilescan_ctypes is what engines there would want.
sys.path[:0] = [str(REPOSITORY / "tests" / "python"), str(REPOSITORY / "testing")]


def pytest_report_header():
    return f"tilescan {tilescan.__version__} of {pathlib.Path(tilescan.__file__).parent}"


def pytest_addoption(parser):
    parser.addoption("--wheel", type=pathlib.Path, required=True,
                     help="the wheel that the package was installed from")
