//! The fixed commands that hosts are asked to run.
//!
//! Each is `exec /bin/sh -c '...'`: the login shell, be it bash, csh, tcsh or fish, only starts
//! `sh`. Inside the quotes stand no `'`, no `!` (csh expands it even there), no `\` (fish reads
//! it even there) and no newline; only hex nonces and numbers are put in, never a text that
//! somebody else wrote.

use super::Nonce;
use super::upload::Uploaded;
use crate::wire::Process;

/// How the agent gets its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Those of the login.
    Login,
    /// Those of root, by `sudo -n`, which never asks.
    Sudo,
}

/// What the line begins with that a host without an agent prints; the nonce follows.
pub const NO_AGENT: &str = "RDMACTL/none";

/// First word of the line that the shell of a host prints before it runs the agent; the nonce and
/// the process of the shell follow ([`Started`](crate::wire::Started)).
pub const STARTED: &str = "RDMACTL/run";

/// The directories an uploaded agent may lie in, by number.
pub(super) const PLACES: [&str; 5] = ["$XDG_RUNTIME_DIR", "/dev/shm", "/tmp", "/var/tmp", "$HOME"];

/// Prints [`STARTED`], the nonce and the process id of the shell; then the same with its process
/// group and its start time.
///
/// The first line needs no process and no descriptor: a login may allow none. The redirection
/// stands in a subshell, because a shell that has no descriptor for it may exit.
fn started(nonce: &str) -> String {
    format!(
        "echo {STARTED} {nonce} $$; s=$(read -r s </proc/$$/stat; echo $s); set -- ${{s##*) }}; \
         echo {STARTED} {nonce} $$ $3 ${{20}}"
    )
}

/// Has an agent speak in lines of text.
const LINES: &str = " --lines";

/// Runs the agent that is installed on the host, or prints [`NO_AGENT`] and the nonce.
#[must_use]
pub fn installed_agent(nonce: Nonce, privilege: Privilege) -> String {
    in_sh(&installed(&nonce.to_string(), privilege, ""))
}

/// The same agent, in lines of text.
pub(super) fn installed_agent_in_lines(nonce: Nonce, privilege: Privilege) -> String {
    in_sh(&installed(&nonce.to_string(), privilege, LINES))
}

/// What the line begins with by which a task of Slurm says where it is; the nonce and the node follow.
pub(super) const AT: &str = "RDMACTL/at";

/// Runs the installed agent as one of many tasks of Slurm, each with its own nonce; first it says on
/// which node it is.
///
/// No command line but the agent's own holds the whole nonce, so that [`kill_unseen`] finds no other.
pub(super) fn installed_agents(nonce: Nonce, privilege: Privilege) -> String {
    let common = nonce.common();
    let agent = installed(&format!("{common}$n"), privilege, LINES);
    in_sh(&format!("n=$(printf %08x $SLURM_PROCID); echo {AT} {common} $SLURMD_NODENAME; {agent}"))
}

/// Directories in which rdmactl is looked for after those of PATH, unless the host sets `RDMACTL_PATH`.
const DIRECTORIES: &str = "/usr/local/bin:/opt/rdmactl/bin";

fn installed(nonce: &str, privilege: Privilege, flag: &str) -> String {
    let (started, sudo) = (started(nonce), sudo(privilege));
    format!(
        "{started}; PATH=$PATH:${{RDMACTL_PATH:-{DIRECTORIES}}}; export PATH; \
         a=$(command -v rdmactl) && exec {sudo}$a agent {nonce}{flag}; echo {NO_AGENT} {nonce}"
    )
}

/// Runs the agent that was uploaded; it unlinks itself first.
#[must_use]
pub fn uploaded_agent(uploaded: &Uploaded, privilege: Privilege) -> String {
    in_sh(&run_uploaded(uploaded, privilege, ""))
}

/// The same agent, in lines of text.
pub(super) fn uploaded_agent_in_lines(uploaded: &Uploaded, privilege: Privilege) -> String {
    in_sh(&run_uploaded(uploaded, privilege, LINES))
}

