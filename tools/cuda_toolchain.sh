#!/bin/sh
# Installs the CUDA compiler that the CUDA component is built with into .cuda/ (ignored by git), from
# PyPI, 500 MB on disk: tools/cuda_toolchain.sh [PYTHON]. Can be run again. CMake finds it there.
#
# 13.5.37: CUDA Tile C++ needs 13.3 or newer, and 13.4 fails on some tile programs ("Invalid use-def
# chain").
set -eu
cd "$(dirname "$0")/.."

VERSION=13.5.37
CCCL_VERSION=13.3.5.0.6
python=${1:-python3}
target=.cuda
wanted="$VERSION $CCCL_VERSION"

if [ "$(cat "$target/version.txt" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
rm -rf "$target"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$target" \
  "nvidia-cuda-nvcc==$VERSION" "nvidia-cuda-crt==$VERSION" "nvidia-nvvm==$VERSION" \
  "nvidia-cuda-tileiras==$VERSION" "nvidia-cuda-runtime==$VERSION" "nvidia-cuda-cccl==$CCCL_VERSION"
echo "$wanted" >"$target/version.txt"
