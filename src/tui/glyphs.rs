//! Signs that are drawn, in two sets: for terminals that show UTF-8, and for those that may not.

/// A set of signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks.
    Utf8,
    /// Nothing but ASCII.
    Ascii,
}

impl Glyphs {
    /// The levels of a sparkline above nothing, from the lowest.
    #[must_use]
    pub fn levels(self) -> &'static [&'static str] {
        match self {
            Self::Utf8 => &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
            Self::Ascii => &[":", "-", "=", "+", "*", "#"],
        }
    }

    /// A sample of nothing, which is not a missing one.
    #[must_use]
    pub fn zero(self) -> &'static str {
        match self {
            Self::Utf8 => "·",
            Self::Ascii => ".",
        }
    }

    /// The level of a share of the whole; what is not nothing never looks like it.
    #[must_use]
    pub fn level(self, part: u64, whole: u64) -> &'static str {
        let levels = self.levels();
        if part == 0 {
            return self.zero();
        }
        let share = u128::from(part) * levels.len() as u128;
        let index = share.div_ceil(u128::from(whole.max(1))).max(1) - 1;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        levels[index.min(levels.len() - 1)]
    }

    /// The heat of a cell in a matrix, from the coolest.
    #[must_use]
    pub fn heat(self) -> &'static [&'static str] {
        match self {
            Self::Utf8 => &["·", "░", "▒", "▓", "█"],
            Self::Ascii => &[".", ":", "+", "*", "#"],
        }
    }

    /// What stands for text that is cut off.
    #[must_use]
    pub fn ellipsis(self) -> &'static str {
        match self {
            Self::Utf8 => "…",
            // `~` means doubtful.
            Self::Ascii => "..",
        }
    }

    /// The direction of an order: the smallest or the largest first.
    #[must_use]
    pub fn order(self, is_reversed: bool) -> &'static str {
        match (self, is_reversed) {
            (Self::Utf8, false) => "▲",
            (Self::Utf8, true) => "▼",
            (Self::Ascii, false) => "^",
            (Self::Ascii, true) => "v",
        }
    }

    /// A filled and an empty part of a bar.
    #[must_use]
    pub fn bar(self) -> [&'static str; 2] {
        match self {
            Self::Utf8 => ["█", "░"],
            Self::Ascii => ["#", "."],
        }
    }

    /// A line from left to right.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::Utf8 => "─",
            Self::Ascii => "-",
        }
    }
}

#[test]
fn what_is_not_nothing_never_looks_like_it() {
    for glyphs in [Glyphs::Utf8, Glyphs::Ascii] {
        assert_eq!(glyphs.level(0, 100), glyphs.zero());
        assert_eq!(glyphs.level(1, u64::MAX), glyphs.levels()[0]);
        assert_eq!(glyphs.level(u64::MAX, u64::MAX), glyphs.levels()[glyphs.levels().len() - 1]);
        // A counter may run ahead of the rate of its port.
        assert_eq!(glyphs.level(9, 1), glyphs.levels()[glyphs.levels().len() - 1]);
        assert_eq!(glyphs.level(9, 0), glyphs.levels()[glyphs.levels().len() - 1]);
        assert!(!glyphs.levels().contains(&glyphs.zero()) && !glyphs.levels().contains(&" "));
    }
}
