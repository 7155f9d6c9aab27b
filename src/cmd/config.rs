//! Runs `rdmactl config`: prints the settings in use with their origins, or writes an example
//! file.

use crate::cli::{ConfigArgs, Format, Global};
use crate::config::{Config, EXAMPLE_LINE, FILE_VARIABLE, files, init, schema};
use crate::query::Settings;
use crate::render::{Note, SettingsDocument, column_help, escape, to_json, to_json_lines};
use crate::term::Term;

use super::listing_output::{Hosts, ListingOutput};
use super::outcome::{say, say_all};
use super::{Advice, Outcome};

pub(super) fn run(
    global: &Global,
    args: &ConfigArgs,
    config: &Config,
    term: Term,
) -> anyhow::Result<Outcome> {
    if args.schema {
        term.write_stdout(format!("{:#}\n", schema()))?;
        return Ok(Outcome::Complete);
    }
    if args.init {
        let path = init(&|name| std::env::var_os(name))
            .map_err(|error| Advice::error(error.what, error.fix))?;
        let path = path.display().to_string();
        term.write_stdout(escape(&format!("wrote {path}")).into_owned() + "\n")?;
        let text = "every setting in the file is a comment".to_owned();
        let fix = format!("remove the # before a line, for example: {EXAMPLE_LINE}");
        say(term, &Note { text, fix: Some(fix) });
        return Ok(Outcome::Complete);
    }
    if global.columns.iter().any(|word| word == "help") {
        term.write_stdout(column_help::<Settings>())?;
        return Ok(Outcome::Complete);
    }
    let view = ListingOutput::<Settings>::new(global, term)?;
    let entries = config.entries();
    term.write_stdout(match global.output() {
        Format::Json => to_json(&SettingsDocument::new(&entries))?,
        Format::Ndjson => to_json_lines(entries.chunks(1).map(SettingsDocument::new))?,
        Format::Prom => {
            let fix = "use --format json: rdmactl config --format json";
            return Err(Advice::error("config has no metrics", fix));
        }
        // Html, Svg, Tree and Dot are refused earlier for this command.
        _ => {
            let rows = view.print(entries.iter().collect(), Hosts::One(&[]))?;
            let is_for_people = global.output() == Format::Table && !global.no_header;
            if is_for_people { rows + &files_read() } else { rows }
        }
    })?;
    say_all(term, view.no_match());
    Ok(Outcome::Complete)
}

/// Returns one line per configuration file: its path, and its existence.
fn files_read() -> String {
    let files = files(&|name| std::env::var_os(name));
    if files.is_empty() {
        return format!("\nfile: none, because {FILE_VARIABLE} names no file\n");
    }
    let line = |path: &std::path::PathBuf| {
        let found = if path.exists() { "read" } else { "not found" };
        escape(&format!("file: {} ({found})", path.display())).into_owned() + "\n"
    };
    format!("\n{}", files.iter().map(line).collect::<String>())
}
