//! Writes recordings: appends one sample after another to a file. `top` uses it.

use std::io::{self, Write};

use serde_json::Value;

use super::line::{Header, HostLine, MomentLine};
use super::{HostSampleRef, SCHEMA};
use crate::capture::write_line;
use crate::model::HostReport;
use crate::wire::TextDelta;

const SAMPLES_PER_WHOLE_SAMPLE: u64 = 60;

/// Writer of samples.
#[derive(Debug)]
pub struct RecordingWriter<W> {
    out: W,
    moments: u64,
}

impl<W: Write> RecordingWriter<W> {
    /// Starts a recording of these hosts.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn new<'host>(mut out: W, hosts: impl IntoIterator<Item = &'host str>) -> io::Result<Self> {
        let header = Header {
            schema: SCHEMA.into(),
            tool: concat!("rdmactl ", env!("CARGO_PKG_VERSION")).into(),
            hosts: hosts.into_iter().map(str::to_owned).collect(),
        };
        write_line(&mut out, &header)?;
        out.flush()?;
        Ok(Self { out, moments: 0 })
    }

    /// Writes a sample of all hosts, in the order of the header, and flushes it; `before` is the
    /// sample that was written last.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(
        &mut self,
        taken_ns: u64,
        now: &[HostSampleRef<'_>],
        before: Option<&[HostSampleRef<'_>]>,
    ) -> io::Result<()> {
        let before = before.filter(|_| !self.moments.is_multiple_of(SAMPLES_PER_WHOLE_SAMPLE));
        let mut lines = Vec::new();
        for (host, said) in now.iter().enumerate() {
            lines.extend(line(host, said, before.and_then(|before| before.get(host)))?);
        }
        let head =
            MomentLine { moment: taken_ns, whole: before.is_none(), lines: lines.len() as u64 };
        write_line(&mut self.out, &head)?;
        for line in &lines {
            write_line(&mut self.out, line)?;
        }
        self.moments += 1;
        self.out.flush()
    }
}

/// Returns the line of a host; `None` if nothing changed.
fn line(
    host: usize,
    now: &HostSampleRef<'_>,
    before: Option<&HostSampleRef<'_>>,
) -> io::Result<Option<HostLine>> {
    let HostSampleRef { report, answered_ns, failure } = *now;
    let line =
        HostLine { host, answered_ns, failure: failure.cloned(), report: None, change: None };
    let Some(before) = before else {
        return Ok(Some(HostLine { report: Some(json(report)?), ..line }));
    };
    // Without a new answer the report is unchanged.
    if answered_ns == before.answered_ns {
        return Ok((failure != before.failure).then_some(line));
    }
    let change = TextDelta::between(&json(before.report)?.to_string(), &json(report)?.to_string());
    Ok(Some(HostLine { change: Some(change), ..line }))
}

/// Returns the report as JSON without its rates, which players compute from two samples.
fn json(report: &HostReport) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    for device in elements(value.get_mut("devices")) {
        without_rates(device);
        elements(device.get_mut("ports")).for_each(without_rates);
    }
    Ok(value)
}

fn without_rates(counted: &mut Value) {
    for counter in elements(counted.get_mut("counters")) {
        if let Some(rate) = counter.get_mut("rate") {
            *rate = Value::Null;
        }
    }
}

fn elements(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_array_mut).into_iter().flatten()
}
