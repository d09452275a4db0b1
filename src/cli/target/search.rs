//! Finds the broker: its running process, its unit, the usual places; or what the command line names.

use std::path::{Path, PathBuf};

use super::candidate::{Candidate, real_path};
use crate::cli::{CliError, Context};
use crate::observe::{
    BrokerProcess, BrokerSearch, BrokerUnit, ProcessConfig, find_brokers, find_units,
    usual_configs, version_of_jar_dir,
};
use crate::settings::{BrokerConfig, SettingsError, Sourced};

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// Brokers whose configuration could be read, each once.
    pub candidates: Vec<Candidate>,
    /// Brokers that run but whose configuration could not be had, and configurations that could not be read; a sentence
    /// each.
    pub notes: Vec<String>,
}

/// Where to look; other folders in tests.
struct Roots<'a> {
    proc: &'a Path,
    root: &'a Path,
}

/// Finds the brokers that a command may be about.
///
/// # Errors
///
/// A configuration that was named and cannot be read.
pub fn find_candidates(context: &Context) -> Result<Found, CliError> {
    let roots = Roots {
        proc: Path::new("/proc"),
        root: Path::new("/"),
    };
    let settings = &context.settings;
    let Some(log_dirs) = &settings.log_dirs else {
        return match &settings.config {
            Some(config) => Ok(Found {
                candidates: vec![configured(&roots, config)?],
                notes: Vec::new(),
            }),
            None => Ok(search(&roots)),
        };
    };
    let log_dirs = Sourced::new(
        log_dirs.value.iter().map(|dir| absolute(dir)).collect(),
        log_dirs.source.clone(),
    );
    let candidate = match &settings.config {
        Some(config) => {
            let mut candidate = configured(&roots, config)?;
            let own = std::mem::replace(&mut candidate.broker.log_dirs, log_dirs);
            candidate.replaced_log_dirs = own.value;
            candidate
        }
        // Nothing is searched for: who holds these dirs is seen in their locks and open files.
        None => Candidate::new(
            log_dirs.source.to_string(),
            BrokerConfig::of_log_dirs(log_dirs),
        ),
    };
    Ok(Found {
        candidates: vec![candidate],
        notes: Vec::new(),
    })
}

/// Returns the one candidate, or says what to do where there is none or several.
///
/// # Errors
///
/// None or several.
pub fn only_candidate(found: Found) -> Result<Candidate, CliError> {
    let mut candidates = found.candidates;
    let noted = |error: CliError| found.notes.iter().cloned().fold(error, CliError::hint);
    match candidates.len() {
        1 => candidates
            .pop()
            .ok_or_else(|| CliError::failed("the broker went away")),
        0 => Err(noted(CliError::usage("no broker found on this host"))
            .hint("Name its configuration (--config FILE) or its log dirs (--log-dirs A,B).")),
        several => {
            let error = CliError::usage(format!("{several} brokers found on this host"));
            Err(candidates.iter().fold(noted(error), |error, candidate| {
                let choice = match &candidate.broker.path {
                    Some(path) => format!("--config {}", path.display()),
                    None => format!("--log-dirs {}", candidate.label()),
                };
                error.hint(format!("{choice}  ({})", candidate.found_by))
            }))
        }
    }
}

/// Returns the candidate of a named configuration, with its process and unit if they can be told.
fn configured(roots: &Roots<'_>, config: &Sourced<PathBuf>) -> Result<Candidate, CliError> {
    let path = absolute(&config.value);
    let same = |other: &Path| real_path(other) == real_path(&path);
    let process = find_brokers(roots.proc)
        .brokers
        .into_iter()
        .find(|process| matches!(&process.config, ProcessConfig::Path(other) if same(other)));
    let unit = find_units(roots.root)
        .into_iter()
        .find(|unit| unit.config.as_deref().is_some_and(same));
    let found_by = config.source.to_string();
    let candidate = match (process, unit) {
        (Some(process), unit) => {
            of_process(&process, &path, found_by).map(|candidate| match unit {
                Some(unit) => with_unit(candidate, &unit),
                None => candidate,
            })?
        }
        (None, Some(unit)) => with_unit(of_unit(&unit, &path, found_by)?, &unit),
        (None, None) => {
            // Kafka's scripts leave the working directory alone, so a relative dir is taken from here.
            let broker = BrokerConfig::read(&path, &[], &absolute(Path::new(".")))?;
            Candidate::new(found_by, broker)
        }
    };
    Ok(with_jars_beside(candidate, &path))
}

