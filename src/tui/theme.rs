//! Colors: maps a value to a [`Token`], and a [`Token`] to a style.
//!
//! Every token has a word or a mark beside it, so that a theme without colors shows the same.

use ratatui::style::{Color, Modifier, Style};

use crate::model::{PerSecond, Severity};
use crate::query::{Value, ValueMeaning};

/// Meaning of a piece of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Plain,
    Ok,
    Warn,
    Bad,
    Unknown,
    /// Position of the operator, and text to type.
    Accent,
    /// Less important text, or stale data.
    Dim,
    Rx,
    Tx,
    Heading,
    Selected,
}

/// Set of colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// The 16 colors of the terminal.
    Auto,
    /// Colors for a light background.
    Light,
    /// Colors for a dark background.
    Dark,
    /// Blue and orange instead of green and red.
    ColorBlind,
    /// No color.
    Mono,
}

impl Theme {
    pub(super) fn style(self, token: Token) -> Style {
        let style = Style { fg: self.color(token), ..Style::new() };
        let style = style.add_modifier(self.modifier(token));
        // A dimmed selection would be hard to read.
        if token == Token::Selected { style.remove_modifier(Modifier::DIM) } else { style }
    }

    fn color(self, token: Token) -> Option<Color> {
        // Indexed colors belong to the 256 colors that common terminals support.
        let [ok, warn, bad, unknown, accent, dim, rx, tx] = match self {
            Self::Mono => return None,
            // Gray can be the background of a 16-color set, so dim text gets a modifier instead.
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
            // Palette of Okabe and Ito, approximated in 256 colors.
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

/// Returns the token of a value in a column of this meaning.
pub(super) fn tone(meaning: ValueMeaning, value: &Value) -> Token {
    match (meaning, value) {
        (_, Value::Bad(_) | Value::BadInt(_)) => Token::Bad,
        (ValueMeaning::Severity, Value::Text(word)) => match word.as_str() {
            word if word == Severity::Warn.word() => Token::Warn,
            word if [Severity::Info.word(), Severity::Past.word()].contains(&word) => Token::Dim,
            _ => Token::Unknown,
        },
        (_, Value::Failed) => Token::Unknown,
        // A count of 0 unwanted events needs no attention.
        (_, Value::Absent)
        | (ValueMeaning::Unwanted, Value::Int(0) | Value::PerSecond(PerSecond(0))) => Token::Dim,
        (ValueMeaning::State, Value::Text(word)) => match word.as_str() {
            "up" | "ACTIVE" | "ok" | "RDMA" => Token::Ok,
            "connecting" => Token::Warn,
            _ => Token::Plain,
        },
        (ValueMeaning::Received, _) => Token::Rx,
        (ValueMeaning::Sent, _) => Token::Tx,
        (ValueMeaning::Unwanted, Value::PerSecond(_)) => Token::Bad,
        (ValueMeaning::Unwanted, Value::Int(_)) => Token::Warn,
        (ValueMeaning::Fix, _) => Token::Accent,
        _ => Token::Plain,
    }
}

#[test]
fn mono_theme_has_no_colors() {
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
fn traffic_colors_differ_from_the_error_color() {
    let levels = |colour: Option<Color>| match colour {
        // Color cube of 6 x 6 x 6.
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
fn dim_text_keeps_the_foreground_color_of_the_terminal() {
    let style = Theme::Auto.style(Token::Dim);
    assert_eq!((style.fg, style.add_modifier), (None, Modifier::DIM));
}
