"""The forward that patch() gives transformers' Mamba-2 layers on the CPU, against their own."""

import contextlib
import importlib
import inspect
import json
import sys

import pytest
import tilescan
import tilescan.torch
import torch
import transformers

from accuracy import assert_agrees
from conftest import REPOSITORY
from peers import float64_arithmetic
from tilescan import _transformers

pytestmark = pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")

HYBRID = dict(vocab_size=199, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
              num_attention_heads=4, num_key_value_heads=2)
CONFIGS = {
    "Mamba2": dict(vocab_size=199, hidden_size=64, state_size=16, num_heads=8, head_dim=16,
                   num_hidden_layers=3, n_groups=2, chunk_size=16),
    "Bamba": dict(HYBRID, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16,
                  mamba_n_groups=2, mamba_d_state=16, mamba_chunk_size=16),
    "GraniteMoeHybrid": dict(HYBRID, layer_types=["mamba", "attention", "mamba"], mamba_n_heads=8,
                             mamba_d_head=16, mamba_n_groups=2, mamba_d_state=16,
                             mamba_chunk_size=16, num_local_experts=0,
                             shared_intermediate_size=96),
    "NemotronH": dict(HYBRID, layers_block_type=["mamba", "attention", "mamba"],
                      mamba_num_heads=8, mamba_head_dim=16, n_groups=2, ssm_state_size=16,
                      chunk_size=16),
    "Zamba2": dict(HYBRID, num_hidden_layers=4, mamba_d_state=16, mamba_headdim=16,
                   mamba_ngroups=2, n_mamba_heads=8, chunk_size=16, layers_block_type=[
                       "mamba", "hybrid", "mamba", "hybrid"], num_mem_blocks=1),
}
PROMPT_LENGTH, NEW_TOKENS = 37, 8
LAYER_NAMES = set(_transformers._LAYERS.values())


@contextlib.contextmanager
def patched():
    tilescan.patch()
    try:
        yield
    finally:
        tilescan.unpatch()


@pytest.fixture
def calls(monkeypatch):
    """The names of tilescan's functions that were called."""
    names = []

    def recorded(name, function):
        return lambda *args, **kwargs: (names.append(name), function(*args, **kwargs))[1]

    for name in ("scan", "state_update"):
        monkeypatch.setattr(tilescan.torch, name, recorded(name, getattr(tilescan.torch, name)))
    return names


def make_model(name, **changes):
    torch.manual_seed(5)
    config = getattr(transformers, f"{name}Config")(**CONFIGS[name], **changes)
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    for layer in layers_of(model):
        # Released models have biases and D of their own; fresh ones are all alike.
        torch.nn.init.normal_(layer.D)
        torch.nn.init.uniform_(layer.dt_bias, -3, 0)
    return model


def layers_of(model):
    return [module for module in model.modules() if type(module).__name__ in LAYER_NAMES]


def prompt(batch=2, length=PROMPT_LENGTH):
    return torch.randint(3, 199, (batch, length), generator=torch.Generator().manual_seed(6))


@pytest.mark.parametrize("name", CONFIGS)
def test_model(name, calls):
    """Logits as near to float64 as those of its own forward, and the same greedy tokens."""
    model, ids = make_model(name), prompt()
    num_layers = len(layers_of(model))

    def generate():
        return model.generate(ids, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)

    with torch.no_grad():
        peer, peer_tokens = model(ids, use_cache=False).logits, generate()
        assert calls == []
        with patched():
            logits = model(ids, use_cache=False).logits
            assert calls == ["scan"] * num_layers > []
            tokens = generate()
            assert calls.count("scan") == 2 * num_layers
            assert calls.count("state_update") == num_layers * (NEW_TOKENS - 1)
        with float64_arithmetic():
            truth = model.double()(ids, use_cache=False).logits.double()
    assert torch.equal(tokens, peer_tokens)
    assert_agrees("logits", logits, truth, peer)


def test_runs_all_between_the_projections(monkeypatch):
    """A norm with a hook or a forward of its own is run as it is, so that these are called."""
    names = []

    def recorded(name, function):
        return lambda *args, **kwargs: (names.append(name), function(*args, **kwargs))[1]

    for name in ("causal_conv1d_forward", "causal_conv1d_update", "rms_norm_gated"):
        monkeypatch.setattr(tilescan.torch, name, recorded(name, getattr(tilescan.torch, name)))
    model = make_model("Mamba2")
    with torch.no_grad(), patched():
        cache = transformers.DynamicCache(config=model.config)
        for ids in (prompt(), prompt(length=1)):
            model(ids, cache=cache, use_cache=True)
        assert names == (["causal_conv1d_forward", "rms_norm_gated"] * 3
                         + ["causal_conv1d_update", "rms_norm_gated"] * 3)
        names.clear()
        layers_of(model)[1].norm.register_forward_hook(lambda *_: names.append("hook"))
        model(prompt(), use_cache=False)
        assert names[1::2] == ["rms_norm_gated", "hook", "rms_norm_gated"]
        names.clear()
        norm = layers_of(model)[0].norm
        norm.forward = recorded("own", norm.forward)
        model(prompt(), use_cache=False)
        assert names[1::2] == ["own", "hook", "rms_norm_gated"]


