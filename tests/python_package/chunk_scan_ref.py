"""mamba_ssm's references from its installed package, without its CUDA kernels."""

import collections
import functools
import importlib.util
import pathlib
import sys
import unittest.mock

import peers  # noqa: F401  its import says if mamba_ssm is not there
from layer_refs import conv_ref

_FILES = {"chunk_scan_ref": "ssd_chunk_scan", "chunk_state_ref": "ssd_chunk_state",
          "state_passing_ref": "ssd_state_passing"}


class _StandIns(dict):
    """A module for each name that these files import for kernels, which are not called here."""

    NAMES = ("triton", "triton.language", "causal_conv1d", "causal_conv1d.cpp_functions",
             "mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.utils",
             "mamba_ssm.utils.torch", "mamba_ssm.utils.determinism",
             *(f"mamba_ssm.ops.triton.{name}" for name in (
                 "softplus", "ssd_bmm", "ssd_chunk_state", "ssd_state_passing", "ssd_chunk_scan",
                 "layer_norm", "layernorm_gated", "k_activations")),
             "mamba_ssm.ops.selective_scan_interface", "selective_scan_cuda")

    def __init__(self):
        super().__init__((name, unittest.mock.MagicMock(name=name)) for name in self.NAMES)
        triton = self["triton"]
        triton.__version__ = "3.0.0"
        # A file looks at its kernels' block sizes when it is imported.
        config = unittest.mock.MagicMock(kwargs=collections.defaultdict(lambda: 16))
        triton.autotune.return_value.return_value.configs = [config]


def _load(name: str, folder: str = "ops/triton"):
    package = importlib.util.find_spec("mamba_ssm")
    path = pathlib.Path(package.origin).parent / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"mamba_ssm_file_{name}", path)
    module = importlib.util.module_from_spec(spec)
    with unittest.mock.patch.dict(sys.modules, _StandIns()):
        spec.loader.exec_module(module)
    return module


_combined = _load("ssd_combined")
for _function, _file in _FILES.items():
    setattr(_combined, _function, getattr(_load(_file), _function))

_selective_scan_ref = _load("selective_scan_interface", "ops").selective_scan_ref

# (x, dt, A, B, C, chunk_size, D, z, dt_bias, dt_softplus) -> out
ssd_chunk_scan_combined_ref = _combined.ssd_chunk_scan_combined_ref
# (x, weight, bias, z, eps, group_size, norm_before_gate) -> out
rms_norm_ref = _load("layernorm_gated").rms_norm_ref


def _conv(x, weight, bias=None, activation=None):
    return conv_ref(x, weight, bias, activation=activation)[0]


def _scan(x, dt, A, *operands, **options):
    # The caller rounds A to fp32, in which the tests' is exact.
    return _selective_scan_ref(x, dt, A.to(x.dtype), *operands, **options)


def mamba_split_conv1d_scan_ref(zxbcdt, conv1d_weight, conv1d_bias, dt_bias, A, D, chunk_size, *,
                                ngroups=1, rmsnorm_weight=None, **options):
    """mamba_ssm's reference of a layer on its references of the parts. It has one norm over all
    channels; the operator, and so this, a norm of each group."""
    stand_ins = _StandIns()
    stand_ins["mamba_ssm.ops.selective_scan_interface"].selective_scan_fn = _scan
    group_size = None if rmsnorm_weight is None else len(rmsnorm_weight) // ngroups
    norm = functools.partial(rms_norm_ref, group_size=group_size)
    with (unittest.mock.patch.dict(sys.modules, stand_ins),
          unittest.mock.patch.multiple(_combined, causal_conv1d_fn=_conv, rmsnorm_fn=norm)):
        return _combined.mamba_split_conv1d_scan_ref(
            zxbcdt, conv1d_weight, conv1d_bias, dt_bias, A, D, chunk_size, ngroups=ngroups,
            rmsnorm_weight=rmsnorm_weight, **options)
