"""The drop-in operators against mamba_ssm's references in PyTorch, and its behaviour kept."""

import inspect
import math

import pytest
import tilescan
import torch
from tilescan.mamba_ssm.ops.triton.selective_state_update import selective_state_update
from tilescan.mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

import test_selective_state_update as steps
import test_ssd_minimal as minimal
from accuracy import assert_agrees
from chunk_scan_ref import ssd_chunk_scan_combined_ref
from peers import float64_arithmetic
from problems import Problem, scan_operands, to_float32, to_float64

SIGNATURES = {
    mamba_chunk_scan_combined: dict(
        x=None, dt=None, A=None, B=None, C=None, chunk_size=None, D=None, z=None, dt_bias=None,
        initial_states=None, seq_idx=None, cu_seqlens=None, dt_softplus=False,
        dt_limit=(0.0, math.inf), return_final_states=False, return_varlen_states=False,
        state_dtype=None),
    selective_state_update: dict(
        state=None, x=None, dt=None, A=None, B=None, C=None, D=None, z=None, dt_bias=None,
        dt_softplus=False, state_batch_indices=None),
}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_signature(function):
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters] == list(SIGNATURES[function])
    for parameter in parameters:
        if parameter.default is not parameter.empty:
            assert parameter.default == SIGNATURES[function][parameter.name]


# ---- scan --------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("problem", minimal.PROBLEMS, ids=str)
def test_agrees_with_ssd_minimal(problem, dtype):
    operands = scan_operands(problem, dtype)
    out, states = mamba_chunk_scan_combined(
        **operands, chunk_size=problem.chunk_size, dt_softplus=problem.dt_softplus,
        dt_limit=problem.dt_limit, return_final_states=True)
    assert out.dtype == dtype and states.dtype == torch.float32
    truth = minimal.run_peer(problem, to_float64(operands))
    peer = minimal.run_peer(problem, to_float32(operands))
    assert_agrees("out", out, truth["out"], peer["out"], product_dtype=dtype)
    assert_agrees("final_states", states, truth["final_states"], peer["final_states"],
                  product_dtype=dtype)


@pytest.mark.parametrize("D_shape", ["none", "heads", "channels"])
@pytest.mark.parametrize("has_z", [False, True], ids=["", "z"])
def test_agrees_with_chunk_scan_ref(D_shape, has_z):
    problem = Problem(seed=7, batch=2, seqlen=128, nheads=4, headdim=24, ngroups=2, dstate=48,
                      has_D=False)
    operands = scan_operands(problem)
    D = {"none": None, "heads": torch.randn(4), "channels": torch.randn(4, 24)}[D_shape]
    z = torch.randn(2, 128, 4, 24) if has_z else None

    def run(function, convert):
        given = convert({name: value for name, value in dict(operands, D=D, z=z).items()
                         if value is not None})
        return function(**given, chunk_size=problem.chunk_size, dt_softplus=True)

    with float64_arithmetic():  # it takes dt to fp32 whatever it is
        truth = run(ssd_chunk_scan_combined_ref, to_float64)
    assert_agrees("out", run(mamba_chunk_scan_combined, to_float32), truth,
                  run(ssd_chunk_scan_combined_ref, to_float32))


PACKED = Problem(seed=8, batch=1, seqlen=100, nheads=4, headdim=8, ngroups=2, dstate=16)
BOUNDS = [0, 30, 31, 64, 100]


def alone(operands, begin, end, **options):
    """One sequence cut out of a row."""
    cut = {name: value[:, begin:end] if name in ("x", "dt", "B", "C") else value
           for name, value in operands.items()}
    return mamba_chunk_scan_combined(**cut, chunk_size=64, dt_softplus=True,
                                     return_final_states=True, **options)


@pytest.mark.parametrize("ids", [[0, 1, 2, 3], [5, 7, -1, 9], [-3, -2, -1, 0],
                                 [0, -(2**31), 2**31 - 1, -1]], ids=str)
@pytest.mark.parametrize("id_dtype", [torch.int32, torch.int64], ids=str)
def test_seq_idx_keeps_sequences_apart(ids, id_dtype):
    """Negative ids are ids like others, and initial_states go to rows that begin with id 0."""
    operands = scan_operands(PACKED)
    initial = torch.randn(1, 4, 8, 16)
    lengths = torch.tensor(BOUNDS).diff()
    seq_idx = torch.tensor(ids, dtype=id_dtype).repeat_interleave(lengths)[None]
    out, states = mamba_chunk_scan_combined(
        **operands, chunk_size=64, dt_softplus=True, seq_idx=seq_idx, initial_states=initial,
        return_final_states=True)
    for place, (begin, end) in enumerate(zip(BOUNDS[:-1], BOUNDS[1:])):
        takes_initial = place == 0 and ids[0] == 0
        want, want_states = alone(operands, begin, end,
                                  initial_states=initial if takes_initial else None)
        torch.testing.assert_close(out[:, begin:end], want, rtol=0, atol=1e-5)
    torch.testing.assert_close(states, want_states, rtol=0, atol=1e-5)


