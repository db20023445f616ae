#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the result files in bench/results.

A table stands between two markers, and everything between them is replaced:

    <!-- table:KIND:NAME -->
    <!-- /table -->

NAME is a result file, bench/results/NAME.json; KIND is one of environment, scan_forward, state_update, and
for files of bench/gpu/gpu_bench.py gpu_environment, gpu_scan_forward, gpu_state_update, and for those of
bench/python/transformers_bench.py model.

Examples:
  tools/performance_tables.py            # rewrites docs/performance.md
  tools/performance_tables.py --check    # fails if it is not up to date
"""

import argparse
import json
import math
import pathlib
import re
import sys

import gpu_tables
import model_tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKED = re.compile(r"<!-- table:(\w+):([\w.-]+) -->\n(.*?)<!-- /table -->", re.DOTALL)
OWN_NAME = "tilescan"
NO_FIGURE = "-"


class TableError(Exception):
    """A marker or a result file that cannot be used; the message says why."""


def markdown_table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def time_text(microseconds):
    if microseconds >= 1000:
        return f"{microseconds / 1000:.2f} ms"
    return f"{microseconds:.2f} us" if microseconds < 100 else f"{microseconds:.0f} us"


def spread_text(result):
    return f"{time_text(result['median_us'])} ({time_text(result['min_us'])} to {time_text(result['max_us'])})"


def ratio_text(result):
    ratio = result.get("ratio")
    if ratio is None:
        return NO_FIGURE
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"


def percent_text(result):
    fraction = result.get("fraction_of_ceiling")
    return NO_FIGURE if fraction is None else f"{100 * fraction:.0f} %"


def error_text(result, name):
    error = result[name]
    return NO_FIGURE if error is None else f"{error:.1e}"


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def by_case(results, operation):
    """The results of an operation as {case: {implementation: result}}, in the file's order."""
    cases = {}
    for result in results:
        if result["operation"] == operation:
            cases.setdefault(result["case"], {})[result["implementation"]] = result
    if not cases:
        raise TableError(f"there are no results of {operation}")
    for case, implementations in cases.items():
        if OWN_NAME not in implementations:
            raise TableError(f"case {case} has no result of {OWN_NAME}")
    return cases


def peer_names(cases):
    names = []
    for implementations in cases.values():
        for name in implementations:
            if name != OWN_NAME and name not in names:
                names.append(name)
    return names


def method_text(cases):
    """How the figures were taken: read from the results, so that it cannot disagree with them."""
    results = [result for implementations in cases.values() for result in implementations.values()]
    repeats = sorted({result["repeats"] for result in results})
    num_samples = sum(result["repeats"] for result in results)
    num_disturbed = sum(result["disturbed"] for result in results)
    dtypes = sorted({f"{result['dtype']}, states {result['state_dtype']}"
                     for result in results if result["implementation"] == OWN_NAME})
    return (f"{'; '.join(dtypes)}. Medians of {' or '.join(map(str, repeats))} samples (smallest to largest); "
            f"ratios are of neighbouring samples. {num_disturbed} of {num_samples} samples were disturbed "
            "by other processes.\n")


def mean_rows(cases, peers, num_columns, key_of):
    """A row with the geometric mean of the ratios to each peer, for each value of key_of(case)."""
    ratios = {}
    for case, implementations in cases.items():
        ratio = implementations[OWN_NAME].get("ratio")
        if ratio is not None:
            ratios.setdefault(key_of(case), []).append(ratio["median"])
    rows = []
    for key, values in ratios.items():
        label = " ".join(filter(None, ["geometric mean,", key])).rstrip(",")
        rows.append([f"**{label}**"] + [""] * (num_columns - 2) + [f"**{geometric_mean(values):.2f}**"])
    return rows if peers else []


