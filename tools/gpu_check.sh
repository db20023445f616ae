#!/bin/sh
# Checks the CUDA component on a GPU machine, which needs nothing of this repository's tools:
#
#   tools/gpu_check.sh pack FOLDER   builds here (no GPU is needed), and puts all that is needed there
#   FOLDER/gpu_check.sh run          on the GPU machine: every test on the GPU's kernels
#   FOLDER/gpu_check.sh sanitize     on the GPU machine: the named cases under compute-sanitizer
#
# run and sanitize exit with 1 if anything failed. A test that a kernel does not take is skipped and
# counted as that.
set -eu

PROGRAMS="tests/scan_test tests/state_update_test tests/api_test tilescan libtilescan.so.0.1"
PROGRAM_SECONDS=300

pack() {
  folder=$1
  cd "$(dirname "$0")/.."
  cmake --preset release -B build/gpu -DTILESCAN_CUDA=ON "-DTILESCAN_CUDA_ARCHITECTURES=90;90a" \
    -DTILESCAN_BUILD_BENCH=OFF
  cmake --build build/gpu -j "$(nproc)"
  mkdir -p "$folder/lib"
  for program in $PROGRAMS; do
    cp -L "build/gpu/$program" "$folder/"
    strip "$folder/$(basename "$program")"
  done
  # What a machine may lack.
  cp -L "$(ldd build/gpu/tilescan | sed -n 's/.*=> \(.*libhwy[^ ]*\).*/\1/p')" "$folder/lib/"
  cp tools/gpu_check.sh "$folder/"
}

# tests PROGRAM: those on the GPU's kernels.
tests() {
  log=$1.log
  if timeout "$PROGRAM_SECONDS" "./$1" "--gtest_filter=*cuda*" --gtest_brief=1 >"$log" 2>&1 &&
    grep -q '^\[  PASSED  \] [1-9]' "$log"; then
    echo "passed: $1: $(grep -E '^\[  (PASSED|SKIPPED) ' "$log" | tr '\n' ' ')"
  else
    tail -n 60 "$log"
    echo "failed: $1"
    failed=1
  fi
}

sanitize() {
  log=$1.log
  if timeout "$PROGRAM_SECONDS" compute-sanitizer --tool "$1" --error-exitcode 9 \
    ./tilescan verify --backend cuda >"$log" 2>&1; then
    echo "passed: $1: $(grep -E 'ERROR SUMMARY' "$log")"
  else
    grep -m 40 -E '^=====|^failed' "$log"
    echo "failed: $1"
    failed=1
  fi
}

case "${1:-}" in
pack)
  pack "$2"
  ;;
run | sanitize)
  cd "$(dirname "$0")"
  export LD_LIBRARY_PATH="$PWD/lib"
  failed=0
  if [ "$1" = run ]; then
    ./tilescan info
    tests state_update_test
    tests scan_test
  else
    sanitize memcheck
    sanitize racecheck
  fi
  exit $failed
  ;;
*)
  echo "usage: $0 pack FOLDER | run | sanitize" >&2
  exit 2
  ;;
esac
