//! Applies the flags of a listing: filter, order, columns and output format.
//!
//! All listings of `cmd` format their rows with a [`ListingOutput`]. It queries no hosts itself.

use std::cell::Cell;

use crate::cli::{Format, Global};
use crate::model::ping::PingHost;
use crate::model::{HostFailure, HostReport, Parts};
use crate::names;
use crate::query::{
    Column, ColumnError, Defaults, Filter, Listing, Order, ShowCondition, Words, cells, describe,
    drop_common, drop_unknown, fold, select, words_of,
};
use crate::render::{Note, blocks, csv, plain, prom, table};
use crate::term::Term;

use super::local::Reports;
use super::{Advice, connection_flags};

#[derive(Clone, Copy)]
pub(super) enum Hosts<'reports> {
    Unknown,
    /// One host, without a name on the command line.
    One(&'reports [HostReport]),
    /// Hosts named on the command line.
    Named(&'reports [HostReport]),
    /// Two or more hosts of a ping.
    Pinged(&'reports [PingHost]),
}

impl<'reports> Hosts<'reports> {
    pub(super) fn of(reports: &'reports Reports) -> Self {
        if reports.hosts_named { Self::Named(&reports.hosts) } else { Self::One(&reports.hosts) }
    }

    /// Returns the number of hosts without a report. Their rows show only the reason.
    fn without_report(self) -> usize {
        match self {
            Self::Pinged(_) => 0,
            _ => self.names_and_failures().iter().filter(|(_, failure)| failure.is_some()).count(),
        }
    }

    /// Returns the name of each host, and the reason word if the host returned no report.
    fn names_and_failures(self) -> Vec<(&'reports str, Option<&'static str>)> {
        let word = |failure: &Option<HostFailure>| failure.as_ref().map(|one| one.reason.word());
        match self {
            Self::Unknown => Vec::new(),
            Self::One(reports) | Self::Named(reports) => {
                reports.iter().map(|one| (one.host.as_str(), word(&one.failure))).collect()
            }
            Self::Pinged(hosts) => {
                hosts.iter().map(|one| (one.name.as_str(), word(&one.failure))).collect()
            }
        }
    }
}

/// Rows, columns and format that the flags select.
pub(super) struct ListingOutput<'global, L: Listing> {
    filter: Option<Filter<L>>,
    order: Option<Order<L>>,
    header: bool,
    global: &'global Global,
    /// Column names from the command line.
    columns: Vec<String>,
    term: Term,
    /// Number of rows of this sample that match the filter, and number of compared rows.
    matched: Cell<(usize, usize)>,
}

impl<'global, L: Listing> ListingOutput<'global, L> {
    pub(super) fn new(global: &'global Global, term: Term) -> anyhow::Result<Self> {
        refuse_host_set(global)?;
        refuse_late_plus(global)?;
        let filter = global.filter.as_deref().map(Filter::parse).transpose().map_err(|error| {
            let is_unknown_column = error.what.starts_with("no column ");
            let some = if is_unknown_column { among_them::<L>() } else { String::new() };
            let fix =
                format!("write for example -w '{}'; -o help lists the columns{some}", L::EXAMPLE);
            Advice::error(format!("invalid filter expression:\n{error}"), fix)
        })?;
        let order = |word: &String| {
            Order::parse(word).map_err(|error| {
                if word.parse::<u32>().is_ok() {
                    let fix = "-s sorts by a column; the message size of ping is --size BYTES";
                    return Advice::error(error.to_string(), fix);
                }
                no_column::<L>("-s", &error)
            })
        };
        let order = global.sort.as_ref().map(order).transpose()?;
        let (header, columns, matched) =
            (!global.no_header, global.column_words(), Cell::default());
        let output = Self { filter, order, header, global, columns, term, matched };
        // Reports wrong column names before any host is queried.
        output.columns(Hosts::Unknown)?;
        if output.is_document() && (output.filter.is_some() || output.order.is_some()) {
            let what = "--where and --sort work on rows, and JSON has no rows";
            return Err(Advice::error(what, "filter JSON with jq, or use --format csv"));
        }
        Ok(output)
    }

    /// True if the output format shows whole reports, not rows.
    fn is_document(&self) -> bool {
        use Format::{Dot, Html, Json, Ndjson, Svg, Tree};
        matches!(self.global.output(), Json | Ndjson | Html | Svg | Tree | Dot)
    }

    /// Prepares the next sample; only a table repeats its heading for each sample.
    pub(super) fn prepare_next(&mut self) {
        self.matched.set((0, 0));
        self.header &= self.global.output() == Format::Table;
    }

    /// Returns true if rows can be printed before all hosts respond, in the order of the hosts.
    pub(super) fn can_be_in_batches(&self) -> bool {
        let is_table = self.global.output() == Format::Table && self.global.save.is_none();
        is_table && self.order.is_none() && self.term.is_stdout_terminal()
    }

    /// Returns true if a flag selects or sorts rows or selects columns. A summary has no rows.
    pub(super) fn is_of_rows(&self) -> bool {
        self.global.verbose > 0
            || !self.global.columns.is_empty()
            || self.filter.is_some()
            || self.order.is_some()
    }

    /// Returns the parts to read: `least`, and the parts of all columns that are shown, filtered
    /// or sorted. A document or a recording also needs the parts in `document`.
    pub(super) fn parts(&self, least: &Parts, document: &Parts) -> anyhow::Result<Parts> {
        let columns = self.columns(Hosts::Unknown)?;
        let mut parts = least.clone();
        parts.extend(columns.iter().flat_map(|column| column.parts()));
        parts.extend(self.filter.iter().flat_map(Filter::parts));
        parts.extend(self.order.iter().flat_map(Order::parts));
        if self.is_document() || self.global.save.is_some() {
            parts.extend(document.iter());
        }
        Ok(parts)
    }

    /// Returns the rows as text without a footer. Not for documents.
    pub(super) fn print(&self, rows: Vec<L::Row<'_>>, hosts: Hosts<'_>) -> anyhow::Result<String> {
        self.print_with(rows, hosts, &|_| String::new())
    }

    /// Returns the rows as text. `footer` gets the shown rows and returns the text below a table;
    /// other formats have no footer.
    ///
    /// # Errors
    /// The filter is one word that no row of this host contains: probably a host was meant. With
    /// --watch, a row may contain it later.
    pub(super) fn print_with<'row>(
        &self,
        mut rows: Vec<L::Row<'row>>,
        hosts: Hosts<'_>,
        footer: &dyn Fn(&[L::Row<'row>]) -> String,
    ) -> anyhow::Result<String> {
        let mut columns = self.columns(hosts)?;
        if let Some(filter) = &self.filter {
            let all = rows.len();
            rows.retain(|row| filter.matches(row));
            let compared = all.saturating_sub(hosts.without_report());
            let (matched, before) = self.matched.get();
            self.matched.set((matched + rows.len(), before + compared));
            // A bare word is often meant as a host, because pdsh and clush take hosts after -w.
            if let (1.., true, Some(word), Hosts::One(_), None) =
                (all, rows.is_empty(), filter.word(), hosts, self.global.watch)
            {
                let word = names::shortened(word);
                let what = format!("-w filters rows, and no row of this host contains {word}");
                let fix = match comparison::<L>(&word) {
                    Some(comparison) => format!("compare the column with a value: {comparison}"),
                    None => format!("query a host with -H: -H {}", shlex::try_quote(&word)?),
                };
                return Err(Advice::error(what, fix));
            }
        }
        if let Some(order) = &self.order {
            order.sort(&mut rows);
        }
        drop_unknown(&mut columns, &self.columns, &rows);
        if self.global.output() == Format::Table {
            drop_common(&mut columns, &self.columns, &rows);
        }
        let (header, footer) = (self.header, footer(&rows));
        Ok(match self.global.output() {
            Format::Csv => csv(&columns, &rows, header)?,
            Format::Plain => plain(&columns, &rows, header),
            Format::Prom => prom(&columns, &rows, &hosts.names_and_failures(), header),
            _ => {
                let cells = cells(&columns, &rows);
                let cells = if self.folds(hosts) { fold(&columns, cells) } else { cells.collect() };
                let text = table(&columns, &cells, header);
                let text = if self.is_too_wide(&text) { blocks(&columns, &cells) } else { text };
                text + &connection_flags::in_fixes(&footer)
            }
        })
    }

    /// Returns the note for a filter that removed all rows.
    pub(super) fn no_match(&self) -> Option<Note> {
        let (matched, all) = self.matched.get();
        let text = format!("0 of {all} rows match the filter");
        let word = self.filter.as_ref().and_then(Filter::word);
        let fix = word
            .and_then(comparison::<L>)
            .map(|comparison| format!("compare the column with a value: {comparison}"));
        (all > 0 && matched == 0).then_some(Note { text, fix })
    }

    /// Returns true if the table of `--verbose` is wider than the terminal. Returns false with
    /// `-o`, because the user chose the columns.
    fn is_too_wide(&self, text: &str) -> bool {
        let width = || text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        let is_long = self.global.verbose > 0 && self.global.columns.is_empty();
        is_long && self.term.stdout_width().is_some_and(|most| width() > most)
    }

    /// Returns true if equal hosts share one row: only in tables, and only for two or more hosts.
    fn folds(&self, hosts: Hosts<'_>) -> bool {
        let is_table = self.global.output() == Format::Table;
        is_table && L::FOLDS && !self.global.no_fold && hosts.names_and_failures().len() > 1
    }

    fn columns(&self, hosts: Hosts<'_>) -> anyhow::Result<Vec<&'static Column<L>>> {
        let hosts_named = !matches!(hosts, Hosts::One(_));
        let folded = self.folds(hosts);
        let (verbose, watched) = (self.global.verbose > 0, self.global.watch.is_some());
        let is_table = self.global.output() == Format::Table;
        let defaults = Defaults { hosts_named, verbose, watched, folded, is_table };
        select(&self.columns, defaults).map_err(|error| no_column::<L>("-o", &error))
    }
}

/// Returns an example of `-w` that compares the column with a value.
fn comparison<L: Listing>(word: &str) -> Option<String> {
    let column = describe::<L>().find(|column| column.is_called(word))?;
    let value = match words_of(column.id) {
        Words::Few { words, .. } => words.first().map_or("VALUE", |word| word).to_lowercase(),
        _ => "VALUE".to_owned(),
    };
    let value = if value.contains(' ') { format!("\"{value}\"") } else { value };
    Some(format!("-w '{word}=={value}'"))
}

/// Refuses a list of -o in which a word with + comes after a word without +.
fn refuse_late_plus(global: &Global) -> anyhow::Result<()> {
    let Some(late) = global.late_plus() else { return Ok(()) };
    let plain = |word: &String| word.trim_start_matches('+').to_owned();
    let list = global.columns.iter().map(plain).collect::<Vec<_>>().join(",");
    Err(Advice::error(
        format!("-o either replaces or adds columns, and {late} comes after a word without +"),
        format!("only these columns: -o {list}; in addition to the default columns: -o +{list}"),
    ))
}

/// Refuses a host set after -w, because -w names hosts in pdsh and clush, but filters rows here.
pub(super) fn refuse_host_set(global: &Global) -> anyhow::Result<()> {
    let Some(set) = global.filter.as_deref().filter(|text| is_host_set(text)) else {
        return Ok(());
    };
    let fix = format!("name hosts with -H: -H {}", shlex::try_quote(set)?);
    Err(Advice::error(format!("-w filters rows, and {set} looks like a host set"), fix))
}

/// Returns true if a filter looks like a host set of pdsh or clush: `n[1-4]`, `n1,n2`.
fn is_host_set(filter: &str) -> bool {
    filter.len() < 100
        && filter.chars().all(|letter| letter.is_ascii_graphic())
        && filter.contains(['[', ','])
        && !filter.contains([' ', '=', '<', '>', '~', '!', '(', ')', '\'', '"'])
}

/// Returns the error for a word after `-o` or `-s` that is not a column of the listing.
fn no_column<L: Listing>(flag: &str, error: &ColumnError) -> anyhow::Error {
    let what = error.to_string();
    if let ColumnError::Unknown { word, .. } = error {
        let format = if word == "yaml" { "json" } else { word };
        if ["csv", "json", "ndjson", "prom", "table", "plain"].contains(&format) {
            return Advice::error(what, format!("write -f {format}; -o chooses columns"));
        }
        let ends = [".json", ".ndjson", ".csv", ".txt", ".log", ".svg", ".html"];
        if word.contains('/') || ends.iter().any(|end| word.ends_with(end)) {
            let fix = "-o chooses columns; the file for the raw data is --save FILE";
            return Advice::error(what, fix);
        }
    }
    let words: Vec<String> = usual_columns::<L>().take(3).collect();
    let example = if flag == "-s" { words.last().cloned() } else { Some(words.join(",")) };
    let (example, some) = (example.unwrap_or_default(), among_them::<L>());
    let fix = format!("write for example {flag} {example}; -o help lists the columns{some}");
    Advice::error(what, fix)
}

/// Formats the end of a hint with the usual columns: `, among them host, device`.
fn among_them<L: Listing>() -> String {
    let mut words: Vec<String> = usual_columns::<L>().collect();
    // The example may compare a column that is not shown in every table.
    let example = L::EXAMPLE.split(['=', '!', '~', '<', '>', ' ']).next().unwrap_or_default();
    if !example.is_empty() && !words.iter().any(|word| word == example) {
        words.push(example.to_owned());
    }
    format!(", among them {}", words.join(", "))
}

/// Returns the names of the columns that every table of the listing shows.
fn usual_columns<L: Listing>() -> impl Iterator<Item = String> {
    let shown = L::COLUMNS.iter().filter(|column| column.shown == ShowCondition::Always);
    shown.map(|column| column.title.to_lowercase())
}
