#!/bin/sh
# SPDX-License-Identifier: MIT
# The configuration refuses flags by which results would depend on the machine, or NaN
# would be forgotten, wherever they come from.
# shellcheck source=tests/support/sh.sh
. "$TXD_SOURCE/tests/support/sh.sh"

unset CFLAGS CC
for flag in -ffast-math -Ofast -march=native; do
    exits 1 "the option c_args=$flag is refused" \
        meson setup "$scratch/option$flag" "$TXD_SOURCE" "-Dc_args=$flag"
    says "refusing to build with $flag"
    exits 1 "CFLAGS=$flag is refused" \
        env CFLAGS="$flag" meson setup "$scratch/flags$flag" "$TXD_SOURCE"
    says "refusing to build with $flag"
    exits 1 "CC='cc $flag' is refused" \
        env CC="cc $flag" meson setup "$scratch/compiler$flag" "$TXD_SOURCE"
    says "refusing to build"
done
finish
