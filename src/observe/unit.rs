//! systemd units that start a broker, and the places where a configuration usually lies.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::jar::{JarVersion, version_of_jar_dir};

/// Where units lie, the strongest first.
pub(super) const UNIT_DIRS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// Where a broker's configuration usually lies, the likeliest first.
pub const USUAL_CONFIGS: [&str; 11] = [
    "/etc/kafka/server.properties",
    "/etc/kafka/kraft/server.properties",
    "/etc/kafka/broker.properties",
    "/opt/kafka/config/server.properties",
    "/opt/kafka/config/kraft/server.properties",
    "/opt/kafka/config/broker.properties",
    "/usr/local/etc/kafka/server.properties",
    "/usr/local/kafka/config/server.properties",
    "/opt/bitnami/kafka/config/server.properties",
    "/mnt/shared/config/server.properties",
    "/tmp/strimzi.properties",
];

/// A unit that starts a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerUnit {
    /// Its name (`kafka.service`).
    pub name: String,
    /// The file that names the command.
    pub file: PathBuf,
    /// The `server.properties` that it starts, as an absolute path.
    pub config: Option<PathBuf>,
    /// `--override KEY=VALUE` of its command.
    pub overrides: Vec<(String, String)>,
    /// Its `WorkingDirectory=`.
    pub cwd: Option<PathBuf>,
    /// The release of the jars beside its command.
    pub version: Option<JarVersion>,
}

/// Looks for units under `root` (`/`; another folder in tests), sorted by name.
pub fn find_units(root: &Path) -> Vec<BrokerUnit> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for dir in UNIT_DIRS {
        for (name, path) in list(&root.join(dir), ".service") {
            files.entry(name).or_insert(path);
        }
    }
    files
        .into_iter()
        .filter_map(|(name, file)| unit(root, name, &file))
        .collect()
}

/// Returns the usual places at which a configuration lies under `root`.
pub fn usual_configs(root: &Path) -> Vec<PathBuf> {
    USUAL_CONFIGS
        .iter()
        .filter(|path| super::open_under(root, Path::new(path)).is_file())
        .map(PathBuf::from)
        .collect()
}

/// Returns the text of a unit's file and of its drop-ins, the strongest last; empty where there is none.
pub(super) fn text_of(root: &Path, name: &str) -> String {
    let mut files = UNIT_DIRS.iter().map(|dir| root.join(dir).join(name));
    let text = files.find_map(|file| fs::read_to_string(file).ok());
    let mut text = text.unwrap_or_default();
    for dir in UNIT_DIRS.iter().rev() {
        for (_, path) in list(&root.join(dir).join(format!("{name}.d")), ".conf") {
            text.push('\n');
            text.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
    text
}

/// Lists the files of `dir` whose name ends in `suffix`, by name.
pub(super) fn list(dir: &Path, suffix: &str) -> Vec<(String, PathBuf)> {
    let mut files: Vec<(String, PathBuf)> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let path = dir.join(&name);
            name.ends_with(suffix).then_some((name, path))
        })
        .collect();
    files.sort();
    files
}

/// Returns the unit of one file, if its command starts a broker.
fn unit(root: &Path, name: String, file: &Path) -> Option<BrokerUnit> {
    let mut settings = ServiceSettings::default();
    let mut source = file.to_owned();
    settings.read(&fs::read_to_string(file).ok()?);
    for dir in UNIT_DIRS.iter().rev() {
        for (_, path) in list(&root.join(dir).join(format!("{name}.d")), ".conf") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if settings.read(&text) {
                source = path;
            }
        }
    }
    let words = split_command(settings.exec_start.last()?);
    let start = words.iter().position(|word| {
        word.ends_with("kafka-server-start.sh")
            || word.ends_with("kafka-server-start")
            || word == "kafka.Kafka"
    })?;
    let (before, rest) = words.split_at_checked(start)?;
    let script = Path::new(rest.first()?.as_str());
    let named = rest.iter().skip(1).find(|word| !word.starts_with('-'));
    let cwd = settings.working_directory.map(PathBuf::from);
    let absolute = |path: &str| cwd.as_deref().unwrap_or(Path::new("/")).join(path);
    let class_path = before
        .iter()
        .position(|word| word == "-cp" || word == "-classpath")
        .and_then(|at| before.get(at + 1));
    let under = |path: &Path| super::open_under(root, path);
    let version = match class_path {
        Some(class_path) => super::version_of_class_path(class_path, &under),
        None => jar_dirs(script)
            .iter()
            .find_map(|dir| version_of_jar_dir(&under(dir))),
    };
    Some(BrokerUnit {
        name,
        file: source,
        config: named.map(|named| absolute(named)),
        overrides: rest
            .windows(2)
            .filter_map(|pair| match pair {
                [flag, value] if flag == "--override" => value.split_once('='),
                _ => None,
            })
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        cwd,
        version,
    })
}

