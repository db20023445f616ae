#!/bin/sh
# Checks the CUDA component on a GPU machine, which needs nothing of this repository's tools:
#
#   tools/gpu_check.sh pack FOLDER [BUILD]   builds here, in BUILD (build/gpu; no GPU is needed), and
#                                            puts all that is needed there into FOLDER
#   FOLDER/gpu_check.sh run                  on the GPU machine: every test on the GPU's kernels
#   FOLDER/gpu_check.sh sanitize [TOOL...]   on the GPU machine: a few cases of each kernel under
#                                            compute-sanitizer (memcheck, racecheck)
#
# run and sanitize exit with 1 if anything failed. A program that passes no test, or is killed, has
# failed. A test that a kernel does not take is skipped and counted as that.
set -eu

PROGRAMS="tests/api_test tests/layer_test tests/scan_test tests/state_update_test gpu/gpu_test tilescan"
# A program that takes longer hangs.
PROGRAM_SECONDS=300
SHARDS=6
# A case under a tool that takes longer, likewise: they take seconds without one.
SANITIZED_SECONDS=100

# PROGRAM FILTER of what sanitize runs: small cases of each kernel, of one or two chunks, whole ones
# and others, with everything optional, with padding; the instructions by themselves.
SANITIZED="
scan_test */cuda_stream_wgmma_seqlen_65
scan_test */cuda_stream_wgmma_decay_both_signs
scan_test */cuda_stream_wgmma_long_4133
scan_test */cuda_*_seqlen_65:*/cuda_*_sides_nonfinite_80_128
scan_test */cuda_*_dims_64_256_all:*/cuda_*_dims_80_128
scan_test */cuda_*_C06_packed
scan_test */cuda_*_seq_idx_padding_inside
scan_test */cuda_*_shapes_b2_l33_h2_p64_g1_n64_bfloat16
state_update_test */cuda_*_C09_slots
state_update_test */cuda_*_decode_shapes_b1_l2_h2_p128_g1_n256_*
state_update_test */cuda_*_decode_shapes_b5_l0_h8_p64_g1_n128_*
layer_test */cuda_*_conv_shapes_*
layer_test */cuda_*_conv_seq_idx_*:*/cuda_*_conv_packed_*
layer_test */cuda_*_conv_update_*
layer_test */cuda_*_norm_shapes_*
gpu_test PtxMatrices.*:PtxWgmma.*:PtxSynchronization.*
"

pack() {
  folder=$1
  cd "$(dirname "$0")/.."
  build=${2:-build/gpu}
  cmake --preset release -B "$build" -DTILESCAN_CUDA=ON "-DTILESCAN_CUDA_ARCHITECTURES=90;90a" \
    -DTILESCAN_BUILD_PTX_TESTS=ON
  # shellcheck disable=SC2086  # a list of names
  cmake --build "$build" -j "$(nproc)" --target \
    $(for program in $PROGRAMS; do basename "$program"; done | sed 's/^tilescan$/tilescan_cli/') \
    tilescan_shared
  mkdir -p "$folder/lib"
  for program in $PROGRAMS; do
    cp -L "$build/$program" "$folder/"
    strip "$folder/$(basename "$program")"
  done
  # For bench/gpu/gpu_bench.py.
  cp -L "$build/libtilescan.so" "$folder/"
  strip "$folder/libtilescan.so"
  # What a machine may lack.
  cp -L "$(ldd "$build/tilescan" | sed -n 's/.*=> \(.*libhwy[^ ]*\).*/\1/p')" "$folder/lib/"
  cp tools/gpu_check.sh "$folder/"
}

# report NAME STATUS SECONDS LOG WHAT: says how it went, from the exit status and from WHAT was found
# in the log. Empty: nothing that passes.
report() {
  if [ "$2" -eq 0 ] && [ -n "$5" ]; then
    echo "passed: $1: $5"
    return
  fi
  tail -n 40 "$4"
  case $2 in
  124) echo "failed: $1: killed after $3 s" ;;
  0) echo "failed: $1: nothing passed" ;;
  *) echo "failed: $1: exit status $2" ;;
  esac
  failed=1
}

