# fish completion for rdmactl: it asks the program, which knows its columns, devices and hosts.
function __rdmactl_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    RDMACTL_COMPLETE=fish $words[1] (count $words) $words "$current" 2>/dev/null
end
complete --command rdmactl --no-files --keep-order --arguments '(__rdmactl_complete)'
