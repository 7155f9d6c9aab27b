//! Compares screens of `rdmactl top` with committed files. Review each difference before
//! `RDMACTL_BLESS=1` rewrites a file.
#![expect(clippy::expect_used, reason = "a test without its fixtures fails")]

use std::collections::BTreeSet;

#[path = "support/committed.rs"]
mod committed;
#[path = "top/moves.rs"]
mod moves;
#[path = "top/pictures.rs"]
mod pictures;
#[path = "top/recorded.rs"]
mod recorded;
#[path = "top/screen.rs"]
mod screen;

use committed::{compare, package};
use pictures::{
    Host, connecting, empty, fleet, host, marks, matrix, mount, not_read, one, packets, removed,
};
use proptest::prelude::*;
use rdmactl::model::{HostFailure, HostReport, Reason, check};
use rdmactl::tui::{
    Effect, Event, Glyphs, KEYS, Notice, RecordingPosition, Theme, Timeline, View, ViewSettings,
};
use screen::Screen;

/// Number of samples before the sample that a test compares.
const BEFORE: u64 = 15;

/// Name of a group of hosts, and function that returns the hosts at a second.
type Fleet = (&'static str, fn(u64) -> Vec<Host>);

const FLEETS: [Fleet; 5] = [
    ("empty", empty),
    ("one", one),
    ("connecting", connecting),
    ("fleet", fleet),
    ("marks", marks),
];

fn screen(hosts: fn(u64) -> Vec<Host>) -> Screen {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    for second in 0..=BEFORE {
        screen.picture(second, hosts(second));
    }
    screen
}

/// Compares the screen in two sizes with a committed file.
fn assert_shown(name: &str, screen: &mut Screen) -> Option<String> {
    let both: String =
        [(80, 24), (120, 40)].map(|size| format!("{}\n", screen.shown(size))).concat();
    compare(&package(&format!("tests/top/{name}.txt")), &both)
}

fn assert_all_shown(failures: impl IntoIterator<Item = Option<String>>) {
    let failures: Vec<String> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_view_of_every_fleet_is_shown() {
    let mut failures = Vec::new();
    for (name, hosts) in FLEETS {
        let mut screen = screen(hosts);
        match name {
            "fleet" => screen.event(Event::Matrix(matrix(64))),
            "marks" => screen.event(Event::Matrix(matrix(6))),
            _ => Vec::new(),
        };
        for view in View::ALL {
            screen.keys(&view.number().to_string());
            let name = format!("{}_{name}", view.name().to_lowercase());
            failures.push(assert_shown(&name, &mut screen));
        }
    }
    assert_all_shown(failures);
}

#[test]
fn a_matrix_without_hosts_is_no_sign_that_hosts_are_well() {
    let mut screen = screen(|_| Vec::new());
    screen.event(Event::Matrix(matrix(6)));
    let mut failures = Vec::new();
    for view in [View::Hosts, View::Matrix, View::Problems] {
        screen.keys(&view.number().to_string());
        let name = format!("{}_matrix_only", view.name().to_lowercase());
        failures.push(assert_shown(&name, &mut screen));
    }
    assert_all_shown(failures);
}

#[test]
fn a_removed_device_is_red_and_what_is_over_is_listed_as_past() {
    let mut screen = screen(removed);
    assert_all_shown(
        [("hosts_removed", "1"), ("ports_removed", "2"), ("problems_removed", "5")].map(
            |(name, keys)| {
                screen.keys(keys);
                assert_shown(name, &mut screen)
            },
        ),
    );
    screen.keys("1");
    let text = screen.text((120, 40));
    let row = |name: &str| text.lines().find(|line| line.contains(name)).expect("a row").to_owned();
    assert!(row("n01").contains("device_gone !") && row("n01").contains("0/1 !"), "{text}");
    assert!(row("n01").contains("mlx5_0 gone 14:13:32Z"), "{text}");
    assert!(row("n02").contains("up ") && row("n02").contains("1/1 "), "{text}");
    assert!(text.contains("problems 1 !"), "{text}");
    screen.keys("5");
    let text = screen.text((120, 40));
    for expected in [
        "the device was removed; first missing at 14:13:32Z",
        "the device was removed for 4 s, until 14:13:29Z",
        "did not respond (timeout) for 3 s, until 14:13:26Z",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // With x, only current problems are listed.
    screen.keys("x");
    let text = screen.text((120, 40));
    assert!(text.contains("first missing") && !text.contains("until 14:13:29Z"), "{text}");
}

#[test]
fn a_selected_row_does_not_invert_its_trend() {
    let mut screen = screen(|second| {
        let mut hosts = one(second);
        // The port has no counters.
        for port in hosts[0].report.devices.iter_mut().flat_map(|device| &mut device.ports) {
            port.counters = None;
        }
        hosts
    });
    screen.keys("2");
    let shown = screen.shown((120, 40));
    let (text, styles) = shown.split_once("--- styles\n").expect("text and styles");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let at = lines.iter().position(|line| line.starts_with('>')).expect("a selected row");
    let trend = lines[at - 1].find("RX TREND").expect("a heading");
    // Each cell has a letter for its style. Plain cells at the end of a line have no letter.
    let look = |x: usize| styles.lines().nth(at).and_then(|line| line.chars().nth(x));
    let reversed = look(0).expect("the mark of the selected row is reversed");
    assert!(styles.contains(&format!("{reversed} REVERSED")), "{shown}");
    assert_eq!(look(trend - 2), Some(reversed), "{shown}");
    for x in trend..trend + 8 {
        assert_ne!(look(x), Some(reversed), "{x}: {shown}");
    }
}

#[test]
fn a_value_of_hosts_that_were_not_read_is_unknown_and_not_zero() {
    let mut lost = screen(not_read);
    let first = lost.text((120, 40)).lines().next().map(str::to_owned).unwrap_or_default();
    assert!(first.contains("?/4 hosts up !"), "{first}");
    assert!(first.contains("RDMA ?  TCP ?  4 hosts not read"), "{first}");
    let mut new = screen(|second| connecting(second).split_off(1));
    let first = new.text((120, 40)).lines().next().map(str::to_owned).unwrap_or_default();
    assert!(first.contains("?/2 hosts up, 2 connecting  problems ?  RDMA ?  TCP ?"), "{first}");
    let mut some = screen(connecting);
    let first = some.text((120, 40)).lines().next().map(str::to_owned).unwrap_or_default();
    assert!(first.contains("1/3 hosts up, 2 connecting"), "{first}");
    assert!(first.contains("RDMA 2  TCP 0"), "{first}");
}

#[test]
fn a_view_offers_only_columns_that_top_reads() {
    let mut screen = screen(fleet);
    for keys in ["3c<End>", "<Esc>s<End>", "<Esc>?<End>"] {
        screen.keys(keys);
        let text = screen.text((120, 60));
        assert!(text.contains("MISSING") && text.contains("EVIDENCE"), "{text}");
        assert!(!text.contains("LEAF_SWITCH") && !text.contains("REMOTE_PORT"), "{text}");
    }
    screen.keys("q/remote=sw1");
    let text = screen.text((120, 40));
    assert!(text.contains("top does not read rdma.remote; rdmactl connections does"), "{text}");
}

#[test]
fn where_no_bytes_are_counted_packets_are_shown() {
    let mut screen = screen(packets);
    assert_all_shown(
        [("hosts_packets", "1"), ("ports_packets", "2"), ("detail_packets", "i")].map(
            |(name, keys)| {
                screen.keys(keys);
                assert_shown(name, &mut screen)
            },
        ),
    );
}

#[test]
fn every_view_shows_what_it_waits_for() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    assert_all_shown(View::ALL.map(|view| {
        screen.keys(&view.number().to_string());
        assert_shown(&format!("{}_loading", view.name().to_lowercase()), &mut screen)
    }));
}

#[test]
fn every_view_has_its_help() {
    let mut screen = screen(fleet);
    assert_all_shown(View::ALL.map(|view| {
        screen.keys(&format!("{}?", view.number()));
        let failure = assert_shown(&format!("{}_help", view.name().to_lowercase()), &mut screen);
        screen.keys("q");
        failure
    }));
}

#[test]
fn an_invalid_filter_is_marked_and_the_last_valid_one_stays() {
    let mut screen = screen(fleet);
    let tables = View::ALL.into_iter().filter(|view| *view != View::Matrix);
    assert_all_shown(tables.map(|view| {
        screen.keys(&format!("{}/", view.number()));
        // The first word alone is a valid filter expression.
        screen.keys("n and speed=4");
        let failure = assert_shown(&format!("{}_error", view.name().to_lowercase()), &mut screen);
        screen.keys("<Esc>");
        failure
    }));
}

#[test]
fn all_that_is_known_of_a_row_is_shown() {
    let mut screen = screen(marks);
    screen.event(Event::Matrix(matrix(6)));
    let cases = [
        ("detail_port", "2:n06<Enter><Enter>"),
        ("detail_port_of_silent_host", "1:n03<Enter><Enter>"),
        ("detail_host", "1:n06<Enter><Esc>i"),
        ("detail_connection", "3/fallback<Enter><Enter>"),
        ("detail_finding", "5i"),
        ("detail_process", "6/ib_write_bw<Enter><Enter>"),
        ("drill_matrix", "4<Enter>"),
        ("drill_finding", "5/fallen and n07 or scratch<Enter><Enter>"),
    ];
    assert_all_shown(cases.map(|(name, keys)| {
        screen.keys("1<Esc>2<Esc>3<Esc>5<Esc>6<Esc>");
        screen.keys(keys);
        assert_shown(name, &mut screen)
    }));
}

#[test]
fn prompts_pickers_and_questions_are_shown() {
    let mut failures = Vec::new();
    let cases = [
        ("jump", "2:n1"),
        ("picker_sort", "2sjjj"),
        ("picker_columns", "2cjj"),
        ("sorted", "2s<Home>jjjjjjjjjj<Enter>"),
        ("problems_only", "2x"),
        ("nothing_fits", "2/nowhere<Enter>"),
        ("help_search", "2?/column"),
        ("frozen", "2 "),
        ("matrix_ask", "4p"),
        ("matrix_open", "4O/tmp/matrix.json"),
    ];
    for (name, keys) in cases {
        let mut screen = screen(fleet);
        screen.keys(keys);
        failures.push(assert_shown(name, &mut screen));
    }
    assert_all_shown(failures);
}

#[test]
fn other_themes_and_signs_say_the_same() {
    let mut failures = Vec::new();
    for (name, theme, glyphs) in [
        ("mono_ascii", Theme::Mono, Glyphs::Ascii),
        ("colour_blind", Theme::ColorBlind, Glyphs::Utf8),
        ("light", Theme::Light, Glyphs::Utf8),
        ("dark", Theme::Dark, Glyphs::Utf8),
    ] {
        let mut screen = Screen::new(theme, glyphs);
        for second in 0..=BEFORE {
            screen.picture(second, marks(second));
        }
        screen.keys("2");
        failures.push(assert_shown(name, &mut screen));
    }
    assert_all_shown(failures);
}

#[test]
fn without_colour_no_cell_has_one() {
    let mut screen = Screen::new(Theme::Mono, Glyphs::Utf8);
    for second in 0..=BEFORE {
        screen.picture(second, marks(second));
    }
    screen.event(Event::Matrix(matrix(6)));
    for keys in ["1", "2", "3", "4", "5", "6", "?", "q2s", "<Esc>c", "<Esc>i", "1:n", "<Esc>/x="] {
        screen.keys(keys);
        let colours = screen.colours((120, 40));
        assert!(colours.is_empty(), "after {keys}: {colours:?}");
    }
}

#[test]
fn only_ascii_is_drawn_if_it_is_requested() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Ascii);
    for second in 0..=BEFORE {
        screen.picture(second, fleet(second));
    }
    screen.event(Event::Matrix(matrix(64)));
    for keys in ["1", "2", "i", "3", "4", "5", "6", "?", "q2s<Enter>", "1:n"] {
        screen.keys(keys);
        let text = screen.shown((120, 40));
        assert!(text.is_ascii(), "after {keys}:\n{text}");
    }
}

