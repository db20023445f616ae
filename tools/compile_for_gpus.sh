#!/bin/sh
# Compiles CUDA sources of each kind for the architectures that the test run does not build in full:
# tools/compile_for_gpus.sh. Needs tools/cuda_toolchain.sh to have run.
set -eu
cd "$(dirname "$0")/.."

nvcc=.cuda/nvidia/cu13/bin/nvcc
[ -x "$nvcc" ] || {
  echo "$0: no $nvcc: run tools/cuda_toolchain.sh" >&2
  exit 2
}
{
  for architecture in 80 86 89 100 103 120; do
    for source in src/cuda/scan_chunks.cu src/tile/chunk_cumsum.cu; do
      echo "$architecture $source"
    done
  done
  # One of those that load through TMA views.
  echo 120 src/tile/pass_state_bf16.cu
} | xargs -P "$(nproc)" -L 1 sh -c '
  echo "$2 for sm_$1"
  exec "$0" -std=c++20 -O3 --expt-relaxed-constexpr --enable-tile -Werror all-warnings -I src -I include \
    "-gencode=arch=compute_$1,code=sm_$1" -c "$2" -o /dev/null' "$nvcc"