/// Looks at processes and units; at the usual places only where these give nothing.
fn search(roots: &Roots<'_>) -> Found {
    let mut found = Found::default();
    let units = find_units(roots.root);
    let BrokerSearch { brokers, hidden } = find_brokers(roots.proc);
    for process in &brokers {
        let path = match &process.config {
            ProcessConfig::Path(path) => path.clone(),
            ProcessConfig::UnknownDir { named } => {
                found.notes.push(format!(
                    "Process {} is a broker of another user; its working directory is hidden, so {} cannot be found: \
                     run krescue as root or as that user, or give --config.",
                    process.pid,
                    named.display()
                ));
                continue;
            }
            ProcessConfig::Elsewhere { inside } => {
                found.notes.push(format!(
                    "Process {} is a broker in a container ({} there): run krescue inside, or give --config and \
                     --log-dirs as this host sees them.",
                    process.pid,
                    inside.display()
                ));
                continue;
            }
            ProcessConfig::Unnamed => {
                found.notes.push(format!(
                    "Process {} is a broker whose command line names no configuration: give --config.",
                    process.pid
                ));
                continue;
            }
        };
        let candidate = of_process(process, &path, format!("process {}", process.pid));
        let unit = units
            .iter()
            .find(|unit| process.unit.as_ref() == Some(&unit.name));
        let candidate = candidate.map(|candidate| match unit {
            Some(unit) => with_unit(candidate, unit),
            None => candidate,
        });
        add(&mut found, candidate);
    }
    for unit in &units {
        if let Some(path) = &unit.config {
            let candidate = of_unit(unit, path, format!("unit {}", unit.name));
            add(
                &mut found,
                candidate.map(|candidate| with_unit(candidate, unit)),
            );
        }
    }
    if found.candidates.is_empty() {
        for path in usual_configs(roots.root) {
            let place = path.display().to_string();
            match BrokerConfig::read(&path, &[], Path::new("/")) {
                // A template that no broker ever ran with is no broker.
                Ok(broker) if Candidate::new("", broker.clone()).was_used() => {
                    let candidate = with_jars_beside(Candidate::new(place, broker), &path);
                    add(&mut found, Ok(candidate));
                }
                Ok(_) => {}
                Err(error) => found.notes.push(sentence(&error)),
            }
        }
    }
    if hidden > 0 && brokers.is_empty() {
        found.notes.push(format!(
            "{hidden} processes hide their command line from this user: a running broker may be among them."
        ));
    }
    found
}

/// Adds a candidate, unless its log dirs are those of one that was found before.
fn add(found: &mut Found, candidate: Result<Candidate, SettingsError>) {
    match candidate {
        Ok(candidate) => {
            let dirs = candidate.real_log_dirs();
            if !found
                .candidates
                .iter()
                .any(|known| known.real_log_dirs() == dirs)
            {
                found.candidates.push(candidate);
            }
        }
        Err(error) => found.notes.push(sentence(&error)),
    }
}

fn of_process(
    process: &BrokerProcess,
    path: &Path,
    found_by: String,
) -> Result<Candidate, SettingsError> {
    let cwd = process.cwd.as_deref().unwrap_or(Path::new("/"));
    let broker = BrokerConfig::read(path, &process.overrides, cwd)?;
    let mut candidate = Candidate::new(found_by, broker);
    candidate.pid = Some(process.pid);
    candidate.unit.clone_from(&process.unit);
    candidate.jar = process.version.clone().map(|jar| {
        let place = format!("class path of process {}", process.pid);
        (jar, place)
    });
    Ok(candidate)
}

fn of_unit(unit: &BrokerUnit, path: &Path, found_by: String) -> Result<Candidate, SettingsError> {
    let cwd = unit.cwd.as_deref().unwrap_or(Path::new("/"));
    let broker = BrokerConfig::read(path, &unit.overrides, cwd)?;
    Ok(Candidate::new(found_by, broker))
}

