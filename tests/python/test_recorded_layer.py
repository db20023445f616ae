"""The trained layer recorded from transformers in examples/layer, run through tilescan."""

import pathlib

import pytest
import safetensors
import safetensors.torch
import torch

import engines
from accuracy import assert_agrees
from problems import INFINITY, Problem, to_float64
from test_transformers import run_peer

LAYER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "layer" / "layer.safetensors"


@pytest.fixture(scope="module")
def layer() -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with safetensors.safe_open(LAYER, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def assert_layer_agrees(actual, tensors, metadata):
    operands = {name: tensor for name, tensor in tensors.items() if "expected" not in name}
    batch, seqlen, nheads, headdim = operands["x"].shape
    problem = Problem(seed=0, batch=batch, seqlen=seqlen, nheads=nheads, headdim=headdim,
                      ngroups=operands["B"].shape[2], dstate=operands["B"].shape[3],
                      chunk_size=int(metadata["chunk_size"]), dt_limit=(0.0, INFINITY))
    truth = run_peer(problem, to_float64(operands))
    for name in ("out", "final_states"):
        assert_agrees(name, actual[name], truth[name], tensors[f"expected_{name}"])


def test_agrees_with_what_transformers_computed(engine, layer):
    tensors, metadata = layer
    operands = {name: tensor for name, tensor in tensors.items() if "expected" not in name}
    assert (metadata["dt_softplus"], metadata["dt_limit"]) == ("true", "0.0,inf")
    actual = engine.scan_forward(operands, dt_softplus=True, dt_limit=(0.0, INFINITY),
                                 chunk_size=int(metadata["chunk_size"]))
    assert_layer_agrees(actual, tensors, metadata)


def test_tool_needs_no_flag_for_the_file(layer, pytestconfig, tmp_path):
    tool = pytestconfig.getoption("--build-dir").resolve() / "tilescan"
    engines.run_tool(tool, "run", LAYER, "-o", tmp_path / "out.safetensors")
    assert_layer_agrees(safetensors.torch.load_file(tmp_path / "out.safetensors"), *layer)
