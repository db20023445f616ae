"""The operations around the scan as torch operators; tilescan.torch has them."""

from __future__ import annotations

import typing

import torch

from tilescan import _tilescan
from tilescan._dispatch import is_kernel_alone, num_threads_for
from tilescan._gradients import refuse_backward, without_backward

_OPTIONS = "str? backend=None, str? kernel=None, str? instruction_set=None, int num_threads=0"
_CHECK = "bool check_indices=False"
_TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order)
_library = torch.library.Library("tilescan", "FRAGMENT")
_library.define(
    "causal_conv1d_forward(Tensor x, Tensor weight, Tensor? bias=None, "
    "Tensor? initial_states=None, Tensor? seq_idx=None, Tensor? cu_seqlens=None, *, "
    f"str? activation=None, {_OPTIONS}, {_CHECK}, bool return_final_states=False, "
    "ScalarType? state_dtype=None) -> (Tensor, Tensor)", tags=_TAGS)
_library.define(
    "causal_conv1d_update(Tensor(a!) conv_state, Tensor x, Tensor weight, Tensor? bias=None, "
    "Tensor? conv_state_indices=None, Tensor? cache_seqlens=None, *, str? activation=None, "
    f"{_OPTIONS}, {_CHECK}) -> Tensor", tags=_TAGS)
_library.define(
    "rms_norm_gated_forward(Tensor x, Tensor weight, Tensor? bias=None, Tensor? z=None, *, "
    f"int group_size=0, float? eps=None, bool norm_before_gate=False, {_OPTIONS}) -> Tensor",
    tags=_TAGS)


# ---- Kernels -----------------------------------------------------------------------------------

def _convolve(x, weight, bias=None, initial_states=None, seq_idx=None, cu_seqlens=None, *,
              activation=None, backend=None, kernel=None, instruction_set=None, num_threads=0,
              check_indices=False, return_final_states=False, state_dtype=None):
    # In x's layout, whose two are channels side by side and tokens side by side.
    return _tilescan.causal_conv1d_forward_below_autograd(
        x, weight, bias, initial_states, seq_idx, cu_seqlens, torch.empty_like(x), None, activation,
        backend, kernel, instruction_set, num_threads_for(x, num_threads), check_indices, None,
        return_final_states, state_dtype)


def _causal_conv1d_forward(x, *operands, return_final_states=False, **options):
    outputs = _convolve(x, *operands, return_final_states=return_final_states, **options)
    return outputs if return_final_states else (outputs, x.new_empty(0))


def _causal_conv1d_update(conv_state, x, weight, bias=None, conv_state_indices=None,
                          cache_seqlens=None, *, activation=None, backend=None, kernel=None,
                          instruction_set=None, num_threads=0, check_indices=False):
    out = _tilescan.causal_conv1d_update_below_autograd(
        conv_state, x, weight, bias, conv_state_indices, cache_seqlens, torch.empty_like(x),
        activation, backend, kernel, instruction_set, num_threads_for(x, num_threads),
        check_indices)
    torch.autograd.graph.increment_version(conv_state)
    return out


def _rms_norm_gated_forward(x, weight, bias=None, z=None, *, group_size=0, eps=None,
                            norm_before_gate=False, backend=None, kernel=None,
                            instruction_set=None, num_threads=0):
    return _tilescan.rms_norm_gated_below_autograd(
        x, weight, bias, z, None, group_size, eps, norm_before_gate, backend, kernel,
        instruction_set, num_threads_for(x, num_threads))


for _device in ("CPU", "CUDA"):
    _library.impl("causal_conv1d_forward", _causal_conv1d_forward, _device)
    _library.impl("causal_conv1d_update", _causal_conv1d_update, _device)
    _library.impl("rms_norm_gated_forward", _rms_norm_gated_forward, _device)


# ---- Shapes ------------------------------------------------------------------------------------

@torch.library.register_fake("tilescan::causal_conv1d_forward", lib=_library)
def _causal_conv1d_forward_shapes(x, weight, bias=None, initial_states=None, seq_idx=None,
                                  cu_seqlens=None, *, return_final_states=False, state_dtype=None,
                                  **_):
    if not return_final_states:
        return torch.empty_like(x), x.new_empty(0)
    batch, _, dim = x.shape
    num_seqs = batch if cu_seqlens is None else cu_seqlens.shape[0] - 1
    final_states = x.new_empty((num_seqs, dim, weight.shape[1] - 1), dtype=state_dtype or x.dtype)
    return torch.empty_like(x), final_states


