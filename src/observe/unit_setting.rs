//! Single settings of a systemd unit, with the line that sets them.

use std::fs;
use std::path::{Path, PathBuf};

use super::unit::{UNIT_DIRS, list};

/// A setting and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitSetting {
    /// Its value, as written.
    pub value: String,
    /// The unit file or the drop-in.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl UnitSetting {
    /// Returns where it stands, in words.
    pub fn source(&self, key: &str) -> String {
        format!("{key}= in {} line {}", self.file.display(), self.line)
    }
}

/// Returns the last value that a unit under `root` and its drop-ins give to `key`; an empty one resets it.
pub fn unit_setting(root: &Path, unit: &str, key: &str) -> Option<UnitSetting> {
    let file = UNIT_DIRS
        .iter()
        .map(|dir| root.join(dir).join(unit))
        .find(|file| file.is_file());
    let drop_ins = UNIT_DIRS
        .iter()
        .rev()
        .flat_map(|dir| list(&root.join(dir).join(format!("{unit}.d")), ".conf"))
        .map(|(_, path)| path);
    let mut found = None;
    for file in file.into_iter().chain(drop_ins) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let Some((name, value)) = line.trim().split_once('=') else {
                continue;
            };
            if name.trim() == key {
                let value = value.trim().to_owned();
                found = (!value.is_empty()).then(|| UnitSetting {
                    value,
                    file: file.clone(),
                    line: number + 1,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_ins_win_and_an_empty_value_resets() {
        let tmp = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tmp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "lib/systemd/system/k.service",
            "[Service]\nUser=kafka\nLimitNOFILE=1024\nTimeoutStopSec=10\n",
        );
        write(
            "etc/systemd/system/k.service.d/a.conf",
            "[Service]\nLimitNOFILE = 1024:200000\nTimeoutStopSec=\n",
        );
        let get = |key| unit_setting(tmp.path(), "k.service", key);
        let limit = get("LimitNOFILE").unwrap();
        assert_eq!((limit.value.as_str(), limit.line), ("1024:200000", 2));
        assert!(
            limit
                .source("LimitNOFILE")
                .ends_with("k.service.d/a.conf line 2")
        );
        assert_eq!(get("User").unwrap().value, "kafka");
        assert_eq!(get("TimeoutStopSec"), None);
    }
}
