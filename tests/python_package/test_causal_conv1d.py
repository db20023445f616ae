"""The drop-in for causal_conv1d against its definition, its layouts and its behaviour kept."""

import inspect

import pytest
import tilescan
import torch
from tilescan.causal_conv1d import causal_conv1d_fn, causal_conv1d_update

from accuracy import assert_agrees
from layer_refs import conv_ref, conv_update_ref

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SIGNATURES = {
    causal_conv1d_fn: dict(x=None, weight=None, bias=None, seq_idx=None, initial_states=None,
                           return_final_states=False, final_states_out=None, activation=None),
    causal_conv1d_update: dict(x=None, conv_state=None, weight=None, bias=None, activation=None,
                               cache_seqlens=None, conv_state_indices=None)}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__name__)
def test_signature(function):
    parameters = inspect.signature(function).parameters.values()
    assert [p.name for p in parameters] == list(SIGNATURES[function])
    assert all(p.default in (p.empty, SIGNATURES[function][p.name]) for p in parameters)


def normal(*shape, dtype=torch.float32, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


# (batch, dim, seqlen) as the public operator takes it: tokens side by side, channels side by side, and
# channels side by side in a wide projection. "dense" ones give out their own strides.
LAYOUTS = {
    "tokens": lambda dtype, seqlen: normal(2, 24, seqlen, dtype=dtype),
    "channels": lambda dtype, seqlen: normal(2, seqlen, 24, dtype=dtype).mT,
    "part": lambda dtype, seqlen: normal(2, seqlen, 60, dtype=dtype)[..., 20:44].mT,
}


def run_ref(function, convert, *operands, **options):
    """A reference on operands in another float dtype."""
    def converted(value):
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.to(convert) if is_float else value

    return function(*map(converted, operands),
                    **{name: converted(value) for name, value in options.items()})


def assert_is(actual, function, *operands, names=("out", "state"), **options):
    truth = run_ref(function, torch.float64, *operands, **options)
    peer = run_ref(function, torch.float32, *operands, **options)
    for name, got, left, right in zip(names, actual, truth, peer, strict=True):
        assert_agrees(name, got, left, right)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width,options", [
    (4, {"activation": "silu"}), (3, {"bias": True}),
    (2, {"bias": True, "initial_states": True, "activation": "swish"}),
    (4, {"initial_states": True})], ids=["silu", "bias", "states_swish", "states"])
def test_forward(width, options, layout, dtype):
    x, weight = LAYOUTS[layout](dtype, 19), normal(24, width, seed=2)
    options = dict(options)
    if options.get("bias"):
        options["bias"] = normal(24, seed=3)
    if options.get("initial_states"):
        options["initial_states"] = normal(2, 24, width - 1, dtype=dtype, seed=4)
    out, states = causal_conv1d_fn(x, weight, **options, return_final_states=True)
    assert out.dtype == states.dtype == dtype
    assert out.stride() == torch.empty_like(x).stride()
    assert_is((out, states), conv_ref, x, weight, **options)
    assert torch.equal(causal_conv1d_fn(x, weight, **options), out)


@pytest.mark.parametrize("seqlen", [1, 2, 3])
def test_final_states_of_short_sequences(seqlen):
    """Initial states move up; without them zeros do."""
    x, weight = LAYOUTS["channels"](torch.float32, seqlen), normal(24, 4)
    for initial_states in (None, normal(2, 24, 3, seed=4)):
        where = torch.full((2, 24, 3), 7.0)
        out, states = causal_conv1d_fn(x, weight, None, None, initial_states, True, where)
        assert states is where
        assert_is((out, states), conv_ref, x, weight, initial_states=initial_states)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_seq_idx(layout):
    x, weight, bias = LAYOUTS[layout](torch.float32, 21), normal(24, 4), normal(24, seed=3)
    ids = torch.tensor([[0] * 5 + [1] + [4] * 9 + [-1] * 6, [3] * 20 + [-2]], dtype=torch.int32)
    out = causal_conv1d_fn(x, weight, bias, ids, activation="silu")
    assert (out.mT[ids < 0] == 0).all()
    assert_is((out,), lambda *args, **options: conv_ref(*args, **options)[:1], x, weight, bias=bias,
              seq_idx=ids, activation="silu", names=("out",))


