//! Kafka's release, from the names of its jars.

use std::fs;
use std::path::{Path, PathBuf};

use crate::terms::KafkaVersion;

/// A release and the jar that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JarVersion {
    /// Apache Kafka's release.
    pub version: KafkaVersion,
    /// The jar's name.
    pub jar: String,
    /// The vendor's own number, where it is another than Apache's.
    pub vendor: Option<String>,
}

/// Returns the release that a jar's name gives: `kafka_2.13-4.4.0.jar`, `kafka-server-4.4.0.jar`,
/// `kafka_2.13-7.9.1-ccs.jar` (Confluent Platform 7.9 is Apache 3.9), `kafka_2.13-3.7.1.redhat-00001.jar`.
pub fn version_of_jar_name(name: &str) -> Option<JarVersion> {
    let stem = name.strip_suffix(".jar")?;
    if [
        "-sources",
        "-javadoc",
        "-test",
        "-scaladoc",
        "-test-sources",
    ]
    .iter()
    .any(|kind| stem.ends_with(kind))
    {
        return None;
    }
    let version = match stem.strip_prefix("kafka_2.") {
        // Behind Scala's minor number.
        Some(rest) => rest
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix('-')?,
        None => ["kafka-server-common-", "kafka-server-", "kafka-clients-"]
            .iter()
            .find_map(|prefix| stem.strip_prefix(prefix))?,
    };
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let own: KafkaVersion = version.parse().ok()?;
    let confluent = version.ends_with("-ccs") || version.ends_with("-ce");
    let (version, vendor) = if confluent {
        let name = format!("Confluent Platform {version}");
        (apache_of_confluent(own)?, Some(name))
    } else if version == own.to_string() {
        (own, None)
    } else {
        (own, Some(version.to_owned()))
    };
    Some(JarVersion {
        version,
        jar: name.to_owned(),
        vendor,
    })
}

/// Returns the Apache release inside a Confluent Platform: 5.x, 6.x and 7.x are 2.x and 3.x, 8.x is 4.x.
fn apache_of_confluent(platform: KafkaVersion) -> Option<KafkaVersion> {
    let (major, minor) = match (platform.major, platform.minor) {
        (5, minor) => (2, minor),
        // 6.0 to 6.2 are 2.6 to 2.8.
        (6, minor) => (2, minor + 6),
        (7, minor) => (3, minor),
        (8, minor) => (4, minor),
        _ => return None,
    };
    Some(KafkaVersion::new(major, minor, platform.patch))
}

/// Returns the release that a class path names; entries with a `*` are listed through `under` (a process' root).
///
/// The broker's own jar counts before those of its parts, which a plugin may bring in another release.
pub fn version_of_class_path(
    class_path: &str,
    under: &dyn Fn(&Path) -> PathBuf,
) -> Option<JarVersion> {
    let mut names = Vec::new();
    for entry in class_path.split(':').filter(|entry| !entry.is_empty()) {
        match entry.strip_suffix('*') {
            Some(dir) => names.extend(jar_names(&under(Path::new(dir)))),
            None => names.extend(
                Path::new(entry)
                    .file_name()
                    .and_then(|name| name.to_str())
                    .map(str::to_owned),
            ),
        }
    }
    best(&names)
}

/// Returns the release of the jars in `dir`.
pub fn version_of_jar_dir(dir: &Path) -> Option<JarVersion> {
    best(&jar_names(dir))
}

/// Returns the names of the jars in `dir`; none if it cannot be listed.
fn jar_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.strip_suffix(".jar").is_some())
        .collect();
    names.sort();
    names
}

/// Returns the version of the most telling name.
fn best(names: &[String]) -> Option<JarVersion> {
    ["kafka_2.", "kafka-server-", "kafka-clients-"]
        .iter()
        .find_map(|prefix| {
            names
                .iter()
                .filter(|name| name.starts_with(prefix))
                .find_map(|name| version_of_jar_name(name))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jars_of_apache_and_of_vendors_name_their_release() {
        for (name, version, vendor) in [
            ("kafka_2.13-4.4.0.jar", (4, 4, 0), None),
            ("kafka_2.12-3.9.1.jar", (3, 9, 1), None),
            ("kafka-server-4.1.2.jar", (4, 1, 2), None),
            ("kafka-clients-3.8.0.jar", (3, 8, 0), None),
            (
                "kafka_2.13-7.9.1-ccs.jar",
                (3, 9, 1),
                Some("Confluent Platform 7.9.1-ccs"),
            ),
            (
                "kafka_2.13-8.0.0-ce.jar",
                (4, 0, 0),
                Some("Confluent Platform 8.0.0-ce"),
            ),
            (
                "kafka_2.13-3.7.1.redhat-00001.jar",
                (3, 7, 1),
                Some("3.7.1.redhat-00001"),
            ),
            (
                "kafka_2.13-3.4.1.7.2.18.0-641.jar",
                (3, 4, 1),
                Some("3.4.1.7.2.18.0-641"),
            ),
        ] {
            let found = version_of_jar_name(name).unwrap_or_else(|| panic!("{name}"));
            let (major, minor, patch) = version;
            assert_eq!(
                found.version,
                KafkaVersion::new(major, minor, patch),
                "{name}"
            );
            assert_eq!(found.vendor.as_deref(), vendor, "{name}");
        }
        for name in [
            "kafka_2.13-4.4.0-sources.jar",
            "kafka_2.13-4.4.0-test.jar",
            "kafka-streams-4.4.0.jar",
            "scala-library-2.13.15.jar",
            "kafka_2.13.jar",
            "kafka_2.13-4.4.0.jar.asc",
            "kafka-server-common.jar",
        ] {
            assert_eq!(version_of_jar_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_broker_s_own_jar_counts_before_a_plugin_s() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "kafka_2.13-4.1.2.jar",
            "kafka-clients-4.1.2.jar",
            "readme.txt",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let class_path = format!(
            "/plugins/kafka-clients-2.8.0.jar:{}/*",
            dir.path().display()
        );
        let found = version_of_class_path(&class_path, &Path::to_path_buf).unwrap();
        assert_eq!(found.version, KafkaVersion::new(4, 1, 2));
        assert_eq!(version_of_jar_dir(dir.path()), Some(found));
        assert_eq!(version_of_class_path("", &Path::to_path_buf), None);
    }
}
