//! Keeps the purpose of each request in flight. The readers of `fabric` use it.

use std::collections::HashMap;
use std::fmt::Display;

use crate::mad::{DirectedPath, MAD_BYTES, MadAttribute, PathError, directed_smp, smp};
use crate::model::{Fabric, FabricNode, UnansweredRequest};
use crate::source::{MadAnswer, MadError, MadTicket, Mads, ReadError};

/// Requests of a port without a reply, each with its purpose.
pub(super) struct Requests<'mads, T> {
    mads: &'mads mut dyn Mads,
    waiting: HashMap<MadTicket, T>,
    sent: u32,
    /// Requests to which a record has no reply.
    unrecorded: u32,
}

impl<'mads, T> Requests<'mads, T> {
    /// Creates an empty list for a port that has no other request in flight.
    pub(super) fn new(mads: &'mads mut dyn Mads) -> Self {
        Self { mads, waiting: HashMap::new(), sent: 0, unrecorded: 0 }
    }

    pub(super) fn ask(
        &mut self,
        lid: Option<u16>,
        mad: [u8; MAD_BYTES],
        what: T,
    ) -> Result<(), ReadError> {
        let ticket = self.mads.ask(lid, mad)?;
        self.waiting.insert(ticket, what);
        self.sent = self.sent.saturating_add(1);
        Ok(())
    }

    /// Sends a request of subnet management to a port of a node: along the directed route of the
    /// node, or by LID. Sends none if neither is known.
    pub(super) fn ask_port<A: MadAttribute>(
        &mut self,
        node: &FabricNode,
        port: u8,
        modifier: u32,
        what: T,
    ) -> Result<(), ReadError> {
        // The route of a channel adapter with several ports leads to only one of them.
        let is_only_one = node.is_switch() || node.ports.len() == 1;
        let by_lid = || Some((Some(node.lid_of(port)?), smp::<A>(modifier)));
        let by_route = || {
            let path = directed_path(node.route.as_ref()?).ok()?;
            Some((None, directed_smp::<A>(&path, modifier)))
        };
        let request =
            if is_only_one { by_route().or_else(by_lid) } else { by_lid().or_else(by_route) };
        request.map_or(Ok(()), |(lid, mad)| self.ask(lid, mad, what))
    }

    /// Returns the next reply and its purpose; `None` if no request is in flight. Requests to
    /// which a record has no reply are only counted.
    pub(super) fn next(&mut self) -> Result<Option<(T, MadAnswer)>, ReadError> {
        while let Some((ticket, answer)) = self.mads.next_answer()? {
            let Some(what) = self.waiting.remove(&ticket) else { continue };
            if answer != Err(MadError::NotRecorded) {
                return Ok(Some((what, answer)));
            }
            self.unrecorded = self.unrecorded.saturating_add(1);
        }
        Ok(None)
    }

    /// Returns the purposes of the requests without a reply, after the last reply.
    pub(super) fn into_unanswered(self) -> impl Iterator<Item = T> {
        self.waiting.into_values()
    }

    /// Adds the numbers of these requests to the numbers of a fabric.
    pub(super) fn count_in(&self, fabric: &mut Fabric) {
        fabric.requests = fabric.requests.saturating_add(self.sent);
        fabric.unrecorded = fabric.unrecorded.saturating_add(self.unrecorded);
    }
}

/// Returns the directed route that leaves each node by the next of these ports.
fn directed_path(ports: &[u8]) -> Result<DirectedPath, PathError> {
    ports.iter().try_fold(DirectedPath::own(), |path, port| path.through(*port))
}

/// Returns the entry of [`Fabric::unanswered`] for a request without a reply.
pub(super) fn unanswered_by(
    node: &FabricNode,
    attribute: impl Into<String>,
    why: &dyn Display,
) -> UnansweredRequest {
    let lid = if node.route.is_some() { 0 } else { node.lid().unwrap_or(0) };
    let route = node.route.clone().unwrap_or_default();
    UnansweredRequest { route, lid, attribute: attribute.into(), detail: why.to_string() }
}
