#!/usr/bin/env python3
"""Times a Mamba-2 model of transformers on the CPU with and without tilescan.patch(), and saves a result file.

The model has the layers of mamba2-130m and random weights: fewer layers than the model, and a vocabulary that
is smaller in proportion, so that the last projection keeps its share. A round times its own PyTorch forward
and the patched one, one after the other; a ratio is that of one round. Before, logits are held against
those of the PyTorch forward in float64 by the bound of the tests, and greedy tokens must be the same.

Needs the installed package, torch and transformers.

Examples:
  bench/python/transformers_bench.py --json bench/results/cpu-transformers-float32-zen3.json
  bench/python/transformers_bench.py --seqlens 128 --rounds 3
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
import unittest.mock

import tilescan
import torch
import transformers

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "python"))
import accuracy  # noqa: E402

LAYERS_OF_MODEL, VOCABULARY_OF_MODEL = 24, 50288
SIZES = dict(hidden_size=768, state_size=128, num_heads=24, head_dim=64, n_groups=1, chunk_size=256)
PROMPT_BEFORE_DECODING = 16
NAMES = ("transformers", "tilescan")


@contextlib.contextmanager
def forward_of(name):
    """The model runs by its own forward, or by tilescan's."""
    if name == "tilescan":
        tilescan.patch()
    try:
        yield
    finally:
        tilescan.unpatch()


def make_model(num_layers):
    torch.manual_seed(0)
    config = transformers.Mamba2Config(
        vocab_size=VOCABULARY_OF_MODEL * num_layers // LAYERS_OF_MODEL, num_hidden_layers=num_layers,
        **SIZES)
    model = transformers.Mamba2ForCausalLM(config).eval().requires_grad_(False)
    # As torch makes them, logits of a random model are nearly alike.
    torch.nn.init.normal_(model.backbone.embeddings.weight)
    return model


def prompt(model, length):
    generator = torch.Generator().manual_seed(length)
    return torch.randint(3, model.config.vocab_size, (1, length), generator=generator)


def prefill(model, ids):
    """What generation does with a prompt: fills a cache, and needs the last token's logits alone."""
    begin = time.perf_counter()
    cache = transformers.DynamicCache(config=model.config)
    logits = model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits
    return (time.perf_counter() - begin) * 1e6, logits


def decode(model, num_tokens):
    """Greedy tokens after a short prompt; the time is that of one."""
    cache = transformers.DynamicCache(config=model.config)
    token = model(prompt(model, PROMPT_BEFORE_DECODING), cache=cache, use_cache=True,
                  logits_to_keep=1).logits.argmax(-1)
    tokens = []
    begin = time.perf_counter()
    for _ in range(num_tokens):
        token = model(token, cache=cache, use_cache=True).logits.argmax(-1)
        tokens.append(token)
    return (time.perf_counter() - begin) * 1e6 / num_tokens, torch.cat(tokens, 1)


def check_logits(model, ids):
    """{name: relative L2 error of all logits}; fails where tilescan's are out of the tests' bound."""
    logits = {}
    for name in NAMES:
        with forward_of(name):
            logits[name] = model(ids, use_cache=False).logits
    # The model casts logits and parts to fp32: no casts, for the truth.
    with unittest.mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        truth = model.double()(ids, use_cache=False).logits
    model.float()
    accuracy.assert_agrees("logits", logits["tilescan"], truth, logits["transformers"])
    return {name: ((each - truth).norm() / truth.norm()).item() for name, each in logits.items()}


def rows_of(case, operation, times, errors, num_layers):
    ratios = [own / patched for own, patched in zip(times["transformers"], times["tilescan"])]
    rows = [{"case": case, "operation": operation, "implementation": name, "dtype": "float32",
             "state_dtype": "float32", "preset": "mamba2-130m", "batch": 1, "num_layers": num_layers,
             "median_us": statistics.median(values), "min_us": min(values), "max_us": max(values),
             "repeats": len(values), "mode": "short", "error_out": errors.get(name), "error_state": None,
             "peak_bytes": None, "kernel": "", "precise": False} for name, values in times.items()]
    rows[-1]["ratio"] = {"against": "transformers", "median": statistics.median(ratios),
                         "min": min(ratios), "max": max(ratios)}
    return rows


def measure(call, rounds):
    """{name: [microseconds of each round]}; call() returns microseconds, and a result."""
    times = {name: [] for name in NAMES}
    for round_idx in range(-1, rounds):  # the first one warms up
        for name in NAMES:
            with forward_of(name):
                elapsed, _ = call()
            if round_idx >= 0:
                times[name].append(elapsed)
    return times


def processor_model():
    """As the result files of cpu_bench have it."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    facts = dict(map(str.strip, line.split(":", 1)) for line in lines if ":" in line)
    return f"family {facts['cpu family']} model {facts['model']}"


def environment(num_threads):
    def git(*command):
        return subprocess.run(["git", "-C", REPOSITORY, *command], capture_output=True, text=True,
                              check=True).stdout.strip()

    cpu = tilescan.info()["cpu"]
    is_clean = not git("status", "--porcelain", "--untracked-files=no")
    return {"device": "cpu", "driver": f"{platform.system()} {platform.release()}", "cpu": cpu["name"],
            "cpu_model": processor_model(),
            "instruction_set": tilescan.plan("scan", *five_operands())["instruction_set"],
            "processors": os.cpu_count(), "threads": num_threads, "version": tilescan.__version__,
            "commit": git("rev-parse", "--short=12", "HEAD") + ("" if is_clean else " with changes"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "implementations": {"transformers": f"transformers {transformers.__version__}, torch "
                                                f"{torch.__version__}"}}


def five_operands():
    ones = torch.ones(1, 1, 1, 1)
    return ones, ones[..., 0], -ones[0, 0, 0], ones, ones


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seqlens", type=int, nargs="+", default=[128, 512, 2048])
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="where the result file goes")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = make_model(options.layers)
    results = []
    for seqlen in options.seqlens:
        ids = prompt(model, seqlen)
        errors = check_logits(model, ids)
        times = measure(lambda ids=ids: prefill(model, ids), options.rounds)
        results += rows_of(f"mamba2-130m/{seqlen}", "model_prefill", times, errors, options.layers)
    tokens = {}
    for name in NAMES:
        with forward_of(name):
            _, tokens[name] = decode(model, options.new_tokens)
    if not torch.equal(*tokens.values()):
        sys.exit("transformers_bench: greedy tokens differ")
    times = measure(lambda: decode(model, options.new_tokens), options.rounds)
    results += rows_of(f"mamba2-130m/decode-{options.new_tokens}", "model_decode", times, {},
                       options.layers)
    for row in results:
        ratio = row.get("ratio")
        print(f"{row['case']:24} {row['implementation']:13} {row['median_us'] / 1e3:10.2f} ms"
              + (f"  {ratio['median']:.2f} times as fast" if ratio else ""))
    if options.json:
        options.json.write_text(json.dumps({"environment": environment(options.threads),
                                            "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    with torch.no_grad():
        main()
