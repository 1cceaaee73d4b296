#compdef txdiag
# SPDX-License-Identifier: MIT
# Completion of txdiag for zsh; names come from `txdiag list`.

_txdiag_names() {
    local -a names
    names=(${(f)"$(${words[1]} list $1 2>/dev/null | sed 's/  .*//')"})
    compadd -a names
}

_txdiag() {
    local -a everywhere
    everywhere=('--backend[arithmetic]:backend:{_txdiag_names backends}'
        '--threads[threads]:count:' '--force[replace a foreign output file]'
        '(-q --quiet)'{-q,--quiet}'[say less]' '(-v --verbose)'{-v,--verbose}'[say more]'
        '(-h --help)'{-h,--help}'[explain]')
    if (( CURRENT == 2 )); then
        compadd run check info list plot report explain mask tokenize generate --help --version
        return
    fi
    local command=${words[2]}
    words=(${words[1]} ${words[3,-1]})
    (( CURRENT-- ))
    case $command in
    run) _arguments $everywhere '(-o --output)'{-o,--output}'[recording]:file:_files' \
        '*--set[override a setting]:path=value:' '--report[folder]:folder:_files -/' \
        '--experiments[also laws with passes of their own]' \
        '--dry-run[only estimate]' '*:file:_files' ;;
    check) _arguments $everywhere '(-o --output)'{-o,--output}'[output]:file:_files' \
        '--rules[thresholds]:file:_files' '*--only[laws]:law:{_txdiag_names checks}' \
        '*--skip[laws]:law:{_txdiag_names checks}' '--strict[warnings fail]' \
        '--format[format]:format:(text json junit tap sarif)' \
        '*--set[override a setting]:path=value:' '*:file:_files' ;;
    info) _arguments $everywhere '--json[as JSON]' \
        '*--set[override a setting]:path=value:' '*:file:_files' ;;
    list) _arguments $everywhere '--markdown[as a document]' \
        '*--set[override a setting]:path=value:' \
        '1:what:(points probes checks faults figures backends parameters keys)' '2:file:_files' ;;
    plot) _arguments $everywhere '(-o --output)'{-o,--output}'[picture]:file:_files' \
        '--layer[layer]:n:' '--head[head]:n:' '--step[step]:n:' '--batch[row]:n:' \
        '--query[queries]:range:' '--key[keys]:range:' \
        '--scale[scale]:scale:(auto linear log)' '--pool[what a cell shows]:pool:(max mean)' \
        '--gp[keep script and data]:folder:_files -/' \
        '--other[recording to compare with]:file:_files' \
        '1:recording:_files' '2:site:{_txdiag_names points; _txdiag_names figures}' ;;
    report) _arguments $everywhere '(-o --output)'{-o,--output}'[folder]:folder:_files -/' \
        '--markdown[a summary for a pull request]' \
        '*:file:_files' ;;
    mask) _arguments $everywhere '(-o --output)'{-o,--output}'[picture]:file:_files' \
        '--layer[layer]:n:' '--batch[row]:n:' '--step[step]:n:' '--query[queries]:range:' \
        '--key[keys]:range:' '*--set[override a setting]:path=value:' '1:file:_files' ;;
    tokenize) _arguments $everywhere '--tokenizer[tokenizer]:file:_files' \
        '--no-special[without BOS]' '--json[as JSON]' '1:model:_files' '2:text:' ;;
    generate) _arguments $everywhere '(-n --count)'{-n,--count}'[tokens to follow]:N' \
        '--tokenizer[tokenizer]:file:_files' '--no-special[without BOS]' \
        '--ids[ids in, ids out]' '--chunk[tokens per call of the prompt]:N' \
        '--no-cache[the whole sequence anew for each token]' '1:model:_files' ;;
    explain)
        local kind
        for kind in checks faults points probes figures backends parameters keys; do
            _txdiag_names $kind
        done
        ;;
    esac
}

_txdiag "$@"
