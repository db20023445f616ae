"""The Mamba-2 recurrence (state-space duality) on CPUs and GPUs.

    out, final_states = tilescan.scan(x, dt, A, B, C, return_final_states=True)
    out = tilescan.state_update(state, x, dt, A, B, C)

and what a Mamba-2 layer has around them, causal_conv1d_forward(), causal_conv1d_update() and
rms_norm_gated(), and all of it for whole sequences, split_conv1d_scan(), take arrays of NumPy, torch, CuPy or
JAX. tilescan.torch has the same as torch operators;
tilescan.mamba_ssm and tilescan.causal_conv1d have those of the public packages of these names, in whose
place patch() puts them.
"""

from tilescan._patch import patch, unpatch
from tilescan._tilescan import (__version__, causal_conv1d_forward, causal_conv1d_update, info, plan,
                                prepare, rms_norm_gated, scan, split_conv1d_scan, state_update)
from tilescan.errors import Error, InternalError, InvalidArgument, OutOfMemory, Unsupported

__all__ = ["Error", "InternalError", "InvalidArgument", "OutOfMemory", "Unsupported", "__version__",
           "causal_conv1d_forward", "causal_conv1d_update", "info", "patch", "plan", "prepare",
           "rms_norm_gated", "scan", "split_conv1d_scan", "state_update", "unpatch"]
