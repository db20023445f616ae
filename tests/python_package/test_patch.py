"""patch() and unpatch(), and transformers' models under them."""

import contextlib
import importlib
import importlib.util
import sys
import types

import pytest
import tilescan
import tilescan.mamba_ssm
import torch
import transformers

from accuracy import assert_agrees
from peers import float64_arithmetic

NAMES = ["causal_conv1d", "causal_conv1d.causal_conv1d_interface", "mamba_ssm", "mamba_ssm.ops",
         "mamba_ssm.ops.triton", "mamba_ssm.ops.triton.layernorm_gated",
         "mamba_ssm.ops.triton.selective_state_update", "mamba_ssm.ops.triton.ssd_combined"]


@contextlib.contextmanager
def patched():
    tilescan.patch()
    try:
        yield
    finally:
        tilescan.unpatch()


@pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")
def test_imports_find_tilescan_until_unpatch():
    before = {name: sys.modules.get(name) for name in NAMES}
    tilescan.patch()
    try:
        from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined
        assert mamba_chunk_scan_combined.__module__ == "tilescan.mamba_ssm.ops.triton.ssd_combined"
        assert importlib.util.find_spec("mamba_ssm") is tilescan.mamba_ssm.__spec__
        from causal_conv1d import causal_conv1d_fn
        assert causal_conv1d_fn.__module__ == "tilescan.causal_conv1d.causal_conv1d_interface"
        for name in NAMES:
            assert importlib.import_module(name) is sys.modules[f"tilescan.{name}"]
        tilescan.patch()  # again: no change
        assert sys.modules["mamba_ssm"] is tilescan.mamba_ssm
    finally:
        tilescan.unpatch()
    assert {name: sys.modules.get(name) for name in NAMES} == before
    tilescan.unpatch()  # again: no change


def test_warns_of_what_it_comes_too_late_for():
    """Layers that are replaced on CPUs are no reason there; others are."""
    importlib.import_module("transformers.models.bamba.modeling_bamba")
    importlib.import_module("transformers.models.falcon_h1.modeling_falcon_h1")
    try:
        with pytest.warns(RuntimeWarning, match="modeling_falcon_h1") as warned:
            tilescan.patch()
    finally:
        tilescan.unpatch()
    assert ("modeling_bamba" in str(warned[0].message)) == torch.cuda.is_available()


@pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")
def test_another_mamba_ssm_comes_back(monkeypatch):
    theirs = {name: types.ModuleType(name) for name in ("mamba_ssm", "mamba_ssm.modules")}
    for name, module in theirs.items():
        monkeypatch.setitem(sys.modules, name, module)
    with patched():
        assert sys.modules["mamba_ssm"] is tilescan.mamba_ssm
        assert "mamba_ssm.modules" not in sys.modules
    assert all(sys.modules[name] is module for name, module in theirs.items())


