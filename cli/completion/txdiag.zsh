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
        '-q[say less]' '-v[say more]' '--help[explain]')
    if (( CURRENT == 2 )); then
        compadd run check info list plot report explain --help --version
        return
    fi
    local command=${words[2]}
    words=(${words[1]} ${words[3,-1]})
    (( CURRENT-- ))
    case $command in
    run) _arguments $everywhere '-o[recording]:file:_files' '*--set[key=value]:key:' \
        '--report[folder]:folder:_files -/' '--dry-run[only estimate]' '*:file:_files' ;;
    check) _arguments $everywhere '-o[output]:file:_files' '--rules[file]:file:_files' \
        '*--only[laws]:law:{_txdiag_names checks}' \
        '*--skip[laws]:law:{_txdiag_names checks}' '--strict[warnings fail]' \
        '--format[format]:format:(text json)' '*:file:_files' ;;
    info) _arguments $everywhere '--json[as JSON]' '*:file:_files' ;;
    list) compadd points probes checks faults figures backends ;;
    plot) _arguments $everywhere '-o[picture]:file:_files' '--layer[layer]:n:' \
        '--head[head]:n:' '--step[step]:n:' '--query[query]:n:' '--key[key]:n:' \
        '1:recording:_files' '2:site:{_txdiag_names points}' ;;
    report) _arguments $everywhere '-o[folder]:folder:_files -/' '*:file:_files' ;;
    explain) _txdiag_names checks; _txdiag_names faults; _txdiag_names points ;;
    esac
}

_txdiag "$@"
