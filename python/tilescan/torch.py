"""The operations as torch operators: torch.ops.tilescan.scan_forward, .state_update,
.causal_conv1d_forward, .causal_conv1d_update, .rms_norm_gated_forward and .split_conv1d_scan_forward.

They work under torch.compile(fullgraph=True) and torch.export, run on torch's current stream, and take
memory from torch's allocator, so CUDA graphs capture them (after tilescan.prepare(), or one call).
num_threads=0 means torch.get_num_threads() here.
There is no backward yet: asking for a gradient raises tilescan.Unsupported.

Functions call the library without torch's dispatcher where it would do nothing else.
"""

from __future__ import annotations

import typing

import torch

from tilescan import _tilescan
from tilescan._dispatch import is_kernel_alone, num_threads_for
from tilescan._gradients import refuse_backward, without_backward
from tilescan._torch_layer import causal_conv1d_forward, causal_conv1d_update, rms_norm_gated
from tilescan._torch_split import split_conv1d_scan

__all__ = ["causal_conv1d_forward", "causal_conv1d_update", "rms_norm_gated", "scan",
           "split_conv1d_scan", "state_update"]

_OPTIONS = ("bool dt_softplus=False, float[]? dt_limit=None, str? backend=None, str? kernel=None, "
            "str? instruction_set=None, int num_threads=0, bool check_indices=False")
