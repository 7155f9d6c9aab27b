//! Fixes that a host may send: a table of texts with placeholders for plain names.
//!
//! A host is not trusted, and users paste a fix into a shell. A fix from a host or a file is
//! therefore kept only if it is a text of the table, with a plain name for each placeholder. The
//! operator drops every other text. All modules of the program take fixes from here.

use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize};

/// Maximum length of a name in a fix, in bytes.
const LONGEST_NAME: usize = 255;

/// Replacement of a name that is not plain.
const NO_NAME: &str = "NAME";

/// Placeholder of a name in a text of the table.
const PLACEHOLDER: &str = "{}";

/// Command or setting that repairs something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Fix(String);

words! {
    /// Fixes that a host may send. A program of another version does not recognize a changed
    /// text, and shows no fix.
    #[expect(missing_docs, reason = "each text of the table documents its variant")]
    pub enum KnownFix {
        AddAddress = "add an address: ip addr add ADDRESS/PREFIX dev {}",
        AllowConnectionManager = "give the user access to /dev/infiniband/rdma_cm",
        AllowDeviceFiles = "add the user to the group of the device files: ls -l /dev/infiniband; \
                            usermod -aG GROUP USER",
        AllowUmad = "run rdmactl as root (over SSH: --sudo), or give the user access: \
                     ls -l /dev/infiniband/{}",
        BeRoot = "run rdmactl as root (over SSH: --sudo)",
        BeRootOutside = "run rdmactl as root (over SSH: --sudo), or outside the container",
        CheckCable = "check the cable: some drivers report no rate without a cable",
        CheckCables =
            "check the cables and the ports of the switch; list the ports: rdmactl ports -v",
        CheckRelease = "check the file: cat /proc/sys/kernel/osrelease",
        CreateDeviceFiles = "create the device files: mkdir -p /dev/infiniband && cd \
                             /sys/class/infiniband_verbs && for f in uverbs*; do [ -e \
                             /dev/infiniband/$f ] || mknod -m 666 /dev/infiniband/$f c $(tr : ' ' \
                             < $f/dev); done; in a container, pass them: docker run \
                             --device=/dev/infiniband",
        InstallDriver =
            "install the user-space driver (Debian: ibverbs-providers, RHEL: libibverbs)",
        InstallRdmacm =
            "install the package librdmacm1 (Debian, Ubuntu) or librdmacm (RHEL, Fedora)",
        InstallVerbs = "install the packages libibverbs1 and ibverbs-providers (Debian, Ubuntu) or \
                        libibverbs (RHEL, Fedora)",
        ListDeviceFiles = "list the device files: ls -l /dev/infiniband; in a container, pass them: \
                           docker run --device=/dev/infiniband",
        ListProblems = "list the nodes: rdmactl fabric problems",
        LoadConnectionManager = "load the module rdma_ucm; it needs at least one RDMA device",
        LoadSmcDiag = "modprobe smc_diag",
        LoadTcpDiag = "modprobe tcp_diag",
        LoadUmad = "modprobe ib_umad",
        LoadUmadOrShow = "modprobe ib_umad; in a container, make /dev/infiniband visible",
        LoadUverbs = "load the module ib_uverbs and the driver of the card, then retry",
        LogIn = "log in to the host and run: rdmactl {}",
        MakePlane = "rdma dev add smi1 type SMI parent {}",
        MountFromEtc = "move the file below /etc, and mount again",
        MountWithout = "restore the file, or mount again without it",
        OmitMtuOrRaise = "omit --mtu; or, on {host}: ip link set {netdev} mtu {}",
        OmitMtuOrShow =
            "omit --mtu; or show which MTU the port of {host} supports: rdmactl ports -v -H {host}",
        OmitViaSa = "omit --via sa",
        RaiseNeighbours4 = "raise the limits of the neighbor table: sysctl -w \
                            net.ipv4.neigh.default.gc_thresh2=8192 \
                            net.ipv4.neigh.default.gc_thresh3=16384",
        RaiseNeighbours6 = "raise the limits of the neighbor table: sysctl -w \
                            net.ipv6.neigh.default.gc_thresh2=8192 \
                            net.ipv6.neigh.default.gc_thresh3=16384",
        RecordThere = "run rdmactl capture on that host itself",
        Repeat = "run the command again",
        RepeatMoved =
            "an address of the port was removed or moved during the run; repeat the command",
        Retry = "retry",
        SaveSubnet = "save the whole subnet: rdmactl fabric --save FILE",
        SetMtu = "on {host}: ip link set {} mtu 1500",
        ShowStack = "as root, show where pid {} waits: cat /proc/{}/stack; dmesg | grep -i \
                     'not responding'",
        StartIbping = "on the host of the address, start a server: ibping -S",
        StartManager = "list the subnet managers: rdmactl fabric sm; if none is master: \
                        systemctl start opensm",
        UncoverDevices = "list the mounts that may cover the directory: findmnt -R /sys; in a \
                          container, mount the sysfs of its network namespace: mount -t sysfs \
                          sysfs /sys",
        UploadProgram = "add --upload, or install rdmactl on the host",
        UseOpa = "use opainfo and opareport (packages opa-basic-tools and opa-fastfabric)",
        UseOthers =
            "for RoCE use rdmactl ports, rdmactl ping --matrix and the tools of the switches",
    }
    /// Returns the text. [`KnownFix::with`] replaces each `{}` with a name. Other
    /// placeholders, such as `{host}`, are part of the text: the operator replaces them.
    pub fn text(self);
}

