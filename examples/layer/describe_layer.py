#!/usr/bin/env python3
"""Checks a recorded Mamba-2 layer against the recurrence in float64 and describes its decay.

Reads a file that record_layer.py wrote and prints its metadata, its tensors, the error of the
recorded results against the recurrence computed token by token in float64, and for each head the
processed step dt and the decay exponent dt * |A|.

Needs numpy and safetensors only. Exits with 1 when the recorded results are not within the bound.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import safetensors
import safetensors.numpy

FP32_UNIT_ROUNDOFF = 2.0**-24


def processed_step(operands: dict[str, np.ndarray], dt_softplus: bool,
                   dt_limit: tuple[float, float]) -> np.ndarray:
    """Returns clamp(softplus(dt + dt_bias), dt_limit), float64, (batch, seqlen, nheads)."""
    dt = operands["dt"].astype(np.float64) + operands["dt_bias"].astype(np.float64)
    if dt_softplus:
        dt = np.logaddexp(dt, 0.0)
    return np.clip(dt, *dt_limit)


def recurrence(operands: dict[str, np.ndarray], dt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Computes the scan token by token in float64.

    state_t = exp(dt_t * A) * state_{t-1} + dt_t * x_t (outer) B_t; out_t = state_t . C_t + D * x_t
    (Dao and Gu, "Transformers are SSMs", 2024).

    Args:
      operands: x (batch, seqlen, nheads, headdim); A, D (nheads); B, C (batch, seqlen, ngroups,
        dstate).
      dt: the processed step, float64, (batch, seqlen, nheads).

    Returns:
      out, as x, and the final states (batch, nheads, headdim, dstate), both float64.
    """
    x, A, B, C, D = (operands[name].astype(np.float64) for name in ("x", "A", "B", "C", "D"))
    batch, seqlen, nheads, headdim = x.shape
    heads_per_group = nheads // B.shape[2]
    B = np.repeat(B, heads_per_group, axis=2)
    C = np.repeat(C, heads_per_group, axis=2)
    state = np.zeros((batch, nheads, headdim, B.shape[3]))
    out = np.empty_like(x)
    for t in range(seqlen):
        decay = np.exp(dt[:, t] * A)[..., None, None]
        state = decay * state + (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, :, None, :]
        out[:, t] = np.einsum("bhpn,bhn->bhp", state, C[:, t]) + D[:, None] * x[:, t]
    return out, state


def relative_rms_error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Returns the root of sum((actual - expected)^2) / sum(expected^2)."""
    return float(np.linalg.norm(actual.astype(np.float64) - expected) / np.linalg.norm(expected))


def error_bound(chunk_size: int, dstate: int) -> float:
    """Returns the relative error an honest fp32 chunked scan may have.

    An element of out is a sum of at most chunk_size products for its own chunk and dstate products
    for the state before it: rounding costs at most one unit roundoff a term, relative to the sum of
    magnitudes. A decay is exp of a sum s of at most chunk_size negative steps: its error is at most
    chunk_size roundoffs times |s| exp(s), and |s| exp(s) < 1. A wrong operand, a missing bias or a
    shifted token costs several orders more.
    """
    return FP32_UNIT_ROUNDOFF * (2 * chunk_size + dstate)


def check_results(operands: dict[str, np.ndarray], metadata: dict[str, str]) -> bool:
    """Prints the errors of expected_out and expected_final_states; True if both are in bounds."""
    lower, upper = (float(limit) for limit in metadata["dt_limit"].split(","))
    dt = processed_step(operands, metadata["dt_softplus"] == "true", (lower, upper))
    out, final_states = recurrence(operands, dt)
    bound = error_bound(int(metadata["chunk_size"]), operands["B"].shape[3])
    within = True
    for name, truth in (("expected_out", out), ("expected_final_states", final_states)):
        error = relative_rms_error(operands[name], truth)
        largest = np.abs(operands[name] - truth).max() / np.abs(truth).max()
        within = within and error <= bound
        print(f"{name} against the float64 recurrence: relative rms error {error:.2e}, "
              f"largest error over largest value {largest:.2e} (bound {bound:.2e})")
    return within


def print_decay(operands: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Prints per head the step dt and the decay exponent dt * |A|, as a Markdown table."""
    lower, upper = (float(limit) for limit in metadata["dt_limit"].split(","))
    dt = processed_step(operands, metadata["dt_softplus"] == "true", (lower, upper))
    exponent = dt * np.abs(operands["A"].astype(np.float64))
    print("| head | A | dt min | dt median | dt max | dt\\*\\|A\\| min | median | max |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for head in range(dt.shape[2]):
        figures = [operands["A"][head]]
        for values in (dt[..., head], exponent[..., head]):
            figures += [values.min(), np.median(values), values.max()]
        print(f"| {head} | " + " | ".join(f"{figure:.3g}" for figure in figures) + " |")
    chunk_size = int(metadata["chunk_size"])
    chunk_sums = np.add.reduceat(exponent, np.arange(0, dt.shape[1], chunk_size), axis=1)
    print(f"Largest sum of dt*|A| over one chunk of {chunk_size} tokens: {chunk_sums.max():.3g}")


def load(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns the tensors and the metadata of a safetensors file."""
    with safetensors.safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def save(operands: dict[str, np.ndarray], metadata: dict[str, str], path: pathlib.Path) -> None:
    """Writes safetensors with a sorted header, so that equal contents are equal files.

    The library writes __metadata__ in an order that differs from run to run.
    """
    file = safetensors.numpy.save(operands, metadata=metadata)
    header_end = 8 + int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8:header_end]), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)  # the format aligns the data to 8 bytes
    path.write_bytes(len(header).to_bytes(8, "little") + header + file[header_end:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_name("layer.safetensors"))
    path = parser.parse_args().file
    if not path.is_file():
        parser.error(f"no file {path}")
    operands, metadata = load(path)
    for key in sorted(metadata):
        print(f"{key}: {metadata[key]}")
    for name in sorted(operands):
        print(f"{name} {operands[name].shape} {operands[name].dtype}")
    within = check_results(operands, metadata)
    print_decay(operands, metadata)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
