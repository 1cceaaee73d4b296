#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs below a scratch folder and uses what is there as a stranger would.
# shellcheck source=tests/support/sh.sh
. "$TXD_SOURCE/tests/support/sh.sh"

root=$scratch/root
here=$TXD_SOURCE/tests/install

# The one installed file of that name, or nothing.
installed()
{
    find "$root" -name "$1" 2>/dev/null | head -n 1
}

there()
{
    [ -n "$(installed "$1")" ]
}

exports_only_txd()
{
    nm -D --defined-only "$1" | sed 's/.* //' >"$scratch/symbols"
    [ -s "$scratch/symbols" ] && ! grep -v '^txd_' "$scratch/symbols"
}

ok "meson installs below DESTDIR" \
    meson install -C "$TXD_BUILD" --no-rebuild --quiet --destdir "$root"
for file in libtxdiag.so libtxdiag.so.0 txdiag.pc txd.h status.h txdiag.1 _txdiag; do
    ok "$file is installed" there "$file"
done
ok "the completion for bash is installed" test -f \
    "$(dirname "$(installed _txdiag)")/../../bash-completion/completions/txdiag"

libdir=$(dirname "$(installed libtxdiag.so)")
ok "the library exports txd_ names only" exports_only_txd "$libdir/libtxdiag.so"

export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
exits 0 "pkg-config knows the version" pkg-config --modversion txdiag
says "$TXD_VERSION"
flags=$(pkg-config --cflags --libs txdiag)
# shellcheck disable=SC2086
ok "a C program builds against it" \
    cc -std=c11 -Wall -Wextra -Werror "$here/client.c" -o client $flags
if [ "${TXD_SANITIZED:-0}" = 1 ]; then
    skip "and runs" "the sanitizer's library must come first in a program"
else
    exits 0 "and runs" env LD_LIBRARY_PATH="$libdir" ./client
fi
if command -v g++ >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    ok "a C++ program builds against it" \
        g++ -std=c++17 -Wall -Wextra -Werror -x c++ "$here/client.c" -o client++ $flags
else
    skip "a C++ program builds against it" "no g++"
fi

program=$(find "$root" -path '*/bin/txdiag')
exits 0 "the installed program finds its library" \
    env -u LD_LIBRARY_PATH "$program" --version
says "$TXD_VERSION"
if command -v man >/dev/null 2>&1; then
    ok "the manual page has no errors" man --warnings -l "$(installed txdiag.1)"
    cp "$err" warnings
    ok "nor warnings" test ! -s warnings
else
    skip "the manual page has no errors" "no man"
fi
ok "the completion is valid bash" \
    bash -n "$TXD_SOURCE/cli/completion/txdiag.bash"
finish
