//! Holds the entries of an offset index against the batches of its segment while these pass.

use crate::format::offset_index::OffsetEntry;
use crate::terms::Offset;

/// An entry that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFault {
    /// Its number, from 0.
    pub entry: usize,
    /// What is wrong with it.
    pub text: String,
}

/// The entries of one index, in order; the first that cannot be right is kept.
///
/// A leader makes an entry an append, which may be several batches, a rebuild one a batch: so an entry names where a batch
/// begins, and an offset that is at least that batch's last.
#[derive(Debug)]
pub(super) struct IndexCheck {
    base_offset: Offset,
    entries: Vec<OffsetEntry>,
    next: usize,
    fault: Option<IndexFault>,
}

impl IndexCheck {
    pub(super) fn new(base_offset: Offset, entries: Vec<OffsetEntry>) -> Self {
        Self {
            base_offset,
            entries,
            next: 0,
            fault: None,
        }
    }

    /// Takes a batch that begins at `position` and ends at `last_offset`.
    #[inline]
    pub(super) fn on_batch(&mut self, position: u64, last_offset: Offset) {
        while let Some(entry) = self.entries.get(self.next) {
            let at = u64::try_from(entry.position).unwrap_or(0);
            if at > position {
                return;
            }
            let offset = self.base_offset.plus(i64::from(entry.relative_offset));
            if at < position {
                self.tell(format_args!(
                    "names offset {offset} at position {at}, where no batch begins"
                ));
            } else if offset < last_offset {
                self.tell(format_args!(
                    "names offset {offset} at position {at}, where a batch begins that ends at offset {last_offset}"
                ));
            }
            self.next += 1;
        }
    }

    fn tell(&mut self, what: std::fmt::Arguments<'_>) {
        let entry = self.next;
        self.fault.get_or_insert_with(|| IndexFault {
            entry,
            text: format!("entry {entry} of the offset index {what}"),
        });
    }

    /// Returns the first entry that cannot be right.
    pub(super) fn into_fault(self) -> Option<IndexFault> {
        self.fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(entries: &[(i32, i32)]) -> Option<String> {
        let entries = entries
            .iter()
            .map(|(relative_offset, position)| OffsetEntry {
                relative_offset: *relative_offset,
                position: *position,
            })
            .collect();
        let mut check = IndexCheck::new(Offset(1000), entries);
        for (position, last) in [(0, 1009), (100, 1019), (200, 1029)] {
            check.on_batch(position, Offset(last));
        }
        check.into_fault().map(|fault| fault.text)
    }

    #[test]
    fn an_entry_names_where_a_batch_begins() {
        assert_eq!(fault(&[(19, 100), (29, 200)]), None);
        assert_eq!(fault(&[(29, 100)]), None, "an append of two batches");
        let text = fault(&[(9, 0), (19, 150)]).unwrap();
        assert!(
            text.starts_with("entry 1") && text.contains("no batch begins"),
            "{text}"
        );
        let text = fault(&[(9, 100)]).unwrap();
        assert!(text.contains("ends at offset 1019"), "{text}");
    }
}
