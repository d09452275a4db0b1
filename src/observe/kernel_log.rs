//! I/O errors that the kernel reports, from its ring buffer.

use std::collections::BTreeMap;
use std::path::Path;

use super::kernel_records::each_line;

/// What the kernel said of one device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceErrors {
    /// How often.
    pub count: u64,
    /// The last line.
    pub last: String,
}

/// Reads the kernel's I/O errors by the device's name (`sdb1`); empty where the ring buffer may not be read.
pub fn kernel_io_errors(kmsg: &Path) -> BTreeMap<String, DeviceErrors> {
    let mut errors: BTreeMap<String, DeviceErrors> = BTreeMap::new();
    let take = |line: &str| {
        let text = line.split_once(';').map_or(line, |(_, text)| text);
        if let Some(device) = device_of(text) {
            let of_device = errors.entry(device.to_owned()).or_default();
            of_device.count += 1;
            text.clone_into(&mut of_device.last);
        }
    };
    // Who may not read it sees no errors.
    let _ = each_line(kmsg, take);
    errors
}

/// Returns the device that a line reports an I/O error of.
fn device_of(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name_after = |marker: &str| {
        let rest = text.get(text.find(marker)? + marker.len()..)?;
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        rest.get(..end).filter(|name| !name.is_empty())
    };
    if text.contains("I/O error, dev ") || text.contains("critical medium error, dev ") {
        return name_after(" dev ");
    }
    if text.contains("Buffer I/O error on dev ") {
        return name_after(" on dev ");
    }
    if text.starts_with("EXT4-fs error (device ") || text.starts_with("BTRFS error (device ") {
        return name_after("(device ");
    }
    let is_bad = ["I/O error", "Corruption", "shut down", "Shutting down"]
        .iter()
        .any(|word| text.contains(word));
    if is_bad && text.starts_with("XFS (") {
        return name_after("XFS (");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_device_and_other_lines_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmsg");
        let lines = "6,1,10,-;sd 2:0:0:0: [sdb] Attached SCSI disk\n\
                     3,2,11,-;blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ)\n \
                     SUBSYSTEM=block\n\
                     3,3,12,-;Buffer I/O error on dev dm-0, logical block 1, async page read\n\
                     2,4,13,-;EXT4-fs error (device sdc1): ext4_find_entry:1455: inode #2\n\
                     1,5,14,-;XFS (nvme0n1p1): metadata I/O error in \"xfs_da_read_buf\" at daddr 0x1\n\
                     1,6,15,-;XFS (nvme0n1p1): Mounting V5 Filesystem\n\
                     3,7,16,-;I/O error, dev sdb, sector 4096\n";
        std::fs::write(&path, lines).unwrap();
        let errors = kernel_io_errors(&path);
        let told: Vec<(&str, u64)> = errors
            .iter()
            .map(|(device, errors)| (device.as_str(), errors.count))
            .collect();
        assert_eq!(
            told,
            [("dm-0", 1), ("nvme0n1p1", 1), ("sdb", 2), ("sdc1", 1)]
        );
        assert_eq!(errors["sdb"].last, "I/O error, dev sdb, sector 4096");
        assert!(kernel_io_errors(&dir.path().join("none")).is_empty());
    }
}
