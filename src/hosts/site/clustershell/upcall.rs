//! Variables of commands in `groups.conf`, as Python's `string.Template` replaces them.

/// Replaces `$NAME` and `${NAME}`; `$$` becomes `$`. Unknown variables stay, for the shell.
pub(super) fn substitute(text: &str, values: &[(&str, &str)]) -> String {
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        made.push_str(before);
        if let Some(after) = behind.strip_prefix('$') {
            made.push('$');
            rest = after;
            continue;
        }
        let braced = behind.strip_prefix('{');
        let inner = braced.unwrap_or(behind);
        let (name, after) = inner.split_at(inner.chars().take_while(is_of_name).count());
        let after = if braced.is_some() { after.strip_prefix('}') } else { Some(after) };
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        if let (Some(value), Some(after)) = (value, after) {
            made.push_str(value);
            rest = after;
        } else {
            made.push('$');
            rest = behind;
        }
    }
    made + rest
}

#[test]
fn known_variables_are_replaced_and_all_else_is_for_the_shell() {
    let values = [("GROUP", "compute"), ("CFGDIR", "/etc/cs")];
    let table = [
        ("sinfo -p $GROUP", "sinfo -p compute"),
        (
            "f=$CFGDIR/groups; sed -n 's/^$GROUP:\\(.*\\)/\\1/p' $f",
            "f=/etc/cs/groups; sed -n 's/^compute:\\(.*\\)/\\1/p' $f",
        ),
        ("${GROUP}s $GROUPS $$GROUP $", "computes $GROUPS $GROUP $"),
        ("awk '{print $11}' ${GROUP", "awk '{print $11}' ${GROUP"),
        ("$(date) ${x:-$GROUP}", "$(date) ${x:-compute}"),
    ];
    for (text, expected) in table {
        assert_eq!(substitute(text, &values), expected, "{text}");
    }
}
