//! Reads recordings: finds all samples of a file, and returns the hosts of any sample.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use super::line::{Header, HostLine, MomentLine};
use super::{HostSample, SCHEMA};
use crate::capture::lines::Lines;
use crate::capture::{CaptureError, MAX_HOSTS};

const START_OF_ANY_VERSION: &[u8] = br#"{"schema":"rdmactl.recording/"#;

/// A recording with access to any sample.
#[derive(Debug)]
pub struct TopRecording<R = BufReader<File>> {
    lines: Lines<R>,
    hosts: Vec<String>,
    moments: Vec<SampleOffset>,
    /// Fault after the last whole sample; `None` if the file ends there.
    tail: Option<CaptureError>,
    /// Sample of `sightings`; `None` before the first sample and after a failure.
    place: Option<usize>,
    sightings: Vec<HostSample>,
    /// Reports of the hosts as JSON, to which changes are applied.
    texts: Vec<ReportText>,
}

#[derive(Debug, Clone, Default)]
struct ReportText {
    json: String,
    /// Line that changed the JSON last; `None` if the report is already parsed.
    unread: Option<u64>,
}

#[derive(Debug)]
struct SampleOffset {
    taken_ns: u64,
    is_whole: bool,
    lines: u64,
    /// Byte offset of the first host line, and the number of the line before it.
    offset: u64,
    number: u64,
}

impl TopRecording {
    /// True if the file starts like a recording; false for an unreadable file.
    pub fn is_at(path: &Path) -> bool {
        let mut start = [0; START_OF_ANY_VERSION.len()];
        // Reading from a pipe would consume its data.
        fs::metadata(path).is_ok_and(|there| there.is_file())
            && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
            && start == START_OF_ANY_VERSION
    }

    /// Opens a file and finds its samples.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording of a known version.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|error| CaptureError::open(path, error))?;
        Self::parse(BufReader::new(file), path)
    }
}