fn run_uploaded(uploaded: &Uploaded, privilege: Privilege, flag: &str) -> String {
    let (sudo, file, nonce) = (sudo(privilege), uploaded.file(), uploaded.nonce());
    format!("{}; exec {sudo}{file} agent {nonce} --unlink{flag}", started(&nonce.to_string()))
}

/// A line that the shell of [`shell_reader`] parts its answers by.
#[must_use]
pub fn shell_line(word: &str, nonce: &str) -> String {
    format!("RDMACTL/{word} {nonce}\n")
}

/// A shell that answers questions on stdin until its end.
///
/// It says `RDMACTL/sh NONCE` first. `pPATH` adds a path; then `F` has their content printed,
/// `D` lists, `L` targets of links, `A` the device files that may be opened, `T` the seconds
/// since 1970. What an answer could not read comes behind `RDMACTL/errors NONCE`; its end is
/// `RDMACTL/end NONCE` and the seconds since the host was started.
#[must_use]
pub fn shell_reader(nonce: Nonce, privilege: Privilege) -> String {
    // What opening may have effects on is not opened. `/sys` and `/dev/null` have both tools put names
    // before what they print.
    let script = format!(
        "LC_ALL=C; export LC_ALL; set --; n=$(echo; echo x); n=${{n%x}}; echo RDMACTL/sh {nonce}; \
         while IFS= read -r l; do e=; o=; case $l in \
         p*) set -- \"$@\" \"${{l#p}}\"; continue;; \
         F) for p; do shift; if [ -f \"$p\" ]; then set -- \"$@\" \"$p\"; \
         elif [ -e \"$p\" ]; then o=\"${{o}}sh: $p: not a regular file$n\"; \
         else set -- \"$@\" \"$p\"; fi; done; \
         {{ e=$(grep -aH \"\" /dev/null \"$@\" 2>&1 >&3); }} 3>&1;; \
         D) {{ e=$(ls -1A -- /sys \"$@\" 2>&1 >&3); }} 3>&1;; \
         L) {{ e=$(ls -ld -- \"$@\" 2>&1 >&3); }} 3>&1;; \
         A) for p; do if [ -c \"$p\" ] && [ -r \"$p\" ] && [ -w \"$p\" ]; then echo \"$p\"; \
         elif [ -c \"$p\" ]; then o=\"${{o}}sh: $p: Permission denied$n\"; \
         elif [ -e \"$p\" ]; then o=\"${{o}}sh: $p: No such device or address$n\"; \
         else o=\"${{o}}sh: $p: No such file or directory$n\"; fi; done;; \
         T) date +%s;; esac; set --; read u r </proc/uptime; \
         echo RDMACTL/errors {nonce}; printf %s \"$o$e$n\"; echo RDMACTL/end {nonce} $u; done"
    );
    match privilege {
        Privilege::Login => in_sh(&script),
        Privilege::Sudo => in_sh(&script).replacen("exec ", &format!("exec {SUDO}"), 1),
    }
}

/// What to do about a host that does not run our commands.
pub(super) const TEST_SHELL: &str =
    "check that the login shell of the host runs /bin/sh: /bin/sh -c 'echo ok'";

/// What a host may say around an answer of one line: login files may print anything.
pub(super) const ANSWER_LIMIT: usize = 256 * 1024;

/// The rest of the first line that begins with this word and the nonce, of all that a host said.
pub(super) fn answer<'a>(stdout: &'a [u8], word: &str, nonce: Nonce) -> Option<&'a str> {
    let lead = format!("{word} {nonce} ");
    let mut lines = stdout.split(|byte| *byte == b'\n');
    lines.find_map(|line| std::str::from_utf8(line).ok()?.trim_end().strip_prefix(&*lead))
}

/// What the line begins with that says what came of an upload; the nonce, a word and a number follow.
pub(super) const UP: &str = "RDMACTL/up";

/// What the line begins with that says what machine a host is; the nonce and `uname -m` follow.
pub const MACHINE: &str = "RDMACTL/machine";

