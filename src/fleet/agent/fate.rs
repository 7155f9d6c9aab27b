use std::time::Duration;

use super::Agent;
use super::reader::SILENCE;
use super::way::Way;
use crate::clock::{self, Deadline};
use crate::fleet::Access;
use crate::fleet::remote_command::{self, Privilege};
use crate::model::ping::Life;
use crate::model::{HostFailure, Reason};
use crate::wire::Loss;

/// How long a host may take to run a one-line command over a session that stands, and the kernel
/// to end a killed child of this process.
pub(super) const LOOK: Duration = Duration::from_secs(2);

/// What a look at the agent showed, from beside its own pipe.
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
        let lives = loop {
            let patience = SILENCE.saturating_sub(self.inbox.silence());
            let lives = self.inbox.wait(Deadline::after(patience), |state| match state.loss {
                Some(loss) => Some(Some(loss)),
                None => (state.heard > since).then_some(None),
            });
            // When this process itself stood still, the agent has its patience anew.
            let is_over = self.inbox.broken().is_some() || self.inbox.silence() >= SILENCE;
            if lives.is_some() || is_over {
                break lives;
            }
        };
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
                let others = match &self.way {
                    Way::Here(_) => "this rdmactl on the same host".to_owned(),
                    Way::There(access, _) => format!("the host's {}", access.service()),
                };
                let seconds = SILENCE.as_secs();
                Life::Hung(format!("its agent did not run for {seconds} s, though {others} did"))
            }
            (true, Look::Killed | Look::Stays | Look::Gone) | (false, Look::Gone) => {
                let said = self.pipe.last_words();
                Life::Dead(format!(
                    "its agent was killed or crashed{said}; the host itself answers"
                ))
            }
            (_, Look::Silent(why)) => {
                let service = self.way.service();
                Life::Dead(format!("neither its agent nor its {service} answers: {why}"))
            }
        }
    }

    /// Why an agent that says nothing wrong did not send something in time: a host that answers is
    /// not dead.
    pub(super) fn too_late(&self, what: &str) -> HostFailure {
        let more = "give it more time with --timeout";
        match self.look() {
            Look::Killed | Look::Stays => HostFailure::new(
                Reason::Hung,
                format!("the agent did not send {what} in time, though the host itself answers"),
            )
            .fix(format!("{more}, or look for stopped processes there: ps -o stat,wchan")),
            Look::Gone | Look::Silent(_) => {
                HostFailure::new(Reason::Timeout, format!("the agent did not send {what}"))
                    .fix(more)
            }
        }
    }

    /// Makes sure that an agent that no longer listens is gone.
    pub(super) fn bury(&self) -> Result<(), String> {
        if matches!(self.way, Way::There(..)) && self.way.is_cancelled() {
            // The connection is cut: that ends the agent's input, and with it the agent.
            return Ok(());
        }
        match self.look() {
            Look::Killed | Look::Gone => Ok(()),
            Look::Stays | Look::Silent(_) => Err(match self.inbox.lock().process {
                Some(process) => format!("pid {}", process.pid),
                None => "an agent that never said its pid".into(),
            }),
        }
    }

    /// Kills the agent if it is still there.
    fn look(&self) -> Look {
        match &self.way {
            Way::Here(_) => self.look_here(),
            Way::There(access, privilege) => self.look_there(&**access, *privilege),
        }
    }

    /// The agent is a child of this process: its number cannot belong to another one.
    fn look_here(&self) -> Look {
        self.pipe.kill();
        match self.pipe.wait(Deadline::after(LOOK)) {
            Ok(exit) if exit.signal.is_some() => Look::Killed,
            Ok(_) => Look::Gone,
            Err(_) => Look::Stays,
        }
    }

    /// Over a new channel, and not when its number belongs to another process by now.
    fn look_there(&self, access: &dyn Access, privilege: Privilege) -> Look {
        let Some(process) = self.inbox.lock().process else {
            return Look::Silent("it never said which process it is".into());
        };
        let deadline = Deadline::after(LOOK);
        let command = remote_command::kill(process.pid, process.start_ticks, privilege);
        match access.run(&command, deadline) {
            Ok(exit) => match exit.status {
                Some(0) => Look::Killed,
                Some(3 | 4) => Look::Gone,
                _ => Look::Stays,
            },
            Err(failure) => Look::Silent(failure.detail),
        }
    }
}
