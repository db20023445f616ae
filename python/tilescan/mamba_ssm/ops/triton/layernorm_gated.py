"""As the public module mamba_ssm.ops.triton.layernorm_gated (state-spaces/mamba 2.3.2)."""

from __future__ import annotations

import torch

import tilescan.torch

__all__ = ["RMSNorm", "rmsnorm_fn"]


def rmsnorm_fn(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
               z: torch.Tensor | None = None, eps: float = 1e-6, group_size: int | None = None,
               norm_before_gate: bool = True) -> torch.Tensor:
    """RMSNorm of the last dimension, in groups, with a gate before or behind it.

    Args:
        x: (..., dim).
        weight: (dim).
        bias: (dim) or None.
        z: as x, or None: no gate.
        eps: added to the mean of squares.
        group_size: a divisor of dim; None: dim.
        norm_before_gate: norm(x) * silu(z) if it is set, else norm(x * silu(z)).

    Returns:
        out, as x, in x's dtype.

    Raises:
        tilescan.InvalidArgument: an operand is wrong. tilescan.Unsupported: when a gradient is asked
            for.
    """
    # The operator takes (batch, [seqlen,] dim).
    has_rank = x.dim() in (2, 3)
    out = tilescan.torch.rms_norm_gated(
        x if has_rank else x.reshape(-1, x.shape[-1]), weight, bias=bias,
        z=z if has_rank or z is None or z.shape != x.shape else z.reshape(-1, z.shape[-1]),
        group_size=x.shape[-1] if group_size is None else group_size, eps=eps,
        norm_before_gate=norm_before_gate)
    return out if has_rank else out.reshape(x.shape)


class RMSNorm(torch.nn.Module):
    """rmsnorm_fn() with its weight."""

    def __init__(self, hidden_size: int, eps: float = 1e-5, group_size: int | None = None,
                 norm_before_gate: bool = True, device: torch.device | str | None = None,
                 dtype: torch.dtype | None = None):
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.group_size = group_size
        self.norm_before_gate = norm_before_gate
        self.reset_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.ones_(self.weight)

    def forward(self, x: torch.Tensor, z: torch.Tensor | None = None) -> torch.Tensor:
        return rmsnorm_fn(x, self.weight, self.bias, z=z, eps=self.eps,
                          group_size=self.group_size, norm_before_gate=self.norm_before_gate)
