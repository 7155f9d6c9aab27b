//! The commands that rdmactl runs on hosts: uploads, agents and kill commands. They leave no file
//! and no process.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::bed::{NOT_INSTALLED, config_with_program, tool};
use crate::sshd::{Setup, Sshd, seconds};
use rdmactl::fleet::remote_command::{self, MACHINE, NO_AGENT, Privilege, STARTED, shell_line};
use rdmactl::fleet::{Access as _, Nonce, Program, SshSession, spawn_local};
use rdmactl::model::Reason;
use rdmactl::wire::{GreetingError, GreetingReader, Process};

/// Login shells with their packages, and the shell that is `/bin/sh` on small systems.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "bash"),
    ("dash", "dash"),
    ("tcsh", "tcsh"),
    ("fish", "fish"),
    ("busybox", "busybox"),
];

fn in_shell(shell: &str, package: &str, command: &str, input: Stdio) -> Output {
    let mut program = tool(shell, package);
    if shell == "busybox" {
        program.arg("sh");
    }
    program.env("PATH", "/usr/bin:/bin").env("RDMACTL_PATH", NOT_INSTALLED).env("SHLVL", "2");
    program.args(["-c", command]).stdin(input).output().unwrap()
}

/// Writes a script and reads it as a program for an upload.
fn program(directory: &Path, text: &str) -> Program {
    let file = directory.join("program");
    fs::write(&file, text).unwrap();
    Program::read(&file).unwrap()
}

const AGENT: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo fake 1.0 && exit 0\n\
    echo RDMACTL/1 $2 $0 $3\nexec cat\n";

fn places() -> Vec<PathBuf> {
    let home = std::env::var("HOME").unwrap_or_default();
    ["/dev/shm", "/tmp", "/var/tmp", &home].map(PathBuf::from).to_vec()
}

fn left_behind(nonce: Nonce) -> Vec<PathBuf> {
    let name = format!(".rdmactl-{nonce}");
    places().into_iter().map(|place| place.join(&name)).filter(|path| path.exists()).collect()
}

fn upload(
    program: &Program,
    session: &SshSession,
) -> Result<rdmactl::fleet::Uploaded, rdmactl::model::HostFailure> {
    program.upload(session, Nonce::new().unwrap(), seconds(20))
}

/// Uploads a program that fails; returns the nonce of the upload and the failure.
fn failed_upload(server: &Sshd, text: &str) -> (Nonce, rdmactl::model::HostFailure) {
    let session = server.connect().unwrap();
    let nonce = Nonce::new().unwrap();
    let program = program(server.directory.path(), text);
    (nonce, program.upload(&session, nonce, seconds(20)).unwrap_err())
}

#[test]
fn an_uploaded_program_arrives_whole_runs_and_can_be_removed() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let text = format!("{AGENT}{}", "# filler\n".repeat(300_000));
    let uploaded = upload(&program(server.directory.path(), &text), &session).unwrap();
    assert!(!uploaded.is_hash_unchecked);
    let found = left_behind(uploaded.nonce);
    assert_eq!(found.len(), 1);
    assert_eq!(fs::read_to_string(found[0].join("rdmactl")).unwrap(), text);
    let mode =
        |path: &Path| std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o7777;
    assert_eq!((mode(&found[0]), mode(&found[0].join("rdmactl"))), (0o700, 0o500));

    let run = remote_command::uploaded_agent(&uploaded, Privilege::Login);
    let output =
        session.exec(&run, seconds(5)).unwrap().exchange(b"more", 1000, seconds(5)).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected =
        format!("RDMACTL/1 {} {}/rdmactl --unlink\nmore", uploaded.nonce, found[0].display());
    assert!(said.starts_with(STARTED) && said.ends_with(&format!("\n{expected}")), "{said}");

    let remove = remote_command::remove_uploaded(uploaded.nonce);
    let exit =
        session.exec(&remove, seconds(5)).unwrap().exchange(b"", 1000, seconds(5)).unwrap().exit;
    assert!(exit.is_success());
    assert!(left_behind(uploaded.nonce).is_empty());
}