/// Adds what a unit knows and the process did not say.
fn with_unit(mut candidate: Candidate, unit: &BrokerUnit) -> Candidate {
    candidate.unit.get_or_insert_with(|| unit.name.clone());
    if candidate.jar.is_none() {
        candidate.jar = unit
            .version
            .clone()
            .map(|jar| (jar, format!("beside the command of {}", unit.name)));
    }
    candidate
}

/// Adds the release of `libs` beside the configuration (`KAFKA/config/server.properties`, `config/kraft/…`).
fn with_jars_beside(mut candidate: Candidate, path: &Path) -> Candidate {
    if candidate.jar.is_none() {
        candidate.jar = path.ancestors().skip(2).take(2).find_map(|home| {
            let libs = home.join("libs");
            version_of_jar_dir(&libs).map(|jar| (jar, format!("in {}", libs.display())))
        });
    }
    candidate
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns an error and its cause in one sentence.
fn sentence(error: &SettingsError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A host with a broker's configuration at `config`, its log dir used.
    fn add_broker(root: &Path, name: &str) -> PathBuf {
        let data = root.join(name).join("data");
        write(root, &format!("{name}/data/meta.properties"), "version=1\n");
        write(
            root,
            &format!("{name}/config/server.properties"),
            &format!("node.id=3\nlog.dirs={}\n", data.display()),
        );
        root.join(name).join("config/server.properties")
    }

    fn add_process(root: &Path, pid: u32, config: &Path) {
        write(
            root,
            &format!("proc/{pid}/cmdline"),
            &format!(
                "java\0-cp\0/opt/kafka_2.13-4.1.2.jar\0kafka.Kafka\0{}\0",
                config.display()
            ),
        );
    }

    fn found_in(root: &Path) -> Found {
        search(&Roots {
            proc: &root.join("proc"),
            root,
        })
    }

    #[test]
    fn a_process_and_its_unit_are_one_broker() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        let config = add_broker(root, "opt/kafka");
        add_process(root, 12, &config);
        write(
            root,
            "etc/systemd/system/kafka.service",
            &format!(
                "[Service]\nExecStart=/opt/kafka/bin/kafka-server-start.sh {}\n",
                config.display()
            ),
        );
        let candidate = only_candidate(found_in(root)).unwrap();
        assert_eq!(candidate.found_by, "process 12");
        assert_eq!(candidate.pid, Some(12));
        assert_eq!(candidate.jar.unwrap().1, "class path of process 12");
    }

    #[test]
    fn a_running_and_a_crashed_broker_make_a_choice() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        let running = add_broker(root, "opt/kafka-1");
        let crashed = add_broker(root, "opt/kafka-2");
        add_process(root, 12, &running);
        write(
            root,
            "etc/systemd/system/kafka2.service",
            &format!(
                "[Service]\nExecStart=/opt/kafka/bin/kafka-server-start.sh {}\n",
                crashed.display()
            ),
        );
        let error = only_candidate(found_in(root)).unwrap_err();
        assert_eq!(error.exit, crate::cli::Exit::Usage);
        assert_eq!(error.hints.len(), 2, "{error:?}");
    }

    #[test]
    fn nothing_found_says_what_was_seen() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        write(
            root,
            "proc/9/cmdline",
            "java\0kafka.Kafka\0server.properties\0",
        );
        let error = only_candidate(found_in(root)).unwrap_err();
        assert!(
            error.hints.iter().any(|hint| hint.contains("Process 9")),
            "{error:?}"
        );
        assert!(error.hints.iter().any(|hint| hint.contains("--log-dirs")));
    }

    #[test]
    fn jars_beside_the_configuration_give_the_release() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        let config = add_broker(root, "opt/kafka");
        write(root, "opt/kafka/libs/kafka_2.13-3.9.1.jar", "");
        let broker = BrokerConfig::read(&config, &[], root).unwrap();
        let candidate = with_jars_beside(Candidate::new("x", broker), &config);
        assert_eq!(candidate.jar.unwrap().0.version.to_string(), "3.9.1");
    }
}