@torch.library.register_fake("tilescan::causal_conv1d_update", lib=_library)
def _causal_conv1d_update_shapes(conv_state, x, *_, **__):
    return torch.empty_like(x)


@torch.library.register_fake("tilescan::rms_norm_gated_forward", lib=_library)
def _rms_norm_gated_forward_shapes(x, *_, **__):
    return x.new_empty(x.shape)


# ---- Gradients ---------------------------------------------------------------------------------

torch.library.register_autograd(
    "tilescan::causal_conv1d_forward", lambda ctx, *_: refuse_backward("causal_conv1d_forward"),
    lib=_library)
torch.library.register_autograd(
    "tilescan::rms_norm_gated_forward", lambda ctx, *_: refuse_backward("rms_norm_gated_forward"),
    lib=_library)


# ---- Functions ---------------------------------------------------------------------------------

def causal_conv1d_forward(x: torch.Tensor, weight: torch.Tensor, *,
                          bias: torch.Tensor | None = None,
                          initial_states: torch.Tensor | None = None,
                          seq_idx: torch.Tensor | None = None,
                          cu_seqlens: torch.Tensor | None = None, activation: str | None = None,
                          backend: str | None = None, kernel: str | None = None,
                          instruction_set: str | None = None, num_threads: int = 0,
                          check_indices: bool = False, return_final_states: bool = False,
                          state_dtype: torch.dtype | None = None) -> typing.Any:
    """tilescan.causal_conv1d_forward() as a torch operator: the same operands, options, returns and
    errors, without outputs to write to and without stream (torch's current one is used). out has x's
    layout, as torch.empty_like(x)."""
    options = dict(activation=activation, backend=backend, kernel=kernel,
                   instruction_set=instruction_set, num_threads=num_threads,
                   check_indices=check_indices, return_final_states=return_final_states,
                   state_dtype=state_dtype)
    operands = (x, weight, bias, initial_states, seq_idx, cu_seqlens)
    if is_kernel_alone(*operands):
        return _convolve(*operands, **options)
    out, final_states = torch.ops.tilescan.causal_conv1d_forward(*operands, **options)
    return (out, final_states) if return_final_states else out


def causal_conv1d_update(conv_state: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *,
                         bias: torch.Tensor | None = None,
                         conv_state_indices: torch.Tensor | None = None,
                         cache_seqlens: torch.Tensor | None = None, activation: str | None = None,
                         backend: str | None = None, kernel: str | None = None,
                         instruction_set: str | None = None, num_threads: int = 0,
                         check_indices: bool = False) -> torch.Tensor:
    """tilescan.causal_conv1d_update() as a torch operator: the same operands, options, returns and
    errors, without out= and without stream (torch's current one is used). out has x's layout, as
    torch.empty_like(x)."""
    options = dict(activation=activation, backend=backend, kernel=kernel,
                   instruction_set=instruction_set, num_threads=num_threads,
                   check_indices=check_indices)
    operands = (conv_state, x, weight, bias, conv_state_indices, cache_seqlens)
    if is_kernel_alone(*operands):
        return _causal_conv1d_update(*operands, **options)
    out = torch.ops.tilescan.causal_conv1d_update(*operands, **options)
    return without_backward("causal_conv1d_update", out, (conv_state, x, weight, bias))


def rms_norm_gated(x: torch.Tensor, weight: torch.Tensor, *, bias: torch.Tensor | None = None,
                   z: torch.Tensor | None = None, group_size: int = 0, eps: float | None = None,
                   norm_before_gate: bool = False, backend: str | None = None,
                   kernel: str | None = None, instruction_set: str | None = None,
                   num_threads: int = 0) -> torch.Tensor:
    """tilescan.rms_norm_gated() as a torch operator: the same operands, options, returns and errors,
    without out= and without stream (torch's current one is used)."""
    run = (_rms_norm_gated_forward if is_kernel_alone(x, weight, bias, z)
           else torch.ops.tilescan.rms_norm_gated_forward)
    return run(
        x, weight, bias, z, group_size=group_size, eps=eps, norm_before_gate=norm_before_gate,
        backend=backend, kernel=kernel, instruction_set=instruction_set, num_threads=num_threads)
