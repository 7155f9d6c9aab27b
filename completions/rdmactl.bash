# bash completion for rdmactl: it asks the program, which knows its columns, devices and hosts.
_rdmactl() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(RDMACTL_COMPLETE=bash "$1" "$1" "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _rdmactl rdmactl
