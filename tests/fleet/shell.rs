//! Hosts without rdmactl: their shells read the same files as rdmactl.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without its machine must end")]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rdmactl::clock::Deadline;
use rdmactl::collect::host_report;
use rdmactl::fleet::remote_command::{Privilege, STARTED, shell_line, shell_reader};
use rdmactl::fleet::{Access, Nonce, Shell};
use rdmactl::model::{Part, Parts, Reason, Via};
use rdmactl::source::{Live, Question, ReadError, Source as _, VerbsChild};

use crate::bed::{config_with_program, write_program};
use crate::sshd::{self, Sshd};

fn seconds(count: u64) -> Deadline {
    Deadline::after(Duration::from_secs(count))
}

fn shell(server: &Sshd) -> Shell {
    let session: Arc<dyn Access> = Arc::new(server.connect().unwrap());
    Shell::start(&session, Nonce::new().unwrap(), Privilege::Login, seconds(20)).unwrap()
}

fn parts() -> Parts {
    [Part::Connections, Part::Netdevs, Part::Ethernet, Part::Gpus, Part::Counters].into()
}

/// True for a file whose numbers change between two reads. The test does not compare its content.
fn is_volatile(path: &str) -> bool {
    ["/proc/net/", "/proc/self/", "/statistics/", "/proc/meminfo"]
        .iter()
        .any(|part| path.contains(part))
}

#[test]
fn a_shell_reads_what_the_program_reads() {
    let server = Sshd::start();
    let shell = shell(&server);
    let live = Live::new(VerbsChild::own(Duration::from_secs(10)));
    let recording = shell.record(&parts(), seconds(60)).unwrap();
    assert!(recording.taken_ns.is_some());
    let mut compared = 0;
    for entry in &recording.entries {
        let (Question::File(path)
        | Question::Dir(path)
        | Question::Link(path)
        | Question::Access(path)) = &entry.question
        else {
            panic!("a shell cannot answer {:?}", entry.question)
        };
        let own = live.ask(&entry.question);
        if is_volatile(path) {
            assert_eq!(entry.answer.is_ok(), own.is_ok(), "{path}: {:?} but {own:?}", entry.answer);
            continue;
        }
        let trimmed = |answer: &Result<Vec<u8>, ReadError>| {
            answer.clone().map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned())
        };
        assert_eq!(trimmed(&entry.answer), trimmed(&own), "{path}");
        compared += 1;
    }
    assert!(compared > 20, "only {compared} answers");
}

#[test]
fn a_report_by_a_shell_names_the_missing_parts() {
    let server = Sshd::start();
    let shell = shell(&server);
    for _ in 0..2 {
        let report = shell.report(&parts(), seconds(60)).unwrap();
        assert_eq!(report.via, Via::Shell);
        let lacks = |what: &str| {
            let mut problems = report.problems.iter();
            problems.any(|problem| {
                problem.detail.contains(what)
                    && problem.fix.as_deref()
                        == Some("add --upload, or install rdmactl on the host")
            })
        };
        assert!(lacks("rdmactl is needed on the host"), "{:?}", report.problems);
        // The parts that a shell can read are equal to those of this program.
        let live = Live::new(VerbsChild::own(Duration::from_secs(10)));
        let own = host_report(&live, &parts(), "", Via::Local);
        assert_eq!(report.kernel, own.kernel);
        assert_eq!(report.devices.len(), own.devices.len());
        assert_eq!(
            report.consumers.as_ref().map(|all| &all.nfs_mounts),
            own.consumers.as_ref().map(|all| &all.nfs_mounts)
        );
    }
}

#[test]
fn a_login_with_much_output_gives_a_shell_and_a_login_without_one_fails() {
    let loud = Sshd::with(&sshd::Setup {
        config: "ForceCommand echo Welcome; echo RDMACTL/sh deadbeef; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        ..sshd::Setup::default()
    });
    assert!(shell(&loud).report(&Parts::default(), seconds(30)).is_ok());
    for (forced, reason) in [
        ("exit 1", Reason::Shell),
        ("exec sleep 60", Reason::Timeout),
        ("exec yes", Reason::Garbage),
        ("echo RDMACTL/sh; exec cat /dev/zero", Reason::Garbage),
    ] {
        let config = format!("ForceCommand {forced}\n");
        let server = Sshd::with(&sshd::Setup { config: &config, ..sshd::Setup::default() });
        let session: Arc<dyn Access> = Arc::new(server.connect().unwrap());
        let nonce = Nonce::new().unwrap();
        let failure = Shell::start(&session, nonce, Privilege::Login, seconds(2)).err().unwrap();
        assert_eq!(failure.reason, reason, "{forced}: {}", failure.detail);
    }
}

