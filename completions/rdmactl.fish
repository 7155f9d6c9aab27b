# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rdmactl_global_optspecs
    string join \n H/hosts= from= root= save= timeout= fanout= l/login= F/ssh-config= upload no-upload f/format= json o/columns= w/where= s/sort= n/no-header v/verbose color= h/help V/version
end

function __fish_rdmactl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rdmactl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rdmactl_using_subcommand
    set -l cmd (__fish_rdmactl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rdmactl -n "__fish_rdmactl_needs_command" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s V -l version -d 'Print version'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "devices" -d 'List the RDMA devices and their ports'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "ports" -d 'List the ports with all that is known of their links'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "gids" -d 'List the GID tables: by which addresses a port can be reached'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "counters" -d 'List what the ports have counted: traffic, errors, congestion'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "resources" -d 'List who holds queue pairs, connections, memory regions and other objects'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "ping" -d 'Send RDMA messages between hosts, and say what is wrong where they do not pass'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "capture" -d 'Record what hosts answer, to be read again with --from'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "compat" -d 'Print what ibstat and other older tools print, byte for byte'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "man" -d 'Write the man pages into a directory'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "agent" -d 'The remote end of rdmactl; it is started by rdmactl itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ports" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s a -l all -d 'Also those that have counted nothing'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand counters" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand resources" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l matrix -d 'Ping every ordered pair of these hosts; -v or -o lists the pairs' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l iters -d 'Round trips to measure for each pair' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l slot -d 'The longest that the measurement of one pair may take' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l size -d 'Message size of the measurement, in bytes' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand ping" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l redact -d 'Replace host names, addresses, GUIDs, serial numbers, paths and names of programs'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l as -d 'As this release of rdma-core prints: 33 to 65; without it, the one that is installed' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand compat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l parent -d 'The process that waits for the answer: without it there is nobody to answer' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s H -l hosts -d 'Ask these hosts over SSH, as in n[01-16],gpu3; without it, this host' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l from -d 'Read a file that rdmactl wrote, instead of a host' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l root -d 'Read /sys and /proc below this directory' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l save -d 'Also keep the raw answers in this file, to be read again with --from' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l timeout -d 'How long to wait for one host: 10, 2.5s, 500ms, 2m' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l fanout -d 'How many hosts to ask at once' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s l -l login -d 'Log in as this user' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s F -l ssh-config -d 'Read this file instead of ~/.ssh/config' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s f -l format -d 'Form of the answer' -r -f -a "table\t'For people'
plain\t'One line a row, cells parted by tabs'
csv\t'Comma-separated values, numbers in their base units'
json\t'For programs'
ndjson\t'For programs, one line a host'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s o -l columns -d 'Columns to show: id,… replaces the usual ones, +id,… adds; help lists all' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s w -l where -d 'Only rows for which this holds, as in \'state!=active\', \'rate<400G or device~mlx5\'' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s s -l sort -d 'Rows in the order of this column; -COLUMN for the largest first' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l color -d 'When to colour' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l unlink -d 'Remove the program\'s own file before the first read'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l upload -d 'Send this program to hosts that have none; it removes itself'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l no-upload -d 'Never send this program to a host'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -l json -d 'The same as --format json'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s n -l no-header -d 'Leave out the heading'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s v -l verbose -d 'Show more columns; this asks libibverbs, too'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand agent" -s h -l help -d 'Print help (see more with \'--help\')'
