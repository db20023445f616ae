"""As the public module mamba_ssm.ops.triton.ssd_combined (state-spaces/mamba 2.3.2)."""

from __future__ import annotations

import math
import typing

import torch

import tilescan.torch
from tilescan.errors import InvalidArgument

__all__ = ["mamba_chunk_scan_combined"]


def mamba_chunk_scan_combined(x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor,
                              C: torch.Tensor, chunk_size: int, D: torch.Tensor | None = None,
                              z: torch.Tensor | None = None, dt_bias: torch.Tensor | None = None,
                              initial_states: torch.Tensor | None = None,
                              seq_idx: torch.Tensor | None = None,
                              cu_seqlens: torch.Tensor | None = None, dt_softplus: bool = False,
                              dt_limit: tuple[float, float] = (0.0, math.inf),
                              return_final_states: bool = False,
                              return_varlen_states: bool = False,
                              state_dtype: torch.dtype | None = None) -> typing.Any:
    """The scan over whole sequences.

    Args:
        x: (batch, seqlen, nheads, headdim).
        dt: (batch, seqlen, nheads).
        A: (nheads).
        B, C: (batch, seqlen, ngroups, dstate).
        chunk_size: 1 or more. The kernel chooses its own: results depend on it by rounding only.
        D: (nheads, headdim) or (nheads).
        z: as x.
        dt_bias: (nheads).
        initial_states: (batch, nheads, headdim, dstate). With seq_idx, for rows that begin with id 0.
        seq_idx: (batch, seqlen) of any integers: the state does not cross a change of id.
        cu_seqlens: (num_seqs + 1), with batch 1: only says which states return_varlen_states means;
            what keeps sequences apart in out is seq_idx.
        dt_softplus, dt_limit: as in tilescan.scan().
        state_dtype: without effect; states are fp32.

    Returns:
        out | (out, final_states) | (out, varlen_states) | (out, final_states, varlen_states), with
        final_states (batch, nheads, headdim, dstate) fp32, and varlen_states (num_seqs, nheads,
        headdim, dstate) in C's dtype: the state at the end of each sequence, begun from zero, or from
        initial_states for the first.

    Raises:
        tilescan.InvalidArgument: an operand is wrong. tilescan.Unsupported: when a gradient is asked
            for.
    """
    if chunk_size < 1:
        raise InvalidArgument(
            f"mamba_chunk_scan_combined: chunk_size is {chunk_size}, expected 1 or more")
    if return_varlen_states and cu_seqlens is None:
        raise InvalidArgument("mamba_chunk_scan_combined: cu_seqlens is None, expected the bounds of "
                              "sequences because return_varlen_states is True")
    states_of_varlen = C.dtype
    if B.dtype != C.dtype or B.dtype not in (x.dtype, torch.float32):
        B, C = B.float(), C.float()
    if seq_idx is not None and seq_idx.dim() == 2:  # else the operator says what is wrong
        if initial_states is not None and seq_idx.shape[1] > 0:
            begins_with_zero = (seq_idx[:, 0] == 0)[:, None, None, None]
            initial_states = torch.where(begins_with_zero, initial_states, 0)
        # Any integer is an id here; in tilescan.scan() negative ones are padding.
        is_change = seq_idx[:, 1:] != seq_idx[:, :-1]
        seq_idx = torch.nn.functional.pad(is_change.cumsum(1), (1, 0)).to(torch.int32)
    options = dict(D=D, z=z, dt_bias=dt_bias, dt_softplus=dt_softplus, dt_limit=tuple(dt_limit))
    results = tilescan.torch.scan(
        x, dt, A, B, C, initial_states=initial_states, seq_idx=seq_idx,
        return_final_states=return_final_states, state_dtype=torch.float32, **options)
    if not return_varlen_states:
        return results
    varlen_states = tilescan.torch.scan(
        x, dt, A, B, C, initial_states=_first_of(initial_states, cu_seqlens),
        cu_seqlens=cu_seqlens, return_final_states=True, state_dtype=states_of_varlen,
        **options)[1]
    return (*results, varlen_states) if return_final_states else (results, varlen_states)


def _first_of(initial_states: torch.Tensor | None,
              cu_seqlens: torch.Tensor | None) -> torch.Tensor | None:
    """A row's initial state as that of the first of the sequences packed in it."""
    if initial_states is None or cu_seqlens is None:
        return None
    num_rest = max(cu_seqlens.shape[0] - 1 - initial_states.shape[0], 0)
    rest = initial_states.new_zeros(num_rest, *initial_states.shape[1:])
    return torch.cat([initial_states, rest])
