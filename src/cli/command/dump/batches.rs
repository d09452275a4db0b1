//! Segments of logs, and snapshots of KRaft's metadata: batch after batch.

use super::records::{self, RecordKind};
use super::row::{Report, Row, Severity};
use super::run::DumpDepth;
use super::source::{Source, WINDOW, Window};
use crate::cli::CliError;
use crate::format::batch::{Frame, FrameEnd, HEADER_UP_TO_MAGIC, frame};
use crate::format::checksum::{crc32_append, crc32c_append};
use crate::format::control_record::decode_end_txn_marker;
use crate::format::legacy_message::{self, LegacyHeader};
use crate::format::record_batch::{BatchHeader, HEADER_LEN, TimestampType};
use crate::terms::Offset;

/// A longer batch is checked, but its records are not shown.
const MAX_SHOWN: u64 = 64 << 20;

/// Reports a segment that begins at `base_offset`, or a snapshot, whose records are of `kind`.
pub(super) fn dump_batches(
    source: &Source,
    base_offset: Option<Offset>,
    (kind, depth): (RecordKind, DumpDepth),
    report: &mut Report<'_>,
) -> Result<Row, CliError> {
    let mut walk = Walk {
        source,
        report,
        kind,
        depth,
        position: 0,
        next_offset: base_offset,
        batches: 0,
        records: 0,
    };
    walk.run()?;
    Ok(Row::new("summary")
        .with("batches", walk.batches)
        .with("records", walk.records)
        .with("next_offset", walk.next_offset)
        .with("framed_bytes", walk.position))
}

struct Walk<'a, 'b> {
    source: &'a Source,
    report: &'a mut Report<'b>,
    kind: RecordKind,
    depth: DumpDepth,
    /// Where the next batch begins.
    position: u64,
    next_offset: Option<Offset>,
    batches: u64,
    records: u64,
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<(), CliError> {
        let mut window = Window::default();
        loop {
            let head = window.get(self.source, self.position, HEADER_LEN)?;
            let left = self.source.len().saturating_sub(self.position);
            let framed = match frame(head, left) {
                Ok(framed) => framed,
                Err(end) => return self.tail(end, left),
            };
            let whole = match usize::try_from(framed.size) {
                Ok(size) if framed.size <= MAX_SHOWN => {
                    window.get(self.source, self.position, size)?
                }
                _ => window.get(self.source, self.position, HEADER_LEN)?,
            };
            if framed.is_legacy() {
                self.message(framed, whole)?;
            } else {
                self.batch(framed, whole)?;
            }
            self.batches += 1;
            self.position += framed.size;
        }
    }

    /// Reports a batch of magic 2; `bytes` is all of it, or its head where it is long.
    fn batch(&mut self, framed: Frame, bytes: &[u8]) -> Result<(), CliError> {
        let header = BatchHeader::decode(bytes);
        let Some(header) = header.filter(|_| framed.size >= HEADER_LEN as u64) else {
            let text = format!(
                "batch of {} bytes is shorter than its header of 61",
                framed.size
            );
            return self.finding("length_too_small", Severity::Loss, text);
        };
        let computed = self.checksum(framed, bytes)?;
        self.report.row(
            &Row::new("batch")
                .with("position", self.position)
                .with("bytes", framed.size)
                .with("base_offset", header.base_offset)
                .with("last_offset", header.last_offset())
                .with("records", header.records_count)
                .with("magic", header.magic)
                .with("crc", format!("{:#010x}", header.crc))
                .with("crc_ok", header.crc == computed)
                .with("leader_epoch", header.partition_leader_epoch)
                .with("codec", codec_name(header.attributes.compression()))
                .with(
                    "timestamp_type",
                    timestamp_type_name(header.attributes.timestamp_type()),
                )
                .with("base_timestamp", header.base_timestamp)
                .with("max_timestamp", header.max_timestamp)
                .with("producer_id", header.producer_id.0)
                .with("producer_epoch", header.producer_epoch.0)
                .with("base_sequence", header.base_sequence)
                .with("last_sequence", header.last_sequence())
                .with("transactional", header.attributes.is_transactional())
                .with("control", header.attributes.is_control())
                .with("delete_horizon", header.attributes.has_delete_horizon()),
        )?;
        self.check(
            header.crc,
            computed,
            header.base_offset,
            header.last_offset(),
        )?;
        self.records += u64::try_from(header.records_count).unwrap_or(0);
        if bytes.len() as u64 != framed.size {
            return self.too_long(framed);
        }
        if header.attributes.is_control()
            && header.producer_id.is_some()
            && let Err(error) = decode_end_txn_marker(bytes)
        {
            let text = format!("{error}; Kafka does not start with it");
            self.finding("control_record_invalid", Severity::Fatal, text)?;
        }
        if self.depth == DumpDepth::Records {
            let payload = bytes.get(HEADER_LEN..).unwrap_or_default();
            records::dump_records(&header, payload, (self.kind, self.position), self.report)?;
        }
        Ok(())
    }

