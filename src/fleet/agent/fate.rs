use std::time::Duration;

use super::Agent;
use super::reader::SILENCE;
use crate::clock::{self, Deadline};
use crate::fleet::remote_command;
use crate::model::ping::Life;
use crate::wire::Loss;

/// How long a host may take to run a one-line command over a session that stands.
const LOOK: Duration = Duration::from_secs(2);

/// What a look at the host over a new channel showed.
enum Look {
    /// The agent was there and has been killed.
    Killed,
    /// The host answers, and the agent is not there.
    Gone,
    /// The host answers, and its agent cannot be killed.
    Stays,
    /// The host does not answer.
    Silent(String),
}

impl Agent {
    /// Waits for a sign of life, or for the proof that none will come.
    pub(super) fn determine_life(&self) -> Life {
        let since = clock::now();
        let silent = self.inbox.lock().heard.elapsed();
        let patience = Deadline::after(SILENCE.saturating_sub(silent));
        let lives = self.inbox.wait(patience, |state| match state.loss {
            Some(loss) => Some(Some(loss)),
            None => (state.heard > since).then_some(None),
        });
        match lives {
            Some(None) => return Life::Alive,
            Some(Some(Loss::Hung)) => {
                return Life::Hung(
                    "its worker did not run for 1.5 s, though its supervisor did".into(),
                );
            }
            Some(Some(Loss::Ended)) => {
                return Life::Dead(
                    "its worker was killed or crashed; the host itself answers".into(),
                );
            }
            None => {}
        }
        let ended = self.inbox.broken().is_some();
        match (ended, self.look()) {
            (false, Look::Killed | Look::Stays) => {
                let seconds = SILENCE.as_secs();
                Life::Hung(format!(
                    "its agent did not run for {seconds} s, though the host's SSH service did"
                ))
            }
            (true, Look::Killed | Look::Stays | Look::Gone) | (false, Look::Gone) => {
                Life::Dead("its agent was killed or crashed; the host itself answers".into())
            }
            (_, Look::Silent(why)) => {
                Life::Dead(format!("neither its agent nor its SSH service answers: {why}"))
            }
        }
    }

    /// Makes sure that an agent that no longer listens is gone.
    pub(super) fn bury(&self) -> Result<(), String> {
        match self.look() {
            Look::Killed | Look::Gone => Ok(()),
            Look::Stays | Look::Silent(_) => Err(match self.inbox.lock().process {
                Some(process) => format!("pid {}", process.pid),
                None => "an agent that never said its pid".into(),
            }),
        }
    }

    /// Kills the agent over a new channel, unless its number belongs to another process by now.
    fn look(&self) -> Look {
        let Some(session) = &self.session else {
            // On this host the pipe's own thread kills the child.
            return Look::Killed;
        };
        let Some(process) = self.inbox.lock().process else {
            return Look::Silent("it never said which process it is".into());
        };
        let deadline = Deadline::after(LOOK);
        let command = remote_command::kill(process.pid, process.start_ticks);
        let ran = session.exec(&command, deadline).and_then(|pipe| {
            pipe.close_input();
            pipe.wait(deadline)
        });
        match ran {
            Ok(exit) => match exit.status {
                Some(0) => Look::Killed,
                Some(3 | 4) => Look::Gone,
                _ => Look::Stays,
            },
            Err(failure) => Look::Silent(failure.detail),
        }
    }
}
