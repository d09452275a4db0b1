//! Just enough of the batch format to damage it on purpose; the code under test has its own.

/// One batch of magic 2 in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) position: usize,
    /// In bytes, header included.
    pub(crate) length: usize,
    pub(crate) base_offset: i64,
    pub(crate) last_offset: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) control: bool,
}

/// Returns the batches of `log` up to where they end or stop making sense.
pub(crate) fn batches(log: &[u8]) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut position = 0;
    while let Some(head) = log.get(position..position + 61) {
        let length = i64::from(i32_at(head, 8)) + 12;
        let Ok(length) = usize::try_from(length) else {
            break;
        };
        if length < 61 || position + length > log.len() || head[16] != 2 {
            break;
        }
        let base_offset = i64::from_be_bytes(head[..8].try_into().unwrap());
        found.push(Batch {
            position,
            length,
            base_offset,
            last_offset: base_offset + i64::from(i32_at(head, 23)),
            leader_epoch: i32_at(head, 12),
            control: head[22] & 0x20 != 0,
        });
        position += length;
    }
    found
}

/// Writes the right checksum into a batch that was changed.
pub(crate) fn seal(batch: &mut [u8]) {
    let sum = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&sum.to_be_bytes());
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