def pieces(model, ids, lengths, **options):
    """Logits of a prompt given in pieces, with what the cache holds in the end."""
    cache, logits = transformers.DynamicCache(config=model.config), []
    for piece in ids.split(lengths, dim=1):
        logits.append(model(piece, cache=cache, use_cache=True, **options).logits)
    return torch.cat(logits, 1), cache


def assert_close(actual, expected):
    # Two results in fp32 of the same sums of up to 64 products, through three layers.
    torch.testing.assert_close(actual, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("lengths", [[37], [1, 36], [2, 1, 1, 33], [16, 20, 1]], ids=str)
def test_caches_are_those_of_the_own_forward(lengths):
    model, ids = make_model("Mamba2"), prompt()
    with torch.no_grad():
        want, want_cache = pieces(model, ids, lengths)
        with patched():
            got, got_cache = pieces(model, ids, lengths)
        whole = model(ids).logits
    assert_close(got, want)
    assert_close(got, whole)
    for got_layer, want_layer in zip(got_cache.layers, want_cache.layers):
        assert_close(got_layer.conv_states[0], want_layer.conv_states[0])
        assert_close(got_layer.recurrent_states[0], want_layer.recurrent_states[0])
        assert got_layer.recurrent_states[0].dtype == want_layer.recurrent_states[0].dtype


def test_a_cache_that_records_its_past():
    model, ids = make_model("Mamba2"), prompt()

    def run():
        cache = transformers.DynamicCache(config=model.config)
        for layer in cache.layers:
            layer.activate_past_recording()
        first = model(ids[:, :30], cache=cache, use_cache=True).logits
        rest = [model(ids[:, idx:idx + 1], cache=cache, use_cache=True).logits
                for idx in range(30, 34)]
        return torch.cat([first, *rest], 1), cache.layers[0].conv_states[0]

    with torch.no_grad():
        want, want_states = run()
        with patched():
            got, got_states = run()
    assert_close(got, want)
    assert got_states.shape == want_states.shape and got_states.shape[-1] == 34


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding(side):
    model, ids = make_model("Mamba2"), prompt()
    mask = torch.ones_like(ids)
    mask[1, slice(0, 9) if side == "left" else slice(-9, None)] = 0
    with torch.no_grad():
        want = pieces(model, ids, [PROMPT_LENGTH], attention_mask=mask)[0]
        with patched():
            got = pieces(model, ids, [PROMPT_LENGTH], attention_mask=mask)[0]
            alone = model(ids[1:, 9:] if side == "left" else ids[1:, :-9]).logits
    assert_close(got, want)
    assert_close(got[1:, 9:] if side == "left" else got[1:, :-9], alone)


@pytest.mark.parametrize("by", ["seq_idx", "cu_seqlens"])
def test_packed_sequences(by):
    """Which its own forward refuses without kernels."""
    model, ids = make_model("Mamba2"), prompt(batch=1)
    bounds = torch.tensor([0, 3, 4, 20, 37])
    given = {"seq_idx": torch.arange(4).repeat_interleave(bounds.diff())[None],
             "cu_seqlens": bounds}[by]
    def run(rows, **options):
        return model.backbone(rows, use_cache=False, **options).last_hidden_state

    with torch.no_grad():
        with pytest.raises(ValueError, match="packed sequences"):
            run(ids, **{by: given})
        with patched():
            got = run(ids, **{by: given})
        alone = [run(piece) for piece in ids.split(bounds.diff().tolist(), dim=1)]
    assert_close(got, torch.cat(alone, 1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_dtypes(dtype):
    model, ids = make_model("Mamba2").to(dtype), prompt()
    with torch.no_grad():
        peer, _ = pieces(model, ids, [36, 1])
        with patched():
            logits, cache = pieces(model, ids, [36, 1])
        truth = model.double()(ids).logits.double()
    assert cache.layers[0].recurrent_states[0].dtype == torch.float32
    # One rounding to dtype for one: no farther from float64 than its own forward, but for chance.
    def error(some):
        return (some.double() - truth).norm() / truth.norm()

    assert error(logits) <= 1.25 * error(peer), (error(logits), error(peer))


def test_gradients_are_left_to_its_own_forward(calls):
    model, ids = make_model("Mamba2").train(), prompt()
    with patched():
        model(ids, use_cache=False).logits.sum().backward()
    assert calls == [] and all(weight.grad is not None for weight in model.parameters())
    model.requires_grad_(False)
    with patched():
        model(ids, use_cache=False)
    assert calls == ["scan"] * 3


def test_other_dtypes_and_names_are_left_to_its_own_forward(calls):
    layer = layers_of(make_model("Mamba2").requires_grad_(False))[0]
    rows = torch.randn(1, 5, 64)
    with patched():
        layer.double()(rows.double())
        with pytest.warns(FutureWarning, match="cache_params"):
            layer.float()(rows, cache_params=None)
    assert calls == []


def test_compiles_as_one_graph():
    layer = layers_of(make_model("Mamba2").requires_grad_(False))[0]
    rows = torch.randn(2, 21, 64)
    with patched():
        want = layer(rows)
        got = torch.compile(layer, fullgraph=True, backend="aot_eager")(rows)
    torch.testing.assert_close(got, want)
    torch.compiler.reset()


# ---- Putting it in -----------------------------------------------------------------------------

def test_unpatch_restores_the_forward():
    layer = type(layers_of(make_model("Mamba2"))[0])
    before = layer.forward
    with patched():
        assert layer.forward is not before
        assert inspect.signature(layer.forward) == inspect.signature(before)
    assert layer.forward is before


def import_anew(monkeypatch, model):
    """A model's code as if it had not been imported before."""
    name = f"transformers.models.{model}.modeling_{model}"
    before = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    module = importlib.import_module(name)
    monkeypatch.setattr(importlib.import_module(f"transformers.models.{model}"),
                        f"modeling_{model}", before)
    assert module is not before
    return module


def test_code_imported_later(monkeypatch):
    with patched():
        layer = import_anew(monkeypatch, "mamba2").Mamba2Mixer
        assert layer.forward.__globals__["__name__"] == "tilescan._transformers"
    assert layer.forward.__globals__["__name__"] != "tilescan._transformers"
    layer = import_anew(monkeypatch, "bamba").BambaMixer
    assert layer.forward.__globals__["__name__"] != "tilescan._transformers"


def other_parameters(self, hidden_states, cache=None, padding=None):
    return hidden_states


def other_names(self, hidden_states, cache=None, attention_mask=None, **kwargs):
    return hidden_states * self.multiplier


@pytest.mark.parametrize("forward,text", [
    (other_parameters, r"forward takes \(self, hidden_states, cache, padding\), expected"),
    (other_names, "by the names multiplier")], ids=["parameters", "names"])
def test_another_version_is_left_as_it_is(forward, text, monkeypatch):
    module = importlib.import_module("transformers.models.mamba2.modeling_mamba2")
    bamba = importlib.import_module("transformers.models.bamba.modeling_bamba").BambaMixer
    before = bamba.forward
    monkeypatch.setattr(module.Mamba2Mixer, "forward", forward)
    try:
        with pytest.warns(RuntimeWarning, match=f"Mamba2Mixer.*{text}.*tried with 5.24"):
            tilescan.patch()
        assert module.Mamba2Mixer.forward is forward and bamba.forward is not before
        assert sys.modules["mamba_ssm"] is tilescan.mamba_ssm
    finally:
        tilescan.unpatch()
    assert module.Mamba2Mixer.forward is forward and bamba.forward is before


def test_a_version_without_the_layer(monkeypatch):
    module = importlib.import_module("transformers.models.mamba2.modeling_mamba2")
    monkeypatch.delattr(module, "Mamba2Mixer")
    try:
        with pytest.warns(RuntimeWarning, match="Mamba2Mixer is not there: on CPUs it runs as it is"):
            tilescan.patch()
    finally:
        tilescan.unpatch()


def test_the_measuring_program(tmp_path, monkeypatch):
    """It checks what it times, and its file becomes a table."""
    monkeypatch.syspath_prepend(REPOSITORY / "bench" / "python")
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    model_tables = importlib.import_module("model_tables")
    program = importlib.import_module("transformers_bench")
    path, num_threads = tmp_path / "result.json", torch.get_num_threads()
    monkeypatch.setattr(sys, "argv", [
        "transformers_bench", "--seqlens", "16", "--new-tokens", "2", "--layers", "1", "--rounds", "1",
        "--threads", str(num_threads), "--json", str(path)])
    with torch.no_grad():
        program.main()
    data = json.loads(path.read_text())
    assert data["environment"]["implementations"]["transformers"].startswith("transformers ")
    _, _, rows = model_tables.model_table(data)
    assert [row[0] for row in rows] == ["mamba2-130m/16", "mamba2-130m/decode-2"]
    assert float(rows[0][6]) < 1e-5
