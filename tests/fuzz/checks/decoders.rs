//! Decoders: any bytes in, never a panic, and what was decoded is encoded to the same bytes again.

use krescue::cluster::fold_dir;
use krescue::format::batch::frame;
use krescue::format::checksum::crc32c;
use krescue::format::clean_shutdown::parse_broker_epoch;
use krescue::format::compression::{Compression, Lz4Header, decompress};
use krescue::format::control_record::decode_end_txn_marker;
use krescue::format::file_name::{DirName, PartitionFile, leading_offset, segment_file_name};
use krescue::format::leader_epoch_checkpoint;
use krescue::format::legacy_message::{base_offset, messages};
use krescue::format::meta_properties::MetaProperties;
use krescue::format::metadata_record::MetadataRecord;
use krescue::format::offset_checkpoint::OffsetCheckpoint;
use krescue::format::partition_metadata::PartitionMetadata;
use krescue::format::producer_snapshot::{decode, encode};
use krescue::format::properties::Properties;
use krescue::format::quorum_state::QuorumState;
use krescue::format::record::{Records, plain_records};
use krescue::format::record_batch::{BatchHeader, HEADER_LEN, UncheckedBatch, crc_matches};
use krescue::format::{offset_index, time_index, txn_index};

/// Frames never pass the end.
pub(crate) fn batch_framing(bytes: &[u8]) {
    let mut position = 0;
    while let Ok(framed) = frame(&bytes[position..], (bytes.len() - position) as u64) {
        position += usize::try_from(framed.size).unwrap();
        assert!(position <= bytes.len());
    }
}

/// Batches of magic 2, their records and headers.
pub(crate) fn record_batch(bytes: &[u8]) {
    if let Some(header) = BatchHeader::decode(bytes) {
        assert_eq!(header.encode(), bytes[..HEADER_LEN]);
        if let Ok(plain) = plain_records(&header, &bytes[HEADER_LEN..], 1 << 20) {
            // A record takes a byte at least.
            let records = Records::new(&header, &plain).take(plain.len() + 2);
            for record in records.flatten() {
                assert_eq!(record.headers().count(), record.header_count());
            }
        }
    }
    if let Ok((batch, rest)) = UncheckedBatch::split_first(bytes) {
        let whole = &bytes[..bytes.len() - rest.len()];
        assert_eq!(batch.check_crc().is_ok(), crc_matches(whole));
    }
}

/// Markers of transactions.
pub(crate) fn control_record(bytes: &[u8]) {
    let _ = decode_end_txn_marker(bytes);
}

/// Messages of magic 0 and 1, and wrappers.
pub(crate) fn legacy_message(bytes: &[u8]) {
    if let Ok(messages) = messages(bytes, 1 << 20) {
        assert_eq!(base_offset(bytes, 1 << 20), Ok(messages[0].offset));
    }
}

/// Every codec, with a limit.
pub(crate) fn compression(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else {
        return;
    };
    let header = if choice & 0x80 == 0 {
        Lz4Header::Checked
    } else {
        Lz4Header::Unreliable
    };
    if let Ok(codec) = Compression::from_id(choice & 7)
        && let Ok(plain) = decompress(codec, header, bytes, 1 << 20)
    {
        assert!(plain.len() <= 1 << 20);
    }
}

/// The three indexes.
pub(crate) fn indexes(bytes: &[u8]) {
    let entries: Vec<_> = offset_index::decode(bytes).collect();
    assert!(bytes.starts_with(&offset_index::encode(&entries)));
    let entries: Vec<_> = time_index::decode(bytes).collect();
    assert!(bytes.starts_with(&time_index::encode(&entries)));
    let entries: Vec<_> = txn_index::decode(bytes).collect();
    assert!(bytes.starts_with(&txn_index::encode(&entries)));
}

/// Snapshots of producers, with a right checksum too.
pub(crate) fn producer_snapshot(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    let _ = decode(&bytes);
    // A right checksum lets the entries be looked at.
    if bytes.len() >= 10 {
        let crc = crc32c(&bytes[6..]).to_be_bytes();
        bytes[..2].copy_from_slice(&[0, 1]);
        bytes[2..6].copy_from_slice(&crc);
        if let Ok(entries) = decode(&bytes) {
            assert_eq!(decode(&encode(&entries)), Ok(entries));
        }
    }
}

/// Checkpoints of offsets and of leader epochs.
pub(crate) fn checkpoints(bytes: &[u8]) {
    if let Ok(checkpoint) = OffsetCheckpoint::parse(bytes) {
        assert_eq!(
            OffsetCheckpoint::parse(&checkpoint.encode()),
            Ok(checkpoint)
        );
    }
    if let Ok(entries) = leader_epoch_checkpoint::parse(bytes) {
        let encoded = leader_epoch_checkpoint::encode(&entries);
        assert_eq!(leader_epoch_checkpoint::parse(&encoded), Ok(entries));
    }
}

/// Java's properties.
pub(crate) fn properties(bytes: &[u8]) {
    let _ = Properties::parse(bytes);
    if let Ok(meta) = MetaProperties::parse(bytes) {
        let back = MetaProperties::parse(&meta.encode("today"));
        // A cluster id beyond Latin-1 is another one when it is read back, as in Kafka.
        if meta.cluster_id.as_deref().is_none_or(str::is_ascii) {
            assert_eq!(back, Ok(meta));
        }
    }
}

/// Marker, quorum state, partition metadata.
pub(crate) fn small_files(bytes: &[u8]) {
    let _ = parse_broker_epoch(bytes);
    let _ = QuorumState::parse(bytes);
    if let Ok(metadata) = PartitionMetadata::parse(bytes) {
        assert_eq!(PartitionMetadata::parse(&metadata.encode()), Ok(metadata));
    }
}

/// Names of files and dirs.
pub(crate) fn file_names(bytes: &[u8]) {
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
}

/// KRaft's records.
pub(crate) fn metadata_record(bytes: &[u8]) {
    if MetadataRecord::decode(bytes).is_ok() {
        assert!(MetadataRecord::decode_type(bytes).is_ok());
    }
}

/// A metadata log and a snapshot of it.
pub(crate) fn metadata_image(bytes: &[u8]) {
    let names = [
        "00000000000000000000.log".to_owned(),
        "00000000000000000007-0000000001.checkpoint".to_owned(),
    ];
    let (snapshot, log) = bytes.split_at(bytes.len() / 2);
    let folded = fold_dir(&names, None, |name, position, count| {
        let file = if name.contains('-') { snapshot } else { log };
        let from =
            usize::try_from(position).map_or(&[][..], |at| file.get(at..).unwrap_or_default());
        Ok::<_, ()>(from[..count.min(from.len())].to_vec())
    });
    assert!(folded.is_ok());
}