#[test]
fn without_grep_files_are_unreadable_and_not_empty() {
    // `grep` is killed in the middle of a line.
    let killed = "printf /proc/sys/kernel/ostype:Li\nkill -9 $$";
    for shell in ["/usr/bin/dash", "/usr/bin/bash", "/usr/bin/busybox sh"] {
        for (grep, expected) in [(None, "exit status 127"), (Some(killed), "exit status 137")] {
            let folder = tempfile::tempdir().unwrap();
            let program = |name: &str, text: &str| {
                let path = folder.path().join(name);
                write_program(&path, text);
                path
            };
            program("ls", "exec /usr/bin/ls \"$@\"");
            if let Some(text) = grep {
                program("grep", text);
            }
            let login = format!(
                "PATH={}; export PATH\n\
                 eval \"exec {shell} -c ${{SSH_ORIGINAL_COMMAND#exec /bin/sh -c }}\"",
                folder.path().display()
            );
            let config = format!("ForceCommand {}\n", program("login", &login).display());
            let server = Sshd::with(&sshd::Setup { config: &config, ..sshd::Setup::default() });
            let recording = self::shell(&server).record(&parts(), seconds(60)).unwrap();
            let (mut files, mut folders) = (0, 0);
            for entry in &recording.entries {
                if matches!(entry.answer, Err(ReadError::NotAFile)) {
                    continue;
                }
                match (&entry.question, &entry.answer) {
                    (Question::File(path), Err(ReadError::Process(text))) => {
                        assert!(text.starts_with("grep failed on the host"), "{path}: {text}");
                        assert!(text.contains(expected), "{shell}: {path}: {text}");
                        files += 1;
                    }
                    (Question::File(path), answer) => panic!("{shell}: {path}: {answer:?}"),
                    (Question::Dir(_), Ok(_)) => folders += 1,
                    _ => {}
                }
            }
            assert!(files > 3 && folders > 0, "{shell}: {files} files, {folders} directories");
        }
    }
}

#[test]
fn a_shell_reports_which_device_files_may_be_opened() {
    let nonce = Nonce::new().unwrap();
    let mut shell = Command::new("/bin/sh")
        .args(["-c", &shell_reader(nonce, Privilege::Login)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"p/dev/null\np/dev/none\np/etc\np/proc/sys/kernel/ostype\nA\n").unwrap();
    drop(input);
    let output = shell.wait_with_output().unwrap();
    let line = |word| shell_line(word, &nonce.to_string());
    let expected = format!(
        "{}/dev/null\n{}0\nsh: /dev/none: No such file or directory\n\
         sh: /etc: No such device or address\n\
         sh: /proc/sys/kernel/ostype: No such device or address\n",
        line("sh"),
        line("errors")
    );
    let said = String::from_utf8(output.stdout).unwrap();
    // The lines before the greeting name the process.
    assert!(said.starts_with(STARTED) && said.contains(&format!("\n{expected}")), "{said}");
}

#[test]
fn a_shell_that_hangs_in_a_command_is_killed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let grep = format!("echo $$ >{}\nexec sleep 300", pid_file.display());
    let config = config_with_program(folder.path(), "grep", &grep);
    let server = Sshd::with(&sshd::Setup { config: &config, ..sshd::Setup::default() });
    let shell = shell(&server);
    assert_eq!(shell.report(&parts(), seconds(2)).unwrap_err().reason, Reason::Timeout);
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let process = std::path::Path::new("/proc").join(pid.trim());
    assert!(process.exists(), "the command hangs");
    shell.end().unwrap();
    let limit = seconds(10);
    while process.exists() && !limit.is_over() {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert!(!process.exists(), "{}", process.display());
}
