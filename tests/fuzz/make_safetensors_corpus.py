#!/usr/bin/env python3
"""Makes the seeds of safetensors_fuzz: small files that each take another way through the reader.

Example:
  tests/fuzz/make_safetensors_corpus.py        # writes tests/fuzz/corpus/safetensors/
"""

import json
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "safetensors"
DTYPE_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}


def file_of(header: str, data: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header.encode() + data


def entry(dtype: str, shape: list, begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def seeds() -> dict[str, bytes]:
    """Returns the content of each seed by name."""
    every_dtype, end = {}, 0
    for dtype, num_bytes in DTYPE_BYTES.items():
        every_dtype[dtype.lower()] = entry(dtype, [3], end, end + 3 * num_bytes)
        end += 3 * num_bytes
    metadata = {"__metadata__": {"operation": "scan_forward", "dt_limit": "0,inf"}}
    two = {"x": entry("F32", [2, 2], 0, 16), "dt": entry("F32", [2], 16, 24)}
    texts = {
        "empty": ("{}", b""),
        "every_dtype": (json.dumps(every_dtype), bytes(end)),
        "metadata": (json.dumps(metadata | two), bytes(24)),
        "padded": (json.dumps(two) + " " * 7, bytes(24)),
        "scalar_and_empty": (json.dumps({"D": entry("F16", [], 0, 2),
                                         "z": entry("F16", [0, 5], 2, 2)}), bytes(2)),
        "escaped_name": ('{"\\u0041\\n": ' + json.dumps(entry("U8", [1], 0, 1)) + "}", b"\0"),
        "duplicate": ('{"A": %s, "A": %s}' % ((json.dumps(entry("U8", [1], 0, 1)),) * 2), b"\0"),
        "hole": (json.dumps({"A": entry("U8", [1], 1, 2)}), bytes(2)),
        "overflow": (json.dumps({"A": entry("F64", [2**62, 2**62], 0, 8)}), bytes(8)),
        "deep": ("{" + '"A":[' * 20, b""),
    }
    files = {name: file_of(header, data) for name, (header, data) in texts.items()}
    # The bare headers as well: the target also reads its input as a header alone.
    files |= {f"{name}_header": header.encode() for name, (header, _) in texts.items()}
    files["long_header"] = struct.pack("<Q", 1 << 40) + b"{}"
    files["short"] = b"\2\0\0"
    return files


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        (FOLDER / name).write_bytes(content)
    print(f"{FOLDER}: {len(seeds())} seeds")


if __name__ == "__main__":
    main()