def operation_table(results, operation, rate_name, rate_header, ceiling_header, key_of):
    cases = by_case(results, operation)
    peers = peer_names(cases)
    if len(peers) > 1:
        raise TableError(f"several peers in one file: {', '.join(peers)}")
    header = ["case", OWN_NAME, "ns/token/head", rate_header, ceiling_header, "error of out", "error of state"]
    for peer in peers:
        header += [peer, f"{peer} ns/token/head", f"{peer} error of out", f"{peer} error of state", "ratio"]
    rows = []
    for case, implementations in cases.items():
        own = implementations[OWN_NAME]
        row = [case, spread_text(own), f"{own['ns_per_token_head']:.0f}", f"{own[rate_name]:.1f}",
               percent_text(own), error_text(own, "error_out"), error_text(own, "error_state")]
        for peer in peers:
            other = implementations[peer]
            row += [spread_text(other), f"{other['ns_per_token_head']:.0f}", error_text(other, "error_out"),
                    error_text(other, "error_state"), ratio_text(own)]
        rows.append(row)
    rows += mean_rows(cases, peers, len(header), key_of)
    return method_text(cases) + "\n" + markdown_table(header, rows)


def scan_forward_table(data):
    return operation_table(data["results"], "scan_forward", "gflops", "GFLOP/s", "of multiply-add peak",
                           lambda case: "")


def state_update_table(data):
    return operation_table(data["results"], "state_update", "gbytes_per_s", "GB/s of state",
                           "of a pass in place", lambda case: case.rsplit("/", 1)[1])


CEILING_UNITS = {"gflops": "GFLOP/s", "gbytes_per_s": "GB/s"}


def ceiling_text(name, rate):
    for key, unit in CEILING_UNITS.items():
        if key in name:
            label = name.replace("_" + key, "").replace("_", " ")
            return [label, f"{rate['median']:.1f} {unit} ({rate['min']:.1f} to {rate['max']:.1f})"]
    raise TableError(f"ceiling {name} has no known unit")


def environment_table(data):
    environment = data["environment"]
    processor = " ".join(filter(None, [environment["cpu"], f"({environment['cpu_model']})"]))
    build = [environment["commit"], environment.get("compiler"), environment.get("build_type")]
    rows = [["processor", f"{processor}, {environment['instruction_set']}"],
            ["threads", str(environment["threads"])],
            ["tilescan", ", ".join(filter(None, build))],
            ["date", environment["date"]]]
    rows += [[name, build] for name, build in environment.get("implementations", {}).items()]
    rows += [ceiling_text(name, rate) for name, rate in environment.get("ceilings", {}).items()]
    return markdown_table(["", ""], rows)


def table_of_parts(make_parts):
    def make(data):
        text, header, rows = make_parts(data)
        return text + markdown_table(header, rows)
    return make


KINDS = {"environment": environment_table, "scan_forward": scan_forward_table,
         "state_update": state_update_table, "gpu_environment": table_of_parts(gpu_tables.environment_table),
         "gpu_scan_forward": table_of_parts(gpu_tables.scan_table),
         "gpu_state_update": table_of_parts(gpu_tables.update_table),
         "model": table_of_parts(model_tables.model_table)}


def make_table(kind, name, results_dir):
    if kind not in KINDS:
        raise TableError(f"table:{kind}:{name}: the kind must be one of {', '.join(KINDS)}")
    path = results_dir / f"{name}.json"
    try:
        data = json.loads(path.read_text())
        return KINDS[kind](data)
    except (OSError, ValueError, TableError) as error:
        raise TableError(f"table:{kind}:{name}: {path}: {error}") from error
    except KeyError as error:
        raise TableError(f"table:{kind}:{name}: {path}: no {error}") from error


def rewrite(text, results_dir):
    """The document with every table made anew."""

    def replace(match):
        kind, name, _ = match.groups()
        return f"<!-- table:{kind}:{name} -->\n{make_table(kind, name, results_dir)}<!-- /table -->"

    if text.count("<!-- table:") != len(MARKED.findall(text)):
        raise TableError("a table marker is malformed or has no <!-- /table -->")
    return MARKED.sub(replace, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the tables are not up to date")
    arguments = parser.parse_args()
    try:
        text = arguments.document.read_text()
        rewritten = rewrite(text, arguments.results)
    except (OSError, TableError) as error:
        print(f"performance_tables: {error}", file=sys.stderr)
        return 2
    if arguments.check:
        if rewritten != text:
            print(f"performance_tables: {arguments.document} is not up to date", file=sys.stderr)
            return 1
        return 0
    if rewritten != text:
        arguments.document.write_text(rewritten)
    return 0


if __name__ == "__main__":
    sys.exit(main())
