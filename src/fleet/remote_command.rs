//! Fixed shell commands that run on hosts. The other modules of `fleet` start them.
//!
//! Each command is `exec /bin/sh -c '...'`. The login shell only starts `sh`, so that bash, csh,
//! tcsh and fish all work. The quoted text has no `'`, no newline, no `!` (csh expands it even in
//! quotes) and no `\` (fish reads it even in quotes). Only hex nonces and numbers are inserted,
//! never text from outside the program.

use super::Nonce;
use crate::wire::{Process, UPLOAD_PREFIX};

/// Rights that the agent runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Rights of the login user.
    Login,
    /// Root rights, through `sudo -n`, which never prompts.
    Sudo,
}

/// First word of the line that a host without an agent prints. The nonce follows.
pub const NO_AGENT: &str = "RDMACTL/none";

/// First word of the line that the shell of a host prints before it runs the agent. The nonce and
/// the process of the shell follow ([`Started`](crate::wire::Started)).
pub const STARTED: &str = "RDMACTL/run";

/// Directories that can hold an uploaded agent. The index is the number that the host reports.
pub(super) const PLACES: [&str; 5] = ["$XDG_RUNTIME_DIR", "/dev/shm", "/tmp", "/var/tmp", "$HOME"];

/// Program on a host that ran once there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploaded {
    /// Nonce in the name of the directory.
    pub nonce: Nonce,
    /// Index of its directory in [`PLACES`].
    pub(super) place: usize,
    /// True if the host has no program to check the SHA-256. Only the size was compared.
    pub is_hash_unchecked: bool,
}

impl Uploaded {
    /// Returns the path of the directory. A shell of the host must expand the variable in the path.
    pub(super) fn directory(&self) -> String {
        let place = PLACES.get(self.place).copied().unwrap_or_default();
        format!("{place}/{UPLOAD_PREFIX}{}", self.nonce)
    }

    fn file(&self) -> String {
        format!("\"{}/rdmactl\"", self.directory())
    }
}

/// Prints two lines that begin with [`STARTED`] and the nonce. The first has the process id of
/// the shell; the second also has its process group and its start time.
///
/// The first line needs no process and no descriptor, because a login may allow none. The
/// redirection stands in a subshell, because a shell without a descriptor for it may exit.
fn started(nonce: &str) -> String {
    format!(
        "echo {STARTED} {nonce} $$; s=$(read -r s </proc/$$/stat; echo $s); set -- ${{s##*) }}; \
         echo {STARTED} {nonce} $$ $3 ${{20}}"
    )
}

const LINES: &str = " --lines";

/// Returns the command that runs the installed agent, or prints [`NO_AGENT`] and the nonce.
pub fn installed_agent(nonce: Nonce, privilege: Privilege) -> String {
    in_sh(&installed(&nonce.to_string(), privilege, ""))
}

/// Returns the command of [`installed_agent`] for an agent that uses the line protocol.
pub(super) fn installed_agent_in_lines(nonce: Nonce, privilege: Privilege) -> String {
    in_sh(&installed(&nonce.to_string(), privilege, LINES))
}

/// First word of the line in which a Slurm task reports its node. The nonce and the node follow.
pub(super) const AT: &str = "RDMACTL/at";

/// Returns the command that runs the installed agent as one of many Slurm tasks, which report
/// their nodes first. Only the command line of the agent has the whole nonce, so that
/// [`kill_unseen`] finds no other process.
pub(super) fn installed_agents(nonce: Nonce, privilege: Privilege) -> String {
    let common = nonce.common();
    let agent = installed(&format!("{common}$n"), privilege, LINES);
    in_sh(&format!("n=$(printf %08x $SLURM_PROCID); echo {AT} {common} $SLURMD_NODENAME; {agent}"))
}

/// Directories that are searched for rdmactl after PATH, unless the host has `RDMACTL_PATH`.
const DIRECTORIES: &str = "/usr/local/bin:/opt/rdmactl/bin";

fn installed(nonce: &str, privilege: Privilege, flag: &str) -> String {
    let (started, sudo) = (started(nonce), sudo(privilege));
    format!(
        "{started}; PATH=$PATH:${{RDMACTL_PATH:-{DIRECTORIES}}}; export PATH; \
         a=$(command -v rdmactl) && exec {sudo}$a agent {nonce}{flag}; echo {NO_AGENT} {nonce}"
    )
}

/// Returns the command that runs the uploaded agent, which first unlinks its file.
pub fn uploaded_agent(uploaded: &Uploaded, privilege: Privilege) -> String {
    in_sh(&run_uploaded(uploaded, privilege, ""))
}

/// Returns the command of [`uploaded_agent`] for an agent that uses the line protocol.
pub(super) fn uploaded_agent_in_lines(uploaded: &Uploaded, privilege: Privilege) -> String {
    in_sh(&run_uploaded(uploaded, privilege, LINES))
}

