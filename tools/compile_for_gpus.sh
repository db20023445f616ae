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
# A source and its architectures, which share what the compiler does for the host; 86 and 103 are near
# enough to 80 and 100. The last is one of those that load through TMA views.
xargs -P "$(nproc)" -L 1 sh -c '
  source=$1
  shift
  echo "$source for $*"
  for architecture; do
    set -- "$@" "-gencode=arch=compute_$architecture,code=sm_$architecture"
    shift
  done
  exec "$0" -std=c++20 -O3 --expt-relaxed-constexpr --enable-tile -Werror all-warnings -I src -I include \
    "$@" -c "$source" -o /dev/null' "$nvcc" <<END
src/tile/chunk_cumsum.cu 80 89 100 120
src/cuda/scan_chunks.cu 80 89 100 120
src/tile/pass_state_bf16.cu 120
END
