//! `rdmactl config`: the settings in use, and where they come from.

use crate::cli::{ConfigArgs, Format, Global};
use crate::config::{Config, schema};
use crate::query::Settings;
use crate::render::{SettingsDocument, column_help, to_json, to_json_lines};
use crate::term::Term;

use super::view::{Hosts, View};
use super::{Advice, Outcome};

/// Lists the settings, or prints the schema of the file.
pub(super) fn run(
    global: &Global,
    args: &ConfigArgs,
    config: &Config,
    term: Term,
) -> anyhow::Result<Outcome> {
    if args.schema {
        term.answer(format!("{:#}\n", schema()))?;
        return Ok(Outcome::Complete);
    }
    if global.columns.iter().any(|word| word == "help") {
        term.answer(column_help::<Settings>())?;
        return Ok(Outcome::Complete);
    }
    let view = View::<Settings>::new(global, term)?;
    let entries = config.entries();
    term.answer(match global.output() {
        Format::Json => to_json(&SettingsDocument::new(&entries))?,
        Format::Ndjson => to_json_lines(entries.chunks(1).map(SettingsDocument::new))?,
        Format::Prom => {
            let fix = "use --format json: rdmactl config --format json";
            return Err(Advice::error("config has no metrics", fix));
        }
        // A heat map of settings is refused before.
        Format::Table
        | Format::Plain
        | Format::Csv
        | Format::Html
        | Format::Svg
        | Format::Tree
        | Format::Dot => view.print(entries.iter().collect(), Hosts::One(&[]))?,
    })?;
    Ok(Outcome::Complete)
}