fn run_uploaded(uploaded: &Uploaded, privilege: Privilege, flag: &str) -> String {
    let (sudo, file, nonce) = (sudo(privilege), uploaded.file(), uploaded.nonce);
    format!("{}; exec {sudo}{file} agent {nonce} --unlink{flag}", started(&nonce.to_string()))
}

/// Returns a line by which the shell of [`shell_reader`] separates its replies.
pub fn shell_line(word: &str, nonce: &str) -> String {
    format!("RDMACTL/{word} {nonce}\n")
}

/// Returns the command for a shell that serves requests from stdin until stdin ends.
///
/// The shell prints `RDMACTL/sh NONCE` first. `pPATH` adds a path to the next request. These
/// letters are requests for all added paths:
///
/// - `F` prints the contents of files
/// - `D` lists directories
/// - `L` lists the targets of links
/// - `A` prints the device files that the shell may open
/// - `T` prints the seconds since 1970
///
/// The exit status of `grep` or `ls` follows `RDMACTL/errors NONCE`, then the errors. The reply
/// ends with `RDMACTL/end NONCE` and the uptime of the host in seconds.
pub fn shell_reader(nonce: Nonce, privilege: Privilege) -> String {
    // `F` opens regular files only, because opening other files may have effects. The extra
    // arguments `/sys` and `/dev/null` make `ls` and `grep` print names.
    let script = format!(
        "LC_ALL=C; export LC_ALL; {}; set --; n=$(echo; echo x); n=${{n%x}}; echo RDMACTL/sh {nonce}; \
         while IFS= read -r l; do e=; o=; s=0; case $l in \
         p*) set -- \"$@\" \"${{l#p}}\"; continue;; \
         F) for p; do shift; if [ -f \"$p\" ]; then set -- \"$@\" \"$p\"; \
         elif [ -e \"$p\" ]; then o=\"${{o}}sh: $p: not a regular file$n\"; \
         else set -- \"$@\" \"$p\"; fi; done; \
         {{ e=$(grep -aH \"\" /dev/null \"$@\" 2>&1 >&3); s=$?; }} 3>&1;; \
         D) {{ e=$(ls -1A -- /sys \"$@\" 2>&1 >&3); s=$?; }} 3>&1;; \
         L) {{ e=$(ls -ld -- \"$@\" 2>&1 >&3); s=$?; }} 3>&1;; \
         A) for p; do if [ -c \"$p\" ] && [ -r \"$p\" ] && [ -w \"$p\" ]; then echo \"$p\"; \
         elif [ -c \"$p\" ]; then o=\"${{o}}sh: $p: Permission denied$n\"; \
         elif [ -e \"$p\" ]; then o=\"${{o}}sh: $p: No such device or address$n\"; \
         else o=\"${{o}}sh: $p: No such file or directory$n\"; fi; done;; \
         T) date +%s;; esac; set --; read u r </proc/uptime; \
         echo RDMACTL/errors {nonce}; printf %s \"$s$n$o$e$n\"; echo RDMACTL/end {nonce} $u; done",
        started(&nonce.to_string())
    );
    in_sh(&script).replacen("exec ", &format!("exec {}", sudo(privilege)), 1)
}

pub(super) const TEST_SHELL: &str =
    "check that the login shell of the host runs /bin/sh: /bin/sh -c 'echo ok'";

/// Limit of the output around a reply of one line, in bytes. Login files may print anything.
pub(super) const ANSWER_LIMIT: usize = 256 * 1024;

/// Returns the rest of the first line of `stdout` that begins with `word` and the nonce.
pub(super) fn answer<'a>(stdout: &'a [u8], word: &str, nonce: Nonce) -> Option<&'a str> {
    let lead = format!("{word} {nonce} ");
    let mut lines = stdout.split(|byte| *byte == b'\n');
    lines.find_map(|line| std::str::from_utf8(line).ok()?.trim_end().strip_prefix(&*lead))
}

/// First word of the line with the result of an upload. The nonce, a word and a number follow.
pub(super) const UP: &str = "RDMACTL/up";

/// First word of the line with the machine type of a host. The nonce and `uname -m` follow.
pub const MACHINE: &str = "RDMACTL/machine";

/// Returns the command that prints the machine type of a host.
pub fn machine(nonce: Nonce) -> String {
    in_sh(&format!("echo {MACHINE} {nonce} $(uname -m)"))
}

/// Returns the command that removes the upload with a nonce from every directory of [`PLACES`].
/// It exits with 1 if a directory of the upload is still there. Another user of the host may
/// replace a directory by a link, which `rm -rf` does not follow.
pub fn remove_uploaded(nonce: Nonce) -> String {
    let directories = upload_directories(nonce);
    in_sh(&format!(
        "r=0; for d in {directories}; do rm -rf \"$d\" 2>/dev/null; [ -e \"$d\" ] && r=1; done; \
         exit $r"
    ))
}