#[test]
fn a_small_terminal_shows_the_required_size() {
    let mut screen = screen(fleet);
    assert!(screen.text((39, 8)).starts_with("need 40x8, have 39x8"));
    assert!(screen.text((40, 8)).starts_with(" 63/64 hosts up !"));
    assert_eq!(screen.text((0, 0)), "");
}

#[test]
fn a_chosen_row_stays_chosen_when_other_rows_change() {
    let mut screen = screen(fleet);
    screen.keys("1jjjj");
    assert_eq!(screen.chosen().as_deref(), Some("n05"));
    screen.keys("s<Enter>r");
    assert_eq!(screen.chosen().as_deref(), Some("n05"));
    screen.keys("/n05 or n2<Enter>");
    assert_eq!(screen.chosen().as_deref(), Some("n05"));
    // The row is removed: the row below it becomes the chosen row and stays chosen.
    screen.keys("/<^U>n2<Enter>");
    let neighbour = screen.chosen();
    assert!(neighbour.as_deref().is_some_and(|host| host.starts_with("n2")), "{neighbour:?}");
    screen.picture(BEFORE + 1, fleet(BEFORE + 1));
    assert_eq!(screen.chosen(), neighbour);
}

#[test]
fn a_frozen_sample_stays_when_new_samples_arrive() {
    let mut screen = screen(marks);
    screen.keys("2 ");
    let before = screen.text((120, 40));
    assert!(before.contains("FROZEN"));
    screen.picture(BEFORE + 1, fleet(BEFORE + 1));
    let after = screen.text((120, 40));
    // Only the age in the header changes.
    assert_eq!(
        before.lines().skip(1).collect::<Vec<_>>(),
        after.lines().skip(1).collect::<Vec<_>>()
    );
    screen.keys(" ");
    assert!(screen.text((120, 40)).contains("n64") || screen.text((120, 40)).contains("128 rows"));
}

