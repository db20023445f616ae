"""As the public package mamba_ssm.ops."""

from tilescan.mamba_ssm.ops import triton

__all__ = ["triton"]
