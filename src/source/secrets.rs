//! Masks passwords in files of the administrator, for `live` and `fleet::shell`.

/// Parts of the names of secret settings.
const SECRET: [&str; 5] = ["password", "passwd", "secret", "key", "credential"];
const MASK: &str = "***";

/// Returns the content of a file. In files below `/etc`, the values of secret settings are
/// masked.
pub fn without_secrets(path: &str, content: Vec<u8>) -> Vec<u8> {
    if path.starts_with("/etc/") {
        masked(&String::from_utf8_lossy(&content)).into_bytes()
    } else {
        content
    }
}

/// Masks values of options `NAME=VALUE`, of lines `NAME = VALUE`, and of `"NAME": "VALUE"`.
fn masked(text: &str) -> String {
    text.split_inclusive('\n').map(mask_line).collect()
}

fn mask_line(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, behind) = rest.split_at(at + 1);
        safe.push_str(before);
        rest = behind;
        if !is_secret(&before[..at]) {
            continue;
        }
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let value = &rest[blanks..];
        let length = match value.chars().next() {
            Some('"') => value[1..].find('"').map_or(value.len(), |end| end + 2),
            // On a line of its own, the rest of the line is the value.
            _ if blanks > 0 => value.trim_end().len(),
            _ => value.find([',', ' ', '\t', '\n']).unwrap_or(value.len()),
        };
        safe.push_str(&rest[..blanks]);
        if length > 0 {
            safe.push_str(if value.starts_with('"') { "\"***\"" } else { MASK });
        }
        rest = &value[length..];
    }
    safe + rest
}

/// True if the text before a value ends with the name of a secret setting.
fn is_secret(before: &str) -> bool {
    let name = before.trim_end_matches([' ', '\t', '"', '=', ':']);
    let start = name.rfind([',', ' ', '\t', '"', '{']).map_or(0, |at| at + 1);
    let name = name[start..].to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[test]
fn no_password_is_in_an_answer() {
    for (text, expected) in [
        (
            "//s/x /mnt cifs user=a,password=b,uid=0 0 0\n",
            "//s/x /mnt cifs user=a,password=***,uid=0 0 0\n",
        ),
        ("node.session.auth.password = a b, c\n", "node.session.auth.password = ***\n"),
        ("node.session.auth.password_in=x\n", "node.session.auth.password_in=***\n"),
        ("{\"dhchap_key\": \"DHHC-1:00:a=:\", \"x\": 1}", "{\"dhchap_key\": \"***\", \"x\": 1}"),
        ("{\"dhchap_ctrl_key\":\"DHHC\"}\n", "{\"dhchap_ctrl_key\":\"***\"}\n"),
        (
            "-t rdma -a 10.0.0.1 --dhchap-secret=DHHC-1:00:x -s 4420",
            "-t rdma -a 10.0.0.1 --dhchap-secret=*** -s 4420",
        ),
        (
            "s:/x /mnt nfs4 proto=rdma,port=20049 0 0\n",
            "s:/x /mnt nfs4 proto=rdma,port=20049 0 0\n",
        ),
        ("ID=debian\n", "ID=debian\n"),
        ("password=\n", "password=\n"),
        ("", ""),
    ] {
        assert_eq!(masked(text), expected);
    }
}