#[test]
fn keys_with_outside_effects_return_the_effect() {
    let mut screen = screen(fleet);
    assert_eq!(screen.keys("q"), [Effect::Quit { keep_frame: false }]);
    assert_eq!(screen.keys("Q"), [Effect::Quit { keep_frame: true }]);
    assert_eq!(screen.keys("/abc<^C>"), [Effect::Quit { keep_frame: false }]);
    assert_eq!(screen.keys("<Esc><^Z>"), [Effect::Suspend]);
    assert_eq!(screen.keys("ww"), [Effect::Record(true), Effect::Record(false)]);
    assert_eq!(screen.keys("mm"), [Effect::FollowMouse(true), Effect::FollowMouse(false)]);
    assert_eq!(screen.keys("4O/tmp/x<Enter>"), [Effect::OpenMatrix("/tmp/x".into())]);
    assert_eq!(screen.keys("p<Enter>"), [], "no ping without a confirmation");
    let [Effect::Ping(hosts)] = &screen.keys("py")[..] else { panic!("y starts a ping") };
    // The unresponsive host is not tested.
    assert_eq!(hosts.len(), 63);
    assert_eq!(screen.keys("p"), [Effect::CancelPing]);
    screen.event(Event::PingEnded);
    let [Effect::Copy(row)] = &screen.keys("1y")[..] else { panic!("y copies") };
    assert!(row.starts_with("n01\tup"), "{row}");
    let [Effect::Save { stem, extension, text }] = &screen.keys("2W")[..] else {
        panic!("W saves")
    };
    assert_eq!((stem.as_str(), *extension), ("rdmactl-ports", "txt"));
    assert_eq!(text.lines().count(), 130, "all rows, not only those in view:\n{text}");
    let origin = text.lines().next().expect("where it is from");
    assert_eq!(origin, "rdmactl top: Ports, 2026-09-21 14:13:35Z, 128 of 128 rows");
    assert!(text.contains("~47 s  n23"), "no age of the unresponsive host:\n{text}");
    assert_eq!(screen.keys("["), [], "only a recording is stepped through");
}

