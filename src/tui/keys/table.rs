use crossterm::event::KeyCode;

use super::{Action, Key, Press, Scope};
use crate::tui::view::View;

const fn named(code: KeyCode) -> Press {
    Press::Named(code)
}

/// Writes keys, one a line: where, which, what, the word in the footer, the sentence in the help.
macro_rules! keys {
    ($($scope:ident [$($press:expr),*] $action:expr, $label:literal, $help:literal;)*) => {
        /// Every key; those of the footer in the order in which they are shown there.
        pub const KEYS: &[Key] = &[$(Key {
            scope: Scope::$scope,
            presses: &[$($press),*],
            action: $action,
            label: $label,
            help: $help,
        },)*];
    };
}

keys! {
    Tables [named(KeyCode::Enter), named(KeyCode::Right)] Action::Open, "open", "Go into the row: a host's ports, all of a port, what a finding is about; 1 to 6 then keep to these hosts";
    Tables [Press::Sign('/')] Action::Filter, "filter", "Keep rows for which a condition holds, as in state!=active and rate<400G, or a word";
    Tables [Press::Sign('x')] Action::OnlyProblems, "problems only", "Keep rows with problems only, or all";
    Tables [Press::Sign('s')] Action::Sort, "sort", "Choose the column that decides on the order; once more for the other way round";
    Tables [Press::Sign('r')] Action::Reverse, "", "Turn the order round";
    Tables [Press::Sign('c')] Action::Columns, "columns", "Choose which columns are shown";
    Tables [Press::Sign('i')] Action::Inspect, "", "Show all that is known of the row";
    Tables [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One row up";
    Tables [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "One row down";
    Tables [named(KeyCode::PageUp), Press::Control('b')] Action::PageUp, "", "One screen up";
    Tables [named(KeyCode::PageDown), Press::Control('f')] Action::PageDown, "", "One screen down";
    Tables [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first row";
    Tables [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last row";

    Matrix [named(KeyCode::Enter), Press::Sign('i')] Action::Open, "open", "Show all that is known of the pair";
    Matrix [Press::Sign('o')] Action::Worst, "worst", "To the worst pair that there is";
    Matrix [Press::Sign('p')] Action::Ping, "ping", "Test RDMA between every two hosts of the Hosts view, after a confirmation; during a test: end it";
    Matrix [Press::Sign('O')] Action::OpenMatrix, "open saved", "Show a matrix that W or rdmactl ping --json has saved";
    Matrix [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "The source before";
    Matrix [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "The next source";
    Matrix [named(KeyCode::Left), Press::Sign('h')] Action::Left, "", "The target before";
    Matrix [named(KeyCode::Right), Press::Sign('l')] Action::Right, "", "The next target";
    Matrix [named(KeyCode::PageUp)] Action::PageUp, "", "One screen up";
    Matrix [named(KeyCode::PageDown)] Action::PageDown, "", "One screen down";
    Matrix [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first pair";
    Matrix [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last pair";

    Detail [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One line up";
    Detail [named(KeyCode::Down), Press::Sign('j')] Action::Down, "scroll", "One line down";
    Detail [named(KeyCode::PageUp), Press::Control('b')] Action::PageUp, "", "One screen up";
    Detail [named(KeyCode::PageDown), Press::Control('f')] Action::PageDown, "", "One screen down";
    Detail [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first line";
    Detail [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last line";

    Views [named(KeyCode::Esc), named(KeyCode::Backspace)] Action::Back, "back", "Back to where this was opened from; with nothing to go back to, take all conditions off";
    Views [Press::Sign(' ')] Action::Freeze, "freeze", "Pause the screen, or return to live data; collection continues";
    Views [Press::Sign(':')] Action::Jump, "jump", "Go to a view, a host or a column by its name";
    Views [Press::Sign('1')] Action::Show(View::Hosts), "", "Hosts: which are there, and what is wrong with them";
    Views [Press::Sign('2')] Action::Show(View::Ports), "", "Ports: what goes through each, scaled to its rate";
    Views [Press::Sign('3')] Action::Show(View::Connections), "", "Connections: who uses RDMA, who TCP, and who fell back";
    Views [Press::Sign('4')] Action::Show(View::Matrix), "", "Matrix: does RDMA work between every two hosts";
    Views [Press::Sign('5')] Action::Show(View::Problems), "", "Problems: what is wrong, worst first, and what to type";
    Views [Press::Sign('6')] Action::Show(View::Resources), "", "Resources: which process holds which queue pairs and memory";
    Views [named(KeyCode::Tab)] Action::NextView, "", "The next view";
    Views [named(KeyCode::BackTab)] Action::PreviousView, "", "The view before";
    Views [Press::Sign('y')] Action::Copy, "", "Copy the chosen row or pair, or what the pane shows, into the clipboard of the terminal";
    Views [Press::Sign('W')] Action::Save, "", "Save what is shown as text, all rows of it; a matrix as JSON";
    Views [Press::Sign('w')] Action::Record, "", "Record every sample into a file, or stop the recording";
    Views [Press::Sign('[')] Action::Step(-1), "", "In a recording: one sample back";
    Views [Press::Sign(']')] Action::Step(1), "", "In a recording: one sample forward";
    Views [Press::Sign('{')] Action::Step(-10), "", "In a recording: ten pictures back";
    Views [Press::Sign('}')] Action::Step(10), "", "In a recording: ten pictures on";
    Views [Press::Sign('(')] Action::Step(-60), "", "In a recording: sixty pictures back";
    Views [Press::Sign(')')] Action::Step(60), "", "In a recording: sixty pictures on";
    Views [Press::Sign('<')] Action::Step(i32::MIN), "", "In a recording: to the first sample";
    Views [Press::Sign('>')] Action::Step(i32::MAX), "", "In a recording: to the last sample";
    Views [Press::Sign('z')] Action::Zero, "", "Count errors (ERR_SUM) from this moment on";
    Views [Press::Sign('m')] Action::Mouse, "", "Follow the mouse, or leave it to the terminal";
    Views [Press::Sign('?')] Action::Help, "help", "Show this help";
    Views [Press::Sign('q')] Action::Quit, "quit", "Leave";
    Views [Press::Sign('Q')] Action::QuitKeeping, "", "Leave, and keep the last frame on the screen";

    Prompt [named(KeyCode::Enter)] Action::Accept, "take it", "Take what was typed";
    Prompt [named(KeyCode::Esc)] Action::Cancel, "leave it", "Leave everything as it was";
    Prompt [named(KeyCode::Tab)] Action::Complete, "complete", "Fill in the name that is chosen";
    Prompt [named(KeyCode::Up)] Action::Up, "", "The name before";
    Prompt [named(KeyCode::Down)] Action::Down, "", "The next name";
    Prompt [named(KeyCode::Left)] Action::Left, "", "One letter to the left";
    Prompt [named(KeyCode::Right)] Action::Right, "", "One letter to the right";
    Prompt [named(KeyCode::Home), Press::Control('a')] Action::First, "", "To the first letter";
    Prompt [named(KeyCode::End), Press::Control('e')] Action::Last, "", "Behind the last letter";
    Prompt [named(KeyCode::Backspace), Press::Control('h')] Action::DeleteBefore, "", "Delete the letter before";
    Prompt [named(KeyCode::Delete), Press::Control('d')] Action::DeleteAt, "", "Delete the letter here";
    Prompt [Press::Control('u')] Action::Clear, "", "Delete everything";

    Picker [named(KeyCode::Enter)] Action::Accept, "take it", "Take the column, and go back";
    Picker [Press::Sign(' ')] Action::Toggle, "choose", "Show the column or hide it; or sort by it, and once more the other way round";
    Picker [Press::Sign('u')] Action::Usual, "usual ones", "Show the usual columns again";
    Picker [named(KeyCode::Esc), Press::Sign('q')] Action::Cancel, "back", "Go back";
    Picker [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One column up";
    Picker [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "One column down";
    Picker [named(KeyCode::PageUp)] Action::PageUp, "", "One screen up";
    Picker [named(KeyCode::PageDown)] Action::PageDown, "", "One screen down";
    Picker [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first column";
    Picker [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last column";

    Help [named(KeyCode::Esc), Press::Sign('q'), Press::Sign('?')] Action::Cancel, "back", "Go back";
    Help [Press::Sign('/')] Action::Filter, "search", "Keep lines that have some words";
    Help [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One line up";
    Help [named(KeyCode::Down), Press::Sign('j')] Action::Down, "scroll", "One line down";
    Help [named(KeyCode::PageUp), Press::Control('b')] Action::PageUp, "", "One screen up";
    Help [named(KeyCode::PageDown), Press::Control('f'), Press::Sign(' ')] Action::PageDown, "", "One screen down";
    Help [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first line";
    Help [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last line";

    Ask [Press::Sign('y')] Action::Accept, "yes", "Do it";
    Ask [Press::Sign('n'), named(KeyCode::Esc), Press::Sign('q'), named(KeyCode::Enter)] Action::Cancel, "no", "Leave it";

    Everywhere [Press::Control('c')] Action::Quit, "", "Leave at once";
    Everywhere [Press::Control('z')] Action::Suspend, "", "Suspend rdmactl; agents end, and start again after fg";
}
