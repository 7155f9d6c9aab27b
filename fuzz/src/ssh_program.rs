//! Fuzz target for the log and the stderr of the `ssh` program.

use rdmactl::fleet::SshCall;
use rdmactl::model::Reason;

use super::shown::is_harmless;

/// Explains the end of a connection. The bytes before the first zero byte are the log, and the
/// other bytes are stderr.
///
/// A remote host can write to stderr. Its text must not cause a host key failure, and must not
/// put a command into a fix.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (log, stderr) = data.split_at(end);
    let call = SshCall {
        program: "ssh".into(),
        config: None,
        options: Vec::new(),
        jumps: None,
        user: None,
        port: None,
        host: "web".to_owned(),
        agent: None,
    };
    for (log, stderr) in [(log, stderr), (&[][..], data)] {
        let failure = call.failure(log, stderr);
        let fix = failure.fix.clone().expect("each failure of a connection has a fix");
        assert!(is_harmless(&failure.detail) && !failure.detail.contains('\n'), "{failure:?}");
        assert!(is_harmless(&fix) && !fix.contains('\n'), "{fix:?}");
        assert!(failure.detail.chars().count() <= 2_500 && fix.chars().count() <= 2_500);
        let is_of_host_key = matches!(
            failure.reason,
            Reason::HostkeyChanged | Reason::HostkeyRevoked | Reason::HostkeyUnknown
        );
        if log.is_empty() {
            assert!(!is_of_host_key, "{failure:?}");
        }
        if !is_of_host_key {
            assert_eq!(fix, "test the login: ssh web");
        }
    }
}
