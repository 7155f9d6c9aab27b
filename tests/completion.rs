//! Completion in bash, zsh and fish with the committed scripts: the line after the Tab key, and
//! the words that the shell offers.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without the shells fails")]

use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Time limit for the next output of a shell, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Creates a home directory. Its files name hosts, and commands that no shell may run.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let ssh = home.path().join(".ssh");
    fs::create_dir(&ssh).expect("a directory");
    fs::write(ssh.join("config"), "Host gateway17 *.cluster\nHost $(touch${IFS}hit) `x` e;f\n")
        .expect("a file");
    fs::write(ssh.join("known_hosts"), "stor-a,10.9.8.7 ssh-ed25519 AAAA\n|1|x|y ssh-rsa AAAA\n")
        .expect("a file");
    let groups = home.path().join(".local/etc/clustershell/groups.d");
    fs::create_dir_all(&groups).expect("a directory");
    fs::write(groups.join("local.cfg"), "compute: cn[01-16]\nall: @compute\n").expect("a file");
    fs::write(groups.join("racks.yaml"), "racks:\n  first: rn[01-08]\n").expect("a file");
    // Completion does not run the commands of a configuration.
    let conf = "[Main]\ndefault: local\nautodir: $CFGDIR/groups.d\n[local]\nmap: touch ~/hit\nlist: touch ~/hit\n";
    fs::write(home.path().join(".local/etc/clustershell/groups.conf"), conf).expect("a file");
    home
}

fn command(program: &str, home: &Path) -> Command {
    let binary = Path::new(env!("CARGO_BIN_EXE_rdmactl"));
    let folder = binary.parent().expect("a folder").display().to_string();
    let path = env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .env("PATH", format!("{folder}:{path}"))
        .env("HOME", home)
        .env("TERM", "dumb")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("ZDOTDIR")
        .env_remove("BASH_ENV")
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(home);
    command
}

/// Shell on a pseudo-terminal, which script(1) provides.
struct Terminal {
    child: Child,
    seen: String,
    more: std::sync::mpsc::Receiver<Vec<u8>>,
}

impl Terminal {
    fn start(shell: &str, home: &Path) -> Self {
        let mut child = command("script", home)
            .args(["-qec", shell, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("script runs");
        let mut output = child.stdout.take().expect("a pipe");
        let (tell, more) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if tell.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, seen: String::new(), more }
    }

    fn send(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(text.as_bytes()).and_then(|()| input.flush()).expect("the shell reads");
    }

    /// Waits until the shell has printed a text. Returns the output before the text.
    fn until(&mut self, text: &str) -> String {
        loop {
            if let Some((before, after)) = self.seen.split_once(text) {
                let before = before.to_owned();
                self.seen = after.to_owned();
                return before;
            }
            match self.more.recv_timeout(DEADLINE) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{error}: {text:?} never came after {:?}", self.seen),
            }
        }
    }

