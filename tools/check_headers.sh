#!/bin/sh
# Compiles each header alone, included twice, in every C and C++ dialect that it supports. CC and CXX name the compilers.
set -eu
cd "$(dirname "$0")/.."
warnings='-Wall -Wextra -Wpedantic -Wconversion -Werror'

# check HEADER LANGUAGE COMPILER DIALECT…
check() {
  header=$1 language=$2 compiler=$3
  shift 3
  for dialect; do
    # shellcheck disable=SC2086 # the compiler and the warnings are several words
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
      $compiler -std="$dialect" $warnings -Iinclude -Ibindings/cpp -fsyntax-only -x "$language" -
    echo "$header compiles as $dialect"
  done
}

check plimsoll.h c "${CC:-cc} -Wstrict-prototypes" c99 c11
check plimsoll.h c++ "${CXX:-c++}" c++11 c++14 c++17 c++20
check plimsoll.hpp c++ "${CXX:-c++}" c++17 c++20
