//! How many bytes a boot cut from a segment: its log tells only the offset.

use std::path::Path;

use crate::format::file_name::{FileKind, segment_file_name};
use crate::observe::open_under;
use crate::observe::server_log::{BootEvent, BootTrouble};

use super::meter::BootMeter;

/// Returns the bytes that a cut took, by the segment's size before the boot, which `meter` knows, and its size now: the file
/// is cut before the line is written. `None` of anything else than a cut, and where it was cut before anybody looked.
/// `root` is the root dir of the broker's process: in a container its log dirs have other names here.
pub(super) fn cut_bytes(
    trouble: &BootTrouble,
    meter: &BootMeter,
    root: Option<&Path>,
) -> Option<u64> {
    let BootEvent::Cut {
        log,
        dir,
        base_offset,
        ..
    } = &trouble.event
    else {
        return None;
    };
    let before = meter.segment_bytes(dir, log, *base_offset)?;
    let file = segment_file_name(*base_offset, FileKind::Log);
    let here = Path::new(dir).join(log).join(file);
    let inside = root.and_then(|root| std::fs::metadata(open_under(root, &here)).ok());
    let now = match inside {
        Some(inside) => inside.len(),
        None => std::fs::metadata(&here).ok()?.len(),
    };
    before.checked_sub(now).filter(|cut| *cut > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::server_log::LineTime;
    use crate::observe::{LogBytes, SegmentBytes};
    use crate::terms::Offset;

    #[test]
    fn a_cut_is_what_a_file_had_more_before() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().to_str().unwrap().to_owned();
        std::fs::create_dir(tmp.path().join("t-0")).unwrap();
        let file = tmp.path().join("t-0/00000000000000000700.log");
        std::fs::write(&file, [0; 60]).unwrap();
        let meter = BootMeter::new(vec![LogBytes {
            dir: dir.clone(),
            name: "t-0".to_owned(),
            segments: vec![SegmentBytes {
                base_offset: Offset(700),
                bytes: 100,
                passes: 1,
            }],
            reads_per_byte: None,
        }]);
        let told = |base: i64| {
            let trouble = BootTrouble {
                time: LineTime(0),
                event: BootEvent::Cut {
                    log: "t-0".to_owned(),
                    dir: dir.clone(),
                    base_offset: Offset(base),
                    offset: Offset(750),
                },
                cause: None,
                cut_bytes: None,
            };
            cut_bytes(&trouble, &meter, None)
        };
        assert_eq!(told(700), Some(40));
        assert_eq!(told(0), None, "its size before is not known");
        std::fs::write(&file, [0; 100]).unwrap();
        assert_eq!(told(700), None, "it was cut before anybody looked");
        std::fs::remove_file(&file).unwrap();
        assert_eq!(told(700), None);
    }
}
