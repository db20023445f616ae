#!/bin/sh
# Builds and runs the C consumer with the flags that pkg-config gives.
# pkg_config.sh COMPILER SOURCE LIBRARY_FOLDER BUILD_FOLDER
set -eu
compiler=$1 source=$2 library_folder=$3 build_folder=$4
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
# Split on purpose: the flags are several words.
# shellcheck disable=SC2046
"$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror "$source" \
  $(pkg-config --cflags --libs tilescan) -o "$build_folder/pkg_config_consumer"
LD_LIBRARY_PATH="$library_folder" "$build_folder/pkg_config_consumer"
