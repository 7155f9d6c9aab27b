//! The nodes of the batch job that this process belongs to.

use super::{SitePaths, placed, text, wrong_line};
use crate::hosts::lists::HostsFileKind;
use crate::hosts::set::{AllowedTerms, LookupError, ResolvedLine, ResolvedLines};

/// Returns the nodes of the job. Slurm sets a host set (srun(1)). PBS names a file with one line
/// per slot.
pub(super) fn nodes(places: &SitePaths) -> Result<ResolvedLines, LookupError> {
    if let Some(nodes) = &places.slurm_job {
        let line = ResolvedLine { text: nodes.clone(), place: "SLURM_JOB_NODELIST".into() };
        return Ok(ResolvedLines { lines: vec![line], within: AllowedTerms::Hosts });
    }
    let Some(path) = &places.pbs_job else {
        let message = "not within a job: neither SLURM_JOB_NODELIST nor PBS_NODEFILE is set";
        return Err(LookupError::new(message)
            .fix("start a job first (salloc -N 4, qsub -I), or write the hosts"));
    };
    let place = path.display().to_string();
    let entries = HostsFileKind::Pbs
        .read(&text::of_file(path)?)
        .map_err(|error| wrong_line(&place, error))?;
    Ok(ResolvedLines { lines: placed(&place, entries), within: AllowedTerms::Hosts })
}
