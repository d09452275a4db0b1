//! Whether log dirs are what they should be.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{SettingsError, Sourced};

/// The log dirs of a run: those that can be looked at, and what is wrong with the others.
#[derive(Debug)]
pub struct CheckedLogDirs {
    /// Directories that exist, as the operator named them.
    pub usable: Vec<PathBuf>,
    /// One error for each other one.
    pub broken: Vec<SettingsError>,
}

/// Checks each log dir, and all against each other; changes nothing.
///
/// A dir that cannot be had does not hide the others (a broker goes on without it too).
///
/// # Errors
///
/// Two log dirs that are one, one inside another, or a partition's dir: no plan can be right.
pub fn check_log_dirs(log_dirs: &Sourced<Vec<PathBuf>>) -> Result<CheckedLogDirs, SettingsError> {
    let mut checked = CheckedLogDirs {
        usable: Vec::new(),
        broken: Vec::new(),
    };
    let mut seen: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for dir in &log_dirs.value {
        let real = match check_one(dir, log_dirs) {
            Ok(real) => real,
            Err(error @ SettingsError::LogDirIsPartition { .. }) => return Err(error),
            Err(error) => {
                checked.broken.push(error);
                continue;
            }
        };
        if let Some(first) = seen.get(&real) {
            return Err(SettingsError::LogDirTwice {
                first: first.clone(),
                second: dir.clone(),
                origin: log_dirs.source.clone(),
            });
        }
        let nested = |(other, name): (&PathBuf, &PathBuf)| {
            if real.starts_with(other) {
                Some((dir.clone(), name.clone()))
            } else if other.starts_with(&real) {
                Some((name.clone(), dir.clone()))
            } else {
                None
            }
        };
        if let Some((inner, outer)) = seen.iter().find_map(nested) {
            return Err(SettingsError::LogDirNested {
                inner,
                outer,
                origin: log_dirs.source.clone(),
            });
        }
        seen.insert(real, dir.clone());
        checked.usable.push(dir.clone());
    }
    if checked.usable.is_empty() && checked.broken.is_empty() {
        return Err(SettingsError::NoLogDir {
            origin: log_dirs.source.clone(),
        });
    }
    Ok(checked)
}

/// Returns the real path of one log dir.
fn check_one(dir: &Path, log_dirs: &Sourced<Vec<PathBuf>>) -> Result<PathBuf, SettingsError> {
    let origin = || log_dirs.source.clone();
    let unreadable = |source: io::Error| SettingsError::LogDirUnreadable {
        path: dir.to_owned(),
        origin: origin(),
        source,
    };
    let meta = match fs::metadata(dir) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(match fs::read_link(dir) {
                Ok(target) => SettingsError::LogDirDangling {
                    path: dir.to_owned(),
                    target,
                    origin: origin(),
                },
                Err(_) => SettingsError::LogDirMissing {
                    path: dir.to_owned(),
                    origin: origin(),
                },
            });
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !meta.is_dir() {
        return Err(SettingsError::LogDirNoDirectory {
            path: dir.to_owned(),
            origin: origin(),
        });
    }
    fs::read_dir(dir).map_err(unreadable)?;
    if is_partition_dir(dir) {
        return Err(SettingsError::LogDirIsPartition {
            path: dir.to_owned(),
            origin: origin(),
        });
    }
    dir.canonicalize().map_err(unreadable)
}

/// Says whether `dir` looks like a partition's: its name ends in a number, segments lie in it, and nothing of a log dir.
fn is_partition_dir(dir: &Path) -> bool {
    let named = dir
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.rsplit_once('-'))
        .is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    named
        && !dir.join("meta.properties").exists()
        && fs::read_dir(dir).is_ok_and(|entries| {
            entries.filter_map(Result::ok).any(|entry| {
                let name = entry.file_name();
                let name = name.as_encoded_bytes();
                name.len() == 24 && name.ends_with(b".log")
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Source;

    fn named(dirs: &[&Path]) -> Sourced<Vec<PathBuf>> {
        let source = Source::Flag { name: "--log-dirs" };
        Sourced::new(dirs.iter().map(|dir| (*dir).to_owned()).collect(), source)
    }

    #[test]
    fn a_link_to_a_log_dir_is_one_and_the_same_dir_twice_is_not_two() {
        let tmp = tempfile::tempdir().unwrap();
        let real = tmp.path().join("d1");
        fs::create_dir(&real).unwrap();
        let link = tmp.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let checked = check_log_dirs(&named(&[&link])).unwrap();
        assert_eq!(checked.usable, std::slice::from_ref(&link));
        let error = check_log_dirs(&named(&[&real, &link])).unwrap_err();
        assert!(matches!(error, SettingsError::LogDirTwice { .. }));
        let inner = real.join("inner");
        fs::create_dir(&inner).unwrap();
        let error = check_log_dirs(&named(&[&inner, &real])).unwrap_err();
        assert!(
            matches!(error, SettingsError::LogDirNested { .. }),
            "{error}"
        );
    }

    #[test]
    fn a_dir_that_cannot_be_had_does_not_hide_the_others() {
        let tmp = tempfile::tempdir().unwrap();
        let good = tmp.path().join("good");
        fs::create_dir(&good).unwrap();
        let dangling = tmp.path().join("dangling");
        std::os::unix::fs::symlink(tmp.path().join("gone"), &dangling).unwrap();
        let file = tmp.path().join("file");
        fs::write(&file, "").unwrap();
        let partition = tmp.path().join("orders-7");
        fs::create_dir(&partition).unwrap();
        fs::write(partition.join("00000000000000000000.log"), "").unwrap();
        let missing = tmp.path().join("missing");
        let error = check_log_dirs(&named(&[&good, &partition])).unwrap_err();
        assert!(matches!(error, SettingsError::LogDirIsPartition { .. }));
        let checked = check_log_dirs(&named(&[&missing, &good, &dangling, &file])).unwrap();
        assert_eq!(checked.usable, [good]);
        assert!(matches!(
            checked.broken.as_slice(),
            [
                SettingsError::LogDirMissing { .. },
                SettingsError::LogDirDangling { .. },
                SettingsError::LogDirNoDirectory { .. }
            ]
        ));
        assert!(matches!(
            check_log_dirs(&named(&[])),
            Err(SettingsError::NoLogDir { .. })
        ));
    }
}