#[test]
fn up_key_at_the_end_of_a_text_scrolls_one_line() {
    let mut screen = screen(marks);
    for keys in ["?", "q2/n06<Enter><Enter>"] {
        screen.keys(keys);
        let first = screen.text((80, 24));
        screen.keys("<End>");
        let end = screen.text((80, 24));
        screen.keys("<Down>");
        assert_eq!(screen.text((80, 24)), end);
        screen.keys("<Up>");
        assert_ne!(screen.text((80, 24)), end);
        screen.keys("<Home>");
        assert_eq!(screen.text((80, 24)), first);
    }
}

#[test]
fn ping_covers_the_shown_hosts_and_runs_until_ping_ended() {
    let mut screen = screen(fleet);
    screen.keys("1/n1<Enter>");
    let [Effect::Ping(hosts)] = &screen.keys("4py")[..] else { panic!("y starts a ping") };
    let expected: Vec<String> = (10..20).map(|number| format!("n{number}")).collect();
    assert_eq!(*hosts, expected);
    let shows =
        |screen: &mut Screen| screen.text((80, 24)).contains("testing RDMA between 10 hosts");
    assert!(shows(&mut screen));
    screen.event(Event::Notice(Notice { text: "no disk".into(), is_bad: true }));
    assert!(shows(&mut screen), "the notice has another source than the ping");
    screen.event(Event::PingEnded);
    assert!(!shows(&mut screen));
}

