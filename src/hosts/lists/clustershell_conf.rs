//! `groups.conf` of `ClusterShell` (groups.conf(5)), in the format of Python's `ConfigParser`:
//! sections with `key: value` or `key = value`, and indented continuation lines.

use super::{FormatError, quoted};

/// Setting, with the line on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Name of the section.
    pub section: String,
    /// Key, in lower case.
    pub key: String,
    /// Value. A continued value keeps its line breaks.
    pub value: String,
    /// Line number, from 1.
    pub line: usize,
}

/// Settings of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterShellConf {
    /// Settings, in the order of the file.
    pub settings: Vec<Setting>,
}

impl ClusterShellConf {
    /// Parses the text.
    ///
    /// # Errors
    /// A line is neither a section nor a setting in a section.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let mut settings: Vec<Setting> = Vec::new();
        let mut section: Option<String> = None;
        // An indented line continues the setting above it in the same section.
        let mut is_open = false;
        for (index, whole) in text.lines().enumerate() {
            let (line, said) = (index + 1, whole.trim());
            if said.is_empty() || said.starts_with(['#', ';']) {
                continue;
            }
            if is_open && whole.starts_with([' ', '\t']) {
                if let Some(setting) = settings.last_mut() {
                    setting.value.push('\n');
                    setting.value.push_str(said);
                }
                continue;
            }
            let head = said.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            if let Some((name, _)) = head {
                section = Some(name.to_owned());
                is_open = false;
                continue;
            }
            let Some((key, value)) = said.split_once([':', '=']) else {
                let message = format!("{} is neither a section nor a setting", quoted(said));
                return Err(FormatError::new(line, message)
                    .fix("write a setting, for example `map: COMMAND`, below [SOURCE]"));
            };
            let Some(section) = &section else {
                return Err(FormatError::new(line, "this setting is outside of a section")
                    .fix("write [Main] or [SOURCE] above it"));
            };
            settings.push(Setting {
                section: section.clone(),
                key: key.trim().to_ascii_lowercase(),
                value: value.trim().to_owned(),
                line,
            });
            is_open = true;
        }
        Ok(Self { settings })
    }
}

#[test]
fn settings_belong_to_sections_and_go_on_when_indented() {
    let text = "# head\n[Main]\ndefault: local\nCONFDIR = /a $CFGDIR/b\n[slurm,sp]\nmap: sinfo -h \\\n   \
                -p $GROUP\n\n  ; not this\nall: sinfo -o \"%N\"\n";
    let setting = |section: &str, key: &str, value: &str, line| Setting {
        section: section.into(),
        key: key.into(),
        value: value.into(),
        line,
    };
    let expected = vec![
        setting("Main", "default", "local", 3),
        setting("Main", "confdir", "/a $CFGDIR/b", 4),
        setting("slurm,sp", "map", "sinfo -h \\\n-p $GROUP", 6),
        setting("slurm,sp", "all", "sinfo -o \"%N\"", 10),
    ];
    assert_eq!(ClusterShellConf::parse(text), Ok(ClusterShellConf { settings: expected }));
}

#[test]
fn line_without_a_setting_is_an_error_with_its_line() {
    let error = ClusterShellConf::parse("[Main]\nnonsense\n").unwrap_err();
    assert_eq!(
        (error.line, error.message.as_str()),
        (2, "`nonsense` is neither a section nor a setting")
    );
    assert!(
        ClusterShellConf::parse("map: x\n").unwrap_err().message.contains("outside of a section")
    );
}
