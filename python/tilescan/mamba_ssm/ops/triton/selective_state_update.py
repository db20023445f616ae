"""As the public module mamba_ssm.ops.triton.selective_state_update (state-spaces/mamba 2.3.2)."""

from __future__ import annotations

import math

import torch

import tilescan.torch

__all__ = ["selective_state_update"]


def _with_heads(tensor: torch.Tensor | None, ndim: int, dim: int) -> torch.Tensor | None:
    """A view with the dimension of heads, of size 1, where the form without heads has none."""
    if tensor is None or tensor.dim() != ndim:
        return tensor
    return tensor.unsqueeze(dim)


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
    out = tilescan.torch.state_update(
        _with_heads(state, 3, 1), _with_heads(x, 2, 1), _with_heads(dt, 2, 1),
        _with_heads(A, 2, 0), _with_heads(B, 2, 1), _with_heads(C, 2, 1),
        D=_with_heads(D, 1, 0), z=_with_heads(z, 2, 1), dt_bias=_with_heads(dt_bias, 1, 0),
        dt_softplus=dt_softplus, dt_limit=(-math.inf, math.inf),
        state_batch_indices=state_batch_indices)
    return out if has_heads else out.squeeze(1)
