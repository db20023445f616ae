"""scan_forward and state_update against transformers' Mamba-2, its plain PyTorch path."""

import functools

import pytest
import torch
from transformers import Mamba2Config, Mamba2Model

import peers
from accuracy import assert_agrees, assert_agrees_in_float64
from problems import INFINITY, Problem, random_problem, scan_operands, to_float32, to_float64

NUM_RANDOM_PROBLEMS = 14
PROBLEMS = [random_problem(seed) for seed in range(100, 100 + NUM_RANDOM_PROBLEMS)] + [
    Problem(seed=1, batch=1, seqlen=300, nheads=6, headdim=64, ngroups=1, dstate=128,
            dt_limit=(0.015625, 0.125), has_initial_states=True),
    Problem(seed=2, batch=2, seqlen=257, nheads=8, headdim=64, ngroups=8, dstate=64,
            chunk_size=128, dt_level=3.0),
    Problem(seed=3, batch=1, seqlen=1, nheads=2, headdim=3, ngroups=2, dstate=2,
            has_initial_states=True),
]


def run_peer(problem: Problem, operands: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The peer in fp32, or in float64 when that is what the operands are."""
    named = dict(operands)
    x = named.pop("x")
    run = functools.partial(peers.mamba2_chunk_scan, x, chunk_size=problem.chunk_size,
                            dt_softplus=problem.dt_softplus, dt_limit=problem.dt_limit,
                            return_final_states=True, **named)
    if x.dtype == torch.float64:
        with peers.float64_arithmetic():
            out, final_states = run()
    else:
        out, final_states = run()
    return {"out": out, "final_states": final_states}


def run_tilescan(engine, problem, operands):
    # Half of the problems leave the cut to the kernel: it changes rounding only.
    chunk_size = problem.chunk_size if problem.seed % 2 else 0
    return engine.scan_forward(operands, dt_softplus=problem.dt_softplus,
                               dt_limit=problem.dt_limit, chunk_size=chunk_size)


def test_random_problems_vary():
    """The drawn problems reach what they are for."""
    drawn = PROBLEMS[:NUM_RANDOM_PROBLEMS]
    assert {problem.dt_softplus for problem in drawn} == {True, False}
    assert {problem.has_initial_states for problem in drawn} == {True, False}
    assert {problem.has_D for problem in drawn} == {True, False}
    assert {problem.has_dt_bias for problem in drawn} == {True, False}
    assert len({problem.dt_limit for problem in drawn}) == 3
    assert len({problem.ngroups for problem in drawn}) >= 3
    assert any(problem.seqlen % problem.chunk_size for problem in drawn)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_scan_agrees_in_float32(engine, problem):
    operands = scan_operands(problem)
    actual = run_tilescan(engine, problem, operands)
    truth, peer = run_peer(problem, to_float64(operands)), run_peer(problem, operands)
    for name in ("out", "final_states"):
        assert actual[name].dtype == torch.float32
        assert_agrees(name, actual[name], truth[name], peer[name])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("problem", PROBLEMS[-3:], ids=str)
def test_scan_agrees_in_half_precision(engine, problem, dtype):
    operands = scan_operands(problem, dtype)
    actual = run_tilescan(engine, problem, operands)
    truth = run_peer(problem, to_float64(operands))
    peer = run_peer(problem, to_float32(operands))
    assert actual["out"].dtype == dtype
    for name in ("out", "final_states"):
        assert_agrees(name, actual[name], truth[name], peer[name], product_dtype=dtype)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_reference_agrees_in_float64(reference_engine, problem):
    operands = to_float64(scan_operands(problem))
    actual = run_tilescan(reference_engine, problem, operands)
    truth, peer = run_peer(problem, operands), run_peer(problem, to_float32(operands))
    for name in ("out", "final_states"):
        assert_agrees_in_float64(name, actual[name], truth[name], peer[name])


@functools.cache
def model_calls() -> list[peers.Call]:
    """The calls of a model that reads a text in two parts, then decodes three tokens.

    The second part's scans get their initial states from the model's cache, and the decoding steps
    get stride-0 operands, as the model makes them.
    """
    torch.manual_seed(7)
    config = Mamba2Config(vocab_size=50, hidden_size=48, num_heads=6, head_dim=16, state_size=24,
                          n_groups=2, num_hidden_layers=2, chunk_size=32,
                          time_step_limit=(0.0, 0.5))
    model = Mamba2Model(config).eval()
    input_ids = torch.randint(config.vocab_size, (2, 103))
    with torch.no_grad(), peers.recorded_calls(model) as calls:
        cache = model(input_ids[:, :45], use_cache=True).cache
        for part in (input_ids[:, 45:100], *input_ids[:, 100:].split(1, dim=1)):
            cache = model(part, cache=cache, use_cache=True).cache
    return calls


def named_operands(call: peers.Call, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    renamed = {name: call.arguments.get(name) for name in names}
    renamed["x"] = call.arguments["hidden_states"]
    return {name: tensor for name, tensor in renamed.items() if tensor is not None}


def test_model_makes_the_calls_meant():
    calls = model_calls()
    scans = [call for call in calls if call.function == "scan_forward"]
    steps = [call for call in calls if call.function == "state_update"]
    assert (len(scans), len(steps)) == (4, 6)
    assert [call.arguments["initial_states"] is not None for call in scans] == [
        False, False, True, True]
    assert all(call.arguments["dt"].stride(-1) == 0 for call in steps)


def test_model_scans_agree(engine):
    scans = [call for call in model_calls() if call.function == "scan_forward"]
    for call in scans:
        operands = named_operands(call, ("dt", "A", "B", "C", "D", "dt_bias", "initial_states"))
        limit = call.arguments["dt_limit"]
        actual = engine.scan_forward(operands, dt_softplus=True, dt_limit=limit,
                                     chunk_size=call.arguments["chunk_size"])
        with peers.float64_arithmetic():
            truth = peers.mamba2_chunk_scan(**peers.to_double(call.arguments))
        for name, true, peer in zip(("out", "final_states"), truth, call.result):
            assert_agrees(name, actual[name], true, peer)


def test_model_decoding_steps_agree(engine):
    names = ("state", "dt", "A", "B", "C", "D", "dt_bias")
    for call in [call for call in model_calls() if call.function == "state_update"]:
        operands = named_operands(call, names)
        if not engine.takes_any_strides:
            # What the model expanded for each channel, one value a head again.
            operands["A"] = operands["A"][:, 0, 0]
            operands |= {name: operands[name][..., 0] for name in ("dt", "D", "dt_bias")}
        # The peer's decoding step clamps nothing.
        actual = engine.state_update(operands, dt_softplus=True,
                                     dt_limit=(-INFINITY, INFINITY))
        arguments = peers.to_double(call.arguments)
        with peers.float64_arithmetic():
            out = peers.mamba2_selective_state_update(**arguments)
        assert_agrees("out", actual["out"], out, call.result)
        assert_agrees("state", actual["state"], arguments["state"], call.state_after)