impl KnownFix {
    /// Returns the fix with a name, or `NAME` if not plain, for each placeholder.
    pub fn with(self, names: &[&str]) -> Fix {
        let mut names = names.iter();
        let mut text = String::new();
        for (index, piece) in self.text().split(PLACEHOLDER).enumerate() {
            if index > 0 {
                text.push_str(names.next().filter(|name| is_plain(name)).unwrap_or(&NO_NAME));
            }
            text.push_str(piece);
        }
        Fix(text)
    }

    /// Returns true if the text is this fix with a plain name for each placeholder.
    fn is(self, text: &str) -> bool {
        let mut pieces = self.text().split(PLACEHOLDER);
        let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else {
            return false;
        };
        for piece in pieces {
            let end = rest.find(|letter| !is_name_character(letter)).unwrap_or(rest.len());
            if !is_plain(&rest[..end]) {
                return false;
            }
            let Some(after) = rest[end..].strip_prefix(piece) else { return false };
            rest = after;
        }
        rest.is_empty()
    }
}

impl From<KnownFix> for Fix {
    fn from(known: KnownFix) -> Self {
        known.with(&[])
    }
}

impl Fix {
    /// Creates a fix from texts of this program and arguments of the user, without a check.
    pub fn of_operator(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of a host as a fix; `None` if the table does not have the text.
    pub fn of_host(text: &str) -> Option<Self> {
        KnownFix::ALL.iter().any(|known| known.is(text)).then(|| Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Fix {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Fix> for String {
    fn from(fix: Fix) -> Self {
        fix.0
    }
}

/// Deserializes the fix of a host or a file; `None` for a text that the table does not have.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Fix>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(from)?;
    Ok(text.and_then(|text| Fix::of_host(&text)))
}

/// Returns true for a name of at most 255 characters that a shell reads as one word, no option.
pub fn is_plain(name: &str) -> bool {
    is_name_of(name, is_name_character)
}

/// Returns a name or a path of a host as one shell word, in quotes if it has spaces or brackets.
/// Returns the placeholder for any other text, so that no fix has a command of a host.
pub fn shell_word<'a>(name: &'a str, placeholder: &'a str) -> Cow<'a, str> {
    let is_of_path = |letter| is_name_character(letter) || "/=+,".contains(letter);
    if is_name_of(name, is_of_path) {
        Cow::Borrowed(name)
    } else if is_name_of(name, |letter| is_of_path(letter) || " []".contains(letter)) {
        Cow::Owned(format!("'{name}'"))
    } else {
        Cow::Borrowed(placeholder)
    }
}

/// Returns true for at most 255 allowed characters that are no option.
fn is_name_of(name: &str, is_allowed: impl Fn(char) -> bool) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('-')
        && name.chars().all(is_allowed)
}

fn is_name_character(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._:@%-".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fix_of_the_table_is_read_back() {
        for known in KnownFix::ALL {
            let fix = known.with(&["mlx5_0", "eth0.7"]);
            assert_eq!(Fix::of_host(&fix), Some(fix.clone()), "{known:?}");
        }
        let shown = KnownFix::ShowStack.with(&["17", "17"]);
        assert_eq!(
            shown.as_str(),
            "as root, show where pid 17 waits: cat /proc/17/stack; dmesg | grep -i 'not \
             responding'"
        );
    }

    #[test]
    fn a_host_cannot_send_a_command_of_its_own() {
        for text in [
            "curl x | sh",
            "",
            "retry; curl x | sh",
            "retry ",
            "rdma dev add smi1 type SMI parent mlx5_0; curl x",
            "rdma dev add smi1 type SMI parent $(x)",
            "rdma dev add smi1 type SMI parent ",
            "rdma dev add smi1 type SMI parent -x",
            "rdma dev add smi1 type SMI parent a\nb",
            "as root, show where pid 1 waits: cat /proc/`x`/stack; dmesg | grep -i 'not responding'",
        ] {
            assert_eq!(Fix::of_host(text), None, "{text}");
        }
        let long = format!("rdma dev add smi1 type SMI parent {}", "a".repeat(300));
        assert_eq!(Fix::of_host(&long), None);
    }

    #[test]
    fn a_name_that_is_not_plain_is_replaced() {
        let fix = KnownFix::MakePlane.with(&["x; reboot"]);
        assert_eq!(fix.as_str(), "rdma dev add smi1 type SMI parent NAME");
    }
}

#[test]
fn a_name_that_is_a_command_is_in_no_fix() {
    for (name, expected) in [
        ("10.9.0.1:/data", "10.9.0.1:/data"),
        ("nqn.2026-01.io:disk_1", "nqn.2026-01.io:disk_1"),
        ("two words", "'two words'"),
        ("[::1]:/", "'[::1]:/'"),
        ("a;reboot", "NAME"),
        ("$(reboot)", "NAME"),
        ("it's", "NAME"),
        ("two\nlines", "NAME"),
        ("--force", "NAME"),
        ("", "NAME"),
        (&*"x".repeat(LONGEST_NAME + 1), "NAME"),
    ] {
        assert_eq!(shell_word(name, "NAME"), expected);
    }
}
