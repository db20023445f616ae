"""The Mamba-2 layers of transformers on CPUs: a forward that runs all between the projections by tilescan.

patch() puts it in, for code that is imported already and for code that will be. It takes part where
tensors are on the CPU and no gradient is wanted; otherwise the layer's own forward runs. The layers of
these models have one and the same forward in the versions of transformers tried, which this one follows
in what it does with caches and masks.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.metadata
import inspect
import sys
import types
import typing
import warnings

import torch

import tilescan.torch
from tilescan.mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

_TRIED = "5.24"
_LAYERS = {"transformers.models.mamba2.modeling_mamba2": "Mamba2Mixer",
           "transformers.models.bamba.modeling_bamba": "BambaMixer",
           "transformers.models.granitemoehybrid.modeling_granitemoehybrid":
               "GraniteMoeHybridMambaLayer",
           "transformers.models.nemotron_h.modeling_nemotron_h": "NemotronHMamba2Mixer",
           "transformers.models.zamba2.modeling_zamba2": "Zamba2MambaMixer"}
_PARAMETERS = ("self", "hidden_states", "cache", "attention_mask", "kwargs")
# All that the forward of the versions tried names: one that names more does more than is done here.
_NAMES = frozenset(
    """A_log D activation apply_mask_to_padding_states bias causal_conv1d_fn causal_conv1d_update
    chunk_size conv1d conv_dim conv_kernel_size dt_bias dtype exp expand float get_conv_state
    get_recurrent_state head_dim in_proj intermediate_size is_recording_past layer_idx
    mamba2_chunk_scan mamba2_selective_state_update mamba2_split_conv1d_scan_combined n_groups norm
    num_heads out_proj reshape shape split squeeze ssm_state_size time_step_limit to torch training
    transpose update_conv_state update_recurrent_state variance_epsilon view weight""".split())
# And that of its norm.
_NORM_NAMES = frozenset(
    """dtype float32 functional group_size mean nn pow rsqrt shape silu to torch variance_epsilon view
    weight""".split())
_NO_LIMIT = (-float("inf"), float("inf"))
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_WIDTHS = (2, 3, 4)  # of the convolution

_originals: dict[type, typing.Any] = {}
_known_norms: dict[type, typing.Callable] = {}  # and their forward


# ---- Putting it in -----------------------------------------------------------------------------

def replace_forwards() -> None:
    """Replaces the forward of all these layers, but warns of one that is not as known, and leaves it."""
    sys.meta_path.insert(0, _FINDER)
    for name in _LAYERS:
        if name in sys.modules:
            _replace_in(sys.modules[name])


def restore_forwards() -> None:
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for layer, original in _originals.items():
        layer.forward = original
    _originals.clear()
    _known_norms.clear()


def is_replaced_in(module_name: str) -> bool:
    return module_name in _LAYERS


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules with such layers as Python does, and replaces forwards once they are there."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _LAYERS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_replace(module: types.ModuleType) -> None:
            execute(module)
            if _FINDER in sys.meta_path:
                _replace_in(module)

        spec.loader.exec_module = execute_and_replace  # this import's loader alone
        return spec


_FINDER = _Finder()


def _replace_in(module: types.ModuleType) -> None:
    layer = getattr(module, _LAYERS[module.__name__], None)
    reason = _reason_against(layer)
    if reason:
        warnings.warn(
            f"patch: {module.__name__}.{_LAYERS[module.__name__]}{reason}: on CPUs it runs as it is; "
            f"transformers is {importlib.metadata.version('transformers')}, tried with {_TRIED}",
            RuntimeWarning, stacklevel=2)
        return
    _originals[layer] = layer.forward
    layer.forward = _forward_for(layer.forward)
    _known_norms.update((each, each.forward) for each in vars(module).values() if _is_known_norm(each))


def _reason_against(layer: typing.Any) -> str:
    if layer is None:
        return " is not there"
    forward = inspect.unwrap(layer.forward)
    parameters = tuple(inspect.signature(forward).parameters)
    if parameters != _PARAMETERS:
        return f".forward takes ({', '.join(parameters)}), expected ({', '.join(_PARAMETERS)})"
    unknown = sorted(set(forward.__code__.co_names) - _NAMES)
    if unknown:
        return f".forward does more than is known, by the names {', '.join(unknown)}"
    return ""


def _is_known_norm(norm: typing.Any) -> bool:
    """Whether it is a class whose forward is that of the version tried, as far as names tell: they do
    not tell in which order it gates and norms."""
    if not importlib.metadata.version("transformers").startswith(f"{_TRIED}."):
        return False
    forward = getattr(norm, "forward", None) if isinstance(norm, type) else None
    return _NORM_NAMES == set(getattr(getattr(forward, "__code__", None), "co_names", ()))


# ---- The forward -------------------------------------------------------------------------------

def _forward_for(original: typing.Callable) -> typing.Callable:
    @functools.wraps(original)
    def forward(self, hidden_states, cache=None, attention_mask=None, **kwargs):
        if not _can_run(self, hidden_states, kwargs):
            return original(self, hidden_states, cache=cache, attention_mask=attention_mask, **kwargs)
        return _run(self, hidden_states, cache, attention_mask, kwargs)

    return forward


def _can_run(layer: typing.Any, hidden_states: torch.Tensor, kwargs: dict) -> bool:
    if not hidden_states.is_cpu or hidden_states.dtype not in _DTYPES:
        return False
    if layer.conv_kernel_size not in _WIDTHS:
        return False
    # An older name of cache, and weights that accelerate fetches, are the layer's own business.
    if "cache_params" in kwargs or hasattr(layer.conv1d, "_hf_hook"):
        return False
    return not torch.is_grad_enabled() or not (
        hidden_states.requires_grad or any(weight.requires_grad for weight in layer.parameters()))


def _run(layer: typing.Any, hidden_states: torch.Tensor, cache: typing.Any,
         attention_mask: torch.Tensor | None, kwargs: dict) -> torch.Tensor:
    seqlen = hidden_states.shape[1]
    idx = layer.layer_idx
    # Before the cache is told of these tokens: it has a state from the first ones on.
    conv_state = None if cache is None else cache.get_conv_state(idx, state_idx=0)
    state = None if cache is None else cache.get_recurrent_state(idx, state_idx=0)

    projected = layer.in_proj(_masked(hidden_states, attention_mask))
    gate, xBC, dt = projected.split([layer.intermediate_size, layer.conv_dim, layer.num_heads], -1)
    seq_idx = _seq_idx(seqlen, kwargs)
    if conv_state is not None and seqlen == 1 and not cache.is_recording_past(idx):
        xBC = _convolve_one(layer, xBC, conv_state)
    else:
        if cache is not None:
            xBC = cache.update_conv_state(xBC.transpose(1, 2), idx,
                                          conv_kernel_size=layer.conv_kernel_size).transpose(1, 2)
        xBC = _convolve(layer, xBC, seq_idx)[:, -seqlen:]

    x, B, C = _masked(xBC, attention_mask).split(
        [layer.intermediate_size, *2 * [layer.n_groups * layer.ssm_state_size]], -1)
    x = x.unflatten(-1, (layer.num_heads, layer.head_dim))
    B, C = (each.unflatten(-1, (layer.n_groups, layer.ssm_state_size)) for each in (B, C))
    A = -torch.exp(layer.A_log.float())
    if state is not None and seqlen == 1:
        out = tilescan.torch.state_update(
            state, x[:, 0], dt[:, 0], A, B[:, 0], C[:, 0], D=layer.D, dt_bias=layer.dt_bias,
            dt_softplus=True, dt_limit=_NO_LIMIT)
    else:
        out = mamba_chunk_scan_combined(
            x, dt, A, B, C, layer.chunk_size, D=layer.D, dt_bias=layer.dt_bias,
            initial_states=state, seq_idx=seq_idx, dt_softplus=True, dt_limit=layer.time_step_limit,
            return_final_states=cache is not None)
        if cache is not None:
            out, final_states = out
            cache.update_recurrent_state(final_states, layer_idx=idx)
    out = _norm(layer, out.reshape(gate.shape), gate)
    return layer.out_proj(out.to(hidden_states.dtype))


def _masked(rows: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
    """Zeros where tokens are padding: (batch, seqlen, any), by a mask (batch, seqlen)."""
    return rows if attention_mask is None else (rows * attention_mask[:, :, None]).to(rows.dtype)


def _seq_idx(seqlen: int, kwargs: dict) -> torch.Tensor | None:
    """Which of the sequences packed in a row each token is of, (batch, seqlen), or None."""
    seq_idx, cu_seqlens = kwargs.get("seq_idx"), kwargs.get("cu_seqlens")
    if seq_idx is not None or cu_seqlens is None:
        return seq_idx
    tokens = torch.arange(seqlen, device=cu_seqlens.device, dtype=cu_seqlens.dtype)
    return torch.bucketize(tokens, cu_seqlens[1:], right=True)[None]


def _convolve(layer: typing.Any, rows: torch.Tensor, seq_idx: torch.Tensor | None) -> torch.Tensor:
    """The causal convolution of (batch, tokens, conv_dim), with the activation.

    seq_idx: of the last tokens; those before belong with the first of them.
    """
    if seq_idx is not None:
        before = seq_idx[:, :1].expand(-1, rows.shape[1] - seq_idx.shape[1])
        seq_idx = torch.cat([before, seq_idx], 1).to(torch.int32)
    return _activated(layer, functools.partial(
        tilescan.torch.causal_conv1d_forward, rows, layer.conv1d.weight.squeeze(1),
        bias=layer.conv1d.bias, seq_idx=seq_idx))


def _convolve_one(layer: typing.Any, rows: torch.Tensor, conv_state: torch.Tensor) -> torch.Tensor:
    """The same of one token, (batch, 1, conv_dim); conv_state, (batch, conv_dim, tokens kept), moves
    on by it."""
    return _activated(layer, functools.partial(
        tilescan.torch.causal_conv1d_update, conv_state, rows, layer.conv1d.weight.squeeze(1),
        bias=layer.conv1d.bias))


def _activated(layer: typing.Any, convolve: typing.Callable[..., torch.Tensor]) -> torch.Tensor:
    if layer.activation in ("silu", "swish"):
        return convolve(activation="silu")
    return layer.act(convolve())


def _norm(layer: typing.Any, rows: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    norm = layer.norm
    known = _known_norms.get(type(norm))
    # What others put in its place, or beside it, is called.
    is_as_known = known is not None and getattr(norm.forward, "__func__", None) is known
    if (not is_as_known or norm._forward_hooks or norm._forward_pre_hooks
            or torch.nn.modules.module._has_any_global_hook()):
        return norm(rows, gate)
    return tilescan.torch.rms_norm_gated(rows, norm.weight, z=gate, group_size=norm.group_size,
                                         eps=norm.variance_epsilon)
