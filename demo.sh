#!/bin/sh
# Shows tilescan at work: builds it, runs a recorded layer of a trained Mamba-2 model and compares the
# result with the one that the public transformers library computed, measures a model's shape against
# the recurrence, draws a plot of time over seqlen, and installs the Python package and runs its example.
#
# Made for Debian 12. As root it installs what is missing; otherwise it says what to install. Can be
# run again; takes a few minutes the first time.
set -eu
cd "$(dirname "$0")"

BUILD=build/release
RESULTS=build/demo
VENV=.venv
PACKAGES="cmake ninja-build g++ libhwy-dev libcli11-dev nlohmann-json3-dev libgtest-dev
  python3 python3-venv"

# expected_out in the file is transformers' own result, computed in fp32 with chunk_size 64. An fp32
# chunked scan with dstate 128 is within (2 * 64 + 128) * 2^-24 = 1.53e-5 of the exact result
# (examples/layer/describe_layer.py says why), and so is ours: two such results differ by at most
# twice that. A wrong operand, a missing bias or a shifted token costs several orders more.
LAYER=examples/layer/layer.safetensors
LAYER_LIMIT=3.1e-5

say() {
  printf '\n== %s\n' "$*"
}

say "1/6 What is needed"
# shellcheck disable=SC2086  # a list of names
tools/need_packages.sh $PACKAGES
[ -x "$VENV/bin/pip" ] || python3 -m venv "$VENV"
"$VENV/bin/python" -c 'import matplotlib' 2>/dev/null ||
  "$VENV/bin/pip" install --quiet --disable-pip-version-check -r bench/requirements.txt
echo "all there"

say "2/6 Build"
cmake --preset release >/dev/null
cmake --build --preset release --target tilescan_cli
tilescan=$BUILD/tilescan
"$tilescan" info

say "3/6 A layer of a trained model, against what transformers computed (limit $LAYER_LIMIT)"
mkdir -p "$RESULTS"
"$tilescan" run "$LAYER" -o "$RESULTS/layer_out.safetensors" --repeats 20 --check "$LAYER_LIMIT"

say "4/6 mamba2-130m, against the recurrence token by token"
"$tilescan" bench --preset mamba2-130m --seqlen 128,256,512,1024,2048,4096 --compare reference \
  --repeats 5 --json "$RESULTS/mamba2-130m.json"

say "5/6 Time over seqlen"
"$VENV/bin/python" bench/plot_seqlen.py "$RESULTS/mamba2-130m.json" \
  --output "$RESULTS/time_over_seqlen.png"

say "6/6 From Python"
# From the sources, for the CPU, in an environment of its own; the example is the README's.
[ -x "$RESULTS/venv/bin/pip" ] || python3 -m venv "$RESULTS/venv"
"$RESULTS/venv/bin/pip" install --quiet --disable-pip-version-check . numpy \
  -C cmake.define.TILESCAN_CUDA=OFF
sed -n '/^```python$/,/^```$/p' README.md | grep -v '^```' >"$RESULTS/example.py"
cat "$RESULTS/example.py"
"$RESULTS/venv/bin/python" "$RESULTS/example.py"
printf '\nThe plot is %s/%s, its figures are in %s\n' "$(pwd)" "$RESULTS/time_over_seqlen.png" \
  "$RESULTS/mamba2-130m.json"