#[test]
fn a_recording_is_stepped_through() {
    let settings = ViewSettings {
        theme: Theme::Auto,
        glyphs: Glyphs::Utf8,
        timeline: Timeline::Recording,
        may_upload: true,
        waiting_for: "a recording".into(),
    };
    let mut screen = Screen::with(settings);
    let at = |position, is_paused| RecordingPosition { position, count: 20, is_paused };
    let shown = screen.prepared(fleet, 5);
    screen.show(shown.clone().at(at(6, true)));
    let text = screen.text((80, 24));
    let header = text.lines().next().expect("a header");
    assert!(header.ends_with("PAUSED  6/20  2026-09-21 14:13:25Z"), "{header}");
    screen.show(shown.at(at(6, false)));
    assert!(screen.text((120, 40)).contains("REPLAY  6/20"));
    let steps = [-1, 1, -10, 10, -60, 60].map(Effect::Step);
    assert_eq!(screen.keys("[]{}()"), steps);
    assert_eq!(screen.letter('<'), [Effect::Step(i32::MIN)]);
    assert_eq!(screen.letter('>'), [Effect::Step(i32::MAX)]);
    assert_eq!(screen.keys(" "), [Effect::PlayOrPause]);
    assert_eq!(screen.keys("w4p"), [], "a recording is neither recorded nor pinged");
}

#[test]
fn a_capture_is_of_its_own_time_and_neither_played_nor_recorded() {
    let settings = ViewSettings {
        theme: Theme::Auto,
        glyphs: Glyphs::Utf8,
        timeline: Timeline::Capture,
        may_upload: true,
        waiting_for: "the capture".into(),
    };
    let mut screen = Screen::with(settings);
    screen.picture(5, fleet(5));
    assert_eq!(screen.keys(" [wp"), []);
    let header = screen.text((80, 24)).lines().next().map(str::to_owned);
    assert!(
        header.as_ref().is_some_and(|it| it.ends_with("CAPTURE  2026-09-21 14:13:25Z")),
        "{header:?}"
    );
}

#[test]
fn stepping_back_to_a_fallback_shows_its_mark() {
    let mut screen = screen(marks);
    screen.keys("3");
    let row = |screen: &mut Screen| {
        let text = screen.text((120, 40));
        text.lines().find(|line| line.contains("/scratch")).map(str::to_owned)
    };
    let there = screen.prepared(marks, 12).after(screen.past(marks, 0..=11));
    screen.show(there);
    let back = row(&mut screen).expect("the mount");
    assert!(back.contains('*') && back.contains("was RDMA, ok"), "{back}");
    // At the sample before the fallback, the change is not known.
    let there = screen.prepared(marks, 11).after(screen.past(marks, 0..=10));
    screen.show(there);
    let before = row(&mut screen).expect("the mount");
    assert!(!before.contains('*') && !before.contains("was RDMA"), "{before}");
}

#[test]
fn a_wall_clock_that_is_set_back_takes_no_trend_away() {
    let mut screen = screen(fleet);
    screen.keys("2");
    let trend = |screen: &mut Screen| screen.text((120, 40)).lines().nth(4).map(str::to_owned);
    let before = trend(&mut screen).expect("a port");
    screen.picture_at(BEFORE + 1, 3, fleet(BEFORE + 1));
    let after = trend(&mut screen).expect("a port");
    let levels = |line: &str| line.chars().filter(|letter| ('▁'..='█').contains(letter)).count();
    assert!(levels(&after) >= levels(&before) && levels(&before) > 5, "{before}\n{after}");
}