impl<R: BufRead + Seek> TopRecording<R> {
    /// Finds the samples of a recording; `path` appears in errors. Ignores an incomplete sample
    /// at the end: the writer may have been interrupted, or its disk was full.
    ///
    /// # Errors
    /// It is no recording of a known version, or has no sample.
    pub fn parse(input: R, path: &Path) -> Result<Self, CaptureError> {
        let mut lines = Lines::new(input, path);
        let Some(text) = lines.next()? else { return Err(lines.fault("the file is empty")) };
        let mut offset = text.len() as u64;
        let hosts = read_header(text).map_err(|cause| lines.fault(cause))?;
        let mut moments = Vec::new();
        let tail = loop {
            match next_moment(&mut lines, &mut offset, moments.is_empty()) {
                Ok(Some(moment)) => moments.push(moment),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        match tail {
            Some(error) if moments.is_empty() => Err(error),
            None if moments.is_empty() => Err(lines.fault("the recording has no sample")),
            tail => {
                let texts = vec![ReportText::default(); hosts.len()];
                Ok(Self { lines, hosts, moments, tail, place: None, sightings: Vec::new(), texts })
            }
        }
    }

    /// Returns the names of the hosts.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the number of samples, at least one.
    pub fn count(&self) -> usize {
        self.moments.len()
    }

    /// Returns the reason why the end of the file is ignored; `None` if it is not.
    pub fn tail(&self) -> Option<&CaptureError> {
        self.tail.as_ref()
    }

    /// Returns the time of a sample, in nanoseconds since 1970 UTC.
    pub fn taken_ns(&self, place: usize) -> Option<u64> {
        self.moments.get(place).map(|moment| moment.taken_ns)
    }

    /// Returns all hosts in a sample, in the order of the header; none after the last sample.
    ///
    /// # Errors
    /// A line of the sample, or of an earlier sample that it depends on, is invalid.
    pub fn at(&mut self, place: usize) -> Result<&[HostSample], CaptureError> {
        if place >= self.moments.len() {
            return Ok(&[]);
        }
        let is_whole = |place: &usize| self.moments[*place].is_whole;
        let whole = (0..=place).rev().find(is_whole).unwrap_or(0);
        let from = match self.place.take() {
            Some(last) if last <= place && last >= whole => last + 1,
            _ => whole,
        };
        for place in from..=place {
            self.apply(place)?;
        }
        self.read_reports()?;
        self.place = Some(place);
        Ok(&self.sightings)
    }

    fn apply(&mut self, place: usize) -> Result<(), CaptureError> {
        let SampleOffset { is_whole, lines, offset, number, .. } = self.moments[place];
        self.lines.number = number;
        let sought = self.lines.input.seek(SeekFrom::Start(offset));
        sought.map_err(|error| self.lines.fault(error.to_string()))?;
        if is_whole {
            self.sightings = self.hosts.iter().map(|host| HostSample::not_recorded(host)).collect();
            self.texts.fill(ReportText::default());
        }
        for line in 1..=lines {
            let Some(text) = self.lines.next()? else {
                return Err(self.lines.fault("the file became shorter"));
            };
            let told = tell(&mut self.sightings, &mut self.texts, text, number + line);
            told.map_err(|cause| self.lines.fault(cause))?;
        }
        Ok(())
    }

    /// Parses the changed reports, each once, however many changes were applied.
    fn read_reports(&mut self) -> Result<(), CaptureError> {
        let all = self.sightings.iter_mut().zip(&mut self.texts).zip(&self.hosts);
        for ((sighting, text), host) in all {
            let Some(number) = text.unread.take() else { continue };
            let report = serde_json::from_str(&text.json).map_err(|error| {
                self.lines.number = number;
                self.lines.fault(error.to_string())
            })?;
            sighting.report = report;
            sighting.report.host.clone_from(host);
        }
        Ok(())
    }
}

/// Returns the next sample after reading all its lines; `None` at the end of the file.
fn next_moment<R: BufRead>(
    lines: &mut Lines<R>,
    offset: &mut u64,
    is_first: bool,
) -> Result<Option<SampleOffset>, CaptureError> {
    let Some(text) = lines.next()? else { return Ok(None) };
    let length = text.len() as u64;
    let head: Result<MomentLine, _> = serde_json::from_slice(text);
    let head = head.map_err(|error| lines.fault(error.to_string()))?;
    if is_first && !head.whole {
        return Err(lines.fault("the first moment is not whole"));
    }
    *offset += length;
    let moment = SampleOffset {
        taken_ns: head.moment,
        is_whole: head.whole,
        lines: head.lines,
        offset: *offset,
        number: lines.number,
    };
    for _ in 0..head.lines {
        match lines.next()? {
            Some(text) if text.ends_with(b"\n") => *offset += text.len() as u64,
            _ => return Err(lines.fault("the file ends within a moment")),
        }
    }
    Ok(Some(moment))
}

/// Applies the host line with this number.
fn tell(
    sightings: &mut [HostSample],
    texts: &mut [ReportText],
    text: &[u8],
    number: u64,
) -> Result<(), String> {
    let line: HostLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let (Some(sighting), Some(last)) = (sightings.get_mut(line.host), texts.get_mut(line.host))
    else {
        return Err(format!("the header has no host {}", line.host));
    };
    let now = match (line.report, line.change) {
        (Some(report), None) => Some(report.to_string()),
        (None, Some(change)) => Some(change.apply(&last.json).map_err(|error| error.to_string())?),
        (None, None) => None,
        (Some(_), Some(_)) => return Err("both a report and a change of it".into()),
    };
    (sighting.answered_ns, sighting.failure) = (line.answered_ns, line.failure);
    if let Some(json) = now {
        *last = ReportText { json, unread: Some(number) };
    }
    Ok(())
}

fn read_header(text: &[u8]) -> Result<Vec<String>, String> {
    let header: Header =
        serde_json::from_slice(text).map_err(|error| format!("not a header: {error}"))?;
    if header.schema != SCHEMA {
        return Err(format!("the file is a {}, and {SCHEMA} is needed", header.schema));
    }
    if header.hosts.len() > MAX_HOSTS {
        return Err(format!("more than {MAX_HOSTS} hosts"));
    }
    Ok(header.hosts)
}