    /// Reports a message of magic 0 or 1; `bytes` is all of it, or its head where it is long.
    fn message(&mut self, framed: Frame, bytes: &[u8]) -> Result<(), CliError> {
        let Some(header) = LegacyHeader::decode(bytes) else {
            let text = format!("message of {} bytes is too short", framed.size);
            return self.finding("length_too_small", Severity::Loss, text);
        };
        let computed = self.checksum(framed, bytes)?;
        self.report.row(
            &Row::new("message")
                .with("position", self.position)
                .with("bytes", framed.size)
                .with("last_offset", header.offset)
                .with("magic", header.magic)
                .with("crc", format!("{:#010x}", header.crc))
                .with("crc_ok", header.crc == computed)
                .with("codec", codec_name(header.compression()))
                .with(
                    "timestamp_type",
                    header.timestamp_type().map(timestamp_type_name),
                )
                .with("timestamp", header.timestamp),
        )?;
        self.check(header.crc, computed, header.offset, header.offset)?;
        if bytes.len() as u64 != framed.size {
            return self.too_long(framed);
        }
        let cap = usize::try_from(MAX_SHOWN).unwrap_or(usize::MAX);
        match legacy_message::messages(bytes, cap) {
            Ok(messages) => {
                self.records += messages.len() as u64;
                if self.depth == DumpDepth::Records {
                    records::dump_messages(&messages, self.report)?;
                }
            }
            Err(error) => self.finding("record_invalid", Severity::Warning, error.to_string())?,
        }
        Ok(())
    }

    /// Returns the checksum that the bytes of a batch have.
    fn checksum(&self, framed: Frame, bytes: &[u8]) -> Result<u32, CliError> {
        let append = |sum, bytes: &[u8]| {
            if framed.is_legacy() {
                crc32_append(sum, bytes)
            } else {
                crc32c_append(sum, bytes)
            }
        };
        let from = if framed.is_legacy() { 16 } else { 21 };
        if bytes.len() as u64 == framed.size {
            return Ok(append(0, bytes.get(from..).unwrap_or_default()));
        }
        let end = self.position + framed.size;
        let mut at = self.position + from as u64;
        let mut sum = 0;
        while at < end {
            let count = usize::try_from(end - at).unwrap_or(WINDOW).min(WINDOW);
            let bytes = self.source.read(at, count)?;
            if bytes.is_empty() {
                break;
            }
            sum = append(sum, &bytes);
            at += bytes.len() as u64;
        }
        Ok(sum)
    }

    /// Compares checksum and offsets of the batch at hand.
    fn check(
        &mut self,
        stored: u32,
        computed: u32,
        first: Offset,
        last: Offset,
    ) -> Result<(), CliError> {
        if stored != computed {
            let text = format!(
                "stored CRC is {stored:#010x}, that of the bytes {computed:#010x}: recovery cuts the log here if it reads the segment"
            );
            self.finding("crc_mismatch", Severity::Loss, text)?;
        }
        let goes_back = self.next_offset.is_some_and(|expected| first < expected);
        if goes_back || last < first {
            let text = format!(
                "offsets {first} to {last}, where {} is the next",
                self.next_offset.unwrap_or(first)
            );
            self.finding("offsets_go_back", Severity::Warning, text)?;
        }
        self.next_offset = Some(last.plus(1));
        Ok(())
    }

    /// Reports what lies behind the last batch.
    fn tail(&mut self, end: FrameEnd, left: u64) -> Result<(), CliError> {
        if left == 0 {
            return Ok(());
        }
        if self.source.first_non_zero(self.position)? == self.source.len() {
            let row = Row::new("zeros").with("position", self.position);
            self.report.row(&row.with("bytes", left))?;
            let text = format!("{left} zero bytes behind the last batch");
            return self.finding("zero_tail", Severity::Warning, text);
        }
        let (code, severity, text) = match end {
            FrameEnd::EndOfLog if left <= HEADER_UP_TO_MAGIC as u64 => {
                let text = format!("{left} bytes behind the last batch are too few for one");
                ("torn_tail", Severity::Warning, text)
            }
            FrameEnd::EndOfLog => {
                let text = format!("a batch begins here and passes the end, {left} bytes on");
                ("torn_tail", Severity::Warning, text)
            }
            FrameEnd::TooSmall { size } => {
                let text = format!("a length of {size} is none; {left} bytes are left");
                ("length_too_small", Severity::Loss, text)
            }
        };
        self.finding(code, severity, text)
    }

    fn too_long(&mut self, framed: Frame) -> Result<(), CliError> {
        let text = format!(
            "batch of {} bytes: its records are not looked at",
            framed.size
        );
        self.finding("batch_too_long", Severity::Warning, text)
    }

    fn finding(
        &mut self,
        code: &'static str,
        severity: Severity,
        text: String,
    ) -> Result<(), CliError> {
        self.report.finding(code, severity, self.position, text)?;
        Ok(())
    }
}

fn codec_name(codec: Result<crate::format::compression::Compression, u8>) -> String {
    codec.map_or_else(|id| format!("unknown-{id}"), |codec| codec.to_string())
}

fn timestamp_type_name(kind: TimestampType) -> &'static str {
    match kind {
        TimestampType::CreateTime => "create",
        TimestampType::LogAppendTime => "append",
    }
}
