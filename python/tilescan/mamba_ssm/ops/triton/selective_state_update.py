"""As the public module mamba_ssm.ops.triton.selective_state_update (state-spaces/mamba 2.3.2)."""

from __future__ import annotations

import math

import torch

import tilescan.torch

__all__ = ["selective_state_update"]

_NO_LIMIT = (-math.inf, math.inf)


def selective_state_update(state: torch.Tensor, x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor,
                           B: torch.Tensor, C: torch.Tensor, D: torch.Tensor | None = None,
                           z: torch.Tensor | None = None, dt_bias: torch.Tensor | None = None,
                           dt_softplus: bool = False,
                           state_batch_indices: torch.Tensor | None = None) -> torch.Tensor:
    """One decoding step, with the state updated in place.

    Args:
        state: (slots, dim, dstate) or (slots, nheads, dim, dstate); slots is batch without
            state_batch_indices.
        x: (batch, dim) or (batch, nheads, dim).
        dt: as x, expanded over dim with stride 0.
        A: (dim, dstate) or (nheads, dim, dstate), expanded over dim and dstate with stride 0.
        B, C: (batch, dstate) or (batch, ngroups, dstate).
        D: (dim) or (nheads, dim).
        z: as x.
        dt_bias: (dim) or (nheads, dim), expanded over dim with stride 0.
        dt_softplus: softplus of dt + dt_bias. dt is not clamped.
        state_batch_indices: (batch) int32 or int64; a negative one is padding, where out is 0.

    Returns:
        out, as x.

    Raises:
        tilescan.InvalidArgument: an operand is wrong; or a value per channel in A, dt or dt_bias,
            which is Mamba-1's. tilescan.Unsupported: when a gradient of out is asked for.
    """
    has_heads = state.dim() > 3
    # Each operand that has no dimension of heads gets one, of size 1.
    out = tilescan.torch.state_update(
        state if has_heads else state.unsqueeze(1),
        x.unsqueeze(1) if x.dim() == 2 else x,
        dt.unsqueeze(1) if dt.dim() == 2 else dt,
        A.unsqueeze(0) if A.dim() == 2 else A,
        B.unsqueeze(1) if B.dim() == 2 else B,
        C.unsqueeze(1) if C.dim() == 2 else C,
        D=D.unsqueeze(0) if D is not None and D.dim() == 1 else D,
        z=z.unsqueeze(1) if z is not None and z.dim() == 2 else z,
        dt_bias=dt_bias.unsqueeze(0) if dt_bias is not None and dt_bias.dim() == 1 else dt_bias,
        dt_softplus=dt_softplus, dt_limit=_NO_LIMIT, state_batch_indices=state_batch_indices)
    return out if has_heads else out.squeeze(1)
