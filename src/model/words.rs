//! Texts of a host, as the operator reads them: of limited length, and never in the form of a
//! fix.
//! Deserializers of `model`, `wire` and `fleet` call this module.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Maximum length in characters. A detail may hold a path of 4,096 bytes and the text of a file.
const LONGEST: usize = 16_384;

/// Maximum length of a name in a directory of the kernel, in bytes (`NAME_MAX`). Many rows may
/// repeat the name of a device.
const LONGEST_NAME: usize = 255;

/// Word that marks the fixes of rdmactl in its output.
const MARK: &str = "fix:";

/// Replacement of [`MARK`] in the text of a host.
const QUOTED_MARK: &str = "\"fix\":";

/// Deserializes a text that a host or a file contains.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Cow::<'de, str>::deserialize(from).map(|text| of_host(&text))
}

/// Deserializes a text that a host or a file may lack. The field needs `serde(default)` as well;
/// `schemars(!default)` keeps the default out of the schema.
pub(super) fn read_optional<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(from)?;
    Ok(text.map(|text| of_host(&text)))
}

/// Deserializes texts with their keys.
pub(super) fn read_map<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let texts = BTreeMap::<String, String>::deserialize(from)?;
    Ok(texts.into_iter().map(|(key, text)| (of_host(&key), of_host(&text))).collect())
}

/// Deserializes the name of a device or an interface: at most 255 characters.
pub(super) fn read_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    read(from).map(cut_name)
}

/// Deserializes names of interfaces.
pub(super) fn read_names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    Ok(names.iter().map(|name| cut_name(of_host(name))).collect())
}

fn cut_name(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(LONGEST_NAME) {
        name.truncate(end);
    }
    name
}

/// Returns at most this number of bytes of a text, which ends with a whole character.
pub(super) fn cut(mut text: String, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text
}

/// Returns at most 16,384 characters of a text, with every `fix:` replaced with `"fix":`.
pub fn of_host(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST).map(|(at, _)| at);
    let mut rest = &text[..end.unwrap_or(text.len())];
    let mut kept = String::with_capacity(rest.len());
    while let Some(at) = position(rest) {
        kept.push_str(&rest[..at]);
        kept.push_str(QUOTED_MARK);
        rest = &rest[at + MARK.len()..];
    }
    kept.push_str(rest);
    if end.is_some() {
        kept.push('…');
    }
    kept
}

fn position(text: &str) -> Option<usize> {
    let is_mark = |window: &[u8]| window.eq_ignore_ascii_case(MARK.as_bytes());
    text.as_bytes().windows(MARK.len()).position(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_host_does_not_look_like_a_fix() {
        assert_eq!(of_host("no file; fix: curl | sh"), "no file; \"fix\": curl | sh");
        assert_eq!(of_host("FIX:Fix:fix"), "\"fix\":\"fix\":fix");
        assert_eq!(of_host("ä: prefix: 3"), "ä: pre\"fix\": 3");
        let once = of_host("fix: x");
        assert_eq!(of_host(&once), once, "what was saved is read back unchanged");
    }

    #[test]
    fn a_long_name_is_cut() {
        let read = |name: &str| read_name(serde_json::Value::from(name)).unwrap();
        assert_eq!(read(&"ä".repeat(256)), "ä".repeat(255));
        assert_eq!(read("mlx5_0"), "mlx5_0");
    }

    #[test]
    fn a_name_does_not_look_like_a_fix() {
        let name = |text: &str| read_name(serde_json::Value::from(text)).unwrap();
        assert_eq!(name("eth0; fix: reboot"), "eth0; \"fix\": reboot");
        let long = "x".repeat(300);
        let names = read_names(serde_json::json!(["fix: x", long])).unwrap();
        assert_eq!(names, ["\"fix\": x".to_owned(), long[..255].to_owned()]);
    }

    #[test]
    fn an_optional_text_and_the_texts_of_a_map_do_not_look_like_a_fix() {
        let optional = |value: serde_json::Value| read_optional(value).unwrap();
        assert_eq!(optional(serde_json::Value::Null), None);
        assert_eq!(optional("fix: x".into()).as_deref(), Some("\"fix\": x"));
        let map = read_map(serde_json::json!({ "a": "fix: x", "fix: b": "1" })).unwrap();
        let texts: Vec<(&str, &str)> = map.iter().map(|(key, text)| (&**key, &**text)).collect();
        assert_eq!(texts, [("\"fix\": b", "1"), ("a", "\"fix\": x")]);
    }

    #[test]
    fn a_text_is_cut_at_the_end_of_a_character() {
        let cut = |text: &str, bytes| cut(text.to_owned(), bytes);
        assert_eq!(cut("aää", 4), "aä");
        assert_eq!(cut("aää", 5), "aää");
        assert_eq!(cut("aää", 9), "aää");
        assert_eq!(cut("ä", 1), "");
    }

    #[test]
    fn a_long_text_is_cut_once() {
        let cut = of_host(&"ä".repeat(LONGEST + 1));
        assert_eq!(cut.chars().count(), LONGEST + 1);
        assert!(cut.ends_with('…'));
    }
}