#[test]
fn a_real_binary_is_tried_with_its_version() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let own = Program::own().unwrap();
    assert!(own.size() > 100_000);
    // The test binary runs but has no --version. The upload fails and removes the binary.
    let nonce = Nonce::new().unwrap();
    let failure = own.upload(&session, nonce, seconds(30)).unwrap_err();
    assert_eq!(failure.reason, Reason::NoAgent);
    assert!(failure.detail.contains("the uploaded program does not run"), "{failure}");
    assert!(left_behind(nonce).is_empty());
    let shell = Program::read(&fs::canonicalize("/bin/bash").unwrap()).unwrap();
    let uploaded = upload(&shell, &session).unwrap();
    let remove = remote_command::remove_uploaded(uploaded.nonce);
    session.exec(&remove, seconds(5)).unwrap().exchange(b"", 1000, seconds(5)).unwrap();
}

#[test]
fn a_program_that_lacks_a_library_fails_with_the_loaders_words() {
    let server = Sshd::start();
    let text = "#!/bin/sh\necho rdmactl: error while loading shared libraries: libssl.so.3: cannot open >&2\nexit 127\n";
    let (nonce, failure) = failed_upload(&server, text);
    assert_eq!(failure.reason, Reason::NoAgent);
    assert!(
        failure.detail.contains("exit status 127") && failure.detail.contains("libssl.so.3"),
        "{failure}"
    );
    assert!(failure.fix.unwrap().contains("release binary"));
    assert!(left_behind(nonce).is_empty());
}

#[test]
fn a_killed_upload_is_reported_as_killed_and_leaves_nothing() {
    let server = Sshd::start();
    // The shell of the upload is the parent of the program. The signal ends the shell or the
    // program.
    for (victim, status) in [("$PPID", "killed by signal KILL"), ("$$", "exit status 137")] {
        let text = format!("#!/bin/sh\nkill -9 {victim}\nexit 0\n");
        let (nonce, failure) = failed_upload(&server, &text);
        assert_eq!(failure.reason, Reason::Killed, "{victim}: {failure}");
        assert!(failure.detail.contains(status), "{victim}: {failure}");
        assert!(failure.fix.unwrap().contains("dmesg"), "{victim}");
        assert_eq!(left_behind(nonce), [] as [PathBuf; 0], "{victim}");
    }
}

#[test]
fn a_killed_upload_that_cannot_be_removed_is_reported_with_the_command_that_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = config_with_program(folder.path(), "rm", "exit 1");
    let server = Sshd::with(&Setup { config: &config, ..Setup::default() });
    let (nonce, failure) = failed_upload(&server, "#!/bin/sh\nkill -9 $PPID\n");
    assert!(failure.detail.contains("may still be on"), "{failure}");
    let fix = failure.fix.unwrap();
    let left = left_behind(nonce);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(fix.contains("rm -rf") && fix.contains(&left[0].display().to_string()), "{fix}");
    fs::remove_dir_all(&left[0]).unwrap();
}

#[test]
fn a_link_in_the_place_of_an_upload_is_not_followed() {
    let nonce = Nonce::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("rdmactl");
    fs::write(&foreign, "of the site").unwrap();
    let remove = remote_command::remove_uploaded(nonce);
    let place = std::path::Path::new("/tmp").join(format!(".rdmactl-{nonce}"));
    std::os::unix::fs::symlink(folder.path(), &place).unwrap();
    let output = in_shell("bash", "bash", &remove, Stdio::null());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(foreign.exists() && !place.exists());
}

#[test]
fn output_of_login_files_does_not_hide_the_greeting() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    // A login file prints to the same stream, before the agent.
    let command = remote_command::installed_agent(Nonce::new().unwrap(), Privilege::Login);
    let noisy = format!("echo welcome; echo to; {command}");
    let output = session.exec(&noisy, seconds(5)).unwrap().exchange(b"", 1000, seconds(5)).unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("welcome\nto\n"));
}

