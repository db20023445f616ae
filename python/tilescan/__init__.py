"""The Mamba-2 recurrence (state-space duality) on CPUs and GPUs.

    out, final_states = tilescan.scan(x, dt, A, B, C, return_final_states=True)
    out = tilescan.state_update(state, x, dt, A, B, C)

take arrays of NumPy, torch, CuPy or JAX. tilescan.torch has the same as torch operators, and
tilescan.mamba_ssm those of the package mamba_ssm, which patch() puts in its place.
"""

from tilescan._patch import patch, unpatch
from tilescan._tilescan import __version__, info, plan, prepare, scan, state_update
from tilescan.errors import Error, InternalError, InvalidArgument, OutOfMemory, Unsupported

__all__ = ["Error", "InternalError", "InvalidArgument", "OutOfMemory", "Unsupported", "__version__",
           "info", "patch", "plan", "prepare", "scan", "state_update", "unpatch"]
