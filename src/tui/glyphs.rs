//! Characters for marks and graphs, in two sets: UTF-8 and ASCII.

/// Set of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// UTF-8 with block characters.
    Utf8,
    /// ASCII only.
    Ascii,
}

impl Glyphs {
    fn choose<T>(self, utf8: T, ascii: T) -> T {
        match self {
            Self::Utf8 => utf8,
            Self::Ascii => ascii,
        }
    }

    /// Returns the levels of a sparkline above zero, from the lowest.
    pub(super) fn levels(self) -> &'static [&'static str] {
        self.choose(&["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"], &[":", "-", "=", "+", "*", "#"])
    }

    /// Returns the glyph of a zero sample, which differs from a missing sample.
    pub(super) fn zero(self) -> &'static str {
        self.choose("·", ".")
    }

    /// Returns the level of a part of a whole; a value above 0 never looks like 0.
    pub(super) fn level(self, part: u64, whole: u64) -> &'static str {
        let levels = self.levels();
        if part == 0 {
            return self.zero();
        }
        let share = u128::from(part) * levels.len() as u128;
        let index = share.div_ceil(u128::from(whole.max(1))).max(1) - 1;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        levels[index.min(levels.len() - 1)]
    }

    /// Returns the glyphs of slowness in a matrix, from the fastest.
    pub(super) fn heat(self) -> &'static [&'static str] {
        self.choose(&["·", "░", "▒", "▓", "█"], &[".", ":", "+", "*", "#"])
    }

    pub(super) fn ellipsis(self) -> &'static str {
        // `~` marks warnings and stale data.
        self.choose("…", "..")
    }

    /// Returns the arrow of a sort order: smallest first, or largest first if `is_reversed`.
    pub(super) fn order(self, is_reversed: bool) -> &'static str {
        if is_reversed { self.choose("▼", "v") } else { self.choose("▲", "^") }
    }

    /// Returns a filled and an empty cell of a bar.
    pub(super) fn bar(self) -> [&'static str; 2] {
        self.choose(["█", "░"], ["#", "."])
    }
}

#[test]
fn nonzero_value_never_has_the_zero_glyph() {
    for glyphs in [Glyphs::Utf8, Glyphs::Ascii] {
        assert_eq!(glyphs.level(0, 100), glyphs.zero());
        assert_eq!(glyphs.level(1, u64::MAX), glyphs.levels()[0]);
        assert_eq!(glyphs.level(u64::MAX, u64::MAX), glyphs.levels()[glyphs.levels().len() - 1]);
        // A counter may exceed the rate of its port.
        assert_eq!(glyphs.level(9, 1), glyphs.levels()[glyphs.levels().len() - 1]);
        assert_eq!(glyphs.level(9, 0), glyphs.levels()[glyphs.levels().len() - 1]);
        assert!(!glyphs.levels().contains(&glyphs.zero()) && !glyphs.levels().contains(&" "));
    }
}
