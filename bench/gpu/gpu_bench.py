#!/usr/bin/env python3
"""Times tilescan on a GPU beside a public implementation, checks it first, and saves a result file.

Needs torch (and triton for the peers). Each round times every contender once, a sample being some
calls between two CUDA events after a pause ("short": about 10 ms of load), and a ratio is that of one
round. Decoding is timed as a CUDA graph over several states, so that none is in the cache.

Examples:
  bench/gpu/gpu_bench.py --library build/release/libtilescan.so --json result.json
  bench/gpu/gpu_bench.py --library libtilescan.so --peers .peers --cases W1 W2 decode-64
"""

import argparse
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing"))
import tilescan_ctypes  # noqa: E402
import workloads  # noqa: E402

SAMPLE_SECONDS = 0.01
PAUSE_SECONDS = 0.1
STEP = {"dt_softplus": True, "dt_limit": (0.0, math.inf)}


def sample_us(call, num_calls):
    """Microseconds a call, by CUDA events, after a pause."""
    torch.cuda.synchronize()
    time.sleep(PAUSE_SECONDS)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    call()  # so that the clock is up and the queue is not empty
    start.record()
    for _ in range(num_calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3 / num_calls


def measure(contenders, rounds, calls_each=1):
    """{name: [microseconds of each round]} of {name: call}; a call does calls_each."""
    num_calls = {}
    for name, call in contenders.items():
        call()
        once_us = sample_us(call, 3)
        num_calls[name] = max(3, min(200, round(SAMPLE_SECONDS * 1e6 / once_us)))
    times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            times[name].append(sample_us(call, num_calls[name]) / calls_each)
    return times


def copy_gbytes_per_s(rounds):
    """A device-to-device copy of 2 GiB, read and written."""
    source = torch.empty(1 << 31, dtype=torch.uint8, device=workloads.DEVICE)
    target = torch.empty_like(source)
    times = measure({"copy": lambda: target.copy_(source)}, rounds)["copy"]
    return 2 * source.numel() / statistics.median(times) / 1e3


def in_place_call(states):
    """A pass over each state in place, as fp32 whatever it holds: what decoding cannot beat."""
    views = [state.view(torch.float32) for state in states]
    return captured([lambda _, view=view: view.mul_(1.0) for view in views]).replay


def scan_call(library, operands, kernel):
    """A planned scan, and its outputs."""
    batch, _, nheads, headdim = operands["x"].shape
    outputs = {"out": torch.full_like(operands["x"], math.nan),
               "final_states": torch.full((batch, nheads, headdim, operands["B"].shape[3]),
                                          math.nan, device=workloads.DEVICE)}
    call = library.plan("scan_forward", {**operands, **outputs}, backend="cuda", kernel=kernel,
                        **STEP)
    return call, outputs


def scan_bytes(operands, outputs):
    return sum(t.numel() * t.element_size() for t in (*operands.values(), *outputs.values()))


def result(case, operation, implementation, times, **more):
    return {"case": case, "operation": operation, "implementation": implementation,
            "dtype": "bfloat16", "state_dtype": "float32",
            "median_us": statistics.median(times), "min_us": min(times), "max_us": max(times),
            "repeats": len(times), "mode": "short", **more}


def ratio(times, own, peer):
    ratios = [p / o for o, p in zip(times[own], times[peer])]
    return {"against": peer, "median": statistics.median(ratios), "min": min(ratios),
            "max": max(ratios)}


def bench_scan(case, library, peer, options, ceilings):
    operands = workloads.scan_operands(workloads.SCANS[case])
    call, outputs = scan_call(library, operands, options.kernel)
    call.run()
    part = workloads.checked_part(operands)
    truth, _ = workloads.recurrence(**part)
    tokens, heads = truth.shape[1:3]
    errors = {"tilescan": workloads.relative_l2(outputs["out"][:1, :tokens, :heads], truth)}
    contenders = {"tilescan": call.run}
    if peer is not None:
        for chunk_size in peer.CHUNK_SIZES:
            name = f"{peer.name}/{chunk_size}"
            contenders[name] = peer.scan(operands, chunk_size)
            out = contenders[name]()[0]
            errors[name] = workloads.relative_l2(out[:1, :tokens, :heads], truth)
    times = measure(contenders, options.rounds)
    limit_us = scan_bytes(operands, outputs) / ceilings["copy_gbytes_per_s"] / 1e3
    kernel = call.describe()["kernel"]
    own = result(case, "scan_forward", "tilescan", times["tilescan"], kernel=kernel,
                 error_out=errors["tilescan"], peak_bytes=call.workspace_bytes,
                 fraction_of_ceiling=limit_us / statistics.median(times["tilescan"]))
    results = [own]
    if peer is not None:
        best = min((n for n in times if n != "tilescan"), key=lambda n: statistics.median(times[n]))
        own["ratio"] = ratio(times, "tilescan", best)
        results.append(result(case, "scan_forward", peer.name, times[best], kernel=best,
                              error_out=errors[best]))
    return results


def captured(calls):
    """A graph of all the calls."""
    for call in calls[:2]:
        call(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call(torch.cuda.current_stream())
    return graph


def bench_decode(case, state_dtype, library, peer, options, ceilings):
    batch = workloads.DECODES[case]
    nheads, headdim, dstate, _ = workloads.DECODE_SHAPE
    operands = workloads.decode_operands(batch)
    state_bytes = batch * nheads * headdim * dstate * state_dtype.itemsize
    num_states = max(2, min(64, round(4e9 / state_bytes)))
    states = [torch.randn(batch, nheads, headdim, dstate, device=workloads.DEVICE).to(state_dtype)
              for _ in range(num_states)]
    outs = [torch.full_like(operands["x"], math.nan) for _ in states]
    before = states[0].double()
    calls = [library.plan("state_update", {**operands, "state": state, "out": out}, backend="cuda",
                          **STEP) for state, out in zip(states, outs)]
    calls[0].run()
    tokens = {name: t[:, None] if name in ("x", "dt", "B", "C") else t
              for name, t in operands.items()}
    truth, state_truth = workloads.recurrence(
        **tokens, heads_per_group=nheads // operands["B"].shape[1], state=before)
    errors = (workloads.relative_l2(outs[0], truth[:, 0]),
              workloads.relative_l2(states[0], state_truth))
    graphs = {"tilescan": captured([lambda stream, call=call: call.run(stream.cuda_stream)
                                    for call in calls])}
    if peer is not None:
        updates = [peer.update(operands, state) for state in states]
        graphs[peer.name] = captured([lambda _, update=update: update() for update in updates])
    calls_of = {name: graph.replay for name, graph in graphs.items()}
    calls_of["in_place"] = in_place_call(states)
    times = measure(calls_of, options.rounds, num_states)
    name = str(state_dtype).removeprefix("torch.")
    limit = 2 * state_bytes / statistics.median(times.pop("in_place")) / 1e3
    ceilings[f"in_place_gbytes_per_s {state_bytes >> 20} MiB"] = limit
    figures = {implementation: {"state_dtype": name,
                                "gbytes_per_s": 2 * state_bytes / statistics.median(each) / 1e3}
               for implementation, each in times.items()}
    own = result(case, "state_update", "tilescan", times["tilescan"],
                 kernel=calls[0].describe()["kernel"], error_out=errors[0], error_state=errors[1],
                 fraction_of_ceiling=figures["tilescan"]["gbytes_per_s"] / limit)
    own.update(figures["tilescan"])
    results = [own]
    if peer is not None:
        own["ratio"] = ratio(times, "tilescan", peer.name)
        results.append({**result(case, "state_update", peer.name, times[peer.name]),
                        **figures[peer.name]})
    return results


def environment(library):
    query = "driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit"
    smi = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                         capture_output=True, text=True, check=False).stdout.splitlines()
    info = library.info()
    return {"device": torch.cuda.get_device_name(0), "driver": smi[0] if smi else "unknown",
            "driver_fields": query, "torch": torch.__version__, "cuda": info["cuda"],
            "version": info["version"], **info["build"],
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}


def print_result(one):
    line = f"{one['case']:14} {one['implementation']:10} {one.get('kernel', ''):16} "
    line += f"state {one['state_dtype']:8} {one['median_us']:9.1f} us"
    line += f" ({one['min_us']:.1f} to {one['max_us']:.1f})"
    if "gbytes_per_s" in one:
        line += f" {one['gbytes_per_s']:.0f} GB/s"
    if "fraction_of_ceiling" in one:
        line += f" {100 * one['fraction_of_ceiling']:.1f} % of the limit"
    if "error_out" in one:
        line += f" error {one['error_out']:.2e}"
    if "ratio" in one:
        line += f" {one['ratio']['median']:.2f}x {one['ratio']['against']}"
    print(line, flush=True)


def main():
    cases = [*workloads.SCANS, *workloads.DECODES]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True, help="libtilescan.so")
    parser.add_argument("--peers", type=pathlib.Path, help="folder with mamba/mamba_ssm")
    parser.add_argument("--cases", nargs="+", choices=cases, default=cases, metavar="CASE",
                        help=f"of {', '.join(cases)} (default: all)")
    parser.add_argument("--kernel", help="force a scan kernel, by name")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=pathlib.Path, help="write the result file here")
    options = parser.parse_args()
    library = tilescan_ctypes.Library(options.library.resolve())
    peer = None
    if options.peers is not None:
        import peers
        peer = peers.MambaSsm(options.peers.resolve())
    report = {"environment": environment(library), "results": []}
    ceilings = report["environment"]["ceilings"] = {
        "copy_gbytes_per_s": copy_gbytes_per_s(options.rounds)}
    print(f"{report['environment']['device']}, copy {ceilings['copy_gbytes_per_s']:.0f} GB/s")
    with torch.inference_mode():
        for case in options.cases:
            if case in workloads.SCANS:
                found = bench_scan(case, library, peer, options, ceilings)
            else:
                found = []
                for dtype in (torch.float32, torch.bfloat16):
                    found += bench_decode(case, dtype, library, peer, options, ceilings)
            for one in found:
                print_result(one)
            report["results"] += found
            torch.cuda.empty_cache()
            if options.json:
                options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
