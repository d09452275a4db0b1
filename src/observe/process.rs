//! Running brokers, from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::jar::{JarVersion, version_of_class_path};

/// The class that a broker's Java process runs.
const MAIN_CLASS: &[u8] = b"kafka.Kafka";
/// The native image's program, and its option for the configuration.
const NATIVE_PROGRAM: &[u8] = b"/kafka.Kafka";

/// The configuration file of a running broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessConfig {
    /// A file that can be opened here.
    Path(PathBuf),
    /// The command line names it relative to a working directory that only its user, or root, may see.
    UnknownDir {
        /// The path as named.
        named: PathBuf,
    },
    /// It lies in the process' own mount namespace (a container).
    Elsewhere {
        /// The path inside.
        inside: PathBuf,
    },
    /// The command line names none.
    Unnamed,
}

/// A running broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerProcess {
    /// Its process id.
    pub pid: u32,
    /// The user it runs as.
    pub uid: u32,
    /// Its `server.properties`.
    pub config: ProcessConfig,
    /// Its working directory, if it may be seen.
    pub cwd: Option<PathBuf>,
    /// `--override KEY=VALUE` of its command line, in order.
    pub overrides: Vec<(String, String)>,
    /// Its release, by its class path.
    pub version: Option<JarVersion>,
    /// The systemd unit of its cgroup, if it has one.
    pub unit: Option<String>,
}

/// What was found in `/proc`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrokerSearch {
    /// The brokers, by process id.
    pub brokers: Vec<BrokerProcess>,
    /// How many processes hide their command line (`hidepid`, or another user's without rights).
    pub hidden: u64,
}

/// Looks for brokers under `proc` (`/proc`; another folder in tests). A process that ends meanwhile is passed over.
pub fn find_brokers(proc: &Path) -> BrokerSearch {
    let mut search = BrokerSearch::default();
    let mut pids: Vec<u32> = fs::read_dir(proc)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    for pid in pids {
        let dir = proc.join(pid.to_string());
        match fs::read(dir.join("cmdline")) {
            Ok(line) => search.brokers.extend(broker(proc, &dir, pid, &line)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => search.hidden += 1,
            Err(_) => {}
        }
    }
    search
}

/// Says whether process `pid` is a broker, as far as its command line may be seen.
pub fn is_broker(proc: &Path, pid: u32) -> bool {
    let line = fs::read(proc.join(pid.to_string()).join("cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    parse_command(&words).is_some()
}

/// Returns the broker that a command line starts, if it does.
fn broker(proc: &Path, dir: &Path, pid: u32, line: &[u8]) -> Option<BrokerProcess> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    let command = parse_command(&words)?;
    let cwd = fs::read_link(dir.join("cwd")).ok();
    let elsewhere = is_elsewhere(proc, dir);
    let config = match (command.config, &cwd) {
        (None, _) => ProcessConfig::Unnamed,
        (Some(named), _) if elsewhere && named.is_absolute() => {
            ProcessConfig::Elsewhere { inside: named }
        }
        (Some(named), Some(cwd)) if elsewhere => ProcessConfig::Elsewhere {
            inside: cwd.join(named),
        },
        (Some(named), _) if named.is_absolute() => ProcessConfig::Path(named),
        (Some(named), Some(cwd)) => ProcessConfig::Path(cwd.join(named)),
        (Some(named), None) => ProcessConfig::UnknownDir { named },
    };
    let root = dir.join("root");
    let under = |path: &Path| {
        let absolute = cwd
            .as_ref()
            .map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
        if elsewhere {
            open_under(&root, &absolute)
        } else {
            absolute
        }
    };
    let class_path = command
        .class_path
        .or_else(|| environment(dir, b"CLASSPATH="));
    Some(BrokerProcess {
        pid,
        uid: fs::metadata(dir).map_or(0, |meta| meta.uid()),
        config,
        overrides: command.overrides,
        version: class_path.and_then(|class_path| version_of_class_path(&class_path, &under)),
        unit: fs::read_to_string(dir.join("cgroup"))
            .ok()
            .and_then(|text| unit_of_cgroup(&text)),
        cwd,
    })
}

/// Returns `path` of another mount namespace as it is opened from here, through the process' `root`.
pub fn open_under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Says whether a process has a file system of its own, as far as that may be seen.
fn is_elsewhere(proc: &Path, dir: &Path) -> bool {
    let namespace = |dir: PathBuf| fs::read_link(dir.join("ns/mnt")).ok();
    match (namespace(proc.join("self")), namespace(dir.to_owned())) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            // Services with private mounts (ProtectSystem= and the like) see the same files at the same places.
            fs::metadata(dir.join("root/"))
                .map(|meta| (meta.dev(), meta.ino()))
                .ok()
                != fs::metadata("/").map(|meta| (meta.dev(), meta.ino())).ok()
        }
        _ => false,
    }
}

/// What a broker's command line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct BrokerCommand {
    class_path: Option<String>,
    config: Option<PathBuf>,
    overrides: Vec<(String, String)>,
}