def test_varlen_states():
    """cu_seqlens says which states are meant; out is kept apart by seq_idx alone."""
    operands = scan_operands(PACKED)
    options = {"chunk_size": 64, "dt_softplus": True}
    bounds = torch.tensor(BOUNDS)
    whole = mamba_chunk_scan_combined(**operands, **options)
    assert torch.equal(mamba_chunk_scan_combined(**operands, **options, cu_seqlens=bounds), whole)
    seq_idx = torch.arange(4).repeat_interleave(bounds.diff())[None]
    out, final_states, states = mamba_chunk_scan_combined(
        **operands, **options, seq_idx=seq_idx, cu_seqlens=bounds, return_final_states=True,
        return_varlen_states=True)
    assert states.shape == (4, 4, 8, 16) and states.dtype == operands["C"].dtype
    for place, (begin, end) in enumerate(zip(BOUNDS[:-1], BOUNDS[1:])):
        want, want_states = alone(operands, begin, end)
        torch.testing.assert_close(out[:, begin:end], want, rtol=0, atol=1e-5)
        torch.testing.assert_close(states[place], want_states[0], rtol=0, atol=1e-5)
    torch.testing.assert_close(final_states[0], states[-1], rtol=0, atol=1e-5)
    pair = mamba_chunk_scan_combined(**operands, **options, cu_seqlens=bounds,
                                     return_varlen_states=True)
    assert len(pair) == 2 and torch.equal(pair[0], whole)


def test_varlen_states_begin_from_initial_states():
    operands = scan_operands(PACKED)
    initial = torch.randn(1, 4, 8, 16)
    bounds = torch.tensor(BOUNDS)
    _, states = mamba_chunk_scan_combined(
        **operands, chunk_size=64, dt_softplus=True, cu_seqlens=bounds, initial_states=initial,
        return_varlen_states=True)
    _, want = alone(operands, 0, BOUNDS[1], initial_states=initial)
    torch.testing.assert_close(states[0], want[0], rtol=0, atol=1e-5)


def test_state_dtype_never_changes_final_states():
    _, states = mamba_chunk_scan_combined(**scan_operands(PACKED, torch.bfloat16), chunk_size=64,
                                          return_final_states=True, state_dtype=torch.bfloat16)
    assert states.dtype == torch.float32


def test_mixed_dtypes_of_B_and_C():
    operands = scan_operands(PACKED)
    mixed = dict(operands, B=operands["B"].bfloat16())
    want = mamba_chunk_scan_combined(**dict(operands, B=mixed["B"].float()), chunk_size=64)
    assert torch.equal(mamba_chunk_scan_combined(**mixed, chunk_size=64), want)


@pytest.mark.parametrize("change,text", [
    ({"chunk_size": 0}, "chunk_size is 0"), ({"return_varlen_states": True}, "cu_seqlens is None"),
    ({"D": torch.ones(3)}, "D has shape")], ids=str)
def test_scan_refuses(change, text):
    with pytest.raises(tilescan.InvalidArgument, match=text):
        mamba_chunk_scan_combined(**(scan_operands(PACKED) | {"chunk_size": 64} | change))


# ---- decoding ----------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("step", steps.STEPS, ids=str)
def test_state_update_agrees(step, dtype):
    """With operands expanded by stride 0, as callers of the public operator pass them."""
    operands = steps.step_operands(step, dtype, state_dtype=dtype)
    given = steps.expanded(step, operands)
    state = operands["state"].clone()
    out = selective_state_update(**dict(given, state=state), dt_softplus=step.dt_softplus)
    steps.assert_step_agrees(step, operands, {"out": out, "state": state})


@pytest.mark.parametrize("name", ["dt", "A", "D", "z", "dt_bias"])
def test_state_update_without_heads(name):
    """The form (batch, dim) is one head; operands are there in any combination."""
    step = steps.Step(seed=41, batch=3, nheads=1, headdim=12, ngroups=1, dstate=16, has_z=True)
    given = steps.expanded(step, steps.step_operands(step))
    if name in ("D", "z", "dt_bias"):
        del given[name]
    state = given["state"].clone()
    want = selective_state_update(**dict(given, state=state), dt_softplus=True)
    squeezed = {key: value.squeeze(0 if key in ("A", "D", "dt_bias") else 1)
                for key, value in given.items()}
    flat_state = given["state"].clone().squeeze(1)
    out = selective_state_update(**dict(squeezed, state=flat_state), dt_softplus=True)
    assert out.shape == (3, 12) and torch.equal(out, want.squeeze(1))
    assert torch.equal(flat_state, state.squeeze(1))


def test_state_update_clamps_nothing():
    step = steps.Step(seed=42, batch=2, nheads=2, headdim=4, ngroups=1, dstate=8,
                      dt_softplus=False, has_dt_bias=False)
    operands = steps.step_operands(step)
    assert (operands["dt"] < 0).any()
    state = operands["state"].clone()
    out = selective_state_update(**dict(steps.expanded(step, operands), state=state))
    steps.assert_step_agrees(step, operands, {"out": out, "state": state})


def test_state_update_slots():
    step = steps.Step(seed=43, batch=3, nheads=2, headdim=4, ngroups=1, dstate=8)
    operands = steps.expanded(step, steps.step_operands(step))
    pool = torch.randn(6, 2, 4, 8)
    slots = torch.tensor([4, -1, 0])
    state = pool.clone()
    out = selective_state_update(**dict(operands, state=state), dt_softplus=True,
                                 state_batch_indices=slots)
    direct = pool[[4, 1, 0]].clone()
    want = selective_state_update(**dict(operands, state=direct), dt_softplus=True)
    assert torch.equal(out[[0, 2]], want[[0, 2]]) and (out[1] == 0).all()
    assert torch.equal(state[[4, 0]], direct[[0, 2]])
    assert torch.equal(state[[1, 2, 3, 5]], pool[[1, 2, 3, 5]])


@pytest.mark.parametrize("name", ["A", "dt", "dt_bias"])
def test_state_update_refuses_mamba_1(name):
    step = steps.Step(seed=44, batch=2, nheads=2, headdim=4, ngroups=1, dstate=8)
    given = steps.expanded(step, steps.step_operands(step))
    given[name] = given[name].contiguous()
    with pytest.raises(tilescan.InvalidArgument, match=f"{name} .*Mamba-1"):
        selective_state_update(**given, dt_softplus=True)
