"""Operands as NumPy arrays, options drawn over their grid, and the float64 reference as truth."""

import dataclasses
import random

import ml_dtypes
import numpy
import tilescan

# Sums of n products in fp32 are off by at most n roundoffs of the sum of their sizes. A chunk's
# output sums over its tokens (64 at most here: seqlen is below) and twice over dstate; exp, softplus
# and the factors round a few times more.
ROUNDOFF = 2.0**-24


def fp32_bound(seqlen: int, dstate: int) -> float:
    """The error of one output, as a part of the largest one."""
    return (2 * seqlen + 2 * dstate + 16) * ROUNDOFF


BFLOAT16 = numpy.dtype(ml_dtypes.bfloat16)
# Rounding of a result, and of one factor of each product, to its dtype.
RESULT_ROUNDOFF = {BFLOAT16: 2 * 2.0**-8, numpy.dtype("float16"): 2 * 2.0**-11,
                   numpy.dtype("float32"): 0.0}


@dataclasses.dataclass(frozen=True)
class Case:
    """One draw of sizes and options."""

    operands: dict
    options: dict

    def truth(self, operation) -> list[numpy.ndarray]:
        """All outputs, by the recurrence in float64 on the values the operands hold."""
        operands = {name: array.astype("float64") if is_float(array) else array
                    for name, array in self.operands.items()}
        outputs = operation(**operands, **self.options, backend="reference",
                            kernel="recurrence" if operation is tilescan.scan else None)
        return list(outputs) if isinstance(outputs, tuple) else [outputs]


def is_float(array: numpy.ndarray) -> bool:
    return array.dtype == BFLOAT16 or array.dtype.kind == "f"


def assert_near(actual, truth: numpy.ndarray, seqlen: int, dstate: int) -> None:
    actual = numpy.asarray(actual)
    bound = fp32_bound(seqlen, dstate) + RESULT_ROUNDOFF[actual.dtype]
    size = max(numpy.abs(truth).max(initial=0.0), 1.0)
    error = numpy.abs(actual.astype("float64") - truth).max(initial=0.0)
    assert actual.shape == truth.shape
    assert error <= bound * size, f"error {error:.3e} of {size:.3e} is over {bound:.3e} of it"


def normal(rng, *shape, dtype="float32"):
    return rng.standard_normal(shape).astype("float32").astype(dtype)


def scan_case(seed: int, dtype="float32") -> Case:
    """Sizes that are multiples of nothing, each option there or not."""
    draw, rng = random.Random(seed), numpy.random.default_rng(seed)
    ngroups = draw.choice((1, 2, 3))
    nheads, headdim, dstate = ngroups * draw.randint(1, 3), draw.choice((1, 5, 16)), draw.choice(
        (1, 7, 16))
    seqlen = draw.choice((1, 13, 40, 64))
    layout = draw.choice(("rows", "rows", "seq_idx", "packed"))
    batch = 1 if layout == "packed" else draw.randint(1, 3)
    # x, B, C and dt are views of one wide projection, as in models.
    widths = [nheads * headdim, ngroups * dstate, ngroups * dstate, nheads]
    wide = normal(rng, batch, seqlen, sum(widths), dtype=dtype)
    x, B, C, dt = numpy.split(wide, numpy.cumsum(widths)[:-1], axis=-1)
    operands = {"x": x.reshape(batch, seqlen, nheads, headdim), "dt": dt, "A": -rng.random(nheads,
                "float32") * 4, "B": B.reshape(batch, seqlen, ngroups, dstate),
                "C": C.reshape(batch, seqlen, ngroups, dstate)}
    num_seqs = batch
    if layout == "seq_idx":
        # Runs of ids, -1 among them: padding.
        operands["seq_idx"] = numpy.sort(rng.integers(-1, 3, (batch, seqlen), dtype="int32"))
    if layout == "packed":
        bounds = numpy.sort(rng.integers(0, seqlen + 1, 3))
        operands["cu_seqlens"] = numpy.array([0, *bounds, seqlen], draw.choice(("int32", "int64")))
        num_seqs = 4
    if draw.random() < 0.5:
        operands["D"] = normal(rng, *draw.choice(((nheads,), (nheads, headdim))))
    if draw.random() < 0.5:
        operands["z"] = normal(rng, batch, seqlen, nheads, headdim, dtype=dtype)
    if draw.random() < 0.5:
        operands["dt_bias"] = normal(rng, nheads) - 1
    if draw.random() < 0.5:
        operands["initial_states"] = normal(rng, num_seqs, nheads, headdim, dstate)
    options = {"dt_softplus": draw.random() < 0.7, "return_final_states": draw.random() < 0.7,
               "states_every": draw.choice((0, 0, 1, 8))}
    options["dt_limit"] = draw.choice((None, (0.0, float("inf")), (0.015625, 0.125)))
    return Case(operands, options)


def update_case(seed: int, dtype="float32") -> Case:
    draw, rng = random.Random(seed), numpy.random.default_rng(seed)
    ngroups = draw.choice((1, 2))
    nheads, headdim, dstate = ngroups * draw.randint(1, 3), draw.choice((1, 5, 16)), draw.choice(
        (1, 7, 16))
    batch = draw.randint(1, 4)
    tokens = draw.choice(((), (), (3,)))
    operands = {"state": normal(rng, batch, nheads, headdim, dstate),
                "x": normal(rng, batch, *tokens, nheads, headdim, dtype=dtype),
                "dt": normal(rng, batch, *tokens, nheads, dtype=dtype),
                "A": -rng.random(nheads, "float32") * 4,
                "B": normal(rng, batch, *tokens, ngroups, dstate, dtype=dtype),
                "C": normal(rng, batch, *tokens, ngroups, dstate, dtype=dtype)}
    if draw.random() < 0.5:
        operands["D"] = normal(rng, *draw.choice(((nheads,), (nheads, headdim))))
    if draw.random() < 0.5:
        operands["z"] = normal(rng, batch, *tokens, nheads, headdim)
    if draw.random() < 0.5:
        operands["dt_bias"] = normal(rng, nheads)
    if draw.random() < 0.5:
        operands["state"] = normal(rng, batch + 3, nheads, headdim, dstate)
        slots = rng.permutation(batch + 3)[:batch]
        slots[-1] = -1
        operands["state_batch_indices"] = slots.astype(draw.choice(("int32", "int64")))
    if draw.random() < 0.5:
        operands["fresh"] = rng.integers(0, 2, batch).astype(draw.choice(("bool", "uint8")))
    if tokens and draw.random() < 0.7:
        operands["num_accepted"] = rng.integers(0, 4, batch, dtype="int32")
    options = {"dt_softplus": draw.random() < 0.7,
               "dt_limit": draw.choice((None, (-float("inf"), float("inf")), (0.0, 0.125)))}
    return Case(operands, options)
