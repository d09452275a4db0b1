//! Words of the dialog that frees space.

use crate::log::UsageKind;
use crate::plan::Class;
use crate::plan::cleanup::{DeletionCost, OtherWay, WayAct, groups_in_words};
use crate::plan::retention::parse_retention_bytes;

use super::effect::{CleanupAsk, CleanupRequest, Copies};
use super::state::{FreeLine, FreeOffer};
use super::text;

/// Returns a size that can be typed again: a whole number of the largest unit that leaves at least two digits.
pub fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = units.iter().find(|(_, shift)| bytes >> shift >= 10);
    let fits = fits.or_else(|| units.iter().find(|(_, shift)| bytes >> shift > 0));
    match fits {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Returns a size that was typed.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn parse_target(text: &str) -> Result<u64, String> {
    match parse_retention_bytes(text)? {
        bytes if bytes > 0 => Ok(bytes.unsigned_abs()),
        _ => Err(format!("\"{text}\" is not more than nothing")),
    }
}

/// Returns a dir's name with less of the id in it: `old-3.3f0c…-delete`.
pub fn short_dir(name: &str) -> String {
    const ID: usize = 32;
    let parts = name.rsplit_once('.').and_then(|(head, tail)| {
        let (id, kind) = tail.split_at_checked(ID)?;
        let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && kind.starts_with('-')).then(|| (head, id.get(..4).unwrap_or(id), kind))
    });
    match parts {
        Some((head, id, kind)) => format!("{head}.{id}…{kind}"),
        None => name.to_owned(),
    }
}

/// Returns a class as its letter.
pub fn letter(class: Class) -> &'static str {
    match class {
        Class::A => "A",
        Class::B => "B",
        Class::C => "C",
    }
}

/// Returns what is lost with the marked pieces of a line.
pub fn loses(line: &FreeLine) -> String {
    match line.cost {
        DeletionCost::Leftover(_) => "nothing that anybody reads".to_owned(),
        DeletionCost::Stray => "a replica that the metadata does not know".to_owned(),
        DeletionCost::PastRetention => "nothing that the next pass would keep".to_owned(),
        DeletionCost::Records if line.marked == 0 => "nothing: none is marked".to_owned(),
        DeletionCost::Records => format!("{} of good batches", text::bytes(line.lost())),
    }
}

/// Returns which groups have not read all of the marked pieces of a line; `None` of what no group reads.
pub fn groups(line: &FreeLine) -> Option<String> {
    if matches!(line.cost, DeletionCost::Leftover(_) | DeletionCost::Stray) {
        return None;
    }
    if line.groups_unasked {
        return Some("? not looked at as long as no segment goes; the plan names them".to_owned());
    }
    Some(match line.groups_below() {
        None => "? nothing of __consumer_offsets is known here".to_owned(),
        Some(below) if below.is_empty() => "none known here has committed below it".to_owned(),
        Some(below) => format!("have not read it all: {}", groups_in_words(&below)),
    })
}

/// Returns another way to space in words, and its command.
pub fn way(way: &OtherWay) -> (String, String) {
    match &way.act {
        WayAct::Shorten { topic, limits } => {
            let ms = limits.retention_ms.unwrap_or_default().unsigned_abs();
            (
                format!(
                    "shorten retention    {topic} to {}",
                    text::duration(ms / 1000)
                ),
                format!("krescue cleanup --past-retention {topic} --what-if {limits}"),
            )
        }
        WayAct::Move { partition, to } => (
            format!("move to a volume     {partition} to {}", to.display()),
            format!("krescue move {partition} --to {}", to.display()),
        ),
    }
}

/// Returns what the next boot does once the marked pieces are gone.
pub fn at_boot(line: &FreeLine) -> String {
    match (line.cost, line.next_start().or(line.log_start)) {
        (DeletionCost::Leftover(UsageKind::FutureDirs), _) => {
            "a boot finds no copy on its way: the move begins anew".to_owned()
        }
        (DeletionCost::Leftover(UsageKind::IndexCache), _) => {
            "a boot fetches it from remote storage again".to_owned()
        }
        (DeletionCost::Leftover(_) | DeletionCost::Stray, _) => {
            "a boot finds nothing left to remove".to_owned()
        }
        (_, Some(start)) => format!(
            "the log starts at {}; where it leads, followers cut theirs to that as well",
            text::offset(start)
        ),
        (_, None) => "the log starts at its first segment".to_owned(),
    }
}

/// Returns what the next boot needs: room, and time.
pub fn boot_needs(offer: &FreeOffer) -> String {
    format!(
        "needs ~{} free and ~{} to read {} again (at {}, which is guessed)",
        text::bytes(offer.boot_free),
        text::duration(offer.boot_seconds()),
        text::bytes(offer.boot_reads),
        text::rate(offer.boot_rate),
    )
}

/// Returns the words of `krescue` that ask for the same plan. What was marked by hand has no words of its own: the plan's
/// hash names it.
pub fn command_words(request: &CleanupRequest, freed: u64) -> Vec<String> {
    let mut words = vec!["cleanup".to_owned()];
    match &request.ask {
        CleanupAsk::Leftovers => words.push("--leftovers".to_owned()),
        CleanupAsk::Strays => words.push("--strays".to_owned()),
        CleanupAsk::PastRetention(topics) => {
            words.push("--past-retention".to_owned());
            words.extend(topics.iter().cloned());
        }
        CleanupAsk::Shorten(of) => {
            words.push("--past-retention".to_owned());
            words.extend(of.names.iter().cloned());
            words.extend(["--what-if".to_owned(), of.limits.to_string()]);
        }
        CleanupAsk::Free(bytes) => words.extend(["--free".to_owned(), bytes.to_string()]),
        CleanupAsk::Marked(_) => words.extend(["--free".to_owned(), freed.to_string()]),
    }
    if let Some(on) = &request.on {
        words.extend(["--on".to_owned(), on.display().to_string()]);
    }
    if request.copies == Copies::None {
        words.extend(["--quarantine".to_owned(), "none".to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_dirs_are_cut() {
        let name = "old.topic-3.3f0c1e9ad2b64c1c8a7be6f1a2b3c4d5-delete";
        assert_eq!(short_dir(name), "old.topic-3.3f0c…-delete");
        for name in ["orders-3", "a.b-0", "x.zz-delete", ""] {
            assert_eq!(short_dir(name), name);
        }
    }

    #[test]
    fn a_proposed_size_can_be_typed() {
        for (bytes, want) in [
            (184 << 30, "184GiB"),
            (5 << 30, "5120MiB"),
            (2 << 10, "2KiB"),
            (7, "7"),
        ] {
            assert_eq!(size(bytes), want);
            assert_eq!(parse_target(want), Ok(bytes), "{want}");
        }
        assert!(parse_target("-1").is_err() && parse_target("0").is_err());
    }
}
