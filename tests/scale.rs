//! Runs rdmactl on 520 hosts with a login for each host. 8 of the hosts never respond. The run
//! keeps all CPUs busy, so no other test runs beside it.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

#[path = "fleet/bed.rs"]
mod bed;
#[path = "fleet/programs.rs"]
mod programs;
#[path = "fleet/sshd.rs"]
mod sshd;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use programs::Programs;
use sshd::{Setup, Sshd};

#[test]
fn of_520_hosts_512_have_a_report_and_8_have_a_reason() {
    let programs = Programs::new();
    programs.install();
    let path = programs.directory().display();
    let config = format!("SetEnv SHLVL=2 PATH={path}:/usr/bin:/bin RDMACTL_PATH=/nonexistent\n");
    let sshd = Sshd::with(&Setup { config: &config, is_many: true, ..Setup::default() });
    sshd.write_known_hosts(&format!("[127.*]:{} {}\n", sshd.port, sshd.host_key("ed25519")));
    // This server accepts connections and sends no byte.
    let mute = TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let port = mute.local_addr().unwrap().port();
    sshd.write_client_config(&format!("Host 127.1.0.*\n  Port {port}\n"));
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args([
            "devices",
            "--json",
            "--timeout=30s",
            "-H",
            "127.1.0.[1-8],127.1.[1-8].[1-64]",
            "-F",
        ])
        .arg(sshd.path("ssh_config"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let hosts = json["hosts"].as_array().unwrap();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for host in hosts {
        let is_mute = host["host"].as_str().unwrap().starts_with("127.1.0.");
        let said = match host["failure"]["reason"].as_str() {
            Some(reason) => reason.to_owned(),
            None => host["via"].as_str().unwrap().to_owned(),
        };
        *outcomes.entry(format!("mute: {is_mute}, {said}")).or_default() += 1;
    }
    let expected =
        [("mute: false, agent".to_owned(), 512), ("mute: true, timeout".to_owned(), 8)].into();
    assert_eq!(outcomes, expected, "{stderr}");
    let first = (hosts[0]["host"].as_str(), hosts[8]["host"].as_str());
    assert_eq!(first, (Some("127.1.0.1"), Some("127.1.1.1")), "they keep their order");
    assert_eq!(output.status.code(), Some(3), "{stderr}");
}