#[test]
fn every_login_shell_runs_every_command() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let agent = program(server.directory.path(), AGENT);
    let uploaded = upload(&agent, &session).unwrap();
    for (shell, package) in SHELLS {
        let nonce = Nonce::new().unwrap();
        let installed = remote_command::installed_agent(nonce, Privilege::Login);
        let output = in_shell(shell, package, &installed, Stdio::null());
        let mut said = GreetingReader::new(&nonce, NO_AGENT, STARTED);
        let missing = said.read(&mut &*output.stdout);
        assert!(matches!(missing, Err(GreetingError::NoAgent)), "{shell}: {output:?}");
        assert!(said.started().and_then(|started| started.process()).is_some(), "{output:?}");

        let run = remote_command::uploaded_agent(&uploaded, Privilege::Login);
        let output = in_shell(shell, package, &run, Stdio::null());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with(STARTED), "{shell}: {said} {:?}", output.stderr);
        let greeting = said.lines().last().unwrap();
        assert!(greeting.starts_with("RDMACTL/1 "), "{shell}: {said} {:?}", output.stderr);

        let nonce = Nonce::new().unwrap();
        let input = fs::File::open(server.path("program")).unwrap();
        let output = in_shell(shell, package, &agent.command(nonce), input.into());
        let said = String::from_utf8(output.stdout).unwrap();
        let ok = format!("RDMACTL/up {nonce} ok ");
        assert!(said.starts_with(&ok), "{shell}: {said} {:?}", output.stderr);
        for directory in left_behind(nonce) {
            fs::remove_dir_all(directory).unwrap();
        }

        let reader = remote_command::shell_reader(nonce, Privilege::Login);
        let mut asked = tempfile::tempfile().unwrap();
        asked.write_all(b"p/proc/sys/kernel/ostype\np/dev/null\nF\n").unwrap();
        asked.rewind().unwrap();
        let output = in_shell(shell, package, &reader, asked.into());
        let said = String::from_utf8(output.stdout).unwrap();
        let line = |word| shell_line(word, &nonce.to_string());
        let expected = format!(
            "{}/proc/sys/kernel/ostype:Linux\n{}0\nsh: /dev/null: not a regular file\n",
            line("sh"),
            line("errors")
        );
        let is_expected = said.starts_with(STARTED) && said.contains(&format!("\n{expected}"));
        assert!(is_expected, "{shell}: {said} {:?}", output.stderr);

        let machine = remote_command::machine(nonce);
        let output = in_shell(shell, package, &machine, Stdio::null());
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = format!("{MACHINE} {nonce} {}\n", std::env::consts::ARCH);
        assert_eq!(said, expected, "{shell}: {:?}", output.stderr);

        let kill = remote_command::kill(
            Process { pid: 4_000_000, start_ticks: 1 },
            Some(Process { pid: 4_000_001, start_ticks: 1 }),
            Privilege::Login,
        );
        let gone = in_shell(shell, package, &kill, Stdio::null());
        assert_eq!(gone.status.code(), Some(3), "{shell}");
    }
    in_shell("bash", "bash", &remote_command::remove_uploaded(uploaded.nonce), Stdio::null());
    assert!(left_behind(uploaded.nonce).is_empty());
}

/// Runs the command of an upload in `sh`, where `dd` fails for each file whose name holds `full`;
/// all users may write to the runtime directory if `is_open`.
fn upload_past(full: &str, is_open: bool, nonce: Nonce) -> (String, PathBuf, tempfile::TempDir) {
    let directory = tempfile::TempDir::new().unwrap();
    let make = |name: &str, mode| {
        let path = directory.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path
    };
    let runtime = make("runtime", if is_open { 0o777 } else { 0o700 });
    let (home, bin) = (make("home", 0o700), make("bin", 0o700));
    let dd = format!(
        "#!/bin/sh\ncase \"$*\" in *{full}*) echo dd: No space left on device >&2; exit 1;; esac\n\
         exec /usr/bin/dd \"$@\"\n"
    );
    fs::write(bin.join("dd"), dd).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(bin.join("dd"), mode).unwrap();
    let agent = program(directory.path(), AGENT);
    let mut sh = shell(&agent.command(nonce));
    sh.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    sh.env("XDG_RUNTIME_DIR", &runtime).env("HOME", &home);
    let input = fs::File::open(directory.path().join("program")).unwrap();
    let output = sh.stdin(input).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    for path in [&runtime, &home] {
        let is_ok = output.status.success() && path == &runtime && full == "nothing" && !is_open;
        assert_eq!(fs::read_dir(path).unwrap().count(), usize::from(is_ok), "{}", path.display());
    }
    (String::from_utf8(output.stdout).unwrap(), runtime, directory)
}

#[test]
fn a_full_directory_is_passed_over() {
    let nonce = Nonce::new().unwrap();
    let (said, ..) = upload_past("nothing", false, nonce);
    assert_eq!(said, format!("RDMACTL/up {nonce} ok 0\n"));
    let (said, ..) = upload_past("/runtime/", false, nonce);
    assert_eq!(said, format!("RDMACTL/up {nonce} ok 1\n"));
    for directory in left_behind(nonce) {
        fs::remove_dir_all(directory).unwrap();
    }
}

