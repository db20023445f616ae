#!/bin/sh
# Makes sure that Debian packages are installed: tools/need_packages.sh PACKAGE...
# As root it installs those that are missing; otherwise it names them and fails.
set -eu

missing=
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "$0: not root: install these first: apt-get install$missing" >&2
  exit 2
fi
apt-get update -qq
# shellcheck disable=SC2086  # a list of names
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing
