"""As the public module mamba_ssm.ops.triton.ssd_combined (state-spaces/mamba 2.3.2)."""

from __future__ import annotations

import dataclasses
import math
import typing

import torch

import tilescan.torch
from tilescan.errors import InvalidArgument

__all__ = ["mamba_chunk_scan_combined", "mamba_split_conv1d_scan_combined"]


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
    _check_chunk_size("mamba_chunk_scan_combined", chunk_size)
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


def _check_chunk_size(operation: str, chunk_size: int) -> None:
    if chunk_size < 1:
        raise InvalidArgument(f"{operation}: chunk_size is {chunk_size}, expected 1 or more")


def _first_of(initial_states: torch.Tensor | None,
              cu_seqlens: torch.Tensor | None) -> torch.Tensor | None:
    """A row's initial state as that of the first of the sequences packed in it."""
    if initial_states is None or cu_seqlens is None:
        return None
    num_rest = max(cu_seqlens.shape[0] - 1 - initial_states.shape[0], 0)
    rest = initial_states.new_zeros(num_rest, *initial_states.shape[1:])
    return torch.cat([initial_states, rest])


# ---- A whole layer, from its input projection on -------------------------------------------------

@dataclasses.dataclass(frozen=True)
class _LayerSizes:
    """What is in a row of zxbcdt: [zx0 (2 * d_nonssm), z (dim), xBC (conv_dim), dt (nheads)]."""

    nheads: int
    headdim: int
    ngroups: int
    dstate: int
    d_nonssm: int

    @property
    def dim(self) -> int:
        return self.nheads * self.headdim

    @property
    def conv_dim(self) -> int:
        return self.dim + 2 * self.ngroups * self.dstate

    def split(self, zxbcdt: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.split(zxbcdt, [self.dim, self.conv_dim, self.nheads], dim=-1)

    def split_conv(self, xBC: torch.Tensor) -> tuple[torch.Tensor, ...]:
        width = self.ngroups * self.dstate
        x, B, C = torch.split(xBC, [self.dim, width, width], dim=-1)
        return (x.unflatten(-1, (self.nheads, self.headdim)),
                *(part.unflatten(-1, (self.ngroups, self.dstate)) for part in (B, C)))


def mamba_split_conv1d_scan_combined(zxbcdt: torch.Tensor, conv1d_weight: torch.Tensor,
                                     conv1d_bias: torch.Tensor | None, dt_bias: torch.Tensor,
                                     A: torch.Tensor, D: torch.Tensor, chunk_size: int,
                                     initial_states: torch.Tensor | None = None,
                                     seq_idx: torch.Tensor | None = None,
                                     dt_limit: tuple[float, float] = (0.0, math.inf),
                                     return_final_states: bool = False,
                                     activation: str | None = "silu",
                                     rmsnorm_weight: torch.Tensor | None = None,
                                     rmsnorm_eps: float = 1e-6,
                                     outproj_weight: torch.Tensor | None = None,
                                     outproj_bias: torch.Tensor | None = None,
                                     headdim: int | None = None, ngroups: int = 1,
                                     norm_before_gate: bool = True,
                                     state_dtype: torch.dtype | None = None) -> typing.Any:
    """A Mamba-2 layer behind its input projection: convolution, scan, gated norm, output projection.

    Args:
        zxbcdt: (batch, seqlen, 2 * d_nonssm + 2 * dim + 2 * ngroups * dstate + nheads) with
            dim = nheads * headdim, in the order zx0, z, xBC, dt. Its parts are read in place. zx0, if
            there is one, passes by the scan as silu(first half) * second half.
        conv1d_weight: (dim + 2 * ngroups * dstate, width); width 2 to 4.
        conv1d_bias: (dim + 2 * ngroups * dstate) or None.
        dt_bias, A: (nheads). The step is softplus(dt + dt_bias).
        D: (nheads, headdim), or (nheads) with headdim given.
        chunk_size, initial_states, seq_idx, dt_limit, return_final_states, state_dtype: as in
            mamba_chunk_scan_combined(). seq_idx is int32 here, and where it is negative the
            convolution gives 0.
        activation: of the convolution: "silu", "swish" or None.
        rmsnorm_weight: (dim) or None: a norm over the dim / ngroups channels of each group, gated by
            z; without it z gates the scan.
        outproj_weight: (out_dim, d_nonssm + dim) or None. outproj_bias: (out_dim) or None.
        norm_before_gate: as in rmsnorm_fn().

    Returns:
        out | (out, final_states), out (batch, seqlen, d_nonssm + dim) or (batch, seqlen, out_dim).

    Raises:
        As mamba_chunk_scan_combined(). tilescan.Unsupported: another activation, too.
    """
    sizes = _layer_sizes(zxbcdt, conv1d_weight, D, headdim, ngroups)
    if outproj_weight is None and outproj_bias is not None:
        raise InvalidArgument("mamba_split_conv1d_scan_combined: outproj_bias is given, expected None "
                              "because outproj_weight is None")
    _check_chunk_size("mamba_split_conv1d_scan_combined", chunk_size)
    zx0, zxbcdt = zxbcdt.split([2 * sizes.d_nonssm, zxbcdt.shape[-1] - 2 * sizes.d_nonssm], dim=-1)
    options = dict(D=D, dt_bias=dt_bias, initial_states=initial_states, dt_softplus=True,
                   dt_limit=tuple(dt_limit), return_final_states=return_final_states)
    norm = dict(norm_before_gate=norm_before_gate, group_size=sizes.dim // ngroups)
    if seq_idx is None:
        results = tilescan.torch.split_conv1d_scan(
            zxbcdt, conv1d_weight, A, conv1d_bias=conv1d_bias, rmsnorm_weight=rmsnorm_weight,
            rmsnorm_eps=rmsnorm_eps, activation=activation, ngroups=ngroups,
            state_dtype=torch.float32, **norm, **options)
        out, final_states = results if return_final_states else (results, None)
    else:  # which counts otherwise in mamba_chunk_scan_combined() than in the convolution
        z, xBC, dt = sizes.split(zxbcdt)
        xBC = tilescan.torch.causal_conv1d_forward(
            xBC, conv1d_weight, bias=conv1d_bias, seq_idx=seq_idx, activation=activation)
        x, B, C = sizes.split_conv(xBC)
        has_norm = rmsnorm_weight is not None
        results = mamba_chunk_scan_combined(
            x, dt, A, B, C, chunk_size, z=None if has_norm else z.unflatten(-1, x.shape[2:]),
            seq_idx=seq_idx, **options)
        out, final_states = results if return_final_states else (results, None)
        out = out.flatten(2)
        if has_norm:
            out = tilescan.torch.rms_norm_gated(out, rmsnorm_weight, z=z, eps=rmsnorm_eps, **norm)
    if sizes.d_nonssm > 0:
        out = torch.cat([_swiglu(zx0), out], dim=-1)
    if outproj_weight is not None:
        out = torch.nn.functional.linear(out, outproj_weight, outproj_bias)
    return (out, final_states) if return_final_states else out


def _layer_sizes(zxbcdt: torch.Tensor, conv1d_weight: torch.Tensor, D: torch.Tensor,
                 headdim: int | None, ngroups: int) -> _LayerSizes:
    def refuse(text: str) -> typing.NoReturn:
        raise InvalidArgument(f"mamba_split_conv1d_scan_combined: {text}")

    for name, tensor, ranks in (("zxbcdt", zxbcdt, (3,)), ("conv1d_weight", conv1d_weight, (2,)),
                                ("D", D, (1, 2))):
        if tensor.dim() not in ranks:
            refuse(f"{name} has shape {tuple(tensor.shape)}, expected ndim "
                   f"{' or '.join(map(str, ranks))}")
    if D.dim() == 2:
        headdim = D.shape[1]
    elif headdim is None:
        refuse(f"headdim is None, expected a number because D is {tuple(D.shape)}")
    nheads = D.shape[0]
    dim = nheads * headdim
    if ngroups < 1 or nheads % ngroups != 0:
        refuse(f"ngroups is {ngroups}, expected a divisor of nheads {nheads}")
    conv_dim, row = conv1d_weight.shape[0], zxbcdt.shape[-1]
    if conv_dim < dim or (conv_dim - dim) % (2 * ngroups) != 0:
        refuse(f"conv1d_weight has shape {tuple(conv1d_weight.shape)}, expected ({dim} + 2 * {ngroups} "
               f"* dstate, width) because D is {tuple(D.shape)} and headdim is {headdim}")
    num_others = row - dim - conv_dim - nheads
    if num_others < 0 or num_others % 2 != 0:
        refuse(f"zxbcdt has shape {tuple(zxbcdt.shape)}, expected (batch, seqlen, 2 * d_nonssm + "
               f"{dim + conv_dim + nheads}) because conv1d_weight is {tuple(conv1d_weight.shape)}, D is "
               f"{tuple(D.shape)} and headdim is {headdim}")
    return _LayerSizes(nheads, headdim, ngroups, (conv_dim - dim) // (2 * ngroups), num_others // 2)


def _swiglu(zx0: torch.Tensor) -> torch.Tensor:
    """silu of the first half times the second, in fp32 and rounded once."""
    gate, value = zx0.to(torch.promote_types(zx0.dtype, torch.float32)).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * value).to(zx0.dtype)
