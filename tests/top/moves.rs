//! Effects of keys and of the mouse on the screen of `rdmactl top`.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use rdmactl::tui::{Effect, Event, Glyphs, Theme, View};

use super::{BEFORE, screen};
use crate::pictures::{fleet, host, marks, matrix, mount};
use crate::screen::Screen;

fn mouse(screen: &mut Screen, kind: MouseEventKind, column: u16, row: u16) {
    let modifiers = KeyModifiers::NONE;
    screen.event(Event::Mouse(MouseEvent { kind, column, row, modifiers }));
}

const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

/// Returns the column and the row at which a text begins.
fn place(text: &str, what: &str) -> (u16, u16) {
    let found = text.lines().enumerate().find_map(|(row, line)| {
        let at = line.find(what)?;
        Some((line[..at].chars().count(), row))
    });
    assert!(found.is_some(), "no {what}:\n{text}");
    let (column, row) = found.unwrap_or_default();
    (u16::try_from(column).expect("few"), u16::try_from(row).expect("few"))
}

#[test]
fn the_mouse_chooses_sorts_and_scrolls() {
    let mut screen = screen(fleet);
    let text = screen.text((120, 40));
    let (column, row) = place(&text, "n07");
    mouse(&mut screen, CLICK, column, row);
    assert_eq!(screen.chosen().as_deref(), Some("n07"));
    mouse(&mut screen, MouseEventKind::ScrollDown, column, row);
    assert_eq!(screen.chosen().as_deref(), Some("n10"));
    mouse(&mut screen, MouseEventKind::ScrollUp, column, row);
    assert_eq!(screen.chosen().as_deref(), Some("n07"));
    let (column, row) = place(&text, "PROBLEMS");
    mouse(&mut screen, CLICK, column, row);
    let sorted = screen.text((120, 40));
    assert!(sorted.contains("PROBLEMS ▼"), "{sorted}");
    mouse(&mut screen, CLICK, column, row);
    assert!(screen.text((120, 40)).contains("PROBLEMS ▲"));
    assert_eq!(screen.chosen().as_deref(), Some("n07"));
    // A click beside the table chooses no row.
    mouse(&mut screen, CLICK, 0, 0);
    mouse(&mut screen, CLICK, 500, 200);
    assert_eq!(screen.chosen().as_deref(), Some("n07"));
}

#[test]
fn by_its_name_a_column_of_numbers_shows_the_largest_first() {
    let mut screen = screen(fleet);
    screen.keys(":problems<Down><Enter>");
    let text = screen.text((120, 40));
    assert!(text.contains("PROBLEMS ▼"), "{text}");
}

#[test]
fn the_first_row_stays_chosen_after_a_movement() {
    let mut screen = screen(fleet);
    // Before the first movement, the first row of each order is chosen.
    screen.keys("r:host<Enter>r");
    assert_eq!(screen.chosen().as_deref(), Some("n64"));
    screen.keys("r");
    assert_eq!(screen.chosen().as_deref(), Some("n01"));
    screen.keys("jkr");
    assert_eq!(screen.chosen().as_deref(), Some("n01"));
    screen.keys("<Home>");
    assert_eq!(screen.chosen().as_deref(), Some("n64"));
    screen.keys("r");
    assert_eq!(screen.chosen().as_deref(), Some("n01"));
}

#[test]
fn escape_keeps_the_chosen_row_and_the_filters() {
    let mut screen = screen(fleet);
    screen.keys("/n1 or n05<Enter>jj");
    let chosen = screen.chosen();
    screen.keys("/<^U>n30");
    assert_eq!(screen.chosen().as_deref(), Some("n30"));
    screen.keys("<Esc>");
    assert_eq!(screen.chosen(), chosen);
    assert!(screen.text((120, 40)).contains("where n1 or n05"));
    // Esc also restores the filter of a view after Enter has opened a row.
    screen.keys("x<Esc>/n06<Enter>2/mlx5_1<Enter>j1<Enter>");
    let ports = screen.text((120, 40));
    assert!(ports.contains("Ports of n06") && ports.contains("2 rows"), "{ports}");
    screen.keys("<Esc>");
    assert!(screen.text((120, 40)).contains("where n06"));
    screen.keys("2");
    assert!(screen.text((120, 40)).contains("where mlx5_1"));
}