    /// Returns a line after the Tab key. The shell prints the words of the line.
    fn complete(&mut self, line: &str) -> String {
        self.send(&format!("{line}\t\u{1}printf '<%s>' \u{5} 'e''nd'\n"));
        let printed = self.until("<end>");
        let start = printed.find("<rdmactl>").expect("the words of the line");
        printed[start..].replace("><", " ").trim_matches(['<', '>']).to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines before and after the Tab key, in each shell.
const LINES: [(&str, &str); 19] = [
    ("rdmactl dev", "rdmactl devices"),
    ("rdmactl devices -o port.stat", "rdmactl devices -o port.state"),
    ("rdmactl devices -o host,port.stat", "rdmactl devices -o host,port.state"),
    ("rdmactl devices -s -port.stat", "rdmactl devices -s -port.state"),
    ("rdmactl devices --format=ndj", "rdmactl devices --format=ndjson"),
    ("rdmactl devices --hosts=gatew", "rdmactl devices --hosts=gateway17"),
    ("rdmactl devices -w port.stat", "rdmactl devices -w port.state="),
    ("rdmactl devices -H gatew", "rdmactl devices -H gateway17"),
    ("rdmactl ping stor", "rdmactl ping stor-a"),
    ("rdmactl ping --matrix cn", "rdmactl ping --matrix cn[01-16]"),
    ("rdmactl ping --clients n1 --servers cn", "rdmactl ping --clients n1 --servers cn[01-16]"),
    ("rdmactl devices -H @rack", "rdmactl devices -H @racks:first"),
    ("rdmactl hosts gatew", "rdmactl hosts gateway17"),
    ("rdmactl resources cm", "rdmactl resources cm_id"),
    ("rdmactl devices gatew", "rdmactl devices gateway17"),
    ("rdmactl top conn", "rdmactl top connections"),
    ("rdmactl top gatew", "rdmactl top gateway17"),
    ("rdmactl compat ibv_devin", "rdmactl compat ibv_devinfo"),
    ("rdmactl devices -w state==ac", "rdmactl devices -w state==active"),
];

fn check(mut terminal: Terminal, home: &Path) {
    for (line, whole) in LINES {
        assert_eq!(terminal.complete(line), whole, "{line}");
    }
    assert!(!home.join("hit").exists());
}

#[test]
fn bash_completes_what_matters() {
    let home = home();
    let mut terminal = Terminal::start("bash --norc --noprofile -i", home.path());
    terminal.send(&format!(
        "PS1=; . {}; echo rea''dy\n",
        package("completions/rdmactl.bash").display()
    ));
    terminal.until("ready");
    check(terminal, home.path());
}

#[test]
fn zsh_completes_what_matters() {
    let home = home();
    let mut terminal = Terminal::start("zsh -f -i", home.path());
    let folder = package("completions");
    let setup = format!(
        "PS1= PS2=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=({} $fpath); autoload -Uz compinit; \
         compinit -u -D; echo rea''dy\n",
        folder.display()
    );
    terminal.send(&setup);
    terminal.until("ready");
    check(terminal, home.path());
}

#[test]
fn fish_completes_what_matters() {
    let home = home();
    let script = package("completions/rdmactl.fish");
    for (line, whole) in LINES {
        let ask = format!("source {}; complete --do-complete '{line}'", script.display());
        let output = command("fish", home.path())
            .args(["--no-config", "-c", &ask])
            .output()
            .expect("fish runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let words: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        let last = whole.rsplit(' ').next().expect("a word");
        assert!(words.contains(&last), "{line}: {text:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    assert!(!home.path().join("hit").exists());
}

fn ask(arguments: &[&str], home: &Path) -> (String, String) {
    let output = command(env!("CARGO_BIN_EXE_rdmactl"), home)
        .env("RDMACTL_COMPLETE", "zsh")
        .args(arguments)
        .output()
        .expect("rdmactl runs");
    assert!(output.status.success());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn every_column_is_offered_with_its_help_and_no_flag_without_use_is() {
    let home = home();
    let help = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["counters", "-o", "help"])
        .output()
        .expect("rdmactl runs");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    let (offered, _) = ask(&["3", "rdmactl", "counters", "-o", ""], home.path());
    for line in help.lines() {
        let id = line.split(' ').next().expect("an id");
        let words = line.rsplit("  ").next().expect("a sentence");
        assert!(offered.contains(&format!("{id}\t{words}\n")), "{id}: {offered}");
    }
    let (flags, _) = ask(&["2", "rdmactl", "ping", "--"], home.path());
    assert!(flags.contains("--save") && !flags.contains("--root"), "{flags}");
}

#[test]
fn a_filter_of_top_has_the_columns_of_its_view() {
    let home = home();
    for (words, column) in [
        (&["3", "rdmactl", "top", "-w", ""][..], "live.state="),
        (&["4", "rdmactl", "top", "ports", "-w", ""], "traffic.rx_bps="),
        (&["4", "rdmactl", "top", "connections", "-w", ""], "verdict="),
        (&["4", "rdmactl", "top", "problems", "-w", ""], "finding.code="),
        (&["4", "rdmactl", "top", "resources", "-w", ""], "process.qps="),
    ] {
        let (offered, _) = ask(words, home.path());
        assert!(offered.contains(column), "{column}: {offered}");
    }
}

#[test]
fn completion_of_invalid_input_prints_no_error() {
    let home = home();
    for arguments in [
        &[][..],
        &["x"],
        &["9", "rdmactl"],
        &["99999999999999999999", "rdmactl", ""],
        &["2", "rdmactl", "devices", "--format", "\u{1b}[2J"],
        &["2", "rdmactl", "nothing", ""],
    ] {
        let (_, stderr) = ask(arguments, home.path());
        assert_eq!(stderr, "", "{arguments:?}");
    }
}
