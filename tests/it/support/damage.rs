//! Damage to a log, generated.

use proptest::prelude::*;

use super::memory_dir::MemoryDir;
use super::memory_t4::bytes_of;

/// One change of a log's bytes or files.
#[derive(Debug, Clone)]
pub(crate) enum Damage {
    Flip { file: usize, at: usize, bit: u8 },
    Cut { file: usize, at: usize },
    Append { file: usize, bytes: Vec<u8> },
    Zero { file: usize, at: usize, len: usize },
    Remove { file: usize },
    Replace { file: usize, bytes: Vec<u8> },
}

pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    let file = 0..16_usize;
    let junk = proptest::collection::vec(any::<u8>(), 0..64);
    prop_oneof![
        (file.clone(), any::<usize>(), 0..8_u8).prop_map(|(file, at, bit)| Damage::Flip {
            file,
            at,
            bit
        }),
        (file.clone(), any::<usize>()).prop_map(|(file, at)| Damage::Cut { file, at }),
        (file.clone(), junk.clone()).prop_map(|(file, bytes)| Damage::Append { file, bytes }),
        (file.clone(), any::<usize>(), 1..5000_usize).prop_map(|(file, at, len)| Damage::Zero {
            file,
            at,
            len
        }),
        file.clone().prop_map(|file| Damage::Remove { file }),
        (file, junk).prop_map(|(file, bytes)| Damage::Replace { file, bytes }),
    ]
}

pub(crate) fn apply_damage(dir: &mut MemoryDir, damage: &Damage) {
    let (Damage::Flip { file, .. }
    | Damage::Cut { file, .. }
    | Damage::Append { file, .. }
    | Damage::Zero { file, .. }
    | Damage::Remove { file }
    | Damage::Replace { file, .. }) = damage;
    let Some(name) = dir.files.keys().nth(file % dir.files.len()).cloned() else {
        return;
    };
    if let Damage::Remove { .. } = damage {
        dir.files.remove(&name);
        return;
    }
    let bytes = bytes_of(dir, &name);
    let len = bytes.len().max(1);
    match damage {
        Damage::Flip { at, bit, .. } => {
            if let Some(byte) = bytes.get_mut(at % len) {
                *byte ^= 1 << bit;
            }
        }
        Damage::Cut { at, .. } => bytes.truncate(at % len),
        Damage::Append { bytes: more, .. } => bytes.extend_from_slice(more),
        Damage::Zero { at, len: zeros, .. } => {
            let start = at % len;
            bytes
                .iter_mut()
                .skip(start)
                .take(*zeros)
                .for_each(|byte| *byte = 0);
        }
        Damage::Replace { bytes: with, .. } => with.clone_into(bytes),
        Damage::Remove { .. } => {}
    }
}