_library = torch.library.Library("tilescan", "DEF")
_library.define(
    "scan_forward(Tensor x, Tensor dt, Tensor A, Tensor B, Tensor C, Tensor? D=None, "
    "Tensor? z=None, Tensor? dt_bias=None, Tensor? initial_states=None, Tensor? seq_idx=None, "
    f"Tensor? cu_seqlens=None, *, {_OPTIONS}, int chunk_size=0, int states_every=0, "
    "bool return_final_states=False, ScalarType? state_dtype=None) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))
_library.define(
    "state_update(Tensor(a!) state, Tensor x, Tensor dt, Tensor A, Tensor B, Tensor C, "
    "Tensor? D=None, Tensor? z=None, Tensor? dt_bias=None, Tensor? state_batch_indices=None, "
    f"Tensor? fresh=None, Tensor? num_accepted=None, *, {_OPTIONS}) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_fixed_stride_order))


# ---- Kernels -----------------------------------------------------------------------------------

def _scan(x, dt, A, B, C, D=None, z=None, dt_bias=None, initial_states=None, seq_idx=None,
          cu_seqlens=None, *, dt_softplus=False, dt_limit=None, backend=None, kernel=None,
          instruction_set=None, num_threads=0, check_indices=False, chunk_size=0, states_every=0,
          return_final_states=False, state_dtype=None):
    return _tilescan.scan_below_autograd(
        x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens, None, None, None,
        dt_softplus, dt_limit, backend, kernel, instruction_set, chunk_size,
        num_threads_for(x, num_threads), check_indices, None, states_every,
        return_final_states, state_dtype)


def _scan_forward(x, *operands, states_every=0, return_final_states=False, **options):
    outputs = _scan(x, *operands, states_every=states_every,
                    return_final_states=return_final_states, **options)
    # An operator always has all its outputs: those not asked for are empty.
    rest = iter(outputs[1:] if isinstance(outputs, tuple) else ())
    return (outputs[0] if isinstance(outputs, tuple) else outputs,
            next(rest) if return_final_states else x.new_empty(0),
            next(rest) if states_every else x.new_empty(0))


def _state_update(state, x, dt, A, B, C, D=None, z=None, dt_bias=None, state_batch_indices=None,
                  fresh=None, num_accepted=None, *, dt_softplus=False, dt_limit=None, backend=None,
                  kernel=None, instruction_set=None, num_threads=0, check_indices=False):
    out = _tilescan.state_update_below_autograd(
        state, x, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh, num_accepted,
        None, dt_softplus, dt_limit, backend, kernel, instruction_set, 0,
        num_threads_for(x, num_threads), check_indices)
    torch.autograd.graph.increment_version(state)
    return out


for _device in ("CPU", "CUDA"):
    _library.impl("scan_forward", _scan_forward, _device)
    _library.impl("state_update", _state_update, _device)


# ---- Shapes ------------------------------------------------------------------------------------

@torch.library.register_fake("tilescan::scan_forward", lib=_library)
def _scan_forward_shapes(x, dt, A, B, C, D=None, z=None, dt_bias=None, initial_states=None,
                         seq_idx=None, cu_seqlens=None, *, states_every=0,
                         return_final_states=False, state_dtype=None, **_):
    if state_dtype is None:
        state_dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    batch, seqlen, nheads, headdim = x.shape
    num_seqs = batch if cu_seqlens is None else cu_seqlens.shape[0] - 1
    state_shape = (nheads, headdim, B.shape[-1])
    final_states = states_out = None
    if return_final_states:
        final_states = x.new_empty((num_seqs, *state_shape), dtype=state_dtype)
    if states_every:
        num_rows = seqlen // states_every + (0 if cu_seqlens is None else num_seqs)
        states_out = x.new_empty((batch, num_rows, *state_shape), dtype=state_dtype)
    return (x.new_empty(x.shape),
            x.new_empty(0) if final_states is None else final_states,
            x.new_empty(0) if states_out is None else states_out)


@torch.library.register_fake("tilescan::state_update", lib=_library)
def _state_update_shapes(state, x, *_, **__):
    return x.new_empty(x.shape)


# ---- Gradients ---------------------------------------------------------------------------------

torch.library.register_autograd(
    "tilescan::scan_forward", lambda ctx, *_: refuse_backward("scan_forward"), lib=_library)


# ---- Functions ---------------------------------------------------------------------------------

def scan(x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, *,
         D: torch.Tensor | None = None, z: torch.Tensor | None = None,
         dt_bias: torch.Tensor | None = None, initial_states: torch.Tensor | None = None,
         seq_idx: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None,
         dt_softplus: bool = False, dt_limit: tuple[float, float] | None = None,
         backend: str | None = None, kernel: str | None = None,
         instruction_set: str | None = None, chunk_size: int = 0, num_threads: int = 0,
         check_indices: bool = False, states_every: int = 0, return_final_states: bool = False,
         state_dtype: torch.dtype | None = None) -> typing.Any:
    """tilescan.scan() as a torch operator: the same operands, options, returns and errors, without
    outputs to write to and without stream (torch's current one is used)."""
    if is_kernel_alone(x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens):
        return _scan(
            x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens,
            dt_softplus=dt_softplus, dt_limit=dt_limit, backend=backend, kernel=kernel,
            instruction_set=instruction_set, chunk_size=chunk_size, num_threads=num_threads,
            check_indices=check_indices, states_every=states_every,
            return_final_states=return_final_states, state_dtype=state_dtype)
    out, final_states, states_out = torch.ops.tilescan.scan_forward(
        x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, cu_seqlens,
        dt_softplus=dt_softplus, dt_limit=dt_limit, backend=backend, kernel=kernel,
        instruction_set=instruction_set, chunk_size=chunk_size, num_threads=num_threads,
        check_indices=check_indices, states_every=states_every,
        return_final_states=return_final_states, state_dtype=state_dtype)
    if not return_final_states and not states_every:
        return out
    return (out, *((final_states,) if return_final_states else ()),
            *((states_out,) if states_every else ()))


def state_update(state: torch.Tensor, x: torch.Tensor, dt: torch.Tensor, A: torch.Tensor,
                 B: torch.Tensor, C: torch.Tensor, *, D: torch.Tensor | None = None,
                 z: torch.Tensor | None = None, dt_bias: torch.Tensor | None = None,
                 state_batch_indices: torch.Tensor | None = None,
                 fresh: torch.Tensor | None = None, num_accepted: torch.Tensor | None = None,
                 dt_softplus: bool = False, dt_limit: tuple[float, float] | None = None,
                 backend: str | None = None, kernel: str | None = None,
                 instruction_set: str | None = None, num_threads: int = 0,
                 check_indices: bool = False) -> torch.Tensor:
    """tilescan.state_update() as a torch operator: the same operands, options, returns and errors,
    without out= and without stream (torch's current one is used)."""
    if is_kernel_alone(x, state, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh,
                       num_accepted):
        return _state_update(
            state, x, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh, num_accepted,
            dt_softplus=dt_softplus, dt_limit=dt_limit, backend=backend, kernel=kernel,
            instruction_set=instruction_set, num_threads=num_threads, check_indices=check_indices)
    out = torch.ops.tilescan.state_update(
        state, x, dt, A, B, C, D, z, dt_bias, state_batch_indices, fresh, num_accepted,
        dt_softplus=dt_softplus, dt_limit=dt_limit, backend=backend, kernel=kernel,
        instruction_set=instruction_set, num_threads=num_threads, check_indices=check_indices)
    return without_backward("state_update", out, (state, x, dt, A, B, C, D, z, dt_bias))
