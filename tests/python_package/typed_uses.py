"""Uses of the package, for a type checker: it has to find fault with the lines marked, and no other."""

import typing

import tilescan
import tilescan.torch
from tilescan.causal_conv1d import causal_conv1d_update
from tilescan.mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

x: typing.Any = None
plan: dict[str, typing.Any] = tilescan.plan("scan", x, x, x, x, x)
out = tilescan.scan(x, x, x, x, x, dt_softplus=True, dt_limit=(0.0, 1.0), backend="cpu")
tilescan.scan(x, x, x, x)  # wrong
tilescan.scan(x, x, x, x, x, chunk_size="64")  # wrong
tilescan.scan(x, x, x, x, x, num_accepted=x)  # wrong
tilescan.state_update(x, x, x, x, x, x, num_accepted=x, fresh=x)
tilescan.torch.state_update(x, x, x, x, x, x, chunk_size=64)  # wrong
tilescan.causal_conv1d_forward(x, x, bias=x, activation="silu", return_final_states=True)
tilescan.causal_conv1d_forward(x, x, activation=True)  # wrong
tilescan.torch.rms_norm_gated(x, x, z=x, eps=1e-5)
tilescan.rms_norm_gated(x, x, eps="1e-5")  # wrong
tilescan.torch.split_conv1d_scan(x, x, x, D=x, rmsnorm_weight=x, ngroups=8, activation="silu")
tilescan.split_conv1d_scan(x, x)  # wrong
causal_conv1d_update(x, x, x, None, "silu")
causal_conv1d_update(x, x)  # wrong
mamba_chunk_scan_combined(x, x, x, x, x, 64, None, x, return_final_states=True)
mamba_chunk_scan_combined(x, x, x, x, x, chunk_size=None)  # wrong
error: type[ValueError] = tilescan.InvalidArgument
tilescan.patch()
tilescan.unpatch()
