"""Options, and the fixtures `engine` and `reference_engine`: a test runs once for each way in."""

import importlib.metadata
import pathlib
import sys

import torch

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "testing"))  # tilescan_ctypes

import engines  # noqa: E402


# The peers' tensors are small, and threads that wait for each other on a busy machine cost more.
torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption("--build-dir", type=pathlib.Path, default=REPOSITORY / "build" / "release",
                     help="folder with libtilescan.so and tilescan (default: build/release)")


def pytest_report_header(config):
    peers = ", ".join(f"{name} {importlib.metadata.version(name)}"
                      for name in ("mamba_ssm", "transformers", "torch"))
    return f"tilescan of {config.getoption('--build-dir')}; peers: {peers}"


def pytest_generate_tests(metafunc):
    chosen = {"engine": lambda engine: True,
              "reference_engine": lambda engine: engine.backend == "reference"}
    for fixture in chosen.keys() & set(metafunc.fixturenames):
        every = engines.all_engines(metafunc.config.getoption("--build-dir").resolve())
        params = [engine for engine in every if chosen[fixture](engine)]
        metafunc.parametrize(fixture, params, ids=[engine.name for engine in params])