#[test]
fn change_in_a_skipped_sample_is_shown_in_the_next_sample() {
    let mut screen = screen(marks);
    screen.keys("3");
    let missed = screen.prepared(marks, 11).after(screen.past(marks, 0..=10));
    screen.miss(missed);
    screen.show(screen.prepared(marks, 12));
    let text = screen.text((120, 40));
    let row = text.lines().find(|line| line.contains("/scratch")).expect("the mount");
    assert!(row.contains("was RDMA, ok"), "{row}");
}

#[test]
fn a_fallback_is_marked_when_it_happens_and_is_a_problem() {
    let mut screen = screen(marks);
    // The mount fell back to TCP in second 12, three seconds ago.
    screen.keys("3");
    let text = screen.text((120, 40));
    let row = text.lines().find(|line| line.contains("/scratch")).expect("the mount");
    assert!(row.contains('*') && row.contains("fallback_confirmed !"), "{row}");
    assert!(row.contains("was RDMA, ok"), "{row}");
    screen.wait(BEFORE + 8);
    let text = screen.text((120, 40));
    let row = text.lines().find(|line| line.contains("/scratch")).expect("the mount");
    assert!(!row.contains('*'), "the mark fades: {row}");
    screen.keys("5/changed<Enter>");
    assert!(screen.text((120, 40)).contains("was RDMA, ok; is TCP, fallback_confirmed"));
}

#[test]
fn nothing_is_called_good_while_hosts_are_still_connecting() {
    let mut screen = screen(connecting);
    for view in ["5", "3"] {
        screen.keys(view);
        let text = screen.text((120, 40));
        assert!(!text.contains("No problem found"), "{text}");
        assert!(text.contains("no problem yet"), "{text}");
    }
    screen.picture(BEFORE + 1, one(BEFORE + 1));
    screen.keys("5");
    let text = screen.text((120, 40));
    assert!(text.contains("no problem ") && text.contains("1 of 1 host responded"), "{text}");
}

#[test]
fn connections_of_an_unresponsive_host_are_not_counted() {
    let mut screen = screen(fleet);
    // 64 hosts have two mounts each. Two mounts fell back, and one host does not respond.
    assert!(screen.text((120, 40)).contains("RDMA 124  TCP 2"));
}

#[test]
fn problem_filter_shows_every_port_with_a_problem() {
    let mut screen = screen(marks);
    screen.keys("2x");
    let text = screen.text((120, 40));
    for row in ["n02", "n03", "n04", "n06", "n08"] {
        assert!(text.lines().any(|line| line.contains(row)), "{row}: {text}");
    }
    assert!(!text.lines().any(|line| line.contains("n01")), "{text}");
}

#[test]
fn no_two_rows_have_one_key() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    for hosts in [marks(0), recorded::hosts(None)] {
        screen.picture(0, hosts);
        for view in View::ALL.into_iter().filter(|view| *view != View::Matrix) {
            screen.keys(&view.number().to_string());
            screen.keys("<Home>");
            let mut known = Vec::new();
            while let Some(chosen) = screen.chosen().filter(|one| known.last() != Some(one)) {
                assert!(!known.contains(&chosen), "{chosen} in {}", view.name());
                known.push(chosen);
                screen.keys("j");
            }
            // The number of rows on the screen is the number of different keys.
            let count = screen.text((120, 40));
            let rows = format!(" {} row", known.len());
            assert!(known.is_empty() || count.contains(&rows), "{rows}: {count}");
        }
    }
}

#[test]
fn each_problem_is_a_finding_of_a_check() {
    let mut screens: Vec<Screen> = FLEETS.iter().map(|(_, hosts)| screen(*hosts)).collect();
    screens.extend([screen(packets), screen(removed), screen(not_read)]);
    let mut captures = Screen::new(Theme::Auto, Glyphs::Utf8);
    captures.picture(0, recorded::hosts(None));
    screens.push(captures);
    let mut codes = BTreeSet::new();
    for screen in &mut screens {
        screen.keys("5<Home>");
        let mut before = None;
        while screen.chosen() != before {
            before = screen.chosen();
            let code = before.as_deref().and_then(|key| key.split(' ').next()).expect("a code");
            assert!(check(code).is_some(), "{code}");
            codes.insert(code.to_owned());
            screen.keys("j");
        }
    }
    for code in ["connection.changed", "device.gone", "host.silent", "port.errors"] {
        assert!(codes.contains(code), "{code}: {codes:?}");
    }
}