/// Returns the directories that can hold the upload with a nonce, quoted for a shell of the host.
pub(super) fn upload_directories(nonce: Nonce) -> String {
    PLACES.map(|place| format!("\"{place}/{UPLOAD_PREFIX}{nonce}\"")).join(" ")
}

/// Returns the command that checks if a process exists. It exits with 0 if the process exists,
/// with 3 if the process does not exist, with 4 if another process has its number, and with 5 if
/// `/proc` hides the processes of other users.
pub fn is_there(process: Process, privilege: Privilege) -> String {
    in_sh(&seek(process, privilege))
}

/// Exit codes of the command of [`kill`] after which the process does not run: killed, not found,
/// or its number belongs to another process.
pub(super) const ENDED: [i32; 3] = [0, 3, 4];

/// Returns the command that kills a process, unless another process has its number by then. The
/// command first kills the process group of `leader`: the children of a wrapper script. It exits
/// as the command of [`is_there`] does, and with 1 if killing was refused.
pub fn kill(process: Process, leader: Option<Process>, privilege: Privilege) -> String {
    let group = kill_group(leader, privilege);
    let kill = kill_as(privilege, &process.pid.to_string());
    let seek = seek(process, privilege);
    // The process may end after it was found, for example with its group.
    in_sh(&format!("{group}[ x$g = x1 ] && exit 1; {seek}; {kill} || {{ {seek}; exit 1; }}"))
}

fn seek(process: Process, privilege: Privilege) -> String {
    let Process { pid, start_ticks } = process;
    let (read, hidden) = (read_stat(pid), exit_if_hidden(privilege));
    format!(
        "{read} || {{ {hidden}exit 3; }}; set -- ${{s##*) }}; [ \"${{20}}\" = {start_ticks} ] || exit 4"
    )
}

/// Returns the script that exits with 5 if the login cannot see the processes of root: the mount
/// option `hidepid` of `/proc` hides all processes of other users, process 1 among them.
fn exit_if_hidden(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Login => "",
        Privilege::Sudo => "[ -r /proc/1/stat ] || exit 5; ",
    }
}

/// Returns the script that reads the state of a process into `s`. Field 2, the name, may have any
/// character, so that scripts count the fields from its closing bracket. The script starts no
/// process, because a login may allow none.
fn read_stat(pid: u32) -> String {
    format!("{{ read -r s </proc/{pid}/stat; }} 2>/dev/null")
}

/// Returns the script that kills the process group of a leader that still runs. The script sets
/// `g` to 0 if it killed the group, and to 1 if killing was refused.
fn kill_group(leader: Option<Process>, privilege: Privilege) -> String {
    let Some(Process { pid, start_ticks }) = leader else { return "g=; ".to_owned() };
    let (read, kill) = (read_stat(pid), kill_as(privilege, &format!("-{pid}")));
    format!(
        "g=; {read} && set -- ${{s##*) }} && \
         [ \"$3 ${{20}}\" = \"{pid} {start_ticks}\" ] && \
         {{ {kill} && g=0 || {{ {read} && g=1; }}; }}; "
    )
}

/// Returns the `kill -9` command for `target`, a process or a negative process group.
fn kill_as(privilege: Privilege, target: &str) -> String {
    match privilege {
        Privilege::Login => format!("kill -9 {target}"),
        // Only root may kill a process that root started.
        Privilege::Sudo => format!("{{ kill -9 {target} 2>/dev/null || {SUDO}kill -9 {target}; }}"),
    }
}

/// Returns the command that kills an agent without a greeting, and the group of `leader`.
///
/// It exits with 0 if it killed a process, with 3 if it found none, and with 5 if `/proc` hides
/// the processes of other users. One character of the nonce is in brackets, so that the command
/// does not find itself. One `grep` searches all processes, because starting a process is slow on
/// a host that swaps.
pub fn kill_unseen(nonce: Nonce, leader: Option<Process>, privilege: Privilege) -> String {
    let group = kill_group(leader, privilege);
    let kill = kill_as(privilege, "${p%/cmdline}");
    let nonce = nonce.to_string();
    let (first, rest) = nonce.split_at(1);
    let hidden = exit_if_hidden(privilege);
    in_sh(&format!(
        "{group}r=${{g:-3}}; for p in $(grep -ls \"[{first}]{rest}\" /proc/[0-9]*/cmdline); do \
         p=${{p#/proc/}}; {kill} && r=0; done; [ $r = 3 ] && {{ {hidden}exit 3; }}; exit $r"
    ))
}

/// `sudo` that never prompts, with messages in English.
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
