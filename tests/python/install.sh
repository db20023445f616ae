#!/bin/sh
# Makes a virtual environment that can run the tests of this folder:
#   tests/python/install.sh VENV && VENV/bin/python -m pytest tests/python
# Needs python3 with venv (Debian: python3-venv). Can be run again.
set -eu

MAMBA_SSM_VERSION=2.3.2.post1

if [ $# -ne 1 ]; then
  echo "usage: $0 VENV" >&2
  exit 2
fi
venv=$1
here=$(dirname "$0")

[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"

# The source package: its two references are plain PyTorch, so no CUDA is built, and what only its
# kernels need (triton) is left out.
installed=$("$venv/bin/pip" show mamba-ssm 2>/dev/null | sed -n 's/^Version: //p')
if [ "$installed" != "$MAMBA_SSM_VERSION" ]; then
  PATH="$venv/bin:$PATH" MAMBA_SKIP_CUDA_BUILD=TRUE MAMBA_FORCE_BUILD=TRUE \
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --no-binary mamba-ssm "mamba-ssm==$MAMBA_SSM_VERSION"
fi