#[test]
fn a_mount_that_comes_back_as_another_is_a_change() {
    let hosts = |second: u64| {
        let mut all: Vec<Host> = ["n01", "n02"].map(|name| host(name, &[])).into();
        for one in &mut all {
            let name = one.report.host.clone();
            one.connections = match second {
                0..5 => vec![mount(&name, "/scratch", true)],
                5..8 => Vec::new(),
                _ => vec![mount(&name, "/scratch", false)],
            };
        }
        all
    };
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    for second in 0..9 {
        screen.picture(second, hosts(second));
    }
    screen.keys("3");
    let text = screen.text((120, 40));
    assert!(text.lines().any(|line| line.starts_with(">*")), "{text}");
    screen.keys("5/changed<Enter>");
    let text = screen.text((120, 40));
    // The change is equal on both hosts, so it is one finding.
    assert!(text.contains("n[01-02]") && text.contains("was RDMA, ok; is TCP"), "{text}");
}

#[test]
fn escape_sequences_in_names_from_hosts_are_escaped() {
    let mut screen = screen(marks);
    screen.keys("3");
    let text = screen.text((120, 40));
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert!(text.contains("/evil\\x1b[2J\\u{202e}name"), "{text}");
}

#[test]
fn a_host_that_never_answered_has_a_row_with_the_reason() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    let failed = |_| {
        let failure = HostFailure::new(Reason::Refused, "port 22 is closed");
        let report = HostReport::failed("n99", failure.clone());
        vec![Host { report, answered_s: None, failure: Some(failure), connections: Vec::new() }]
    };
    screen.picture(0, failed(0));
    let text = screen.text((80, 24));
    assert!(text.contains("refused !") && text.contains("No reply so far."), "{text}");
}

#[test]
fn recorded_client_of_many_servers_is_drawn_in_every_view() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    screen.picture(0, recorded::hosts(Some("consumers_client")));
    assert_all_shown(View::ALL.map(|view| {
        screen.keys(&view.number().to_string());
        assert_shown(&format!("{}_recorded", view.name().to_lowercase()), &mut screen)
    }));
}

#[test]
fn recorded_reports_are_drawn_without_control_characters() {
    let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
    for second in 0..2 {
        screen.picture(second, recorded::hosts(None));
    }
    for view in View::ALL.into_iter().filter(|view| *view != View::Matrix) {
        screen.keys(&view.number().to_string());
        let mut before = None;
        // Draws each row, and the details of each row.
        while screen.chosen() != before {
            before = screen.chosen();
            for keys in ["", "i<End>"] {
                screen.keys(keys);
                let text = screen.text((90, 30));
                let is_safe = |letter: char| letter == '\n' || !letter.is_control();
                assert!(text.chars().all(is_safe), "{before:?}: {text}");
            }
            screen.keys("<Esc>j");
        }
    }
}

