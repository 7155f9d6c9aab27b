//! Rewrites what people type into the form that clap parses.
//!
//! clap cannot express these forms: a template after `--launcher exec`, and an interval after
//! `--watch`.

use std::ffi::{OsStr, OsString};

/// Returns the words of a command line in the form that clap parses.
///
/// `--launcher exec TEMPLATE` becomes two words, and `--watch 5` becomes `--watch=5`. Words after
/// `--` stay as they are.
pub fn rewrite(words: Vec<OsString>) -> Vec<OsString> {
    let mut rewritten: Vec<OsString> = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(mut word) = words.next() {
        let is_launcher = rewritten.last().is_some_and(|before| before == "--launcher");
        let is_exec = word == "--launcher=exec" || (is_launcher && word == "exec");
        if is_exec && let Some(template) = words.next() {
            word.push(" ");
            word.push(template);
        }
        if word == "--watch"
            && let Some(interval) = words.next_if(|next| is_interval(next))
        {
            word.push("=");
            word.push(interval);
        }
        let is_over = word == "--";
        rewritten.push(word);
        if is_over {
            break;
        }
    }
    rewritten.extend(words);
    rewritten
}

/// Returns true for a number with or without a unit, such as `5` or `2.5s`.
fn is_interval(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return false };
    let number = ["ms", "s", "min", "m", "h"].iter().find_map(|unit| text.strip_suffix(unit));
    number.unwrap_or(text).parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(OsString::from).collect();
        rewrite(words).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn only_the_launcher_exec_takes_the_next_word() {
        assert_eq!(rewritten(&["rdmactl", "--launcher", "slurm", "devices"]).len(), 4);
        assert_eq!(
            rewritten(&["rdmactl", "--launcher", "exec", "x {host}", "devices"]),
            ["rdmactl", "--launcher", "exec x {host}", "devices"]
        );
        assert_eq!(
            rewritten(&["rdmactl", "--launcher=exec", "x", "ports"])[1],
            "--launcher=exec x"
        );
        assert_eq!(rewritten(&["r", "--", "--launcher", "exec", "x"]).len(), 5);
        assert_eq!(rewritten(&["r", "--launcher", "exec"]), ["r", "--launcher", "exec"]);
    }

    #[test]
    fn an_interval_after_watch_belongs_to_it() {
        assert_eq!(rewritten(&["r", "ports", "--watch", "1"])[2..], ["--watch=1"]);
        assert_eq!(
            rewritten(&["r", "ports", "--watch", "2.5s", "n1"])[2..],
            ["--watch=2.5s", "n1"]
        );
        assert_eq!(rewritten(&["r", "ports", "--watch", "0"])[2..], ["--watch=0"]);
        for next in ["n1", "--count", "-w", "1node", "inf", "n[1-2]"] {
            assert_eq!(rewritten(&["r", "ports", "--watch", next])[2..], ["--watch", next]);
        }
        assert_eq!(rewritten(&["r", "ports", "--", "--watch", "1"]).len(), 5);
    }
}
