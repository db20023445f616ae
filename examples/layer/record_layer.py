#!/usr/bin/env python3
"""Records the scan operands and results of one layer of a Mamba-2 model it trains.

Trains a small byte-level Mamba2ForCausalLM (public `transformers`, plain PyTorch path, CPU) on a
public-domain text, runs it on text it has not seen, and writes what one layer's scan was given and
what it returned as safetensors, after checking it against the recurrence in float64.

Example:
  apt-get install dict-devil
  pip install -r requirements.txt
  python3 record_layer.py --steps 700 --threads 1 --output layer.safetensors
"""

import argparse
import dataclasses
import gzip
import hashlib
import importlib.metadata
import math
import pathlib
import sys
import time

import numpy as np
import torch
import tqdm
from transformers import Mamba2Config, Mamba2ForCausalLM
from transformers.models.mamba2 import modeling_mamba2

import describe_layer

DEFAULT_TEXT = pathlib.Path("/usr/share/dictd/devil.dict.dz")
TEXT_TITLE = ('Debian package dict-devil: Ambrose Bierce, "The Devil\'s Dictionary" (1911), '
              "public domain")
# What stands before this line was added by those who packed the text.
TEXT_BEGIN = b"PREFACE"
HELD_OUT_FRACTION = 0.05
BYTE_VALUES = 256


@dataclasses.dataclass(frozen=True)
class Training:
    """How the model is trained; seqlen and batch bound the memory of the PyTorch path."""

    seed: int = 20240531
    batch: int = 4
    seqlen: int = 256
    learning_rate: float = 4e-3
    warmup_fraction: float = 0.05
    final_fraction: float = 0.05  # of the learning rate, at the end of the cosine
    weight_decay: float = 0.1  # of matrices; A_log, D, dt_bias and norms have none
    max_gradient_norm: float = 1.0
    report_every: int = 25


@dataclasses.dataclass(frozen=True)
class Recording:
    """What is recorded: 500 tokens are not a multiple of a tile, and the file stays under 3 MB."""

    seqlen: int = 500
    layer_idx: int = 1  # the middle one of three


def model_config() -> Mamba2Config:
    """A small model with the headdim and dstate of the published ones (64 and 128)."""
    return Mamba2Config(
        vocab_size=BYTE_VALUES, hidden_size=192, num_heads=6, head_dim=64, state_size=128,
        n_groups=1, num_hidden_layers=3, chunk_size=64, initializer_range=0.05,
        pad_token_id=None, bos_token_id=None, eos_token_id=None)


def read_text(path: pathlib.Path) -> bytes:
    """Returns the book without the packer's head. dictzip files are gzip files."""
    text = gzip.decompress(path.read_bytes())
    begin = text.find(TEXT_BEGIN)
    if begin < 0:
        raise ValueError(f"{path}: expected a text with the line {TEXT_BEGIN.decode()}, found none")
    return text[begin:]


def split_text(text: bytes) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (trained on, held out) as int64 bytes; the held-out part begins with an entry."""
    cut = text.index(b"\n\n", int(len(text) * (1.0 - HELD_OUT_FRACTION))) + 2
    tokens = torch.from_numpy(np.frombuffer(text, dtype=np.uint8).astype(np.int64))
    return tokens[:cut], tokens[cut:]


def make_optimizer(model: torch.nn.Module, training: Training) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": training.weight_decay},
              {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=training.learning_rate, betas=(0.9, 0.95))


def learning_rate(training: Training, done: float) -> float:
    """Linear warm-up, then a cosine; `done` is the fraction of the training that is over."""
    if done < training.warmup_fraction:
        return training.learning_rate * max(done / training.warmup_fraction, 0.02)
    phase = (done - training.warmup_fraction) / (1.0 - training.warmup_fraction)
    cosine = 0.5 * (1.0 + math.cos(math.pi * min(phase, 1.0)))
    return training.learning_rate * (
        training.final_fraction + (1.0 - training.final_fraction) * cosine)


def train(model: Mamba2ForCausalLM, tokens: torch.Tensor, training: Training,
          args: argparse.Namespace) -> int:
    """Trains until args.steps or args.minutes are over and returns the number of steps."""
    optimizer = make_optimizer(model, training)
    generator = torch.Generator().manual_seed(training.seed)
    model.train()
    begin = time.monotonic()
    step, losses = 0, []
    with tqdm.tqdm(total=args.steps, unit="step", disable=None) as progress:
        while True:
            minutes = (time.monotonic() - begin) / 60.0
            done = step / args.steps if args.steps else minutes / args.minutes
            if done >= 1.0:
                break
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(training, done)
            starts = torch.randint(len(tokens) - training.seqlen, (training.batch, 1),
                                   generator=generator)
            input_ids = tokens[starts + torch.arange(training.seqlen)]
            loss = model(input_ids=input_ids, labels=input_ids).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), training.max_gradient_norm)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            losses.append(loss.item())
            progress.update()
            if step % training.report_every == 0 or step == 1:
                progress.write(f"step {step}: loss {np.mean(losses):.3f} nats a byte, "
                               f"{minutes:.1f} minutes", file=sys.stdout)
                sys.stdout.flush()
                losses = []
    return step


@torch.no_grad()
def held_out_loss(model: Mamba2ForCausalLM, tokens: torch.Tensor, seqlen: int) -> float:
    """The mean loss over the held-out text cut into rows of `seqlen` bytes, in nats a byte."""
    model.eval()
    rows = tokens[:len(tokens) // seqlen * seqlen].view(-1, seqlen)
    losses = [model(input_ids=row[None], labels=row[None], use_cache=False).loss for row in rows]
    return torch.stack(losses).mean().item()


class ScanRecorder:
    """Keeps what the model's scan is called with and what it returns, while it is active.

    It stands in for the function that the mixer calls and passes every call on to it, so that
    operands and results are those of the forward itself.
    """

    def __init__(self):
        self.calls: list[tuple[dict, tuple[torch.Tensor, torch.Tensor]]] = []
        self._scan = modeling_mamba2.mamba2_chunk_scan

    def __call__(self, x, dt, A, B, C, **kwargs):
        result = self._scan(x, dt, A, B, C, **kwargs)
        self.calls.append((dict(kwargs, x=x, dt=dt, A=A, B=B, C=C), result))
        return result

    def __enter__(self):
        modeling_mamba2.mamba2_chunk_scan = self
        return self

    def __exit__(self, *exception):
        modeling_mamba2.mamba2_chunk_scan = self._scan


@torch.no_grad()
def record(model: Mamba2ForCausalLM, input_ids: torch.Tensor,
           layer_idx: int) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Runs the model on input_ids (1, seqlen) and returns the tensors and options of one scan."""
    model.eval()
    mixer = model.backbone.layers[layer_idx].mixer
    normed = []
    hook = mixer.norm.register_forward_pre_hook(lambda _, args: normed.append(args[0]))
    with ScanRecorder() as recorder:
        result = model(input_ids=input_ids, use_cache=True)
    hook.remove()

    operands, (out, final_states) = recorder.calls[layer_idx]
    cached = result.cache.get_recurrent_state(layer_idx, state_idx=0)
    if len(recorder.calls) != model.config.num_hidden_layers:
        raise RuntimeError(f"expected {model.config.num_hidden_layers} scans in one forward, "
                           f"saw {len(recorder.calls)}")
    if not torch.equal(normed[0], out.flatten(2)) or not torch.equal(cached, final_states):
        raise RuntimeError("the scan's results are not what the layer's norm and cache received")
    if operands["initial_states"] is not None or operands["z"] is not None:
        raise RuntimeError("expected a scan without initial states and gate")

    tensors = {name: operands[name] for name in ("x", "dt", "A", "B", "C", "D", "dt_bias")}
    tensors |= {"expected_out": out, "expected_final_states": final_states}
    lower, upper = operands["dt_limit"]
    options = {"operation": "scan_forward",
               "dt_softplus": "true" if operands["dt_softplus"] else "false",
               "dt_limit": f"{lower},{upper}",
               "chunk_size": str(operands["chunk_size"])}
    return {name: tensor.detach().contiguous() for name, tensor in tensors.items()}, options


