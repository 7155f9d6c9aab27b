//! Table of all keys. `keys` searches it; footer, help and man page print it.

use crossterm::event::KeyCode;

use super::{Action, Key, Press, Scope};
use crate::tui::view::View;

const fn named(code: KeyCode) -> Press {
    Press::Named(code)
}

/// Builds the table, one key per line: scope, presses, action, label in the footer, help.
macro_rules! keys {
    ($($scope:ident [$($press:expr),*] $action:expr, $label:literal, $help:literal;)*) => {
        /// All keys. The footer shows keys in this order.
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
    Tables [named(KeyCode::Enter), named(KeyCode::Right)] Action::Open, "open", "Open the row: the ports of a host, the details of a port, the subject of a problem; views 1 to 6 then show these hosts only";
    Tables [Press::Sign('/')] Action::Filter, "filter", "Show the rows that match a filter expression, for example state!=active and rate<400G, or that contain a word";
    Tables [Press::Sign('x')] Action::OnlyProblems, "problems only", "Show only rows with problems, or all rows";
    Tables [Press::Sign('s')] Action::Sort, "sort", "Choose the column to sort by; choose it again for descending order";
    Tables [Press::Sign('r')] Action::Reverse, "", "Reverse the order";
    Tables [Press::Sign('c')] Action::Columns, "columns", "Choose which columns are shown";
    Tables [Press::Sign('i')] Action::Inspect, "", "Show the details of the row";
    Tables [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One row up";
    Tables [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "One row down";
    Tables [named(KeyCode::PageUp), Press::Control('b')] Action::PageUp, "", "One screen up";
    Tables [named(KeyCode::PageDown), Press::Control('f')] Action::PageDown, "", "One screen down";
    Tables [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first row";
    Tables [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last row";

    Matrix [named(KeyCode::Enter), Press::Sign('i')] Action::Open, "open", "Show the details of the pair";
    Matrix [Press::Sign('o')] Action::Worst, "worst", "To the worst pair";
    Matrix [Press::Sign('p')] Action::Ping, "ping", "Test RDMA between every pair of hosts in the Hosts view, after a confirmation; during a test: stop the test";
    Matrix [Press::Sign('O')] Action::OpenMatrix, "open saved", "Open a matrix that was saved with W or with rdmactl ping --json";
    Matrix [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "The previous source";
    Matrix [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "The next source";
    Matrix [named(KeyCode::Left), Press::Sign('h')] Action::Left, "", "The previous target";
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

    Views [named(KeyCode::Esc), named(KeyCode::Backspace)] Action::Back, "back", "Back to the previous page; on the first page, remove all filters";
    Views [Press::Sign(' ')] Action::Freeze, "freeze", "Pause the screen, or return to live data; collection continues";
    Views [Press::Sign(':')] Action::Jump, "jump", "Go to a view, a host or a column by name";
    Views [Press::Sign('1')] Action::Show(View::Hosts), "", "Hosts: which hosts respond, and their worst problem";
    Views [Press::Sign('2')] Action::Show(View::Ports), "", "Ports: state, traffic and errors of each port";
    Views [Press::Sign('3')] Action::Show(View::Connections), "", "Connections: which use RDMA, which use TCP, and which fell back to TCP";
    Views [Press::Sign('4')] Action::Show(View::Matrix), "", "Matrix: whether RDMA works between every pair of hosts";
    Views [Press::Sign('5')] Action::Show(View::Problems), "", "Problems: what is wrong, worst first, and how to fix it";
    Views [Press::Sign('6')] Action::Show(View::Resources), "", "Resources: queue pairs and memory of each process";
    Views [named(KeyCode::Tab)] Action::NextView, "", "The next view";
    Views [named(KeyCode::BackTab)] Action::PreviousView, "", "The previous view";
    Views [Press::Sign('y')] Action::Copy, "", "Copy the selected row or pair, or the details, to the clipboard of the terminal";
    Views [Press::Sign('W')] Action::Save, "", "Save all rows of the page as text; a matrix as JSON";
    Views [Press::Sign('w')] Action::Record, "", "Record every sample to a file, or stop recording";
    Views [Press::Sign('[')] Action::Step(-1), "", "In a recording: one sample back";
    Views [Press::Sign(']')] Action::Step(1), "", "In a recording: one sample forward";
    Views [Press::Sign('{')] Action::Step(-10), "", "In a recording: ten samples back";
    Views [Press::Sign('}')] Action::Step(10), "", "In a recording: ten samples forward";
    Views [Press::Sign('(')] Action::Step(-60), "", "In a recording: sixty samples back";
    Views [Press::Sign(')')] Action::Step(60), "", "In a recording: sixty samples forward";
    Views [Press::Sign('<')] Action::Step(i32::MIN), "", "In a recording: to the first sample";
    Views [Press::Sign('>')] Action::Step(i32::MAX), "", "In a recording: to the last sample";
    Views [Press::Sign('z')] Action::Zero, "", "Set the error sums (ERR_SUM) to zero";
    Views [Press::Sign('m')] Action::Mouse, "", "Use the mouse in rdmactl, or in the terminal (select and copy text)";
    Views [Press::Sign('?')] Action::Help, "help", "Show this help";
    Views [Press::Sign('q')] Action::Quit, "quit", "Quit";
    Views [Press::Sign('Q')] Action::QuitKeeping, "", "Quit, and leave the last frame on the screen";

    Prompt [named(KeyCode::Enter)] Action::Accept, "accept", "Accept the text";
    Prompt [named(KeyCode::Esc)] Action::Cancel, "cancel", "Cancel without a change";
    Prompt [named(KeyCode::Tab)] Action::Complete, "complete", "Complete the selected name";
    Prompt [named(KeyCode::Up)] Action::Up, "", "The previous name";
    Prompt [named(KeyCode::Down)] Action::Down, "", "The next name";
    Prompt [named(KeyCode::Left)] Action::Left, "", "One character left";
    Prompt [named(KeyCode::Right)] Action::Right, "", "One character right";
    Prompt [named(KeyCode::Home), Press::Control('a')] Action::First, "", "To the start";
    Prompt [named(KeyCode::End), Press::Control('e')] Action::Last, "", "To the end";
    Prompt [named(KeyCode::Backspace), Press::Control('h')] Action::DeleteBefore, "", "Delete the character before the cursor";
    Prompt [named(KeyCode::Delete), Press::Control('d')] Action::DeleteAt, "", "Delete the character at the cursor";
    Prompt [Press::Control('u')] Action::Clear, "", "Delete the whole text";

    Picker [named(KeyCode::Enter)] Action::Accept, "accept", "Accept the column, and go back";
    Picker [Press::Sign(' ')] Action::Toggle, "choose", "Show or hide the column; or sort by it, again for descending order";
    Picker [Press::Sign('u')] Action::Usual, "defaults", "Show the default columns";
    Picker [named(KeyCode::Esc), Press::Sign('q')] Action::Cancel, "back", "Go back";
    Picker [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One column up";
    Picker [named(KeyCode::Down), Press::Sign('j')] Action::Down, "", "One column down";
    Picker [named(KeyCode::PageUp)] Action::PageUp, "", "One screen up";
    Picker [named(KeyCode::PageDown)] Action::PageDown, "", "One screen down";
    Picker [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first column";
    Picker [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last column";

    Help [named(KeyCode::Esc), Press::Sign('q'), Press::Sign('?')] Action::Cancel, "back", "Go back";
    Help [Press::Sign('/')] Action::Filter, "search", "Show only lines that contain the text";
    Help [named(KeyCode::Up), Press::Sign('k')] Action::Up, "", "One line up";
    Help [named(KeyCode::Down), Press::Sign('j')] Action::Down, "scroll", "One line down";
    Help [named(KeyCode::PageUp), Press::Control('b')] Action::PageUp, "", "One screen up";
    Help [named(KeyCode::PageDown), Press::Control('f'), Press::Sign(' ')] Action::PageDown, "", "One screen down";
    Help [named(KeyCode::Home), Press::Sign('g')] Action::First, "", "To the first line";
    Help [named(KeyCode::End), Press::Sign('G')] Action::Last, "", "To the last line";

    Ask [Press::Sign('y')] Action::Accept, "yes", "Do it";
    Ask [Press::Sign('n'), named(KeyCode::Esc), Press::Sign('q'), named(KeyCode::Enter)] Action::Cancel, "no", "Do not do it";

    Everywhere [Press::Control('c')] Action::Quit, "", "Quit immediately";
    Everywhere [Press::Control('z')] Action::Suspend, "", "Suspend rdmactl; its agents on the hosts end, and start again after fg";
}
