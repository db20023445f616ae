"""A Mamba-2 layer between its projections as a torch operator; tilescan.torch has it."""

from __future__ import annotations

import typing

import torch

from tilescan import _tilescan
from tilescan._dispatch import is_kernel_alone, num_threads_for
from tilescan._gradients import refuse_backward

_library = torch.library.Library("tilescan", "FRAGMENT")
_library.define(
    "split_conv1d_scan_forward(Tensor zxbcdt, Tensor conv1d_weight, Tensor A, "
    "Tensor? conv1d_bias=None, Tensor? dt_bias=None, Tensor? D=None, "
    "Tensor? rmsnorm_weight=None, Tensor? initial_states=None, "
    "Tensor? conv_initial_states=None, Tensor? seq_idx=None, Tensor? cu_seqlens=None, *, "
    "int ngroups=1, int group_size=0, float? rmsnorm_eps=None, bool norm_before_gate=False, "
    "str? activation=None, bool dt_softplus=False, float[]? dt_limit=None, str? backend=None, "
    "str? kernel=None, str? instruction_set=None, int chunk_size=0, int num_threads=0, "
    "bool check_indices=False, bool return_final_states=False, ScalarType? state_dtype=None, "
    "bool return_conv_final_states=False) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))


def _run(zxbcdt, conv1d_weight, A, conv1d_bias=None, dt_bias=None, D=None, rmsnorm_weight=None,
         initial_states=None, conv_initial_states=None, seq_idx=None, cu_seqlens=None, *, ngroups=1,
         group_size=0, rmsnorm_eps=None, norm_before_gate=False, activation=None,
         dt_softplus=False, dt_limit=None, backend=None, kernel=None, instruction_set=None,
         chunk_size=0, num_threads=0, check_indices=False, return_final_states=False,
         state_dtype=None, return_conv_final_states=False):
    return _tilescan.split_conv1d_scan_below_autograd(
        zxbcdt, conv1d_weight, A, conv1d_bias, dt_bias, D, rmsnorm_weight, initial_states,
        conv_initial_states, seq_idx, cu_seqlens, None, None, None, ngroups, group_size,
        rmsnorm_eps, norm_before_gate, activation, dt_softplus, dt_limit, backend, kernel,
        instruction_set, chunk_size, num_threads_for(zxbcdt, num_threads), check_indices, None,
        return_final_states, state_dtype, return_conv_final_states)


def _split_conv1d_scan_forward(zxbcdt, *operands, return_final_states=False,
                               return_conv_final_states=False, **options):
    outputs = _run(zxbcdt, *operands, return_final_states=return_final_states,
                   return_conv_final_states=return_conv_final_states, **options)
    # An operator always has all its outputs: those not asked for are empty.
    out, *rest = outputs if isinstance(outputs, tuple) else (outputs,)
    rest = iter(rest)
    return (out, next(rest) if return_final_states else zxbcdt.new_empty(0),
            next(rest) if return_conv_final_states else zxbcdt.new_empty(0))


for _device in ("CPU", "CUDA"):
    _library.impl("split_conv1d_scan_forward", _split_conv1d_scan_forward, _device)


@torch.library.register_fake("tilescan::split_conv1d_scan_forward", lib=_library)
def _split_conv1d_scan_forward_shapes(zxbcdt, conv1d_weight, A, conv1d_bias=None, dt_bias=None,
                                      D=None, rmsnorm_weight=None, initial_states=None,
                                      conv_initial_states=None, seq_idx=None, cu_seqlens=None, *,
                                      ngroups=1, return_final_states=False, state_dtype=None,
                                      return_conv_final_states=False, **_):
    batch, seqlen, num_columns = zxbcdt.shape
    (conv_dim, width), (nheads,) = conv1d_weight.shape, A.shape
    dim = num_columns - conv_dim - nheads
    num_seqs = batch if cu_seqlens is None else cu_seqlens.shape[0] - 1
    final_states, conv_final_states = zxbcdt.new_empty(0), zxbcdt.new_empty(0)
    if return_final_states:
        if state_dtype is None:
            state_dtype = torch.float64 if zxbcdt.dtype == torch.float64 else torch.float32
        dstate = (conv_dim - dim) // (2 * ngroups)
        final_states = zxbcdt.new_empty((num_seqs, nheads, dim // nheads, dstate),
                                        dtype=state_dtype)
    if return_conv_final_states:
        conv_final_states = zxbcdt.new_empty((num_seqs, conv_dim, width - 1))
    return zxbcdt.new_empty((batch, seqlen, dim)), final_states, conv_final_states


torch.library.register_autograd(
    "tilescan::split_conv1d_scan_forward",
    lambda ctx, *_: refuse_backward("split_conv1d_scan_forward"), lib=_library)


def split_conv1d_scan(zxbcdt: torch.Tensor, conv1d_weight: torch.Tensor, A: torch.Tensor, *,
                      conv1d_bias: torch.Tensor | None = None,
                      dt_bias: torch.Tensor | None = None, D: torch.Tensor | None = None,
                      rmsnorm_weight: torch.Tensor | None = None,
                      initial_states: torch.Tensor | None = None,
                      conv_initial_states: torch.Tensor | None = None,
                      seq_idx: torch.Tensor | None = None,
                      cu_seqlens: torch.Tensor | None = None, ngroups: int = 1,
                      group_size: int = 0, rmsnorm_eps: float | None = None,
                      norm_before_gate: bool = False, activation: str | None = None,
                      dt_softplus: bool = False, dt_limit: tuple[float, float] | None = None,
                      backend: str | None = None, kernel: str | None = None,
                      instruction_set: str | None = None, chunk_size: int = 0,
                      num_threads: int = 0, check_indices: bool = False,
                      return_final_states: bool = False, state_dtype: torch.dtype | None = None,
                      return_conv_final_states: bool = False) -> typing.Any:
    """tilescan.split_conv1d_scan() as a torch operator: the same operands, options, returns and
    errors, without outputs to write to and without stream (torch's current one is used)."""
    operands = (zxbcdt, conv1d_weight, A, conv1d_bias, dt_bias, D, rmsnorm_weight, initial_states,
                conv_initial_states, seq_idx, cu_seqlens)
    options = dict(
        ngroups=ngroups, group_size=group_size, rmsnorm_eps=rmsnorm_eps,
        norm_before_gate=norm_before_gate, activation=activation, dt_softplus=dt_softplus,
        dt_limit=dt_limit, backend=backend, kernel=kernel, instruction_set=instruction_set,
        chunk_size=chunk_size, num_threads=num_threads, check_indices=check_indices,
        return_final_states=return_final_states, state_dtype=state_dtype,
        return_conv_final_states=return_conv_final_states)
    if is_kernel_alone(*operands):
        return _run(*operands, **options)
    out, final_states, conv_final_states = torch.ops.tilescan.split_conv1d_scan_forward(
        *operands, **options)
    outputs = (out, *((final_states,) if return_final_states else ()),
               *((conv_final_states,) if return_conv_final_states else ()))
    return outputs if len(outputs) > 1 else out
