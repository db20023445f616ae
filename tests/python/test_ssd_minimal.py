"""scan_forward against mamba_ssm's ssd_minimal_discrete, "Listing 1 from the paper"."""

import pytest
import torch

from accuracy import assert_agrees, assert_agrees_in_float64
from peers import ssd_minimal_discrete
from problems import Problem, scan_operands, to_float32, to_float64

# The peer takes whole chunks only, and has no D.
PROBLEMS = [
    Problem(seed=1, batch=2, seqlen=256, nheads=4, headdim=64, ngroups=1, dstate=128, has_D=False),
    Problem(seed=2, batch=1, seqlen=192, nheads=6, headdim=32, ngroups=2, dstate=64, has_D=False,
            has_initial_states=True),
    Problem(seed=3, batch=3, seqlen=150, nheads=3, headdim=7, ngroups=3, dstate=5, chunk_size=50,
            has_D=False, has_initial_states=True),
    Problem(seed=4, batch=1, seqlen=128, nheads=2, headdim=16, ngroups=1, dstate=16, has_D=False,
            dt_level=3.0),
    Problem(seed=5, batch=2, seqlen=128, nheads=4, headdim=24, ngroups=2, dstate=48, has_D=False,
            has_dt_bias=False, dt_softplus=False, dt_limit=(0.0, 0.0625), has_initial_states=True),
]


def processed_step(problem: Problem, operands: dict[str, torch.Tensor]) -> torch.Tensor:
    """The step that the peer expects ready-made."""
    dt = operands["dt"]
    if problem.has_dt_bias:
        dt = dt + operands["dt_bias"]
    if problem.dt_softplus:
        dt = torch.nn.functional.softplus(dt)
    return dt.clamp(*problem.dt_limit)


def run_peer(problem: Problem, operands: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    heads_per_group = problem.nheads // problem.ngroups
    dt = processed_step(problem, operands)
    initial_states = operands.get("initial_states")
    out, final_states = ssd_minimal_discrete(
        operands["x"] * dt[..., None], operands["A"] * dt,
        operands["B"].repeat_interleave(heads_per_group, dim=2),
        operands["C"].repeat_interleave(heads_per_group, dim=2), problem.chunk_size,
        None if initial_states is None else initial_states[:, None])
    return {"out": out, "final_states": final_states}


def run_tilescan(engine, problem, operands, chunk_size):
    return engine.scan_forward(operands, dt_softplus=problem.dt_softplus,
                               dt_limit=problem.dt_limit, chunk_size=chunk_size)


@pytest.mark.parametrize("chosen_by", ["caller", "kernel"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_agrees_in_float32(engine, problem, chosen_by):
    operands = scan_operands(problem)
    chunk_size = problem.chunk_size if chosen_by == "caller" else 0
    actual = run_tilescan(engine, problem, operands, chunk_size)
    truth, peer = run_peer(problem, to_float64(operands)), run_peer(problem, operands)
    for name in ("out", "final_states"):
        assert actual[name].dtype == torch.float32
        assert_agrees(name, actual[name], truth[name], peer[name])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("problem", PROBLEMS[:3], ids=str)
def test_agrees_in_half_precision(engine, problem, dtype):
    operands = scan_operands(problem, dtype)
    actual = run_tilescan(engine, problem, operands, problem.chunk_size)
    truth = run_peer(problem, to_float64(operands))
    peer = run_peer(problem, to_float32(operands))
    assert actual["out"].dtype == dtype and actual["final_states"].dtype == torch.float32
    for name in ("out", "final_states"):
        assert_agrees(name, actual[name], truth[name], peer[name], product_dtype=dtype)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_reference_agrees_in_float64(reference_engine, problem):
    """The reference takes float64 operands: it must be the peer's formula to float64 rounding."""
    operands = to_float64(scan_operands(problem))
    actual = run_tilescan(reference_engine, problem, operands, 0)
    truth, peer = run_peer(problem, operands), run_peer(problem, to_float32(operands))
    for name in ("out", "final_states"):
        assert_agrees_in_float64(name, actual[name], truth[name], peer[name])
