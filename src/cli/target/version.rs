//! Which Kafka release a plan is made for, and how sure that is.

use super::Candidate;
use crate::settings::Settings;
use crate::terms::KafkaVersion;

/// How sure a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionBasis {
    /// The operator named it.
    Given,
    /// The broker's own jars name it.
    Detected,
    /// A guess; plans may be looked at but not applied.
    Assumed,
}

/// A release, its source and how sure it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionChoice {
    /// The release.
    pub version: KafkaVersion,
    /// Where it is from, for the screen.
    pub source: String,
    /// How sure it is.
    pub basis: VersionBasis,
}

/// Ends the source of a release that is a guess.
pub const NOT_DETECTED: &str = "not detected";
/// The oldest level of `metadata.version` that brokers from 4.0 on read (3.3-IV3).
const OLDEST_OF_4: i16 = 7;

/// Chooses the release: given, else by the process' class path or the unit's jars, else by `metadata.version`, else the
/// newest known.
pub fn choose_version(
    settings: &Settings,
    candidate: &Candidate,
    metadata_version: Option<i16>,
) -> VersionChoice {
    if let Some(given) = &settings.kafka_version {
        return VersionChoice {
            version: given.value,
            source: given.source.to_string(),
            basis: VersionBasis::Given,
        };
    }
    if let Some((jar, place)) = &candidate.jar {
        let vendor = jar.vendor.as_ref().map(|vendor| format!(", {vendor}"));
        return VersionChoice {
            version: jar.version,
            source: format!("{} {place}{}", jar.jar, vendor.unwrap_or_default()),
            basis: VersionBasis::Detected,
        };
    }
    match metadata_version {
        Some(level) => by_level(level),
        None => VersionChoice {
            version: KafkaVersion::NEWEST_KNOWN,
            source: format!("newest known, {NOT_DETECTED}"),
            basis: VersionBasis::Assumed,
        },
    }
}

/// Returns the newest release that reads `level`: a guess, since several do.
fn by_level(level: i16) -> VersionChoice {
    let version = if level < OLDEST_OF_4 {
        KafkaVersion::new(3, 9, 0)
    } else {
        KafkaVersion::NEWEST_KNOWN
    };
    VersionChoice {
        version,
        source: format!("newest known that reads metadata.version level {level}, {NOT_DETECTED}"),
        basis: VersionBasis::Assumed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metadata_version_is_a_guess() {
        assert_eq!(by_level(21).version, KafkaVersion::NEWEST_KNOWN);
        assert_eq!(by_level(21).basis, VersionBasis::Assumed);
        assert_eq!(by_level(4).version, KafkaVersion::new(3, 9, 0));
    }
}
