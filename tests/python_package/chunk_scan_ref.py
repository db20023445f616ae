"""mamba_ssm's ssd_chunk_scan_combined_ref from its installed package, without its CUDA kernels."""

import collections
import importlib.util
import pathlib
import sys
import unittest.mock

import peers  # noqa: F401  its import says if mamba_ssm is not there

_FILES = {"chunk_scan_ref": "ssd_chunk_scan", "chunk_state_ref": "ssd_chunk_state",
          "state_passing_ref": "ssd_state_passing"}


class _StandIns(dict):
    """A module for each name that these files import for kernels, which are not called here."""

    NAMES = ("triton", "triton.language", "causal_conv1d", "causal_conv1d.cpp_functions",
             "mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.utils",
             "mamba_ssm.utils.torch", "mamba_ssm.utils.determinism",
             *(f"mamba_ssm.ops.triton.{name}" for name in (
                 "softplus", "ssd_bmm", "ssd_chunk_state", "ssd_state_passing", "ssd_chunk_scan",
                 "layernorm_gated", "k_activations")))

    def __init__(self):
        super().__init__((name, unittest.mock.MagicMock(name=name)) for name in self.NAMES)
        triton = self["triton"]
        triton.__version__ = "3.0.0"
        # A file looks at its kernels' block sizes when it is imported.
        config = unittest.mock.MagicMock(kwargs=collections.defaultdict(lambda: 16))
        triton.autotune.return_value.return_value.configs = [config]


def _load(name: str):
    package = importlib.util.find_spec("mamba_ssm")
    path = pathlib.Path(package.origin).parent / "ops" / "triton" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"mamba_ssm_file_{name}", path)
    module = importlib.util.module_from_spec(spec)
    with unittest.mock.patch.dict(sys.modules, _StandIns()):
        spec.loader.exec_module(module)
    return module


_combined = _load("ssd_combined")
for _function, _file in _FILES.items():
    setattr(_combined, _function, getattr(_load(_file), _function))

# (x, dt, A, B, C, chunk_size, D, z, dt_bias, dt_softplus) -> out
ssd_chunk_scan_combined_ref = _combined.ssd_chunk_scan_combined_ref