#[test]
fn digits_keep_the_opened_host() {
    let mut screen = screen(fleet);
    screen.keys("1jj<Enter>");
    assert!(screen.text((120, 40)).contains("Hosts > Ports of n03"));
    for (digit, name) in [("3", "Connections"), ("6", "Resources"), ("5", "Problems")] {
        screen.keys(digit);
        let text = screen.text((120, 40));
        assert!(text.contains(&format!("Hosts > {name} of n03")), "{text}");
    }
    // A digit also works in the details of a row. A second press shows all hosts, and Esc goes
    // back.
    screen.keys("3i6");
    assert!(screen.text((120, 40)).contains("Hosts > Resources of n03"));
    screen.keys("<Esc>");
    assert_eq!((screen.chosen().as_deref(), screen.view()), (Some("n03"), View::Hosts));
    screen.keys("<Enter>3");
    screen.keys("3");
    assert!(screen.text((120, 40)).contains("128 rows"));
}

#[test]
fn a_column_that_is_chosen_appears_and_the_usual_ones_come_back() {
    let mut screen = screen(fleet);
    let usual = screen.text((80, 24));
    screen.keys("c<Home>j");
    let text = screen.text((80, 24));
    assert!(text.contains("no space"), "columns without space are not marked: {text}");
    screen.keys(" <Esc>");
    assert!(screen.text((80, 24)).contains("  VIA  "));
    screen.keys("cu<Esc>");
    assert_eq!(screen.text((80, 24)), usual);
}

#[test]
fn the_help_is_searched() {
    let mut screen = screen(fleet);
    screen.keys("?/sparkles");
    assert!(screen.text((80, 24)).contains("No line contains this text"));
    screen.keys("<^U>clipboard<Enter>");
    let text = screen.text((80, 24));
    assert!(
        text.contains("Copy the selected row") && !text.contains("Reverse the order"),
        "{text}"
    );
    screen.keys("q");
    assert_eq!(screen.chosen().as_deref(), Some("n01"), "q closes only the help");
}

#[test]
fn a_pair_of_the_matrix_is_opened_and_copied() {
    let mut screen = screen(fleet);
    assert_eq!(screen.keys("4<Enter>"), []);
    screen.event(Event::Matrix(matrix(6)));
    screen.keys("<Enter>");
    let text = screen.text((120, 40));
    assert!(text.contains("Matrix > n04 -> n02") && text.contains("fix: let UDP"), "{text}");
    let [Effect::Copy(pane)] = &screen.keys("y")[..] else { panic!("y copies") };
    let [Effect::Copy(pair)] = &screen.keys("<Esc>y")[..] else { panic!("y copies") };
    for copied in [pane, pair] {
        assert!(
            copied.contains("n04 -> n02") && copied.contains("roce.udp4791_blocked"),
            "{copied}"
        );
        assert!(!copied.contains("n05"), "another pair is copied: {copied}");
    }
    // A smaller matrix does not have the pair.
    screen.keys("<Enter>");
    screen.event(Event::Matrix(matrix(2)));
    assert!(screen.text((120, 40)).contains("no longer exists"));
}

#[test]
fn copied_row_of_an_unresponsive_host_has_its_age() {
    let mut screen = screen(marks);
    let [Effect::Copy(row)] = &screen.keys("2:n03<Enter>y")[..] else { panic!("y copies") };
    let lines: Vec<&str> = row.lines().collect();
    assert!(lines[0].starts_with("n03\tmlx5_0\t1\t"), "{row}");
    assert_eq!(lines[1], "rdmactl top: Hosts > Ports of n03, 2026-09-21 14:13:35Z");
    assert_eq!(lines[2], "no response: hung, 2 min old");
    assert!(lines[3].starts_with("fix: "), "{row}");
}

