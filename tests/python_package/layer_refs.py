"""The causal convolution token by token, as causal_conv1d's causal_conv1d_ref and causal_conv1d_update_ref
define it (Dao-AILab/causal-conv1d 1.6.1; its package cannot be installed without CUDA). In the dtype of
the operands: the truth in float64, the peer of tests/python/accuracy.py in float32."""

import torch


def _activated(out: torch.Tensor, activation: str | None) -> torch.Tensor:
    return out if activation is None else out * torch.sigmoid(out)


def conv_ref(x, weight, bias=None, seq_idx=None, initial_states=None, activation=None):
    """x (batch, dim, seqlen); returns (out, final_states). With seq_idx a window has the tokens of its
    last one's id, and where an id is negative, out is 0."""
    batch, dim, seqlen = x.shape
    width = weight.shape[1]
    if initial_states is None:
        initial_states = x.new_zeros(batch, dim, width - 1)
    history = torch.cat([initial_states, x], dim=-1)
    out = torch.zeros_like(x)
    for t in range(seqlen):
        for i in range(width):
            term = weight[:, i] * history[:, :, t + i]
            before = t - (width - 1) + i
            if seq_idx is not None:
                is_same = seq_idx[:, before] == seq_idx[:, t] if before >= 0 else False
                term = torch.where(torch.as_tensor(is_same).reshape(-1, 1), term, 0)
            out[:, :, t] += term
    out = _activated(out if bias is None else out + bias[:, None], activation)
    if seq_idx is not None:
        out = torch.where((seq_idx < 0)[:, None], 0, out)
    return out, history[..., history.shape[-1] - (width - 1):]


def conv_update_ref(x, conv_state, weight, bias=None, cache_seqlens=None, activation=None):
    """x (batch, dim, seqlen); returns (out, the state after it)."""
    seqlen, state_len, width = x.shape[2], conv_state.shape[2], weight.shape[1]
    state = conv_state.clone()
    # The number of each row's first token; number n is at n % state_len of a circular buffer.
    first = torch.zeros(len(x), dtype=torch.int64) if cache_seqlens is None else cache_seqlens.long()
    tokens = [{} for _ in x]  # of each row, by number
    for b, known in enumerate(tokens):
        for back in range(1, width):
            place = -back if cache_seqlens is None else (int(first[b]) - back) % state_len
            known[int(first[b]) - back] = conv_state[b, :, place]
        for i in range(seqlen):
            known[int(first[b]) + i] = x[b, :, i]
            if cache_seqlens is None:
                state[b] = torch.cat([state[b, :, 1:], x[b, :, i:i + 1]], dim=-1)
            else:
                state[b, :, (int(first[b]) + i) % state_len] = x[b, :, i]
    out = torch.zeros_like(x)
    for b, known in enumerate(tokens):
        for i in range(seqlen):
            for tap in range(width):
                out[b, :, i] += weight[:, tap] * known[int(first[b]) + i - (width - 1) + tap]
    return _activated(out if bias is None else out + bias[:, None], activation), state
