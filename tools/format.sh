#!/bin/sh
# Lays out all C and C++ sources as .clang-format says.
#   tools/format.sh          rewrites what differs
#   tools/format.sh --check  changes nothing; names what differs and fails if anything does
# Uses clang-format 14, so that everyone gets the same layout.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
  --check) mode="--dry-run --Werror" ;;
  "") mode="-i" ;;
  *)
    echo "usage: $0 [--check]" >&2
    exit 2
    ;;
esac

# Split on purpose: the mode is several flags.
# shellcheck disable=SC2086
find include src testing cli bench tests python \
  \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' \
  -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 clang-format-14 $mode