# outcome LOG: GoogleTest's counts, if a test passed.
outcome() {
  if grep -q '^\[  PASSED  \] [1-9]' "$1"; then
    grep -E '^\[  (PASSED|SKIPPED|FAILED) +\] [0-9]' "$1" | tr '\n' ' '
  fi
}

# tests NAME PROGRAM FILTER: the tests that the filter names.
tests() {
  log=$1.log
  status=0
  timeout "$PROGRAM_SECONDS" "./$2" "--gtest_filter=$3" --gtest_brief=1 >"$log" 2>&1 || status=$?
  report "$1" "$status" "$PROGRAM_SECONDS" "$log" "$(outcome "$log")"
}

# sharded_tests PROGRAM FILTER: in SHARDS processes at once, as the truth is computed on processors.
sharded_tests() {
  pids=
  for shard in $(seq 0 $((SHARDS - 1))); do
    GTEST_TOTAL_SHARDS=$SHARDS GTEST_SHARD_INDEX=$shard timeout "$PROGRAM_SECONDS" "./$1" \
      "--gtest_filter=$2" --gtest_brief=1 >"$1.$shard.log" 2>&1 &
    pids="$pids $!"
  done
  shard=0
  for pid in $pids; do
    status=0
    wait "$pid" || status=$?
    log=$1.$shard.log
    report "$1.$shard" "$status" "$PROGRAM_SECONDS" "$log" "$(outcome "$log")"
    shard=$((shard + 1))
  done
}

# command_of_tool NAME ARGUMENT...: a command of the tool that must succeed.
command_of_tool() {
  log=$1.log
  name=$1
  shift
  status=0
  timeout "$PROGRAM_SECONDS" ./tilescan "$@" >"$log" 2>&1 || status=$?
  report "$name" "$status" "$PROGRAM_SECONDS" "$log" "$(tail -n 1 "$log")"
}

run() {
  ./tilescan info
  # By itself and first: only then has nothing else loaded a kernel.
  tests gpu_prepare gpu_test 'PreparedGpu.PlansWithinACapture'
  tests gpu_test gpu_test '-PreparedGpu.PlansWithinACapture'
  tests api_test api_test '*'
  tests state_update_test state_update_test '*cuda*'
  tests layer_test layer_test '*cuda*'
  sharded_tests scan_test '*cuda*'
  command_of_tool bench_scan bench --backend cuda --dtype bf16 --seqlen 2048 --compare cpu \
    --repeats 3
  command_of_tool bench_update bench --backend cuda --operation state_update --batch 8 --repeats 3
}

# sanitize TOOL: each case by itself.
sanitize() {
  tool=$1
  while read -r program filter; do
    [ -n "$program" ] || continue
    name=$tool.$program.$(printf '%s' "$filter" | tr -c 'A-Za-z0-9\n' '_')
    status=0
    timeout "$SANITIZED_SECONDS" compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "./$program" "--gtest_filter=$filter" --gtest_brief=1 </dev/null >"$name.log" 2>&1 ||
      status=$?
    report "$name" "$status" "$SANITIZED_SECONDS" "$name.log" "$(outcome "$name.log")"
  done <<END
$SANITIZED
END
}

case "${1:-}" in
pack)
  shift
  pack "$@"
  ;;
run | sanitize)
  command=$1
  shift
  cd "$(dirname "$0")"
  export LD_LIBRARY_PATH="$PWD/lib"
  failed=0
  if [ "$command" = run ]; then
    run
  else
    for tool in ${*:-memcheck racecheck}; do sanitize "$tool"; done
  fi
  exit $failed
  ;;
*)
  echo "usage: $0 pack FOLDER [BUILD] | run | sanitize [TOOL...]" >&2
  exit 2
  ;;
esac