/// Has the host say what machine it is.
#[must_use]
pub fn machine(nonce: Nonce) -> String {
    in_sh(&format!("echo {MACHINE} {nonce} $(uname -m)"))
}

/// Removes an uploaded agent; exits with 1 when it still lies there.
#[must_use]
pub fn remove_uploaded(uploaded: &Uploaded) -> String {
    let (directory, file) = (uploaded.directory(), uploaded.file());
    in_sh(&format!(
        "rm -f {file}; rmdir {directory} 2>/dev/null; [ -e {directory} ] && exit 1; exit 0"
    ))
}

/// Looks whether a process is there.
///
/// Exits with 0 when it is, 3 when there is none, 4 when its number belongs to another one.
#[must_use]
pub fn is_there(process: Process) -> String {
    in_sh(&seek(process))
}

/// Kills a process, unless its number belongs to another one by then; and before it the process
/// group of `leader`, with what a wrapper script started.
///
/// Exits as [`is_there`] does, and with 1 when killing was refused.
#[must_use]
pub fn kill(process: Process, leader: Option<Process>, privilege: Privilege) -> String {
    let group = kill_group(leader, privilege);
    let kill = kill_as(privilege, &process.pid.to_string());
    in_sh(&format!("{group}[ x$g = x1 ] && exit 1; {}; {kill} || exit 1", seek(process)))
}

fn seek(process: Process) -> String {
    let Process { pid, start_ticks } = process;
    // The name in field 2 may hold anything, so counting begins behind its closing bracket.
    format!(
        "s=$(cat /proc/{pid}/stat 2>/dev/null) || exit 3; set -- ${{s##*) }}; \
         [ \"${{20}}\" = {start_ticks} ] || exit 4"
    )
}

/// Kills the process group of a leader that still runs. Sets `g` to 0 if it did, to 1 if killing
/// was refused.
fn kill_group(leader: Option<Process>, privilege: Privilege) -> String {
    let Some(Process { pid, start_ticks }) = leader else { return "g=; ".to_owned() };
    let kill = kill_as(privilege, &format!("-{pid}"));
    format!(
        "g=; s=$(cat /proc/{pid}/stat 2>/dev/null) && set -- ${{s##*) }} && \
         [ \"$3 ${{20}}\" = \"{pid} {start_ticks}\" ] && {{ {kill} && g=0 || g=1; }}; "
    )
}

/// Kills what `target` names for `kill`.
fn kill_as(privilege: Privilege, target: &str) -> String {
    match privilege {
        Privilege::Login => format!("kill -9 {target}"),
        // What root has started is root's to kill.
        Privilege::Sudo => format!("{{ kill -9 {target} 2>/dev/null || {SUDO}kill -9 {target}; }}"),
    }
}

/// Kills the agent that was started with a nonce and did not greet, with the process group of
/// `leader`.
///
/// Exits with 0 when there was one, with 3 when there was none. One character of the nonce is in
/// brackets, so that the command does not find itself; one `grep` looks at all processes, for on a
/// host that swaps each start counts.
#[must_use]
pub fn kill_unseen(nonce: Nonce, leader: Option<Process>, privilege: Privilege) -> String {
    let group = kill_group(leader, privilege);
    let kill = kill_as(privilege, "${p%/cmdline}");
    let nonce = nonce.to_string();
    let (first, rest) = nonce.split_at(1);
    in_sh(&format!(
        "{group}r=${{g:-3}}; for p in $(grep -ls \"[{first}]{rest}\" /proc/[0-9]*/cmdline); do \
         p=${{p#/proc/}}; {kill} && r=0; done; exit $r"
    ))
}

/// It never asks, and it complains in its own language.
const SUDO: &str = "env LC_ALL=C sudo -n ";

fn sudo(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Login => "",
        Privilege::Sudo => SUDO,
    }
}

pub(super) fn in_sh(script: &str) -> String {
    debug_assert!(!script.contains(['\'', '!', '\\', '\n']), "{script}");
    format!("exec /bin/sh -c '{script}'")
}
