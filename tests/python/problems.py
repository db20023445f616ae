"""Random problems with the operands' names and the value ranges of trained Mamba-2 layers."""

import dataclasses
import math
import random

import torch

INFINITY = math.inf
# Exact in fp32, the type of the C interface's dt_limit.
DT_LIMITS = ((0.0, INFINITY), (0.015625, 0.125), (0.0, 0.0625))


@dataclasses.dataclass(frozen=True)
class Problem:
    """Sizes and options; seed draws the values."""

    seed: int
    batch: int
    seqlen: int
    nheads: int
    headdim: int
    ngroups: int
    dstate: int
    chunk_size: int = 64
    dt_softplus: bool = True
    dt_limit: tuple[float, float] = (0.0, INFINITY)
    has_dt_bias: bool = True
    has_D: bool = True
    has_initial_states: bool = False
    # Added to dt before softplus: -3 gives steps near 0.05 as in trained layers, 3 steps near 3,
    # which with A of -16 forgets within a token.
    dt_level: float = -3.0

    def __str__(self) -> str:
        flags = [name[4:] for name in ("has_dt_bias", "has_D", "has_initial_states")
                 if getattr(self, name)]
        flags += ["softplus"] if self.dt_softplus else []
        lower, upper = self.dt_limit
        return (f"b{self.batch}-l{self.seqlen}-h{self.nheads}-p{self.headdim}-g{self.ngroups}-"
                f"n{self.dstate}-q{self.chunk_size}-dt{self.dt_level:g}-limit{lower:g}to{upper:g}-"
                + "-".join(flags))


def random_problem(seed: int) -> Problem:
    """A problem whose sizes are multiples of nothing in particular and whose options vary."""
    draw = random.Random(seed)
    ngroups = draw.choice((1, 1, 2, 3, 4))
    return Problem(
        seed=seed, batch=draw.randint(1, 3), seqlen=draw.choice((1, 2, 63, 64, 65, 129, 200)),
        nheads=ngroups * draw.randint(1, 4), headdim=draw.choice((1, 5, 16, 40, 64, 80)),
        ngroups=ngroups, dstate=draw.choice((1, 7, 16, 64, 100, 128)),
        chunk_size=draw.choice((16, 50, 64, 128)), dt_softplus=draw.random() < 0.7,
        dt_limit=draw.choice(DT_LIMITS), has_dt_bias=draw.random() < 0.7,
        has_D=draw.random() < 0.7, has_initial_states=draw.random() < 0.5,
        dt_level=draw.choice((-3.0, -3.0, 0.0, 3.0)))


def scan_operands(problem: Problem, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Operands by field name. x, B, C and dt are views of one wide projection, as in models.

    Args:
      problem: sizes and options.
      dtype: of x, B, C and dt; A, D, dt_bias and initial_states are fp32.
    """
    generator = torch.Generator().manual_seed(problem.seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    batch, seqlen, nheads = problem.batch, problem.seqlen, problem.nheads
    x_width, bc_width = nheads * problem.headdim, problem.ngroups * problem.dstate
    projection = normal(batch, seqlen, x_width + 2 * bc_width + nheads)
    level = problem.dt_level
    dt = projection[..., -nheads:]
    if problem.dt_softplus:
        # The level is the bias's part, where there is one.
        dt += 0.0 if problem.has_dt_bias else level
    else:
        # The step itself: mostly positive; what is not is for dt_limit to clamp.
        dt.copy_(math.log1p(math.exp(level)) * (1.0 + 0.7 * dt))
    projection = projection.to(dtype)
    x, B, C, dt = projection.split([x_width, bc_width, bc_width, nheads], dim=-1)
    operands = {
        "x": x.unflatten(-1, (nheads, problem.headdim)), "dt": dt,
        "A": -torch.exp(math.log(16.0) * torch.rand(nheads, generator=generator)),
        "B": B.unflatten(-1, (problem.ngroups, problem.dstate)),
        "C": C.unflatten(-1, (problem.ngroups, problem.dstate)),
    }
    if problem.has_dt_bias:
        spread = 0.5 * normal(nheads)
        operands["dt_bias"] = level + spread if problem.dt_softplus else 0.01 * spread
    if problem.has_D:
        operands["D"] = normal(nheads)
    if problem.has_initial_states:
        operands["initial_states"] = normal(batch, nheads, problem.headdim, problem.dstate)
    return operands


def to_float64(operands: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The values the floating operands hold, in float64; integers stay."""
    return {name: tensor.double() if tensor.is_floating_point() else tensor
            for name, tensor in operands.items()}


def to_float32(operands: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The values the floating operands hold, in fp32; integers stay."""
    return {name: tensor.float() if tensor.is_floating_point() else tensor
            for name, tensor in operands.items()}