def require_torch_path() -> None:
    """Refuses to record when transformers would call another implementation than its own."""
    for package in ("mamba_ssm", "kernels"):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        raise RuntimeError(f"expected an environment without {package}, so that transformers uses "
                           f"its PyTorch path; {package} {version} is installed")


def parse_args() -> argparse.Namespace:
    lines = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(description=lines[0], epilog=lines[-1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, help="training steps (default: 700); the same number "
                        "on the same machine and thread count gives the same weights")
    length.add_argument("--minutes", type=float, help="train for this long instead")
    parser.add_argument("--threads", type=int, default=1, help="torch threads (default: 1)")
    parser.add_argument("--text", type=pathlib.Path, default=DEFAULT_TEXT,
                        help="the book as its package holds it (default: %(default)s)")
    parser.add_argument("--output", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_name("layer.safetensors"),
                        help="file to write (default: beside this script)")
    args = parser.parse_args()
    if args.steps is None and args.minutes is None:
        args.steps = 700
    for name in ("steps", "minutes", "threads"):
        value = getattr(args, name)
        if value is not None and value <= 0:
            parser.error(f"--{name}: expected a positive number, got {value}")
    if not args.text.is_file():
        parser.error(f"--text: no file {args.text}; the Debian package dict-devil holds it "
                     "(apt-get install dict-devil)")
    if not args.output.resolve().parent.is_dir():
        parser.error(f"--output: no folder {args.output.resolve().parent}")
    return args


def main() -> int:
    args = parse_args()
    require_torch_path()
    training, recording = Training(), Recording()
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(training.seed)
    text = read_text(args.text)
    trained_on, held_out = split_text(text)

    model = Mamba2ForCausalLM(model_config())
    num_parameters = sum(p.numel() for p in model.parameters())
    print(f"{num_parameters} parameters, {len(trained_on)} bytes to train on, "
          f"{len(held_out)} held out")
    print(f"held-out loss before training: "
          f"{held_out_loss(model, held_out, training.seqlen):.3f} nats a byte")
    steps = train(model, trained_on, training, args)
    loss = held_out_loss(model, held_out, training.seqlen)
    print(f"held-out loss after {steps} steps: {loss:.3f} nats a byte")

    tensors, metadata = record(model, held_out[None, :recording.seqlen], recording.layer_idx)
    metadata |= {
        "source": "transformers Mamba2ForCausalLM, PyTorch path on the CPU, fp32; trained and "
                  "recorded by examples/layer/record_layer.py",
        "transformers": importlib.metadata.version("transformers"),
        "torch": torch.__version__,
        "text": TEXT_TITLE,
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "text_offset": str(len(trained_on)),
        "layer": f"{recording.layer_idx} of {model.config.num_hidden_layers}, counted from 0",
        "steps": str(steps),
        "seed": str(training.seed),
        "loss": f"{loss:.4f} nats a byte on held-out text",
    }
    operands = {name: tensor.numpy() for name, tensor in tensors.items()}
    if not describe_layer.check_results(operands, metadata):
        print("the recorded results are not those of the recurrence: nothing is written",
              file=sys.stderr)
        return 1
    describe_layer.print_decay(operands, metadata)
    describe_layer.save(operands, metadata, args.output)
    print(f"{args.output}: {args.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
