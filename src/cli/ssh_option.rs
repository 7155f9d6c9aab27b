//! Parses the value of `--ssh-option`.

/// Parses `KEY=VALUE` or `KEY VALUE`, as `ssh -o` takes it.
///
/// # Errors
/// The text has no key, no value, or a control character.
pub fn parse(text: &str) -> Result<String, String> {
    let (key, value) = text
        .split_once(['=', ' '])
        .ok_or_else(|| "expected KEY=VALUE, for example ConnectTimeout=3".to_owned())?;
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!(
            "`{key}` is not the name of an ssh option; list the options: man ssh_config"
        ));
    }
    let value = value.trim();
    // A second line would be a second option.
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err(format!("{key} has no value"));
    }
    Ok(format!("{key}={value}"))
}

#[test]
fn an_option_needs_a_name_and_a_value() {
    assert_eq!(parse("Port=7"), Ok("Port=7".into()));
    assert_eq!(parse("ProxyCommand nc %h %p"), Ok("ProxyCommand=nc %h %p".into()));
    for bad in ["Port", "=7", "Port=", "-v=1", "Port=7\nX=1"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
