#!/usr/bin/env python3
"""Plots time over seqlen from a result file of scan_forward.

Examples:
  bench/plot_seqlen.py bench/results/cpu-zen3-float32.json -o seqlen.png
  bench/plot_seqlen.py results.json -o 130m.png --preset mamba2-130m
"""

import argparse
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)


def curves(results, presets):
    """{(preset, implementation, dtype): [(seqlen, median, min, max), ...]}, times in milliseconds."""
    points = {}
    for result in results:
        if result["operation"] != "scan_forward" or (presets and result.get("preset") not in presets):
            continue
        key = (result.get("preset", result["case"]), result["implementation"], result["dtype"])
        times = [result[name] / 1000 for name in ("median_us", "min_us", "max_us")]
        points.setdefault(key, []).append((result["seqlen"], *times))
    return {key: sorted(rows) for key, rows in points.items()}


def plot(data, presets, path):
    drawn = curves(data["results"], presets)
    if not drawn:
        raise ValueError("no results of scan_forward" + (f" for {', '.join(presets)}" if presets else ""))
    names = list(dict.fromkeys(key[0] for key in drawn))
    others = list(dict.fromkeys(key[1:] for key in drawn))
    styles = ["-", "--", ":", "-."]
    figure, axes = plt.subplots(figsize=(8, 5))
    for (name, *other), rows in drawn.items():
        seqlen, median, low, high = zip(*rows)
        color = f"C{names.index(name) % 10}"
        style = styles[others.index(tuple(other)) % len(styles)]
        axes.plot(seqlen, median, style, color=color, marker="o", markersize=3, label=" ".join((name, *other)))
        axes.fill_between(seqlen, low, high, color=color, alpha=0.15, linewidth=0)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("seqlen (tokens)")
    axes.set_ylabel("time (ms): median, smallest to largest shaded")
    environment = data["environment"]
    axes.set_title(f"scan_forward, {environment['cpu']} {environment['instruction_set']}, "
                   f"{environment['threads']} threads", fontsize=10)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="a result file of cpu_bench or tilescan bench")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="PNG to write")
    parser.add_argument("--preset", action="append", default=[], help="only this model; may be repeated")
    arguments = parser.parse_args()
    try:
        plot(json.loads(arguments.results.read_text()), arguments.preset, arguments.output)
    except (OSError, ValueError, KeyError) as error:
        print(f"plot_seqlen: {arguments.results}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
