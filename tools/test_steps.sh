# The steps of a test run, for test.sh, which sets RESULTS, a folder that exists: each leaves what
# tools/count_tests.py counts there, *.xml and checks.txt, and its log.

# A test program that takes longer hangs.
PROGRAM_SECONDS=${PROGRAM_SECONDS:-600}
# Processes that the tests of a program are dealt out to. A program has as many tests or more.
SHARDS=2
num_beside=0

# check NAME COMMAND...: one check, which passes or fails.
check() {
  name=$1
  shift
  log=$RESULTS/$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '_').log
  if "$@" >"$log" 2>&1; then
    echo "passed $name" >>"$RESULTS/checks.txt"
    echo "passed: $name"
  else
    echo "failed $name" >>"$RESULTS/checks.txt"
    tail -n 40 "$log"
    echo "failed: $name"
    return 1
  fi
}

# tests NAME COMMAND...: a program that writes $RESULTS/NAME.xml. If it fails without naming a failed
# test, in a crash or before any test, that counts as one.
tests() {
  name=$1
  shift
  log=$RESULTS/$name.log
  rm -f "$RESULTS/$name.xml"
  timeout "$PROGRAM_SECONDS" "$@" >"$log" 2>&1
  status=$?
  if [ $status -eq 0 ] && [ -s "$RESULTS/$name.xml" ]; then
    echo "passed: $name"
    return 0
  fi
  tail -n 40 "$log"
  echo "failed: $name (exit status $status)"
  if ! grep -qE '<(failure|error)' "$RESULTS/$name.xml" 2>/dev/null; then
    echo "failed $name: exit status $status" >>"$RESULTS/checks.txt"
  fi
  return 1
}

# beside STEP...: a step that runs at the same time as others, until together.
beside() {
  num_beside=$((num_beside + 1))
  "$@" >"$RESULTS/beside_$num_beside.txt" 2>&1 &
}

# together: waits for the steps that run beside each other, and shows what they said, in their order.
together() {
  wait
  for step in $(seq "$num_beside"); do cat "$RESULTS/beside_$step.txt"; done
  rm -f "$RESULTS"/beside_*.txt
  num_beside=0
}

# google_tests NAME PROGRAM: a GoogleTest program.
google_tests() {
  tests "$1" "$2" --gtest_brief=1 "--gtest_output=xml:$RESULTS/$1.xml"
}

# sharded_tests NAME PROGRAM: the same, its tests dealt out to processes that run at the same time,
# each with results of its own: NAME.0, NAME.1.
sharded_tests() {
  for shard in $(seq 0 $((SHARDS - 1))); do
    beside shard_tests "$shard" "$1.$shard" "$2"
  done
  together
}

# shard_tests SHARD NAME PROGRAM
shard_tests() {
  export GTEST_TOTAL_SHARDS=$SHARDS GTEST_SHARD_INDEX="$1"
  google_tests "$2" "$3"
}
