#!/bin/sh
# Runs clang-tidy 14 with .clang-tidy's checks on the library's sources: tools/tidy.sh BUILD_FOLDER
# BUILD_FOLDER is configured (it holds compile_commands.json).
set -eu
cd "$(dirname "$0")/.."

if [ $# -ne 1 ] || [ ! -f "$1/compile_commands.json" ]; then
  echo "usage: $0 BUILD_FOLDER, with a compile_commands.json in it" >&2
  exit 2
fi
# Those that this build compiles.
sed -n "s|^ *\"file\": \"\($PWD/src/.*\.cpp\)\",*\$|\1|p" "$1/compile_commands.json" |
  xargs -n 1 -P "$(nproc)" clang-tidy-14 -p "$1" --quiet --warnings-as-errors='*'
