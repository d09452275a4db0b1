//! What the audit holds, in words.

use crate::app::lines::hand_over_word;
use crate::app::text;
use crate::engine::{AuditAct, AuditEntry, JobOutcome};

/// Returns an entry in one line.
pub fn audit_sentence(entry: &AuditEntry) -> String {
    let who = &entry.who;
    let from = [
        who.sudo_user.as_ref().map(|user| format!(" (sudo {user})")),
        who.terminal
            .as_ref()
            .map(|terminal| format!(" on {terminal}")),
        who.ssh_connection.as_ref().map(|ends| {
            let client = ends.split(' ').next().unwrap_or(ends);
            format!(" from {client}")
        }),
    ];
    let from: String = from.into_iter().flatten().collect();
    let host = if who.host.is_empty() {
        String::new()
    } else {
        format!("@{}", who.host)
    };
    let short = |hash: &String| hash.get(..8).unwrap_or(hash).to_owned();
    let plan = match (&entry.plan, &entry.undoes) {
        (Some(plan), Some(undone)) => format!(" {} (takes {} back)", short(plan), short(undone)),
        (Some(plan), None) => format!(" {}", short(plan)),
        _ => String::new(),
    };
    format!(
        "{} {}{host}{from}{plan} · {}",
        entry.at,
        who.user,
        act_words(&entry.act)
    )
}

fn act_words(act: &AuditAct) -> String {
    match act {
        AuditAct::Log {
            dir,
            partition,
            steps,
            ..
        } => format!(
            "{}: {}",
            dir.join(partition).display(),
            text::plural(steps.len() as u64, "step", "steps")
        ),
        AuditAct::HandOver { dir, hand_over } => {
            let word = hand_over_word(*hand_over);
            format!("{}: hand-over {word}", dir.display())
        }
        AuditAct::End { outcome } => match outcome {
            JobOutcome::Done => "done".to_owned(),
            JobOutcome::DoneButLeft { left } => {
                let logs = text::plural(*left, "log stays as it was", "logs stay as they were");
                format!("done, but {logs}")
            }
            JobOutcome::Refused { cause } => format!("refused: {cause}"),
            JobOutcome::Stopped => "stopped on request".to_owned(),
            JobOutcome::Failed { cause } => format!("failed: {cause}"),
        },
        AuditAct::Purge { dir, bytes } => {
            let bytes = text::bytes(*bytes);
            format!("purged {bytes} of {}", dir.display())
        }
        AuditAct::Live { what, outcome, .. } => format!("{what}: {outcome}"),
        AuditAct::Refused { what, cause } => format!("{what} refused: {cause}"),
    }
}
