//! What things look like: a meaning in, a style out.
//!
//! Every meaning has a word or a mark beside it, so that a theme without colours loses nothing.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of the screen means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Nothing in particular.
    Plain,
    /// It is as it should be.
    Ok,
    /// It may be wrong.
    Warn,
    /// It is wrong.
    Bad,
    /// Nobody knows.
    Unknown,
    /// Where the operator is, and what can be typed.
    Accent,
    /// Less important than what is beside it; old.
    Dim,
    /// What comes in.
    Rx,
    /// What goes out.
    Tx,
    /// A heading.
    Heading,
    /// The row or cell that is chosen.
    Selected,
}

/// A set of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// The terminal's own sixteen colours, whatever they are.
    Auto,
    /// For a light background.
    Light,
    /// For a dark background.
    Dark,
    /// Blue and orange instead of green and red.
    ColorBlind,
    /// No colour at all.
    Mono,
}

impl Theme {
    /// How a meaning is shown.
    #[must_use]
    pub fn style(self, token: Token) -> Style {
        let style = match self.colour(token) {
            Some(colour) => Style::new().fg(colour),
            None => Style::new(),
        };
        let style = style.add_modifier(self.modifier(token));
        // What is chosen is legible, whatever it is.
        if token == Token::Selected { style.remove_modifier(Modifier::DIM) } else { style }
    }

    fn colour(self, token: Token) -> Option<Color> {
        // Indexed colours are of the 256 that every terminal of today has.
        let [ok, warn, bad, unknown, accent, dim, rx, tx] = match self {
            Self::Mono => return None,
            // Grey is the background in some sets of sixteen: what is less important is dimmed.
            Self::Auto if token == Token::Dim => return None,
            Self::Auto => [
                Color::Green,
                Color::Yellow,
                Color::Red,
                Color::Magenta,
                Color::Cyan,
                Color::Reset,
                Color::Cyan,
                Color::Green,
            ],
            Self::Dark => [114, 221, 210, 183, 117, 245, 117, 114].map(Color::Indexed),
            Self::Light => [28, 130, 160, 90, 25, 242, 25, 28].map(Color::Indexed),
            // Okabe and Ito's palette, as near as the 256 colours come.
            Self::ColorBlind => [33, 220, 208, 175, 74, 245, 74, 36].map(Color::Indexed),
        };
        match token {
            Token::Plain | Token::Heading | Token::Selected => None,
            Token::Ok => Some(ok),
            Token::Warn => Some(warn),
            Token::Bad => Some(bad),
            Token::Unknown => Some(unknown),
            Token::Accent => Some(accent),
            Token::Dim => Some(dim),
            Token::Rx => Some(rx),
            Token::Tx => Some(tx),
        }
    }

    fn modifier(self, token: Token) -> Modifier {
        match token {
            Token::Heading | Token::Bad => Modifier::BOLD,
            Token::Selected => Modifier::REVERSED,
            Token::Accent if self == Self::Mono => Modifier::UNDERLINED,
            Token::Dim if matches!(self, Self::Mono | Self::Auto) => Modifier::DIM,
            _ => Modifier::empty(),
        }
    }
}

#[test]
fn without_colour_there_is_none() {
    let tokens = [Token::Ok, Token::Warn, Token::Bad, Token::Unknown, Token::Accent, Token::Dim];
    for token in tokens.into_iter().chain([Token::Rx, Token::Tx, Token::Heading, Token::Selected]) {
        let style = Theme::Mono.style(token);
        assert_eq!((style.fg, style.bg), (None, None), "{token:?}");
    }
}

#[test]
fn good_and_bad_never_look_the_same() {
    for theme in [Theme::Auto, Theme::Light, Theme::Dark, Theme::ColorBlind, Theme::Mono] {
        let looks = [Token::Ok, Token::Bad].map(|token| theme.style(token));
        assert_ne!(looks[0], looks[1], "{theme:?}");
    }
}

#[test]
fn what_flows_looks_like_nothing_that_is_bad() {
    let levels = |colour: Option<Color>| match colour {
        // The cube of 6 x 6 x 6 colours.
        Some(Color::Indexed(index @ 16..232)) => {
            let index = i32::from(index) - 16;
            [index / 36, index / 6 % 6, index % 6]
        }
        other => unreachable!("{other:?}"),
    };
    for theme in [Theme::Light, Theme::Dark, Theme::ColorBlind] {
        let bad = levels(theme.style(Token::Bad).fg);
        for token in [Token::Rx, Token::Tx, Token::Ok] {
            let other = levels(theme.style(token).fg);
            let apart: i32 = bad.iter().zip(other).map(|(one, other)| (one - other).abs()).sum();
            assert!(apart >= 3, "{token:?} in {theme:?}");
        }
    }
}

#[test]
fn what_is_dim_has_the_colour_of_the_terminal() {
    let style = Theme::Auto.style(Token::Dim);
    assert_eq!((style.fg, style.add_modifier), (None, Modifier::DIM));
}
