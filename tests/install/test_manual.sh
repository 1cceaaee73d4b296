#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual page and the completions know every command and option that the program's
# own help names.
# shellcheck source=tests/support/sh.sh
. "$TXD_SOURCE/tests/support/sh.sh"

manual=$scratch/manual
sed 's/\\-/-/g; s/\\f.//g' "$TXD_SOURCE/docs/txdiag.1" >"$manual"
completion=$TXD_SOURCE/cli/completion/txdiag

# known WORD: it stands in the manual and in both completions.
known()
{
    for file in "$manual" "$completion.bash" "$completion.zsh"; do
        grep -qE -- "(^|[^-a-z])$1([^-a-z]|\$)" "$file" || {
            echo "$file does not know $1" >&2
            return 1
        }
    done
}

exits 0 "the program explains itself" "$txdiag" --help
commands=$(sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' "$out")
for command in $commands; do
    ok "$command is known" known "$command"
    exits 0 "$command explains itself" "$txdiag" "$command" --help
    options=$(sed -n '/^Options:/,$p' "$out" | grep -oE '^ +(-[a-z], )?--[a-z-]+' |
        grep -oE -e '--[a-z-]+')
    for option in $options; do
        ok "$command $option is known" known "$option"
    done
done
ok "there are commands" test -n "$commands"
finish
