"""Small problems and their results by the recurrence, in plain Python floats (float64)."""

import math
import random

from safetensors_file import Tensor


def _tensor(generator, dtype, shape, low, high):
    count = math.prod(shape)
    return Tensor(dtype, shape, [generator.uniform(low, high) for _ in range(count)])


def scan_problem(dtype="F32", batch=2, seqlen=7, nheads=4, headdim=3, ngroups=2, dstate=5, seed=1):
    """Operands of a scan by field name."""
    generator = random.Random(seed)
    groups = (batch, seqlen, ngroups, dstate)
    return {
        "x": _tensor(generator, dtype, (batch, seqlen, nheads, headdim), -1, 1),
        "dt": _tensor(generator, "F32", (batch, seqlen, nheads), -1, 1),
        "A": _tensor(generator, "F32", (nheads,), -2, -0.1),
        "B": _tensor(generator, dtype, groups, -1, 1),
        "C": _tensor(generator, dtype, groups, -1, 1),
        "D": _tensor(generator, "F32", (nheads,), -1, 1),
        "dt_bias": _tensor(generator, "F32", (nheads,), -1, 1),
        "initial_states": _tensor(generator, "F32", (batch, nheads, headdim, dstate), -1, 1),
    }


def update_problem(dtype="F32", batch=3, nheads=4, headdim=3, ngroups=2, dstate=5, slots=None,
                   seed=2):
    """Operands of one decoding step by field name; with slots also state_batch_indices."""
    generator = random.Random(seed)
    problem = {
        "state": _tensor(generator, dtype, (slots or batch, nheads, headdim, dstate), -1, 1),
        "x": _tensor(generator, "F32", (batch, nheads, headdim), -1, 1),
        "dt": _tensor(generator, "F32", (batch, nheads), -1, 1),
        "A": _tensor(generator, "F32", (nheads,), -2, -0.1),
        "B": _tensor(generator, "F32", (batch, ngroups, dstate), -1, 1),
        "C": _tensor(generator, "F32", (batch, ngroups, dstate), -1, 1),
        "D": _tensor(generator, "F32", (nheads,), -1, 1),
        "dt_bias": _tensor(generator, "F32", (nheads,), -1, 1),
    }
    if slots:
        indices = list(range(slots - 1, slots - 1 - batch, -1))
        problem["state_batch_indices"] = Tensor("I32", (batch,), indices)
    return problem


def _processed_dt(dt, dt_softplus, dt_limit):
    if dt_softplus and dt <= 20:
        dt = math.log1p(math.exp(dt))
    return min(max(dt, dt_limit[0]), dt_limit[1])


def scan(problem, dt_softplus=False, dt_limit=(0.0, math.inf)):
    """out, final_states and the states after each token, as flat lists, from the operands as their
    dtypes hold them: state = exp(dt A) state + dt x (outer) B; out = state . C + D x."""
    batch, seqlen, nheads, headdim = problem["x"].shape
    ngroups, dstate = problem["B"].shape[2:]
    x, dt, A, B, C, D, dt_bias, state = (
        problem[name].rounded()
        for name in ("x", "dt", "A", "B", "C", "D", "dt_bias", "initial_states"))
    out, states = [0.0] * len(x), []
    for b in range(batch):
        for t in range(seqlen):
            for h in range(nheads):
                token = b * seqlen + t
                step = _processed_dt(dt[token * nheads + h] + dt_bias[h], dt_softplus, dt_limit)
                group = (token * ngroups + h // (nheads // ngroups)) * dstate
                for p in range(headdim):
                    at = (token * nheads + h) * headdim + p
                    row = ((b * nheads + h) * headdim + p) * dstate
                    out[at] = D[h] * x[at]
                    for n in range(dstate):
                        state[row + n] = (math.exp(step * A[h]) * state[row + n]
                                          + step * x[at] * B[group + n])
                        out[at] += state[row + n] * C[group + n]
            size = nheads * headdim * dstate
            states.append(state[b * size:(b + 1) * size])
    return out, state, states


def update(problem, dt_softplus=False, dt_limit=(0.0, math.inf)):
    """out and the state afterwards, as flat lists, of one decoding step."""
    batch, nheads, headdim = problem["x"].shape
    size = nheads * headdim * problem["state"].shape[3]
    state = problem["state"].rounded()
    slots = (problem["state_batch_indices"].values if "state_batch_indices" in problem
             else range(batch))
    as_scan = {name: Tensor(tensor.dtype, (batch, 1, *tensor.shape[1:]), tensor.values)
               for name, tensor in problem.items() if name in ("x", "dt", "B", "C")}
    as_scan |= {name: problem[name] for name in ("A", "D", "dt_bias")}
    initial = [value for slot in slots for value in state[slot * size:(slot + 1) * size]]
    as_scan["initial_states"] = Tensor("F64", (batch, nheads, headdim, problem["B"].shape[2]),
                                       initial)
    out, final, _ = scan(as_scan, dt_softplus, dt_limit)
    for row, slot in enumerate(slots):
        state[slot * size:(slot + 1) * size] = final[row * size:(row + 1) * size]
    return out, state


def relative_l2(actual, expected):
    """|actual - expected| / |expected|."""
    assert len(actual) == len(expected)
    difference = math.sqrt(math.fsum((a - e) ** 2 for a, e in zip(actual, expected)))
    return difference / math.sqrt(math.fsum(e * e for e in expected))


# For these small problems: a result is a sum of at most seqlen + dstate < 16 products, each of a
# few rounded factors, and it is rounded once to its dtype. 64 units of roundoff leave a factor of
# about 2 for the library's exp and softplus; a wrong operand or option costs 1e-3 and more.
TOLERANCE = {"F64": 64 * 2.0**-53, "F32": 64 * 2.0**-24, "BF16": 4 * 2.0**-9, "F16": 4 * 2.0**-12}
