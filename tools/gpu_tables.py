"""Tables of the result files that bench/gpu/gpu_bench.py writes, for tools/performance_tables.py."""

OWN_NAME = "tilescan"
NO_FIGURE = "-"


def time_text(result):
    return (f"{result['median_us']:.1f} us ({result['min_us']:.1f} to "
            f"{result['max_us']:.1f})")


def percent_text(fraction):
    return NO_FIGURE if fraction is None else f"{100 * fraction:.1f} %"


def error_text(error):
    return NO_FIGURE if error is None else f"{error:.2e}"


def ratio_text(ratio):
    if ratio is None:
        return NO_FIGURE
    return f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"


def rows_of(data, operation):
    """[(tilescan's result, the other's or None)] in the file's order; a case may have several state
    dtypes."""
    rows = {}
    for result in data["results"]:
        if result["operation"] == operation:
            key = (result["case"], result["state_dtype"])
            rows.setdefault(key, {})[result["implementation"]] = result
    found = []
    for key, results in rows.items():
        if OWN_NAME not in results:
            raise KeyError(f"result of {OWN_NAME} for {key}")
        others = [result for name, result in results.items() if name != OWN_NAME]
        found.append((results[OWN_NAME], others[0] if others else None))
    if not found:
        raise KeyError(f"result of {operation}")
    return found


def repeats_text(data, operation):
    own = [result for result, _ in rows_of(data, operation)]
    repeats = sorted({str(result["repeats"]) for result in own})
    return (f"Medians of {' or '.join(repeats)} rounds (smallest to largest); a ratio is of one "
            "round.\n\n")


def scan_table(data):
    header = ["case", OWN_NAME, "kernel", "of the limit", "error of out", "workspace", "other",
              "its best chunk size", "its error", "ratio"]
    rows = []
    for own, other in rows_of(data, "scan_forward"):
        rows.append([own["case"], time_text(own), own["kernel"],
                     percent_text(own["fraction_of_ceiling"]), error_text(own["error_out"]),
                     f"{own['peak_bytes'] / 1e6:.1f} MB",
                     time_text(other) if other else NO_FIGURE,
                     other["kernel"] if other else NO_FIGURE,
                     error_text(other["error_out"]) if other else NO_FIGURE,
                     ratio_text(own.get("ratio"))])
    return repeats_text(data, "scan_forward"), header, rows


def update_table(data):
    header = ["case", "states", OWN_NAME, "GB/s of state", "of a pass in place", "error of out",
              "other", "its GB/s", "ratio"]
    rows = []
    for own, other in rows_of(data, "state_update"):
        rows.append([own["case"], own["state_dtype"], time_text(own), f"{own['gbytes_per_s']:.0f}",
                     percent_text(own["fraction_of_ceiling"]), error_text(own["error_out"]),
                     time_text(other) if other else NO_FIGURE,
                     f"{other['gbytes_per_s']:.0f}" if other else NO_FIGURE,
                     ratio_text(own.get("ratio"))])
    return repeats_text(data, "state_update"), header, rows


def environment_table(data):
    environment = data["environment"]
    gpu = environment["cuda"]
    driver = environment["driver"]
    rows = [["GPU", f"{environment['device']}, {gpu['num_multiprocessors']} multiprocessors"],
            [f"driver ({environment['driver_fields'].replace(',', ', ')})", driver],
            ["tilescan", f"{environment['commit']}, {environment['compiler']}, "
                         f"{environment['type']}, CUDA runtime {gpu['runtime_version']}"],
            ["torch", environment["torch"]],
            ["date", environment["date"]]]
    rows += [[name.replace("gbytes_per_s", "").replace("_", " ").strip(), f"{rate:.0f} GB/s"]
             for name, rate in environment["ceilings"].items()]
    return "", ["", ""], rows
