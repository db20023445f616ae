#!/bin/sh
# Builds everything and runs every test: layout and layers, C++ tests (optimised, and under
# AddressSanitizer and UndefinedBehaviorSanitizer), the installed package, the command line, the
# named cases, the Python package, the fuzzers for a bounded time, lints, and agreement with other
# implementations.
# CUDA code is compiled; it needs a GPU to run (tools/gpu_check.sh).
#
# Made for Debian 12. As root it installs what is missing; otherwise it says what to install. Can be
# run again. Goes on after a failure, and ends with the line "N passed, N failed", which counts all
# tests. Logs and results lie in build/test_results.
set -u
cd "$(dirname "$0")" || exit 2

PACKAGES="cmake ninja-build g++ libhwy-dev libcli11-dev nlohmann-json3-dev libgtest-dev
  ccache pkg-config clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14
  python3 python3-venv"
VENV=.venv
RESULTS=build/test_results
JOBS=$(nproc)
FUZZ_SECONDS=12
# Programs that measure: nothing runs beside them.
MEASURING="bench_test measuring_test"
. tools/test_steps.sh

say() {
  printf '\n== %s  [%s min]\n' "$*" "$((($(date +%s) - started) / 60))"
}

build() {
  preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$JOBS"
}

# cpp_tests PRESET: every test program of that build.
cpp_tests() {
  for program in build/"$1"/tests/*_test; do
    [ -x "$program" ] || {
      echo "failed $1: has no test program" >>"$RESULTS/checks.txt"
      return
    }
    case " $MEASURING " in
    *" $(basename "$program") "*) google_tests "$1_$(basename "$program")" "$program" ;;
    *) sharded_tests "$1_$(basename "$program")" "$program" ;;
    esac
  done
}

# Seeds are read, and what the fuzzer finds worth keeping goes to the build folder.
fuzz() {
  program=$1
  name=$(basename "$program" _fuzz)
  mkdir -p "build/fuzz/corpus/$name"
  seeds=tests/fuzz/corpus/$name
  [ -d "$seeds" ] || seeds=
  # shellcheck disable=SC2086  # none or one
  "$program" -max_total_time="$FUZZ_SECONDS" -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="$RESULTS/" "build/fuzz/corpus/$name" $seeds
}

# What runs tests, what the tools draw with, and the CUDA compiler.
python_tools() {
  { [ -x "$VENV/bin/pip" ] || python3 -m venv "$VENV"; } &&
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r bench/requirements.txt \
      -r tests/python_package/requirements.txt pytest -c tests/python/requirements.txt &&
    tools/cuda_toolchain.sh "$VENV/bin/python"
}

# The wheel, as pip builds it from these sources, into the environment of the tests. The compiler cache
# has the library's objects from the optimised build, if options and the compiler's name are the same.
python_package() {
  rm -rf build/wheel
  CXX=c++ "$VENV/bin/pip" wheel . --quiet --disable-pip-version-check --no-deps -w build/wheel \
    -C cmake.define.TILESCAN_CUDA=OFF -C cmake.define.TILESCAN_WERROR=ON \
    -C cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache &&
    "$VENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall \
      build/wheel/*.whl
}

pytest() {
  name=$1
  shift
  tests "$name" "$VENV/bin/python" -m pytest -q "--junitxml=$RESULTS/$name.xml" "$@"
}

started=$(date +%s)
has_python_package=
rm -rf "$RESULTS"
mkdir -p "$RESULTS"
export CCACHE_DIR="$PWD/build/ccache"

say "What is needed"
# shellcheck disable=SC2086  # a list of names
tools/need_packages.sh $PACKAGES || exit 2
# They come while the compiler works.
beside check "python tools" python_tools

say "Sanitized build"
check "build asan" build asan
built_asan=$?
together
[ $built_asan -ne 0 ] || cpp_tests asan

say "Sources"
check "format" tools/format.sh --check
check "layers" tools/check_layers.py
pytest tools tests/tools

say "Optimised build"
# Code for GPUs is compiled, for Hopper, and cannot be run here: tools/gpu_check.sh. That compiles the
# tests of single instructions too, which take a minute and are left out here.
# What is compared with is big, and comes while the compiler works.
beside check "python packages" tests/python/install.sh "$VENV"
check "build release" build release -DTILESCAN_CUDA=ON "-DTILESCAN_CUDA_ARCHITECTURES=90;90a" \
  -DTILESCAN_BUILD_PTX_TESTS=OFF -DCMAKE_CXX_COMPILER_LAUNCHER=ccache && {
  together
  cpp_tests release
  beside check "CUDA sources for other GPUs" tools/compile_for_gpus.sh
  beside tests package ctest --test-dir build/release -R '^package_' --no-tests=error --output-on-failure \
    --output-junit "$(pwd)/$RESULTS/package.xml"
  together
  # It measures: nothing runs beside it.
  pytest cli_bench tests/cli/test_bench.py --tool build/release/tilescan
  beside pytest cli tests/cli --ignore tests/cli/test_bench.py --tool build/release/tilescan
  beside check "tilescan verify" build/release/tilescan verify
  beside pytest peers tests/python --build-dir build/release
  together
  check "python package" python_package && has_python_package=1
}

say "Fuzzers"
check "build fuzz" build fuzz && {
  for program in build/fuzz/fuzz/*_fuzz; do beside check "$(basename "$program")" fuzz "$program"; done
  together
}

say "Lints, and the Python package"
# Its tests take one process.
[ -z "$has_python_package" ] ||
  beside pytest python_package tests/python_package --wheel "$(echo build/wheel/*.whl)"
check "clang-tidy" tools/tidy.sh build/release
together

say "Result"
python3 tools/count_tests.py "$RESULTS"
