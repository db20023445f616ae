#!/usr/bin/env python3
"""Checks that each source includes only what its layer may know (docs/architecture.md).

    tools/check_layers.py [ROOT]

Prints each include that breaks a rule, and how many files and includes were read. Exits with 1 if
any does, or if there is nothing to read: a check of nothing has not passed.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# C++ standard headers have no suffix; these are C's.
C_HEADERS = {
    "assert.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdbool.h", "stddef.h",
    "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h",
}


@dataclass(frozen=True)
class Layer:
    """What a folder may include: project paths (a folder with "/", or one file), and headers of
    the system and of other libraries by their beginning (ending in "/" or "_") or name."""

    folder: str
    project: tuple = ()
    outside: tuple = ()


PUBLIC = "tilescan/"
ROW = ("plan/variant.h",)
# Headers of the CUDA toolkit; <cuda/...> is its C++ library.
CUDA = ("cuda_", "cuda.h", "cuda/")
POSIX = ("sys/", "unistd.h", "fcntl.h", "sched.h", "pthread.h", "dlfcn.h")

# The first folder that a file is in decides, so narrower folders come first.
LAYERS = (
    Layer("include/tilescan", (PUBLIC,)),
    Layer("src/core", ("core/", PUBLIC)),
    Layer("src/numerics", ("numerics/", "core/")),
    Layer("src/plan", ("plan/", "core/", PUBLIC)),
    Layer("src/reference", ("reference/", "numerics/", "core/", PUBLIC) + ROW),
    Layer("src/cpu", ("cpu/", "numerics/", "core/", PUBLIC) + ROW,
          ("hwy/", "immintrin.h", "cpuid.h") + POSIX),
    Layer("src/cuda", ("cuda/", "numerics/", "core/", PUBLIC) + ROW, CUDA),
    Layer("src/tile", ("tile/", "cuda/", "numerics/", "core/", PUBLIC) + ROW, CUDA),
    Layer("src/hopper/ptx", ("hopper/ptx/",), CUDA),
    Layer("src/hopper", ("hopper/", "cuda/", "numerics/", "core/", PUBLIC) + ROW, CUDA),
    Layer("src/api", ("api/", "plan/", "core/", PUBLIC)),
    Layer("testing", ("testing/", "reference/", "numerics/", "core/", PUBLIC),
          ("hwy/", "immintrin.h", "nlohmann/") + CUDA + POSIX),
    Layer("cli", ("cli/", "testing/", PUBLIC), ("CLI/", "nlohmann/") + POSIX),
    # nanobind has Python's header; no framework's header is allowed: arrays come through DLPack.
    Layer("python", ("extension/", PUBLIC), ("nanobind/",)),
    Layer("bench", ("bench/", "testing/", PUBLIC), ("benchmark/", "CLI/", "nlohmann/") + POSIX),
    Layer("tests/package", (), (PUBLIC,)),
    Layer("tests/gpu", ("tests/", "testing/", "hopper/ptx/", "numerics/", "core/", PUBLIC),
          ("gtest/", "nlohmann/") + CUDA),
    Layer("tests", ("tests/", "testing/", "bench/", "cli/", "api/", "plan/", "cpu/", "reference/",
                    "hopper/scan_pieces.h", "numerics/", "core/", PUBLIC),
          ("gtest/", "gmock/", "nlohmann/", "fuzzer/", "hwy/") + POSIX),
    Layer("examples", (PUBLIC,)),
)
SOURCE_FOLDERS = sorted({layer.folder.split("/")[0] for layer in LAYERS})
C_ONLY = tuple(Path("include/tilescan", name) for name in ("layer.h", "tilescan.h", "types.h", "version.h"))


def is_allowed(path, prefixes):
    return any(path.startswith(p) if p[-1] in "/_" else path == p for p in prefixes)


def layer_of(relative):
    for layer in LAYERS:
        if relative.is_relative_to(layer.folder):
            return layer
    return None


def reason_against(layer, relative, bracket, target):
    """Why the file must not include the target; "" if it may."""
    if bracket == '"':  # Highway names its own headers so too
        # "cuda/" in quotes is the project's own folder.
        outside = tuple(prefix for prefix in layer.outside if prefix not in CUDA)
        if is_allowed(target, layer.project + outside):
            return ""
        return f"{layer.folder} may include only {', '.join(layer.project) or 'no project file'}"
    if target in C_HEADERS or is_allowed(target, layer.outside):
        return ""
    is_cpp_standard = re.fullmatch(r"[a-z_0-9]+", target) is not None
    if is_cpp_standard and relative not in C_ONLY:
        return ""
    if is_cpp_standard:
        return "a header of the C interface may include only C headers"
    return f"{layer.folder} may not include <{target}>"


def check(root):
    """All broken rules as text, the number of files, and the number of includes."""
    broken, num_files, num_includes = [], 0, 0
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            relative = path.relative_to(root)
            layer = layer_of(relative)
            num_files += 1
            if layer is None:
                broken.append(f"{relative}: is in no layer of tools/check_layers.py")
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                num_includes += 1
                reason = reason_against(layer, relative, *match.groups())
                if reason:
                    broken.append(f"{relative}:{number}: {match.group(2)}: {reason}")
    return broken, num_files, num_includes


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).resolve().parent.parent)
    broken, num_files, num_includes = check(root)
    for line in broken:
        print(line)
    print(f"check_layers: {num_files} files, {num_includes} includes, "
          f"{len(broken)} against the rules")
    return 1 if broken or num_includes == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
