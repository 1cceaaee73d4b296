# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Completion of txdiag for bash. Names of points, checks, faults and so on come from
# `txdiag list` itself, so they are those of the program that is installed.

_txdiag_names()
{
    "${COMP_WORDS[0]}" list "$1" 2>/dev/null | sed 's/  .*//'
}

_txdiag()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]}
    local words='' kind

    if [ "$COMP_CWORD" -eq 1 ]; then
        words='run check info list plot report explain mask tokenize generate'
        words+=' --help --version'
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    case $previous in
    --backend) words=$(_txdiag_names backends) ;;
    --only | --skip) words=$(_txdiag_names checks) ;;
    --format) words='text json junit tap sarif' ;;
    --scale) words='auto linear log' ;;
    --pool) words='max mean' ;;
    esac
    if [ -z "$words" ] && [[ $current == -* ]]; then
        words='--backend --threads --force --quiet --verbose --help'
        case $command in
        run) words+=' --output --set --report --experiments --dry-run' ;;
        check) words+=' --output --set --rules --only --skip --strict --format' ;;
        info) words+=' --json --set' ;;
        list) words+=' --set --markdown' ;;
        plot)
            words+=' --output --layer --head --step --batch --query --key --pool'
            words+=' --scale --gp --other'
            ;;
        report) words+=' --output --markdown' ;;
        mask) words+=' --output --layer --batch --step --query --key --set' ;;
        tokenize) words+=' --tokenizer --no-special --json' ;;
        generate)
            words+=' --count --tokenizer --no-special --ids --chunk --no-cache'
            ;;
        esac
    elif [ -z "$words" ] && [[ $previous != -* ]]; then
        case $command in
        list)
            [ "$COMP_CWORD" -gt 2 ] ||
                words='points probes checks faults figures backends parameters keys'
            ;;
        explain)
            for kind in checks faults points probes figures backends parameters keys; do
                words+=" $(_txdiag_names "$kind")"
            done
            ;;
        plot)
            [ "$COMP_CWORD" -le 2 ] ||
                words="$(_txdiag_names points) $(_txdiag_names figures)"
            ;;
        esac
    fi
    # No words: readline completes file names (-o default below).
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _txdiag txdiag
