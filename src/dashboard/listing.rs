//! What a listing of the log dirs adds for the screen.

use crate::app::facts::LogDirFacts;
use crate::log::Severity;
use crate::plan::preflight::Problem;

/// Adds what stands in the way of a boot to the dir that it is about; what the listing says of the same file goes, as it says
/// less. A problem of the host is told of the first dir.
pub(super) fn add_problems(facts: &mut [LogDirFacts], problems: &[Problem]) {
    for problem in problems {
        let mut finding = problem.finding.clone();
        if finding.severity == Severity::Routine {
            continue;
        }
        if let Some(partition) = &problem.partition {
            finding.file = Some(match &finding.file {
                Some(file) if file != "." => format!("{partition}/{file}"),
                _ => partition.clone(),
            });
        }
        let place = facts
            .iter()
            .position(|dir| Some(&dir.path) == problem.dir.as_ref())
            .unwrap_or(0);
        let Some(dir) = facts.get_mut(place) else {
            continue;
        };
        dir.findings.retain(|known| {
            let is_same = known.file == finding.file && known.file.is_some();
            !(is_same && known.severity == finding.severity) && known.text != finding.text
        });
        dir.findings.push(finding);
    }
}