#[test]
fn a_directory_that_another_user_can_change_is_passed_over() {
    let nonce = Nonce::new().unwrap();
    let (said, ..) = upload_past("nothing", true, nonce);
    assert_eq!(said, format!("RDMACTL/up {nonce} ok 1\n"));
    for directory in left_behind(nonce) {
        fs::remove_dir_all(directory).unwrap();
    }
}

#[test]
fn where_no_directory_takes_the_program_each_is_named_with_its_reason() {
    let nonce = Nonce::new().unwrap();
    let (said, ..) = upload_past("of=", true, nonce);
    assert_eq!(said, format!("RDMACTL/up {nonce} place offff\n"));
    assert!(left_behind(nonce).is_empty());
    let refused = |said: &str| {
        let stdout = format!("RDMACTL/up {nonce} {said}\n").into_bytes();
        let exit = spawn_local(shell("exit 1")).unwrap().exchange(b"", 9, seconds(5)).unwrap().exit;
        rdmactl::fleet::Uploaded::of(
            &rdmactl::fleet::Output { stdout, stderr: Vec::new(), exit },
            nonce,
        )
        .unwrap_err()
    };
    let failure = refused("place ofxmd");
    assert_eq!(
        failure.detail,
        "no directory on the host takes the program: $XDG_RUNTIME_DIR can be changed by another \
         user; /dev/shm is full; /tmp allows no execution (noexec); /var/tmp does not exist; \
         $HOME takes no new directory"
    );
    assert_eq!(failure.fix.as_deref(), Some("on the host, free space: df -h /dev/shm"));
    assert!(refused("place oxxxx").fix.unwrap().contains("findmnt"));
    // A host may send any text.
    for odd in ["place", "place \u{1b}[1m", "ok", "ok 99", "ok x", "size -1", "place zzzzzzzzzz"] {
        assert!(!refused(odd).detail.contains('\u{1b}'), "{odd}");
    }
}

#[test]
fn an_installed_agent_is_run() {
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("rdmactl");
    fs::write(&file, AGENT).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let nonce = Nonce::new().unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let output = Command::new("/bin/sh")
        .args(["-c", &remote_command::installed_agent(nonce, Privilege::Login)])
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let greeting = said.lines().last().unwrap();
    assert_eq!(greeting.trim_end(), format!("RDMACTL/1 {nonce} {}", file.display()));
}

/// Returns the start time of a process in clock ticks: field 22 of `/proc/PID/stat`.
fn start_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap()
}

#[test]
fn a_stopped_process_is_killed_over_another_channel_and_no_other_one() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let stuck = session.exec("echo $$; kill -STOP $$; cat", seconds(5)).unwrap();
    let mut line = String::new();
    BufReader::new(stuck.stream()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    let process = Process { pid, start_ticks: start_ticks(pid) };
    let later = Process { start_ticks: process.start_ticks + 1, ..process };
    let other = Process { pid: 4_000_000, start_ticks: 1 };
    let ask = |command: String| {
        session
            .exec(&command, seconds(5))
            .unwrap()
            .exchange(b"", 100, seconds(5))
            .unwrap()
            .exit
            .status
    };
    assert_eq!(ask(remote_command::is_there(other, Privilege::Login)), Some(3));
    // Process 1 can be seen here, so that no other user's process is hidden.
    assert_eq!(ask(remote_command::is_there(other, Privilege::Sudo)), Some(3));
    assert_eq!(ask(remote_command::is_there(later, Privilege::Login)), Some(4));
    assert_eq!(ask(remote_command::is_there(process, Privilege::Login)), Some(0));
    // A login that may start no process still finds it.
    let without_programs = |command| format!("PATH=/none; export PATH; {command}");
    assert_eq!(ask(without_programs(remote_command::is_there(process, Privilege::Login))), Some(0));
    assert_eq!(ask(remote_command::kill(later, Some(later), Privilege::Login)), Some(4));
    assert_eq!(ask(remote_command::kill(process, None, Privilege::Login)), Some(0));
    let exit = stuck.wait(seconds(5)).unwrap();
    assert_eq!(exit.signal.as_deref(), Some("KILL"));
}

