//! How much heap a broker has, by its command line or what its unit gives it.

use std::fs;
use std::path::Path;

use super::unit::text_of;

/// A heap and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heap {
    /// Its limit in bytes (`-Xmx`).
    pub bytes: u64,
    /// Who says so, in words.
    pub source: String,
}

/// What `kafka-server-start.sh` gives where nobody says otherwise.
const OF_SCRIPT: u64 = 1 << 30;
const SCRIPT: &str = "kafka-server-start.sh";

/// Returns the heap of the broker that runs as process `pid` or is started by `unit`; `root` is `/`, another folder in
/// tests. `None` where neither tells: Java takes a share of the host's memory then.
pub fn heap_of(root: &Path, unit: Option<&str>, pid: Option<u32>) -> Option<Heap> {
    let of_process = pid.and_then(|pid| {
        let line = fs::read(root.join(format!("proc/{pid}/cmdline"))).ok()?;
        let line = String::from_utf8_lossy(&line);
        Some(Heap {
            bytes: last_limit(line.split('\0'))?,
            source: format!("-Xmx of process {pid}"),
        })
    });
    of_process.or_else(|| of_unit(root, unit?))
}

fn of_unit(root: &Path, unit: &str) -> Option<Heap> {
    let text = text_of(root, unit);
    let mut found = None;
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        match key.trim() {
            // One line may set several, each in quotes or not.
            "Environment" => {
                found = heap_in(value)
                    .map(|bytes| (bytes, format!("KAFKA_HEAP_OPTS of {unit}")))
                    .or(found);
            }
            "EnvironmentFile" => {
                let file = value.trim().trim_start_matches('-');
                let text = super::open_under(root, Path::new(file));
                let text = fs::read_to_string(text).unwrap_or_default();
                let of_file = text.lines().rev().find_map(heap_in);
                found = of_file
                    .map(|bytes| (bytes, format!("KAFKA_HEAP_OPTS in {file}")))
                    .or(found);
            }
            _ => {}
        }
    }
    if let Some((bytes, source)) = found {
        return Some(Heap { bytes, source });
    }
    let command = text
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("ExecStart="))?;
    let own = last_limit(command.split_whitespace());
    let (bytes, source) = match own {
        Some(bytes) => (bytes, format!("-Xmx in ExecStart= of {unit}")),
        None if command.contains(SCRIPT) => (
            OF_SCRIPT,
            format!("the default of {SCRIPT}, {unit} sets no KAFKA_HEAP_OPTS"),
        ),
        None => return None,
    };
    Some(Heap { bytes, source })
}

/// Returns the limit that a line of an environment gives.
fn heap_in(line: &str) -> Option<u64> {
    let (_, options) = line.split_once("KAFKA_HEAP_OPTS=")?;
    last_limit(options.split(|c: char| c.is_whitespace() || c == '"' || c == '\''))
}

/// Returns the last `-Xmx` of some options, as Java takes it.
fn last_limit<'a>(options: impl Iterator<Item = &'a str>) -> Option<u64> {
    let limits = options.filter_map(|option| bytes(option.strip_prefix("-Xmx")?));
    limits.last()
}

/// Parses `4g`, `512M`, `1073741824`.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, last) if last.is_ascii_alphabetic() => (text.get(..at)?, last.to_ascii_lowercase()),
        _ => (text, 'b'),
    };
    let shift = match unit {
        'b' => 0,
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_environment_and_script_tell_in_this_order() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("etc/systemd/system");
        fs::create_dir_all(&dir).unwrap();
        let exec = "ExecStart=/opt/kafka/bin/kafka-server-start.sh /etc/kafka/server.properties\n";
        let unit = |more: &str| {
            let text = format!("[Service]\n{more}{exec}");
            fs::write(dir.join("kafka.service"), text).unwrap();
            let heap = heap_of(tmp.path(), Some("kafka.service"), Some(7)).unwrap();
            (heap.bytes, heap.source)
        };
        let (bytes, source) = unit("");
        assert_eq!(bytes, 1 << 30);
        assert!(source.contains("sets no KAFKA_HEAP_OPTS"), "{source}");
        let more = "Environment=\"LOG_DIR=/x\" \"KAFKA_HEAP_OPTS=-Xms1g -Xmx6G\"\n";
        assert_eq!(unit(more).0, 6 << 30);
        fs::create_dir_all(tmp.path().join("etc/default")).unwrap();
        fs::write(
            tmp.path().join("etc/default/kafka"),
            "# KAFKA\nKAFKA_HEAP_OPTS='-Xmx768m'\n",
        )
        .unwrap();
        let (bytes, source) = unit(&format!("{more}EnvironmentFile=-/etc/default/kafka\n"));
        assert_eq!(bytes, 768 << 20);
        assert_eq!(source, "KAFKA_HEAP_OPTS in /etc/default/kafka");
        let proc = tmp.path().join("proc/7");
        fs::create_dir_all(&proc).unwrap();
        fs::write(
            proc.join("cmdline"),
            "java\0-Xmx1g\0-Xmx2048m\0kafka.Kafka\0",
        )
        .unwrap();
        assert_eq!(unit(more), (2 << 30, "-Xmx of process 7".to_owned()));
        assert_eq!(heap_of(tmp.path(), None, None), None);
    }

    #[test]
    fn sizes_are_read_as_java_reads_them() {
        for (text, is) in [
            ("1073741824", Some(1 << 30)),
            ("4g", Some(4 << 30)),
            ("512M", Some(512 << 20)),
            ("64k", Some(64 << 10)),
            ("1t", Some(1 << 40)),
            ("", None),
            ("g", None),
            ("4x", None),
            ("99999999999999999999g", None),
        ] {
            assert_eq!(bytes(text), is, "{text}");
        }
    }
}
