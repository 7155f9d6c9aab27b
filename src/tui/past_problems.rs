//! Past problems: hosts that did not respond, removed devices, ports without a link.
//!
//! A finding disappears with its cause, so an operator who looked away would miss it. This module
//! keeps each state from its first sample to its end, and lists it as past. [`super::changes`]
//! keeps connections and errors, and uses this module.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::Sample;
use crate::analyse::check::failed_state_check;
use crate::clock;
use crate::model::{PortState, Reason, Subject};

const LISTED_FOR: Duration = Duration::from_secs(3_600);

const MAX_ONGOING: usize = 10_000;
const MAX_PAST: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(super) struct PastProblems {
    ongoing: BTreeMap<(usize, Subject), OngoingProblem>,
    /// Past states, the oldest first.
    past: VecDeque<EndedProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OngoingProblem {
    code: &'static str,
    what: String,
    since_ns: u64,
}

#[derive(Debug, Clone)]
pub(super) struct EndedProblem {
    pub(super) host: usize,
    pub(super) subject: Subject,
    pub(super) code: &'static str,
    /// Description of the state, its duration and its end.
    pub(super) what: String,
    /// Number of times that the state occurred.
    count: u32,
    at: Instant,
}

impl PastProblems {
    pub(super) fn compare(&mut self, sample: &Sample) {
        self.past.retain(|past| sample.at.saturating_duration_since(past.at) < LISTED_FOR);
        for host in 0..sample.reports.len() {
            let now = states(sample, host);
            // The states of an unresponsive host are unknown and may last.
            let is_silent = sample.failure(host).is_some();
            let first = (host, Subject::Host);
            let known: Vec<(Subject, &str)> = self
                .ongoing
                .range(first..)
                .take_while(|((of, _), _)| *of == host)
                .map(|((_, subject), was)| (subject.clone(), was.code))
                .collect();
            let is_over = |(subject, code): &(Subject, &str)| {
                let lasts = now.iter().any(|(still, same, _)| still == subject && same == code);
                !lasts && (!is_silent || *subject == Subject::Host)
            };
            for (subject, _) in known.into_iter().filter(is_over) {
                if let Some(was) = self.ongoing.remove(&(host, subject.clone())) {
                    self.end(host, subject, &was, sample);
                }
            }
            for (subject, code, what) in now {
                if self.ongoing.len() < MAX_ONGOING {
                    let new = OngoingProblem { code, what, since_ns: sample.taken_ns };
                    self.ongoing.entry((host, subject)).or_insert(new);
                }
            }
        }
    }

    /// Returns the past states, the latest first.
    pub(super) fn past(&self) -> impl Iterator<Item = &EndedProblem> {
        self.past.iter().rev()
    }

    fn end(&mut self, host: usize, subject: Subject, was: &OngoingProblem, sample: &Sample) {
        let is_it = |past: &EndedProblem| {
            past.host == host && past.code == was.code && past.subject == subject
        };
        let before = self.past.iter().position(is_it).and_then(|at| self.past.remove(at));
        let count = before.map_or(1, |before| before.count.saturating_add(1));
        let lasted = sample.taken_ns.saturating_sub(was.since_ns) / 1_000_000_000;
        let until = clock::utc_time(sample.taken_ns);
        let often = if count == 1 { String::new() } else { format!(" (occurred {count} times)") };
        let lasted = if lasted == 0 { "less than 1 s".to_owned() } else { format!("{lasted} s") };
        let what = format!("{} for {lasted}, until {until}{often}", was.what);
        if self.past.len() == MAX_PAST {
            self.past.pop_front();
        }
        let (code, at) = (was.code, sample.at);
        self.past.push_back(EndedProblem { host, subject, code, what, count, at });
    }
}

/// Returns the problem states of a host: subject, code, and description in the past tense.
fn states(sample: &Sample, host: usize) -> Vec<(Subject, &'static str, String)> {
    let Some(report) = sample.reports.get(host) else { return Vec::new() };
    if let Some(failure) = sample.failure(host) {
        if failure.reason == Reason::Connecting {
            return Vec::new();
        }
        let what = format!("did not respond ({})", failure.reason.word());
        return vec![(Subject::Host, "host.silent", what)];
    }
    let mut all = Vec::new();
    for device in &report.devices {
        if device.gone_since_ns.is_some() {
            let subject = Subject::Device(device.name.clone());
            all.push((subject, "device.gone", "the device was removed".to_owned()));
            continue;
        }
        for port in &device.ports {
            let Some(code) = failed_state_check(port) else { continue };
            let word = port.state.map_or("", PortState::word);
            let subject = Subject::Port(device.name.clone(), port.number);
            all.push((subject, code, format!("was {word}")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostFailure, HostReport, Via};
    use crate::tui::LastResponse;

    const SECOND: u64 = 1_000_000_000;

    fn sample(second: u64, state: Option<&str>) -> Sample {
        let at = clock::now() + Duration::from_secs(second);
        let mut report = HostReport::empty("n1", Via::Agent);
        let port = serde_json::json!({ "number": 1, "state": state });
        let device = serde_json::json!({ "name": "rxe0", "ports": [port] });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        let failure = state.is_none().then(|| HostFailure::new(Reason::Timeout, "no response"));
        Sample {
            at,
            taken_ns: second * SECOND,
            reports: vec![report],
            seen: vec![LastResponse { answered: Some(at), failure }],
            connections: vec![Vec::new()],
        }
    }

    fn past(troubles: &PastProblems) -> Vec<String> {
        troubles
            .past()
            .map(|past| format!("{} {}: {}", past.code, past.subject, past.what))
            .collect()
    }

    #[test]
    fn past_problem_is_listed_with_its_duration_and_end() {
        let mut troubles = PastProblems::default();
        for (second, state) in [(1, Some("active")), (2, Some("down")), (9, Some("down"))] {
            troubles.compare(&sample(second, state));
        }
        assert_eq!(past(&troubles), [""; 0], "it lasts");
        troubles.compare(&sample(14, Some("active")));
        assert_eq!(past(&troubles), ["port.down rxe0/1: was DOWN for 12 s, until 00:00:14Z"]);
        for (second, state) in [(20, Some("down")), (21, Some("active"))] {
            troubles.compare(&sample(second, state));
        }
        let again = "port.down rxe0/1: was DOWN for 1 s, until 00:00:21Z (occurred 2 times)";
        assert_eq!(past(&troubles), [again]);
        troubles.compare(&sample(21 + LISTED_FOR.as_secs() + 1, Some("active")));
        assert_eq!(past(&troubles), [""; 0]);
    }

    #[test]
    fn another_problem_of_a_port_ends_the_first_one() {
        let mut troubles = PastProblems::default();
        for (second, state) in [(1, "down"), (2, "init"), (30, "init"), (62, "active")] {
            troubles.compare(&sample(second, Some(state)));
        }
        assert_eq!(
            past(&troubles),
            [
                "port.not_active rxe0/1: was INIT for 60 s, until 00:01:02Z",
                "port.down rxe0/1: was DOWN for 1 s, until 00:00:02Z",
            ]
        );
    }

    #[test]
    fn problem_continues_while_its_host_is_unresponsive() {
        let mut troubles = PastProblems::default();
        for (second, state) in [(1, Some("down")), (2, None), (5, Some("down"))] {
            troubles.compare(&sample(second, state));
        }
        let silent = "host.silent host: did not respond (timeout) for 3 s, until 00:00:05Z";
        assert_eq!(past(&troubles), [silent]);
        troubles.compare(&sample(7, Some("active")));
        let down = "port.down rxe0/1: was DOWN for 6 s, until 00:00:07Z";
        assert_eq!(past(&troubles), [down, silent]);
    }

    #[test]
    fn a_removed_device_that_returned_is_a_past_problem() {
        let mut troubles = PastProblems::default();
        let mut gone = sample(2, Some("active"));
        gone.reports[0].devices[0] = gone.reports[0].devices[0].removed(2 * SECOND);
        troubles.compare(&gone);
        troubles.compare(&sample(5, Some("active")));
        assert_eq!(
            past(&troubles),
            ["device.gone rxe0: the device was removed for 3 s, until 00:00:05Z"]
        );
    }

    #[test]
    fn a_host_that_is_still_connecting_was_not_silent() {
        let mut troubles = PastProblems::default();
        let mut connecting = sample(1, None);
        let failure = HostFailure::new(Reason::Connecting, "still connecting");
        connecting.seen[0].failure = Some(failure);
        troubles.compare(&connecting);
        troubles.compare(&sample(2, Some("active")));
        assert_eq!(past(&troubles), [""; 0]);
    }
}
