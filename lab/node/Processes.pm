# What runs on this node: rdmactl's agents, and whatever was not there at boot.
package Processes;
use strict;
use warnings;
use Exporter "import";
our @EXPORT_OK = qw(slurp pids role_of start_of agents leftovers);

sub slurp { open(my $file, "<", $_[0]) or return ""; local $/; return scalar(<$file>) // "" }

sub pids { return map { s{.*/}{}r } glob("/proc/[0-9]*") }

sub argv_of { return split(/\0/, slurp("/proc/$_[0]/cmdline")) }

# The fields of /proc/PID/stat from the state on: 0 state, 1 parent, 19 start time.
sub stat_of { return split(/ /, slurp("/proc/$_[0]/stat") =~ s/^.*\) //sr) }

# The start time tells a process from a later one with its number.
sub start_of { return (stat_of($_[0]))[19] // "" }

# The one recogniser: `rdmactl agent ...` is a supervisor, `rdmactl agent worker ...` its
# worker. argv[0] says nothing: it may be /dev/shm/x/agent or /proc/self/exe.
sub role_of {
    my ($name, @argv) = argv_of($_[0]);
    my @words = grep { !/^-/ } @argv;
    return "" unless @words && $words[0] eq "agent";
    return @words > 1 && $words[1] eq "worker" ? "worker" : "supervisor";
}

sub agents { return map { my $role = role_of($_); $role ? "$_ $role" : () } pids() }

# Every process that a node did not have at boot, as pid => command line. Its own are few:
# PID 1 and its busybox children, the two SSH servers, and who came in by the lab's door.
sub leftovers {
    my (%parent, %found);
    for my $pid (pids()) {
        my ($state, $parent) = stat_of($pid);
        $parent{$pid} = $parent if defined($parent) && $state ne "Z";
    }
    my ($sshd, $door) = map { slurp($_) =~ /(\d+)/ ? $1 : 0 } "/run/sshd.pid", "/run/rdmalab-door.pid";
    my %mine = ($sshd => 1, 1 => 1, 2 => 1);
    for (my $pid = $$; $pid > 1; $pid = $parent{$pid} // 0) { $mine{$pid} = 1 }
    for my $pid (keys %parent) {
        next if $mine{$pid} || $parent{$pid} == 2;
        my $above = $pid;
        $above = $parent{$above} // 0 while $above > 1 && $above != $door;
        next if $above == $door && $door;
        next if $parent{$pid} == 1 && (readlink("/proc/$pid/exe") // "") =~ m{/busybox$};
        my $words = join(" ", argv_of($pid));
        $found{$pid} = $words if $words ne "";
    }
    return %found;
}

1;
