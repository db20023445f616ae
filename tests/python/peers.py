"""The public implementations that tilescan is compared with, loaded from their own packages."""

import contextlib
import dataclasses
import importlib.util
import pathlib
import sys
import types
import unittest.mock

import torch
from transformers.models.mamba2 import modeling_mamba2

# What the two files of mamba_ssm import for their CUDA kernels, which are not called here.
_CUDA_ONLY = ("triton", "triton.language", "mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton",
              "mamba_ssm.ops.triton.softplus", "mamba_ssm.ops.triton.ssd_combined")


def _load_from_mamba_ssm(path_in_package: str) -> types.ModuleType:
    """Runs one file of the installed package without the package's own imports."""
    package = importlib.util.find_spec("mamba_ssm")
    if package is None:
        raise ModuleNotFoundError("mamba_ssm is not installed: run tests/python/install.sh")
    path = pathlib.Path(package.origin).parent / path_in_package
    spec = importlib.util.spec_from_file_location(f"mamba_ssm_file_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    stand_ins = {name: unittest.mock.MagicMock(name=name) for name in _CUDA_ONLY}
    with unittest.mock.patch.dict(sys.modules, stand_ins):
        spec.loader.exec_module(module)
    return module


# (X, A, B, C, block_len, initial_states) -> (Y, final_state); X is x * dt, A is A * dt.
ssd_minimal_discrete = _load_from_mamba_ssm("modules/ssd_minimal.py").ssd_minimal_discrete
# (state, x, dt, A, B, C, D, z, dt_bias, dt_softplus) -> out; state is updated in place.
selective_state_update_ref = _load_from_mamba_ssm(
    "ops/triton/selective_state_update.py").selective_state_update_ref

# transformers' plain PyTorch functions, whatever kernels it would pick by itself.
mamba2_chunk_scan = modeling_mamba2.mamba2_chunk_scan.__wrapped__
mamba2_selective_state_update = modeling_mamba2.mamba2_selective_state_update.__wrapped__


@contextlib.contextmanager
def float64_arithmetic():
    """Lets transformers' functions compute in float64: their casts to fp32 become no casts."""
    with unittest.mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        yield


def to_double(arguments: dict) -> dict:
    """The same arguments with every floating tensor in float64."""
    return {name: value.double() if _is_floating(value) else value
            for name, value in arguments.items()}


def _is_floating(value) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


@dataclasses.dataclass(frozen=True)
class Call:
    """One call that a model made: its arguments before it, and what it returned."""

    function: str
    arguments: dict
    result: object
    state_after: torch.Tensor | None  # of the decoding step, which updates its state in place


@contextlib.contextmanager
def recorded_calls(model: torch.nn.Module):
    """Yields a list that receives the scans and decoding steps of a transformers Mamba-2 model.

    The calls are passed on to the plain PyTorch functions, so the model computes as it would.
    """
    if not any(isinstance(module, modeling_mamba2.Mamba2Mixer) for module in model.modules()):
        raise TypeError("expected a model with Mamba-2 layers")
    calls = []

    def record_scan(x, dt, A, B, C, **kwargs):
        arguments = _copied(dict(kwargs, hidden_states=x, dt=dt, A=A, B=B, C=C))
        result = mamba2_chunk_scan(x, dt, A, B, C, **kwargs)
        calls.append(Call("scan_forward", arguments, result, None))
        return result

    def record_step(state, x, dt, A, B, C, D=None, **kwargs):
        arguments = _copied(dict(kwargs, hidden_states=x, dt=dt, A=A, B=B, C=C, D=D, state=state))
        result = mamba2_selective_state_update(state, x, dt, A, B, C, D, **kwargs)
        calls.append(Call("state_update", arguments, result, state.clone()))
        return result

    with unittest.mock.patch.multiple(modeling_mamba2, mamba2_chunk_scan=record_scan,
                                      mamba2_selective_state_update=record_step):
        yield calls


def _copied(arguments: dict) -> dict:
    """Only what a later call may change is copied: the views keep their strides."""
    return {name: value.clone() if name in ("state", "initial_states") and value is not None
            else value for name, value in arguments.items()}