#[test]
fn every_view_shows_the_age_of_unresponsive_hosts() {
    let hosts = |_| {
        let mut silent = host("n02", &[]);
        silent.connections = vec![mount("n02", "/scratch", true)];
        silent.answered_s = Some(125);
        silent.failure = marks(0).remove(2).failure;
        vec![host("n01", &[]), silent]
    };
    let mut screen = screen(hosts);
    for keys in ["1", "2", "3"] {
        screen.keys(keys);
        let text = screen.text((80, 24));
        let row = text.lines().find(|line| line.contains("n02")).expect("a row");
        assert!(row.contains("~2min"), "{text}");
    }
    // Findings have no age.
    screen.keys("5");
    assert!(!screen.text((80, 24)).contains("~2min"));
}

#[test]
fn errors_are_summed_from_the_start_or_from_when_they_were_set_to_0() {
    let mut screen = screen(marks);
    let sum = |screen: &mut Screen| {
        screen.keys("2:err_sum<Enter><Home>");
        let text = screen.text((160, 40));
        let row = text.lines().find(|line| line.starts_with('>')).map(str::to_owned);
        row.expect("a row")
    };
    let row = sum(&mut screen);
    assert!(row.contains("n06") && row.contains("  192  "), "{row}");
    screen.keys("z");
    screen.picture(BEFORE + 1, marks(BEFORE + 1));
    screen.keys("r");
    let row = sum(&mut screen);
    let count = |row: &str| row.split_whitespace().filter(|word| *word == "12").count();
    assert!(row.contains("n06") && count(&row) == 2 && !row.contains("204"), "{row}");
    // The row has the rate (12) and the sum since the reset (24).
    screen.picture(BEFORE + 2, marks(BEFORE + 2));
    screen.keys("r");
    let row = sum(&mut screen);
    assert!(count(&row) == 1 && row.contains("  24  "), "{row}");
}

#[test]
fn in_ascii_names_of_others_are_ascii_too() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Ascii);
    let hosts = || {
        let mut one = host("knoten-ä", &[]);
        one.connections = vec![mount("knoten-ä", "/mnt/日本", true)];
        vec![one, host("n02", &[])]
    };
    screen.picture(0, hosts());
    for keys in ["1", "i", "3", "i", "1/ä", "<Esc>:ä"] {
        screen.keys(keys);
        let text = screen.text((60, 20));
        assert!(text.is_ascii(), "after {keys}:\n{text}");
    }
    screen.keys("<Esc>3");
    assert!(screen.text((80, 24)).contains("/mnt/____"));
}

#[test]
fn a_change_is_listed_for_five_minutes() {
    let mut screen = screen(marks);
    let is_listed = |screen: &mut Screen| {
        screen.keys("5<Esc>/changed<Enter>");
        !screen.text((120, 40)).contains("No row matches")
    };
    assert!(is_listed(&mut screen));
    screen.picture(311, marks(311));
    assert!(is_listed(&mut screen));
    screen.picture(312, marks(312));
    assert!(!is_listed(&mut screen));
}

#[test]
fn every_view_is_drawn_in_every_size() {
    let mut screen = screen(marks);
    screen.event(Event::Matrix(matrix(6)));
    let sizes = [(0, 0), (1, 1), (20, 3), (40, 8), (41, 9), (500, 200), (0, 24), (80, 0)];
    for view in View::ALL {
        for keys in ["", "i", "?", "q<Esc>/", "<Esc>:", "<Esc>c", "<Esc>s", "<Esc>"] {
            screen.keys(&format!(
                "{}{keys}",
                if keys.is_empty() { view.number().to_string() } else { String::new() }
            ));
            for size in sizes {
                assert!(screen.text(size).lines().count() <= usize::from(size.1).max(1));
            }
        }
    }
}
