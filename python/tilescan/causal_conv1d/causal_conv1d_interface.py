"""As the public module causal_conv1d.causal_conv1d_interface (Dao-AILab/causal-conv1d 1.6.1)."""

from __future__ import annotations

import typing

import torch

import tilescan.torch
from tilescan.errors import InvalidArgument

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]


def causal_conv1d_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
                     seq_idx: torch.Tensor | None = None,
                     initial_states: torch.Tensor | None = None, return_final_states: bool = False,
                     final_states_out: torch.Tensor | None = None,
                     activation: str | None = None) -> typing.Any:
    """A causal convolution of each channel by itself, over whole sequences.

    Args:
        x: (batch, dim, seqlen), in any strides.
        weight: (dim, width); width 2 to 4.
        bias: (dim).
        seq_idx: (batch, seqlen) int32: no window reaches across a change of id; where it is negative,
            out is 0.
        initial_states: (batch, dim, width - 1): the x of the tokens before the first.
        return_final_states: return the x of the last width - 1 tokens, too.
        final_states_out: (batch, dim, width - 1): where to write them. Without return_final_states it
            is not looked at.
        activation: "silu", "swish" or None.

    Returns:
        out | (out, final_states): out as x, in x's dtype and layout; final_states
        (batch, dim, width - 1) in x's dtype, or final_states_out.

    Raises:
        tilescan.InvalidArgument: an operand is wrong; the message has x as (batch, seqlen, dim).
        tilescan.Unsupported (a NotImplementedError): another activation, or when a gradient is asked
            for.
    """
    if x.dim() != 3:
        raise InvalidArgument(f"causal_conv1d_fn: x has shape {tuple(x.shape)}, expected "
                              "(batch, dim, seqlen)")
    _check_final_states_out(x, weight, final_states_out if return_final_states else None)
    results = tilescan.torch.causal_conv1d_forward(
        x.transpose(1, 2), weight, bias=bias, initial_states=initial_states, seq_idx=seq_idx,
        activation=activation, return_final_states=return_final_states)
    if not return_final_states:
        return results.transpose(1, 2)
    out, final_states = results
    if final_states_out is not None:
        final_states = final_states_out.copy_(final_states)
    return out.transpose(1, 2), final_states


def _check_final_states_out(x: torch.Tensor, weight: torch.Tensor,
                            final_states_out: torch.Tensor | None) -> None:
    expected = (*x.shape[:2], weight.shape[-1] - 1)
    if final_states_out is not None and final_states_out.shape != expected:
        raise InvalidArgument(
            f"causal_conv1d_fn: final_states_out has shape {tuple(final_states_out.shape)}, expected "
            f"{expected} because x is {tuple(x.shape)} and weight is {tuple(weight.shape)}")


def causal_conv1d_update(x: torch.Tensor, conv_state: torch.Tensor, weight: torch.Tensor,
                         bias: torch.Tensor | None = None, activation: str | None = None,
                         cache_seqlens: torch.Tensor | None = None,
                         conv_state_indices: torch.Tensor | None = None) -> torch.Tensor:
    """The causal convolution for the next token, or several, with conv_state updated in place.

    Args:
        x: (batch, dim) or (batch, dim, seqlen), in any strides.
        conv_state: (slots, dim, state_len), state_len >= width - 1: the tokens last seen, the oldest
            first; slots is batch without conv_state_indices.
        weight: (dim, width); width 2 to 4.
        bias: (dim).
        activation: "silu", "swish" or None.
        cache_seqlens: (batch) int32: conv_state is a circular buffer, and x is written to it from
            cache_seqlens % state_len on.
        conv_state_indices: (batch) int32 or int64: the slot of each row; a negative one is padding,
            where out is 0.

    Returns:
        out, as x, in x's dtype and layout.

    Raises:
        As causal_conv1d_fn().
    """
    has_tokens = x.dim() == 3
    out = tilescan.torch.causal_conv1d_update(
        conv_state, x.transpose(1, 2) if has_tokens else x, weight, bias=bias,
        conv_state_indices=conv_state_indices, cache_seqlens=cache_seqlens, activation=activation)
    return out.transpose(1, 2) if has_tokens else out