/// Returns where the jars of a start script lie: `../libs` of Apache's, `share/java/kafka` of Confluent's packages.
fn jar_dirs(script: &Path) -> Vec<PathBuf> {
    let Some(home) = script.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    vec![
        home.join("libs"),
        home.join("share/java/kafka"),
        home.join("lib"),
    ]
}

/// The settings of a unit that matter here.
#[derive(Debug, Default)]
struct ServiceSettings {
    exec_start: Vec<String>,
    working_directory: Option<String>,
    environment: BTreeMap<String, String>,
}

impl ServiceSettings {
    /// Reads a unit file or a drop-in; says whether it sets the command.
    fn read(&mut self, text: &str) -> bool {
        let mut sets = false;
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
        for line in joined.lines().map(str::trim) {
            if line.starts_with(['#', ';']) {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let value = value.trim();
            match key.trim() {
                // An empty assignment resets the list.
                "ExecStart" if value.is_empty() => self.exec_start.clear(),
                "ExecStart" => {
                    sets = true;
                    let command = value.trim_start_matches(['-', '@', ':', '+', '!']);
                    self.exec_start.push(self.expand(command));
                }
                "WorkingDirectory" => {
                    self.working_directory = Some(value.trim_start_matches('-').to_owned());
                }
                "Environment" => {
                    for word in split_command(value) {
                        if let Some((name, value)) = word.split_once('=') {
                            self.environment.insert(name.to_owned(), value.to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
        sets
    }

    /// Replaces `${NAME}` and `$NAME` by what `Environment=` says above.
    fn expand(&self, command: &str) -> String {
        let mut text = command.to_owned();
        for (name, value) in self.environment.iter().rev() {
            text = text.replace(&format!("${{{name}}}"), value);
            text = text.replace(&format!("${name}"), value);
        }
        text
    }
}

/// Splits a command at blanks, quotes kept together; a command inside `sh -c '…'` is split too.
fn split_command(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    if words.iter().any(|word| word.contains(char::is_whitespace)) {
        return words
            .iter()
            .flat_map(|word| word.split_whitespace())
            .map(str::to_owned)
            .collect();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::KafkaVersion;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_unit_names_configuration_and_release() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        write(
            root,
            "usr/lib/systemd/system/kafka.service",
            "[Service]\nEnvironment=\"HOME_DIR=/opt/kafka\"\nExecStart=${HOME_DIR}/bin/kafka-server-start.sh \\\n  /opt/kafka/config/server.properties --override node.id=4\n",
        );
        write(root, "opt/kafka/libs/kafka_2.13-3.9.1.jar", "");
        write(
            root,
            "etc/systemd/system/sshd.service",
            "[Service]\nExecStart=/usr/sbin/sshd -D\n",
        );
        write(
            root,
            "etc/systemd/system/second.service",
            "[Service]\nWorkingDirectory=/srv/k\nExecStart=/bin/sh -c 'bin/kafka-server-start.sh config/server.properties > log 2>&1'\n",
        );
        let units = find_units(root);
        assert_eq!(units.len(), 2);
        assert_eq!(units[0].name, "kafka.service");
        assert_eq!(
            units[0].config.as_deref(),
            Some(Path::new("/opt/kafka/config/server.properties"))
        );
        assert_eq!(
            units[0].version.as_ref().unwrap().version,
            KafkaVersion::new(3, 9, 1)
        );
        assert_eq!(units[0].overrides, [("node.id".to_owned(), "4".to_owned())]);
        assert_eq!(
            units[1].config.as_deref(),
            Some(Path::new("/srv/k/config/server.properties"))
        );
    }

    #[test]
    fn a_drop_in_replaces_the_command() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path();
        write(
            root,
            "lib/systemd/system/confluent-server.service",
            "[Service]\nExecStart=/usr/bin/kafka-server-start /etc/kafka/server.properties\n",
        );
        write(
            root,
            "etc/systemd/system/confluent-server.service.d/override.conf",
            "[Service]\nExecStart=\nExecStart=/usr/bin/kafka-server-start /srv/kafka/server.properties\n",
        );
        write(root, "usr/share/java/kafka/kafka_2.13-7.9.0-ccs.jar", "");
        let units = find_units(root);
        assert_eq!(
            units[0].config.as_deref(),
            Some(Path::new("/srv/kafka/server.properties"))
        );
        assert!(units[0].file.ends_with("override.conf"));
        assert_eq!(
            units[0].version.as_ref().unwrap().version,
            KafkaVersion::new(3, 9, 0)
        );
    }

    #[test]
    fn usual_places_are_those_that_exist() {
        let tmp = tempfile::tempdir().unwrap();
        write(tmp.path(), "etc/kafka/server.properties", "");
        assert_eq!(
            usual_configs(tmp.path()),
            [Path::new("/etc/kafka/server.properties")]
        );
    }
}