/// Parses `java OPTIONS kafka.Kafka FILE [--override KEY=VALUE]…`, or the native image's `kafka.Kafka start --config FILE`.
fn parse_command(words: &[&[u8]]) -> Option<BrokerCommand> {
    let path = |word: &[u8]| PathBuf::from(OsStr::from_bytes(word));
    let program = words.first()?;
    if program.ends_with(NATIVE_PROGRAM) || *program == MAIN_CLASS {
        let at = words.iter().position(|word| *word == b"--config")?;
        return Some(BrokerCommand {
            config: words.get(at + 1).map(|word| path(word)),
            ..BrokerCommand::default()
        });
    }
    // A shell that starts the broker names the class too; the class is an argument of Java only.
    if !program.ends_with(b"java") {
        return None;
    }
    let main = words.iter().position(|word| *word == MAIN_CLASS)?;
    let (options, rest) = words.split_at_checked(main)?;
    let mut command = BrokerCommand::default();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        if [&b"-cp"[..], b"-classpath", b"--class-path"].contains(option) {
            command.class_path = options.next().map(|word| lossy(word));
        } else if let Some(class_path) = option.strip_prefix(b"--class-path=") {
            command.class_path = Some(lossy(class_path));
        }
    }
    let mut rest = rest.iter().skip(1).filter(|word| !word.is_empty());
    while let Some(word) = rest.next() {
        let pair = if *word == b"--override" {
            rest.next().map(|word| lossy(word))
        } else if let Some(pair) = word.strip_prefix(b"--override=") {
            Some(lossy(pair))
        } else {
            if command.config.is_none() && !word.starts_with(b"--") {
                command.config = Some(path(word));
            }
            None
        };
        if let Some((key, value)) = pair.as_deref().and_then(|pair| pair.split_once('=')) {
            command.overrides.push((key.to_owned(), value.to_owned()));
        }
    }
    Some(command)
}

/// Returns `word` as text.
fn lossy(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

/// Returns a variable of a process' environment, if it may be seen; `name` ends in `=`.
fn environment(dir: &Path, name: &[u8]) -> Option<String> {
    let bytes = fs::read(dir.join("environ")).ok()?;
    let value = bytes
        .split(|byte| *byte == 0)
        .find_map(|pair| pair.strip_prefix(name))?;
    Some(
        std::ffi::OsString::from_vec(value.to_vec())
            .to_string_lossy()
            .into_owned(),
    )
}

/// Returns the systemd service that a cgroup path ends in.
pub(super) fn unit_of_cgroup(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        // The innermost service: a user's session lies inside user@1000.service.
        path.split('/')
            .rev()
            .find(|part| part.ends_with(".service"))
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::KafkaVersion;

    fn fake(proc: &Path, pid: u32, words: &[&str], cwd: Option<&str>) {
        let dir = proc.join(pid.to_string());
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("cmdline"), words.join("\0") + "\0").unwrap();
        if let Some(cwd) = cwd {
            std::os::unix::fs::symlink(cwd, dir.join("cwd")).unwrap();
        }
    }

    #[test]
    fn brokers_are_found_by_their_class_and_nothing_else_is() {
        let tmp = tempfile::tempdir().unwrap();
        let proc = tmp.path();
        fake(
            proc,
            12,
            &[
                "/usr/bin/java",
                "-Xmx1G",
                "-cp",
                "/opt/kafka/libs/kafka-clients-4.1.2.jar:/opt/kafka/libs/kafka_2.13-4.1.2.jar",
                "kafka.Kafka",
                "config/server.properties",
                "--override",
                "node.id=7",
            ],
            Some("/opt/kafka"),
        );
        fs::write(proc.join("12/cgroup"), "0::/system.slice/kafka.service\n").unwrap();
        fake(
            proc,
            13,
            &["java", "-cp", "x.jar", "kafka.Kafka", "rel.properties"],
            None,
        );
        fake(
            proc,
            14,
            &[
                "bash",
                "/opt/kafka/bin/kafka-run-class.sh",
                "kafka.Kafka",
                "/etc/kafka/server.properties",
            ],
            Some("/"),
        );
        fake(
            proc,
            15,
            &["java", "-cp", "x.jar", "kafka.tools.ConsoleConsumer"],
            Some("/"),
        );
        fake(
            proc,
            16,
            &[
                "/opt/kafka/kafka.Kafka",
                "start",
                "--config",
                "/etc/kafka/server.properties",
            ],
            Some("/"),
        );
        fake(proc, 17, &[], Some("/"));
        assert!(is_broker(proc, 12) && !is_broker(proc, 14) && !is_broker(proc, 99));
        let search = find_brokers(proc);
        let pids: Vec<u32> = search.brokers.iter().map(|broker| broker.pid).collect();
        assert_eq!(pids, [12, 13, 16]);
        let first = &search.brokers[0];
        assert_eq!(
            first.config,
            ProcessConfig::Path("/opt/kafka/config/server.properties".into())
        );
        assert_eq!(first.overrides, [("node.id".to_owned(), "7".to_owned())]);
        assert_eq!(
            first.version.as_ref().unwrap().version,
            KafkaVersion::new(4, 1, 2)
        );
        assert_eq!(first.unit.as_deref(), Some("kafka.service"));
        assert_eq!(
            search.brokers[1].config,
            ProcessConfig::UnknownDir {
                named: "rel.properties".into()
            }
        );
        assert_eq!(search.brokers[1].version, None);
        assert_eq!(
            search.brokers[2].config,
            ProcessConfig::Path("/etc/kafka/server.properties".into())
        );
    }

    #[test]
    fn a_user_s_unit_is_the_innermost() {
        assert_eq!(
            unit_of_cgroup(
                "0::/user.slice/user-1000.slice/user@1000.service/app.slice/kafka.service\n"
            ),
            Some("kafka.service".to_owned())
        );
        assert_eq!(
            unit_of_cgroup("0::/kubepods.slice/cri-containerd-1.scope\n"),
            None
        );
    }
}
