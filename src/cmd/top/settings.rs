//! Turns the flags of `top` into the settings and the first events of the screen.
//!
//! Draws nothing. `top` passes the result to `tui`.

use std::env;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::origin::SampleOrigin;
use crate::cli::{ColorWhen, Global, ThemeName, TopArgs};
use crate::cmd::Advice;
use crate::cmd::listing_output::refuse_host_set;
use crate::query::{Connections, Filter, Findings, LiveHosts, LivePorts, Processes};
use crate::term::Term;
use crate::tui::{Event, Glyphs, Theme, View, ViewSettings};

pub(super) fn of(
    global: &Global,
    args: &TopArgs,
    term: Term,
    origin: &SampleOrigin,
) -> ViewSettings {
    let is_colored = term.colors_stdout();
    let theme = match args.theme {
        _ if global.color == ColorWhen::Never => Theme::Mono,
        ThemeName::Auto if !is_colored => Theme::Mono,
        ThemeName::Auto => Theme::Auto,
        ThemeName::Light => Theme::Light,
        ThemeName::Dark => Theme::Dark,
        ThemeName::ColorBlind => Theme::ColorBlind,
        ThemeName::Mono => Theme::Mono,
    };
    if theme != Theme::Mono {
        // The theme respects NO_COLOR; crossterm itself would write resets instead of colors.
        crossterm::style::force_color_output(true);
    }
    let is_ascii = args.ascii || !is_utf8(|name| env::var(name).ok());
    ViewSettings {
        theme,
        glyphs: if is_ascii { Glyphs::Ascii } else { Glyphs::Utf8 },
        timeline: origin.timeline(),
        may_upload: !global.no_upload,
        waiting_for: origin.name(),
    }
}

/// Returns the events that select the view, set the filter and turn on the mouse.
pub(super) fn wanted(
    global: &Global,
    args: &TopArgs,
    origin: &SampleOrigin,
) -> anyhow::Result<Vec<Event>> {
    // A saved matrix can only be shown in the matrix view.
    let only = matches!(origin, SampleOrigin::Matrix(_)).then_some(View::Matrix);
    let view = args.view().or(only).unwrap_or(View::Hosts);
    let mut events = vec![Event::Show(view)];
    if let Some(filter) = &global.filter {
        refuse_host_set(global)?;
        check(filter, view)?;
        events.push(Event::Condition(filter.clone()));
    }
    let mouse = KeyEvent::new(KeyCode::Char('m'), KeyModifiers::NONE);
    events.extend(args.mouse.then_some(Event::Key(mouse)));
    Ok(events)
}

fn check(filter: &str, view: View) -> anyhow::Result<()> {
    let wrong = match view {
        View::Hosts => Filter::<LiveHosts>::parse_live(filter).err(),
        View::Ports => Filter::<LivePorts>::parse_live(filter).err(),
        View::Connections => Filter::<Connections>::parse_live(filter).err(),
        View::Problems => Filter::<Findings>::parse_live(filter).err(),
        View::Resources => Filter::<Processes>::parse_live(filter).err(),
        View::Matrix => {
            let fix =
                "remove --where, or start with another view, for example rdmactl top ports -w ...";
            return Err(Advice::error("--where filters rows, and the matrix has no rows", fix));
        }
    };
    let Some(error) = wrong else { return Ok(()) };
    let fix =
        "name the view that has these columns, for example rdmactl top ports -w 'state!=active'";
    Err(Advice::error(format!("invalid filter expression:\n{error}"), fix))
}

/// The first of the variables that is set and not empty decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[test]
fn the_first_locale_variable_that_is_set_decides() {
    let locale = |set: &[(&str, &str)]| {
        let set: Vec<(String, String)> =
            set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        is_utf8(|name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    };
    assert!(locale(&[("LANG", "de_DE.UTF-8")]) && locale(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
    assert!(locale(&[("LC_ALL", ""), ("LANG", "en_US.UTF-8")]));
    assert!(!locale(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]) && !locale(&[]));
}
