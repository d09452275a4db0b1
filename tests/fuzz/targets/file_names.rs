#![no_main]

use krescue::format::file_name::{DirName, PartitionFile, leading_offset, segment_file_name};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(name) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = DirName::parse(name);
    if let PartitionFile::Segment { offset, kind } = PartitionFile::parse(name) {
        assert_eq!(leading_offset(name), Some(offset));
        let written = segment_file_name(offset, kind);
        assert_eq!(
            PartitionFile::parse(&written),
            PartitionFile::Segment { offset, kind }
        );
    }
});
