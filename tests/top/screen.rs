//! Screen of `rdmactl top` without a terminal: takes keys, and returns text and styles.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use rdmactl::clock;
use rdmactl::tui::{
    Effect, Event, Glyphs, Past, Prepared, Sample, Snapshots, State, Theme, Timeline, View,
    ViewSettings, draw,
};

use crate::pictures::{Host, picture};

/// State of `top`, with a simulated clock.
pub(crate) struct Screen {
    state: State,
    scenes: Snapshots,
    begin: Instant,
    at: Instant,
}

impl Screen {
    pub(crate) fn new(theme: Theme, glyphs: Glyphs) -> Self {
        let waiting_for = "64 hosts".to_owned();
        let timeline = Timeline::Live(Duration::from_secs(1));
        Self::with(ViewSettings { theme, glyphs, timeline, may_upload: true, waiting_for })
    }

    pub(crate) fn with(settings: ViewSettings) -> Self {
        // Hosts have ages of minutes, and an `Instant` cannot precede the boot of the machine.
        let begin = clock::now() + Duration::from_secs(10_000);
        Self { state: State::new(settings, begin), scenes: Snapshots::default(), begin, at: begin }
    }

    pub(crate) fn event(&mut self, event: Event) -> Vec<Effect> {
        self.state.update(self.at, event)
    }

    /// Shows the sample of a second.
    pub(crate) fn picture(&mut self, second: u64, hosts: Vec<Host>) {
        self.at = self.begin + Duration::from_secs(second);
        self.show(Prepared::of(picture(self.begin, second, hosts)));
    }

    /// Shows the sample of a second with another wall-clock time.
    pub(crate) fn picture_at(&mut self, second: u64, wall_s: u64, hosts: Vec<Host>) {
        self.at = self.begin + Duration::from_secs(second);
        let taken_ns = picture(self.begin, wall_s, Vec::new()).taken_ns;
        let shown = picture(self.begin, second, hosts);
        self.show(Prepared::of(Arc::new(Sample { taken_ns, ..Sample::clone(&shown) })));
    }

    /// Shows a prepared sample.
    pub(crate) fn show(&mut self, prepared: Prepared) {
        let scene = self.scenes.next(prepared);
        self.event(Event::Snapshot(scene));
    }

    /// Adds a sample that is not shown, because the next sample arrives first.
    pub(crate) fn miss(&mut self, prepared: Prepared) {
        self.scenes.next(prepared);
    }

    /// Returns the prepared sample of a second.
    pub(crate) fn prepared(&self, hosts: fn(u64) -> Vec<Host>, second: u64) -> Prepared {
        Prepared::of(picture(self.begin, second, hosts(second)))
    }

    /// Returns the history of some seconds.
    pub(crate) fn past(&self, hosts: fn(u64) -> Vec<Host>, seconds: RangeInclusive<u64>) -> Past {
        let mut past = Past::default();
        seconds.for_each(|second| past.push(&picture(self.begin, second, hosts(second))));
        past
    }

    /// Advances the clock to a second.
    pub(crate) fn wait(&mut self, second: u64) {
        self.at = self.begin + Duration::from_secs(second);
        self.event(Event::Tick);
    }

    /// Presses keys: `/n1<Enter>`, `<^C>`.
    pub(crate) fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut rest = keys;
        while let Some(letter) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (event, behind) = if let Some((name, behind)) = named {
                (key_named(name), behind)
            } else {
                let event = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
                (event, &rest[letter.len_utf8()..])
            };
            effects.extend(self.event(Event::Key(event)));
            rest = behind;
        }
        effects
    }

    /// Presses a letter, which may be `<`.
    pub(crate) fn letter(&mut self, letter: char) -> Vec<Effect> {
        self.event(Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)))
    }

    /// Clicks at a cell, and turns the wheel there.
    pub(crate) fn click(&mut self, column: u16, row: u16) {
        for kind in [MouseEventKind::Down(MouseButton::Left), MouseEventKind::ScrollDown] {
            let modifiers = KeyModifiers::NONE;
            self.event(Event::Mouse(MouseEvent { kind, column, row, modifiers }));
        }
    }

    pub(crate) fn chosen(&self) -> Option<String> {
        self.state.chosen()
    }

    pub(crate) fn view(&self) -> View {
        self.state.view()
    }

    fn draw(&mut self, (columns, rows): (u16, u16)) -> Buffer {
        self.event(Event::Resize(columns, rows));
        let mut terminal =
            Terminal::new(TestBackend::new(columns, rows)).expect("a backend in memory");
        terminal.draw(|frame| draw(&self.state, frame)).expect("a backend in memory");
        terminal.backend().buffer().clone()
    }

    /// Draws a frame. Returns its text without spaces at the ends of lines.
    pub(crate) fn text(&mut self, size: (u16, u16)) -> String {
        let buffer = self.draw(size);
        lines(&buffer, |cell| cell.symbol().to_owned())
    }

    /// Draws a frame. Returns its text, a letter for the style of each cell, and the styles of
    /// the letters.
    pub(crate) fn shown(&mut self, size: (u16, u16)) -> String {
        let buffer = self.draw(size);
        let mut known: Vec<String> = vec![String::new()];
        let letters = lines(&buffer, |cell| {
            let style = style(cell);
            let at = known.iter().position(|one| *one == style).unwrap_or_else(|| {
                known.push(style);
                known.len() - 1
            });
            if at == 0 { " ".to_owned() } else { letter(at).to_string() }
        });
        let text = lines(&buffer, |cell| cell.symbol().to_owned());
        let entries = known.iter().enumerate().skip(1);
        let entries: Vec<String> =
            entries.map(|(at, style)| format!("{} {style}\n", letter(at))).collect();
        let legend = entries.concat();
        let (columns, rows) = size;
        format!("=== {columns}x{rows}\n{text}\n--- styles\n{letters}\n---\n{legend}")
    }

    /// Draws a frame. Returns the colors of all cells.
    pub(crate) fn colours(&mut self, size: (u16, u16)) -> Vec<Color> {
        let buffer = self.draw(size);
        let all = buffer.content().iter().flat_map(|cell| [cell.fg, cell.bg]);
        all.filter(|colour| *colour != Color::Reset).collect()
    }
}

fn letter(at: usize) -> char {
    char::from(b'a' + u8::try_from(at - 1).expect("few styles"))
}

fn style(cell: &Cell) -> String {
    let mut words = Vec::new();
    if cell.fg != Color::Reset {
        words.push(format!("{:?}", cell.fg));
    }
    if cell.bg != Color::Reset {
        words.push(format!("on {:?}", cell.bg));
    }
    if cell.modifier != Modifier::empty() {
        words.push(format!("{:?}", cell.modifier));
    }
    words.join(" ")
}

fn lines(buffer: &Buffer, mut cell: impl FnMut(&Cell) -> String) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let line = |row: &[Cell]| row.iter().map(&mut cell).collect::<String>().trim_end().to_owned();
    buffer.content().chunks(width).map(line).collect::<Vec<_>>().join("\n")
}

fn key_named(name: &str) -> KeyEvent {
    if let Some(letter) = name.strip_prefix('^').and_then(|rest| rest.chars().next()) {
        let letter = letter.to_ascii_lowercase();
        return KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    }
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "Backspace" => KeyCode::Backspace,
        "Delete" => KeyCode::Delete,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PageUp" => KeyCode::PageUp,
        "PageDown" => KeyCode::PageDown,
        other => unreachable!("no key {other}"),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}
