//! Key presses: converts events of crossterm, and formats keys for the footer and the help.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// Letter or sign; Shift is part of the sign.
    Sign(char),
    /// Letter with Control.
    Control(char),
    /// Key with a name.
    Named(KeyCode),
}

impl Press {
    /// Returns the press of an event; `None` for a release, and for Alt with a letter.
    pub fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        match event.code {
            KeyCode::Char(sign) if event.modifiers.contains(KeyModifiers::CONTROL) => {
                Some(Self::Control(sign.to_ascii_lowercase()))
            }
            KeyCode::Char(_) if event.modifiers.contains(KeyModifiers::ALT) => None,
            KeyCode::Char(sign) => Some(Self::Sign(sign)),
            code => Some(Self::Named(code)),
        }
    }
}

impl fmt::Display for Press {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sign(' ') => out.write_str("Space"),
            Self::Sign(sign) => write!(out, "{sign}"),
            Self::Control(sign) => write!(out, "^{}", sign.to_ascii_uppercase()),
            Self::Named(code) => out.write_str(match code {
                KeyCode::Enter => "Enter",
                KeyCode::Esc => "Esc",
                KeyCode::Tab => "Tab",
                KeyCode::BackTab => "Shift-Tab",
                KeyCode::Backspace => "Backspace",
                KeyCode::Delete => "Del",
                KeyCode::Up => "Up",
                KeyCode::Down => "Down",
                KeyCode::Left => "Left",
                KeyCode::Right => "Right",
                KeyCode::PageUp => "PgUp",
                KeyCode::PageDown => "PgDn",
                KeyCode::Home => "Home",
                KeyCode::End => "End",
                _ => "?",
            }),
        }
    }
}

#[test]
fn a_released_key_is_no_press() {
    let key = KeyEvent::new(KeyCode::Char('C'), KeyModifiers::CONTROL);
    assert_eq!(Press::of(key), Some(Press::Control('c')));
    let gone = KeyEvent { kind: KeyEventKind::Release, ..key };
    assert_eq!(Press::of(gone), None);
    let shifted = KeyEvent::new(KeyCode::Char('Q'), KeyModifiers::SHIFT);
    assert_eq!(Press::of(shifted), Some(Press::Sign('Q')));
}