def test_seq_idx_where_the_public_package_mixes_or_refuses():
    """An id that comes back is a sequence of its own, windows pass over padding, the first sequence
    of a row takes initial states and the last one gives final ones."""
    x, weight, initial = normal(1, 24, 9), normal(24, 4), normal(1, 24, 3, seed=4)
    ids = torch.tensor([[0, 0, -1, -1, 0, 1, 0, 0, -1]], dtype=torch.int32)
    out, states = causal_conv1d_fn(x, weight, seq_idx=ids, initial_states=initial,
                                   return_final_states=True)
    want = torch.zeros_like(out)
    for first, tokens in ((initial, [0, 1, 4]), (None, [5]), (None, [6, 7])):
        want[..., tokens], want_states = causal_conv1d_fn(x[..., tokens], weight, None, None, first,
                                                          True)
    assert torch.equal(out, want) and torch.equal(states, want_states)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seqlen,is_circular,width,state_len", [
    (None, False, 4, 4), (None, True, 4, 4), (1, False, 4, 3), (1, True, 2, 6), (3, False, 3, 9),
    (3, True, 4, 3), (7, False, 4, 4), (7, True, 3, 9)])
def test_update(seqlen, is_circular, width, state_len, dtype):
    x = normal(3, 24, dtype=dtype) if seqlen is None else normal(3, seqlen, 24, dtype=dtype).mT
    weight, bias = normal(24, width, seed=2), normal(24, seed=3)
    given = normal(3, 24, state_len, dtype=dtype, seed=5)
    numbers = torch.tensor([0, 5, 1007], dtype=torch.int32) if is_circular else None
    state = given.clone()
    out = causal_conv1d_update(x, state, weight, bias, "silu", numbers)
    assert out.shape == x.shape and out.dtype == dtype
    assert out.stride() == torch.empty_like(x).stride()
    tokens, result = (x, out) if seqlen is not None else (x.unsqueeze(-1), out.unsqueeze(-1))
    assert_is((result, state), conv_update_ref, tokens, given, weight, bias, cache_seqlens=numbers,
              activation="silu")


@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=str)
def test_update_slots(index_dtype):
    x, weight, pool = normal(3, 24), normal(24, 4), normal(6, 24, 4, seed=5)
    state = pool.clone()
    out = causal_conv1d_update(x, state, weight,
                               conv_state_indices=torch.tensor([4, -1, 0], dtype=index_dtype))
    direct = pool[[4, 1, 0]].clone()
    want = causal_conv1d_update(x, direct, weight)
    assert torch.equal(out[[0, 2]], want[[0, 2]]) and (out[1] == 0).all()
    assert torch.equal(state[[4, 0]], direct[[0, 2]])
    assert torch.equal(state[[1, 2, 3, 5]], pool[[1, 2, 3, 5]])


def test_update_goes_on_from_final_states():
    x, weight = normal(2, 24, 20), normal(24, 4)
    want = causal_conv1d_fn(x, weight)
    out, state = causal_conv1d_fn(x[..., :12], weight, return_final_states=True)
    steps = [causal_conv1d_update(x[..., t], state, weight) for t in range(12, 20)]
    assert torch.equal(torch.cat([out, torch.stack(steps, -1)], -1), want)


@pytest.mark.parametrize("change,error,text", [
    ({"activation": "gelu"}, NotImplementedError, 'activation is "gelu"'),
    ({"weight": normal(24, 5)}, tilescan.InvalidArgument, "width"),
    ({"bias": normal(23)}, tilescan.InvalidArgument, "bias has shape"),
    ({"x": normal(24, 9)}, tilescan.InvalidArgument, "expected \\(batch, dim, seqlen\\)"),
    ({"seq_idx": torch.zeros(2, 9, dtype=torch.int64)}, tilescan.InvalidArgument, "seq_idx"),
    ({"return_final_states": True, "final_states_out": normal(2, 24, 4)}, tilescan.InvalidArgument,
     "final_states_out has shape")], ids=lambda value: "-".join(value) if isinstance(
         value, dict) else None)
def test_forward_refuses(change, error, text):
    with pytest.raises(error, match=text):
        causal_conv1d_fn(**({"x": normal(2, 24, 9), "weight": normal(24, 4)} | change))


def test_update_refuses_and_writes_nothing():
    state = torch.ones(2, 24, 2)
    with pytest.raises(tilescan.InvalidArgument, match="conv_state"):
        causal_conv1d_update(normal(2, 24), state, normal(24, 4))
    with pytest.raises(NotImplementedError, match="activation"):
        causal_conv1d_update(normal(2, 24), state, normal(24, 3), activation="relu")
    assert (state == 1).all()


def test_backward_is_refused():
    weight = normal(24, 4).requires_grad_()
    for name, out in (("forward", causal_conv1d_fn(normal(2, 24, 9), weight)),
                      ("update", causal_conv1d_update(normal(2, 24), normal(2, 24, 4), weight))):
        with pytest.raises(tilescan.Unsupported, match=f"causal_conv1d_{name}: a gradient"):
            out.sum().backward()
