"""The table of the result files that bench/python/transformers_bench.py writes, for tools/performance_tables.py."""

OWN_NAME, PEER_NAME = "tilescan", "transformers"
# What a sample of each operation is.
SAMPLES = {"model_prefill": "a prompt", "model_decode": "a token"}


def time_text(result):
    return (f"{result['median_us'] / 1e3:.1f} ms ({result['min_us'] / 1e3:.1f} to "
            f"{result['max_us'] / 1e3:.1f})")


def error_text(result):
    error = result["error_out"]
    return "-" if error is None else f"{error:.1e}"


def model_table(data):
    """(text before it, header, rows)"""
    cases = {}
    for result in data["results"]:
        cases.setdefault((result["case"], result["operation"]), {})[result["implementation"]] = result
    rows = []
    for (case, operation), results in cases.items():
        own, peer, ratio = results[OWN_NAME], results[PEER_NAME], results[OWN_NAME]["ratio"]
        rows.append([case, SAMPLES[operation], time_text(peer), time_text(own),
                     f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})", error_text(peer),
                     error_text(own)])
    numbers = {name: "/".join(sorted({str(result[name]) for result in data["results"]}))
               for name in ("num_layers", "repeats", "dtype")}
    text = (f"{numbers['num_layers']} layers, {numbers['dtype']}. Medians of {numbers['repeats']} rounds (smallest to "
            "largest); a ratio is of one round. Errors: relative L2 of all logits against float64.\n\n")
    return text, ["case", "time of", "PyTorch forward", "with `patch()`", "ratio", "its error", "error with `patch()`"], rows