/// Event of a random test.
#[derive(Debug, Clone)]
enum Step {
    Keys(&'static str),
    Letter(char),
    Size(u16, u16),
    Sample(usize),
    Mouse(u16, u16),
    Matrix,
    Second,
}

fn any_step() -> impl Strategy<Value = Step> {
    let named = [
        "<Enter>",
        "<Esc>",
        "<Tab>",
        "<BackTab>",
        "<Backspace>",
        "<Delete>",
        "<Up>",
        "<Down>",
        "<Left>",
        "<Right>",
        "<Home>",
        "<End>",
        "<PageUp>",
        "<PageDown>",
        "<^U>",
        "<^A>",
        "<^E>",
        "<^B>",
        "<^F>",
        "/state!=active<Enter>",
        ":n1<Enter>",
        "s<Down><Enter>",
        "c <Down> <Esc>",
        "4py",
    ];
    prop_oneof![
        4 => prop::sample::select(named.to_vec()).prop_map(Step::Keys),
        8 => prop::char::range(' ', '~').prop_map(Step::Letter),
        1 => any::<char>().prop_map(Step::Letter),
        2 => (0..=500_u16, 0..=200_u16).prop_map(|(columns, rows)| Step::Size(columns, rows)),
        2 => (38..=130_u16, 6..=50_u16).prop_map(|(columns, rows)| Step::Size(columns, rows)),
        2 => (0..FLEETS.len()).prop_map(Step::Sample),
        1 => (0..=500_u16, 0..=200_u16).prop_map(|(column, row)| Step::Mouse(column, row)),
        1 => Just(Step::Matrix),
        1 => Just(Step::Second),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Draws a frame of any size after any events.
    #[test]
    fn random_inputs_draw_no_control_characters(steps in prop::collection::vec(any_step(), 1..50)) {
        let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
        let (mut size, mut second) = ((80, 24), 0);
        for step in steps {
            match step {
                Step::Keys(keys) => drop(screen.keys(keys)),
                Step::Letter(letter) => drop(screen.letter(letter)),
                Step::Size(columns, rows) => size = (columns, rows),
                Step::Sample(fleet) => {
                    second += 1;
                    screen.picture(second, FLEETS[fleet].1(second));
                }
                Step::Mouse(column, row) => {
                    screen.click(column, row);
                }
                Step::Matrix => drop(screen.event(Event::Matrix(matrix(9)))),
                Step::Second => {
                    second += 1;
                    screen.wait(second);
                }
            }
            let text = screen.text(size);
            prop_assert!(!text.lines().any(|line| line.contains(char::is_control)), "{text}");
        }
    }

    /// The chosen row stays chosen for each order, size and sample. The first row also stays
    /// chosen.
    #[test]
    fn a_chosen_row_is_kept(
        view in prop::sample::select(vec!["1", "2", "3", "5", "6"]),
        row in 0..9_usize,
        steps in prop::collection::vec(
            prop::sample::select(vec!["s<Down><Enter>", "s<Enter>", "r", "c<Down> <Esc>", "/x<Esc>", "2", "1", "?q", ""]),
            1..12,
        ),
    ) {
        let mut screen = Screen::new(Theme::Auto, Glyphs::Utf8);
        let mut second = 0;
        screen.picture(second, marks(second));
        screen.keys(view);
        screen.keys(&format!("j{}k", "j".repeat(row)));
        let chosen = screen.chosen();
        for keys in steps {
            screen.keys(keys);
            second += 1;
            // The hosts do not change before second 12.
            screen.picture(second % 12, marks(second % 12));
            screen.text((40 + u16::try_from(row).expect("a small number"), 12));
            screen.keys(view);
            prop_assert_eq!(screen.chosen(), chosen.clone());
        }
        // The chosen row is visible.
        let text = screen.text((80, 24));
        prop_assert!(text.lines().any(|line| line.starts_with('>')), "{}", text);
    }
}

#[test]
fn the_keys_in_the_documentation_are_those_of_the_program() {
    let mut lines = vec![
        "# The keys of `rdmactl top`".to_owned(),
        String::new(),
        "Made from src/tui/keys/table.rs by `RDMACTL_BLESS=1 cargo test --test top`.".to_owned(),
    ];
    let mut before = None;
    for key in KEYS {
        if before != Some(key.scope) {
            let heading =
                format!("\n## {}\n\n| key | what it does |\n|---|---|", key.scope.title());
            lines.push(heading);
            before = Some(key.scope);
        }
        let presses: Vec<String> = key.presses.iter().map(|press| format!("`{press}`")).collect();
        lines.push(format!("| {} | {} |", presses.join(", "), key.help));
    }
    let text = lines.join("\n") + "\n";
    let failure = compare(&package("docs/top_keys.md"), &text);
    assert!(failure.is_none(), "{failure:?}");
}

#[test]
fn each_view_keeps_its_own_filter() {
    let mut screen = screen(fleet);
    screen.keys("2/state!=active<Enter>3");
    let connections = screen.text((120, 40));
    assert!(!connections.contains("state!=active") && connections.contains("/scratch"));
    screen.keys("/transport==tcp<Enter>5");
    assert!(!screen.text((120, 40)).contains("transport==tcp"));
    screen.keys("2");
    assert!(screen.text((120, 40)).contains("state!=active"));
    screen.keys("3");
    assert!(screen.text((120, 40)).contains("transport==tcp"));
    // A filter that is being typed also belongs to its view.
    screen.keys("<Esc>3/user==nfs<Esc>2");
    assert!(!screen.text((120, 40)).contains("user==nfs"));
}
