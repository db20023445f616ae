"""As the public package mamba_ssm.ops.triton, by whose names programs import; no Triton is involved."""

from tilescan.mamba_ssm.ops.triton import layernorm_gated, selective_state_update, ssd_combined

__all__ = ["layernorm_gated", "selective_state_update", "ssd_combined"]