#[test]
fn a_wrapper_is_killed_with_what_it_started_and_no_other_group() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let wrapper = "sleep 1000 & echo $$ $! $(cut -d\" \" -f5 /proc/$$/stat); wait";
    let pipe = session.exec(wrapper, seconds(5)).unwrap();
    let mut line = String::new();
    BufReader::new(pipe.stream()).read_line(&mut line).unwrap();
    let numbers: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [pid, child, group] = numbers[..] else { panic!("{line}") };
    assert_eq!(group, pid, "sshd gives each command a process group of its own");
    let leader = Process { pid, start_ticks: start_ticks(pid) };
    let none = Process { pid: 4_000_000, start_ticks: 1 };
    let later = Process { start_ticks: leader.start_ticks + 1, ..leader };
    let member = Process { pid: child, start_ticks: start_ticks(child) };
    let kill = |leader| {
        let command = remote_command::kill(none, Some(leader), Privilege::Login);
        session.run(&command, seconds(5)).unwrap().status
    };
    assert_eq!((kill(later), kill(member)), (Some(3), Some(3)));
    assert!(
        is_alive(pid) && is_alive(child),
        "the process id belongs to another process, or the process leads no group"
    );
    assert_eq!(kill(leader), Some(3));
    assert_ends(pid);
    assert_ends(child);
    assert_eq!(pipe.wait(seconds(5)).unwrap().signal.as_deref(), Some("KILL"));
}

/// A process that ends while the script looks for it is not one that refuses to end.
#[test]
fn a_process_that_ends_meanwhile_is_no_refusal() {
    for _round in 0..100 {
        let mut leader = Command::new("sleep").arg("100").process_group(0).spawn().unwrap();
        let pid = leader.id();
        let process = Process { pid, start_ticks: start_ticks(pid) };
        let command = remote_command::kill(process, Some(process), Privilege::Login);
        let mut kill = Command::new("/bin/sh").args(["-c", &command]).spawn().unwrap();
        leader.wait().unwrap();
        let status = kill.wait().unwrap().code();
        assert!(matches!(status, Some(0 | 3)), "{status:?}");
    }
}

fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn assert_ends(pid: u32) {
    let deadline = seconds(5);
    while is_alive(pid) {
        assert!(!deadline.is_over(), "process {pid} is left");
        std::thread::yield_now();
    }
}

#[test]
fn a_dropped_pipe_leaves_no_process() {
    let server = Sshd::start();
    let session = server.connect().unwrap();
    let command = "echo $$; exec cat";
    let mut pids = Vec::new();
    for pipe in [session.exec(command, seconds(5)).unwrap(), spawn_local(shell(command)).unwrap()] {
        let mut line = String::new();
        BufReader::new(pipe.stream()).read_line(&mut line).unwrap();
        pids.push(line.trim().parse().unwrap());
        pipe.stream().write_all(b"in the middle").unwrap();
    }
    pids.into_iter().for_each(assert_ends);
    // The pipe is dropped together with its session, while the command writes.
    let pipe = session.exec("echo $$; exec cat /dev/zero", seconds(5)).unwrap();
    let mut bytes = [0; 16];
    let count = pipe.stream().read(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let pid = text.lines().next().unwrap().trim_matches('\0').parse().unwrap();
    drop((session, pipe));
    assert_ends(pid);
}

fn shell(command: &str) -> Command {
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", command]);
    sh
}

#[test]
fn a_local_command_has_the_same_pipe() {
    let pipe = spawn_local(shell("cat; echo err >&2; exit 7")).unwrap();
    let sent = vec![7; 1 << 20];
    let output = pipe.exchange(&sent, sent.len(), seconds(10)).unwrap();
    assert!(output.stdout == sent);
    assert_eq!((output.stderr.as_slice(), output.exit.status), (&b"err\n"[..], Some(7)));
    let failure = spawn_local(Command::new("/no/such/program")).unwrap_err();
    assert_eq!(failure.reason, Reason::Transport);
    let deaf = spawn_local(shell("echo $$; trap '' TERM HUP; while :; do sleep 1; done")).unwrap();
    let mut line = String::new();
    BufReader::new(deaf.stream()).read_line(&mut line).unwrap();
    drop(deaf);
    assert_ends(line.trim().parse().unwrap());
}