def test_what_fails_patches_nothing(monkeypatch):
    theirs = types.ModuleType("mamba_ssm")
    monkeypatch.setitem(sys.modules, "mamba_ssm", theirs)
    monkeypatch.delitem(sys.modules, "tilescan.mamba_ssm", raising=False)
    monkeypatch.setattr(importlib, "import_module", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tilescan.patch()
    assert sys.modules["mamba_ssm"] is theirs
    assert not tilescan._patch._placed


def test_importing_patches_nothing():
    assert not any(getattr(sys.modules.get(name), "__name__", "").startswith("tilescan")
                   for name in NAMES)


# ---- transformers ------------------------------------------------------------------------------

CONFIGS = {
    "mamba2": ("Mamba2", dict(vocab_size=199, hidden_size=64, state_size=16, num_heads=8,
                              head_dim=16, num_hidden_layers=3, n_groups=2, chunk_size=16)),
    "bamba": ("Bamba", dict(vocab_size=199, hidden_size=64, intermediate_size=96,
                            num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                            attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16,
                            mamba_n_groups=2, mamba_d_state=16, mamba_chunk_size=16)),
}
PROMPT_LENGTH, NEW_TOKENS = 37, 12


def model_code(model: str) -> types.ModuleType:
    """A model's code, imported once more: it looks operators up when it is imported."""
    name = f"transformers.models.{model}.modeling_{model}"
    source = importlib.util.find_spec(name).origin
    spec = importlib.util.spec_from_file_location(f"{name}_again", source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def make_model(model: str, code: types.ModuleType) -> torch.nn.Module:
    prefix, sizes = CONFIGS[model]
    config = getattr(transformers, f"{prefix}Config")(**sizes)
    torch.manual_seed(5)
    return getattr(code, f"{prefix}ForCausalLM")(config).eval()


@pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")
@pytest.mark.parametrize("model", CONFIGS)
def test_transformers_model(model, monkeypatch):
    """Prefill and generation with cache: logits as near to float64 as the fallback's, and the same
    tokens, all of the convolutions, scans and steps having gone through tilescan."""
    calls = record_calls(monkeypatch)
    ours, theirs = make_pair(model)
    ids = torch.randint(0, 199, (2, PROMPT_LENGTH), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        logits, peer = ours(ids).logits, theirs(ids).logits
        num_layers = sum("Mixer" in type(module).__name__ for module in ours.modules())
        assert calls == ["causal_conv1d_forward", "scan"] * num_layers > []
        tokens = ours.generate(ids, max_new_tokens=NEW_TOKENS, do_sample=False)
        num_steps = num_layers * (NEW_TOKENS - 1)
        assert calls.count("state_update") == calls.count("causal_conv1d_update") == num_steps
        num_calls = len(calls)
        assert torch.equal(tokens, theirs.generate(ids, max_new_tokens=NEW_TOKENS,
                                                   do_sample=False))
        with float64_arithmetic():
            truth = theirs.double()(ids).logits
    assert len(calls) == num_calls, "the fallback went through tilescan"
    assert_agrees("logits", logits, truth.double(), peer)


@pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")
@pytest.mark.parametrize("model", CONFIGS)
def test_transformers_packed_sequences(model):
    """seq_idx keeps sequences of a row apart, which the fallback refuses. For Bamba's attention
    layers flash attention would be needed: its first layer is Mamba-2's alone."""
    ours, theirs = make_pair(model)
    mixer, peer = (next(module for module in each.modules() if "Mixer" in type(module).__name__)
                   for each in (ours, theirs))
    hidden = torch.randn(1, PROMPT_LENGTH, 64, generator=torch.Generator().manual_seed(7))
    seq_idx = torch.tensor([[0] * 10 + [1] * (PROMPT_LENGTH - 10)], dtype=torch.int32)
    with torch.no_grad():
        got = mixer(hidden, seq_idx=seq_idx)
        want = [mixer(part) for part in (hidden[:, :10], hidden[:, 10:])]
        with pytest.raises(ValueError, match="can't keep packed sequences apart"):
            peer(hidden, seq_idx=seq_idx)
    # The same operators with tiles and sums begun elsewhere: fp32 rounding of values below 4.
    assert (got - torch.cat(want, dim=1)).abs().max() <= 1e-5


@pytest.mark.filterwarnings("ignore:tilescan.patch:RuntimeWarning")
@pytest.mark.parametrize("model", CONFIGS)
def test_transformers_training_mode(model, monkeypatch):
    """There the fused operator takes the whole layer, and gradients are refused when asked for."""
    calls = record_calls(monkeypatch)
    ours, _ = make_pair(model)
    ids = torch.randint(0, 199, (2, PROMPT_LENGTH), generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        want = ours(ids, use_cache=False).logits
        calls.clear()
        logits = ours.train()(ids, use_cache=False).logits
    num_layers = sum("Mixer" in type(module).__name__ for module in ours.modules())
    assert calls == ["split_conv1d_scan"] * num_layers > []
    # Its norm rounds in another order than transformers': fp32 rounding of logits below 4.
    assert (logits - want).abs().max() <= 1e-5
    with pytest.raises(tilescan.Unsupported, match="a gradient was asked for"):
        ours(ids, use_cache=False).logits.sum().backward()


def make_pair(model: str) -> tuple[torch.nn.Module, torch.nn.Module]:
    """A model on tilescan's operators, and one of the same weights on the fallback."""
    with patched():
        ours = make_model(model, model_code(model))
    theirs = make_model(model, model_code(model))
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def record_calls(monkeypatch) -> list:
    calls = []
    for name in ("causal_conv1d_forward", "causal_conv1d_update", "rms_norm_gated", "scan",
                 "split_conv1d_scan", "state_update"):
        monkeypatch.setattr(tilescan.torch, name, recorded(calls, name))
    return calls


def recorded(calls: list, name: str):
    function = getattr(tilescan.torch, name)

    def record(*args, **kwargs):
        calls.append(name)
        return function(*args, **kwargs)

    return record
