#!/bin/sh
# Writes the list of system libraries that a program needs beside libplimsoll.a. rustc knows them, and prints them when it
# builds a static library. `make` runs this after each build; `make install` puts the list into plimsoll.pc and the CMake
# package.
#
#     native_libs.sh LIST          in the directory of the built library
#
# From the environment: RUSTC, and CARGO_BUILD_TARGET when cross-compiling.
set -eu
list=$1
built=$(dirname "$list")
if [ "$list" -nt "$built/libplimsoll.rlib" ]; then
  exit 0
fi
if [ -n "${CARGO_BUILD_TARGET:-}" ]; then
  host_deps=$(dirname "$(dirname "$built")")/release/deps
  set -- --target "$CARGO_BUILD_TARGET"
else
  host_deps=$built/deps
  set --
fi
echo 'extern crate plimsoll;' | "${RUSTC:-rustc}" "$@" --edition 2024 --crate-name native --crate-type staticlib \
  --extern "plimsoll=$built/libplimsoll.rlib" -L "dependency=$built/deps" -L "dependency=$host_deps" \
  --print "native-static-libs=$list" -o "$built/native.a" - 2> "$built/native.txt" || {
  cat "$built/native.txt" >&2
  exit 1
}
rm -f "$built/native.a" "$built/native.txt"
