"""The problems that are timed on a GPU, and their float64 truth."""

import torch
import torch.nn.functional as F

DEVICE = "cuda"

# name: (batch, seqlen, nheads, headdim, dstate, ngroups)
SCANS = {
    "W1": (8, 4096, 80, 64, 128, 1),
    "W2": (4, 8192, 128, 64, 128, 8),
    "W3": (1, 131072, 80, 64, 128, 1),
    "W4": (1, 2048, 24, 64, 128, 1),
    "T(2^14,128)": (4, 2**14, 8, 64, 128, 1),
    "T(2^16,128)": (4, 2**16, 8, 64, 128, 1),
    # As many tokens and channels as W1.
    "headdim 128": (8, 4096, 40, 128, 128, 1),
    "headdim 80": (8, 4096, 64, 80, 128, 1),
    "headdim 32": (8, 4096, 160, 32, 128, 1),
    "dstate 64": (8, 4096, 80, 64, 64, 1),
    "dstate 256": (8, 4096, 80, 64, 256, 1),
}
# batch of a decoding step of 128 heads, headdim 64, dstate 128, 8 groups.
DECODES = {"decode-1": 1, "decode-64": 64, "decode-256": 256}
DECODE_SHAPE = (128, 64, 128, 8)

# What is held against the truth: enough to see every chunk's kind, little enough for the recurrence
# token by token. out is causal, so a prefix is right or wrong by itself.
CHECKED_TOKENS = 2048
CHECKED_HEADS = 8


def scan_operands(shape: tuple, seed: int = 0) -> dict[str, torch.Tensor]:
    """x, B, C, dt ~ N(0, 1) in bf16; dt_bias uniform in [-6.9, -2.25]; A uniform in [-16, -1];
    D ~ N(0, 1); to be run with softplus."""
    batch, seqlen, nheads, headdim, dstate, ngroups = shape
    random = torch.Generator(DEVICE).manual_seed(seed)

    def normal(*size, dtype=torch.bfloat16):
        return torch.randn(*size, device=DEVICE, dtype=dtype, generator=random)

    def uniform(low, high):
        return low + (high - low) * torch.rand(nheads, device=DEVICE, generator=random)

    return {"x": normal(batch, seqlen, nheads, headdim), "dt": normal(batch, seqlen, nheads),
            "A": uniform(-16, -1), "B": normal(batch, seqlen, ngroups, dstate),
            "C": normal(batch, seqlen, ngroups, dstate),
            "D": normal(nheads, dtype=torch.float32), "dt_bias": uniform(-6.9, -2.25)}


def decode_operands(batch: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """One token of scan_operands() for each row of the batch, without the token dimension."""
    nheads, headdim, dstate, ngroups = DECODE_SHAPE
    operands = scan_operands((batch, 1, nheads, headdim, dstate, ngroups), seed)
    return {name: tensor[:, 0] if name in ("x", "dt", "B", "C") else tensor
            for name, tensor in operands.items()}


def checked_part(operands: dict[str, torch.Tensor], tokens: int = CHECKED_TOKENS,
                 heads: int = CHECKED_HEADS) -> dict[str, torch.Tensor]:
    """The first tokens and heads, with the groups of these heads."""
    nheads, ngroups = operands["x"].shape[2], operands["B"].shape[2]
    heads = min(heads, nheads)
    groups = -(-heads * ngroups // nheads)
    part = {}
    for name, tensor in operands.items():
        if name in ("B", "C"):
            part[name] = tensor[:1, :tokens, :groups]
        elif name in ("x", "dt"):
            part[name] = tensor[:1, :tokens, :heads]
        else:
            part[name] = tensor[:heads]
    part["heads_per_group"] = nheads // ngroups
    return part


def recurrence(x, dt, A, B, C, D, dt_bias, heads_per_group, state=None):
    """out and the last state in float64, token by token."""
    x, dt, A, B, C, D, dt_bias = (t.double() for t in (x, dt, A, B, C, D, dt_bias))
    dt = F.softplus(dt + dt_bias)
    batch, seqlen, nheads, headdim = x.shape
    B = B.repeat_interleave(heads_per_group, 2)[:, :, :nheads]
    C = C.repeat_interleave(heads_per_group, 2)[:, :, :nheads]
    if state is None:
        state = x.new_zeros(batch, nheads, headdim, B.shape[3])
    out = torch.empty_like(x)
    for token in range(seqlen):
        decay = torch.exp(dt[:, token] * A)[..., None, None]
        weighted = (dt[:, token, :, None] * x[:, token])[..., None]
        state = state * decay + weighted * B[:, token, :, None, :]
        out[:, token] = (state @ C[:, token, :, :, None])[..., 0] + D[:, None] * x[:, token]
    return out, state


def relative_l2(got: torch.Tensor, truth: torch.Tensor) -> float:
    return ((got.double() - truth).norm() / truth.norm()).item()
