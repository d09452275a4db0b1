//! The codecs of batches.

use std::fmt;

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// They are not.
    None,
    /// One gzip stream.
    Gzip,
    /// Snappy in the framing of xerial's `SnappyOutputStream`, or one raw block.
    Snappy,
    /// One lz4 frame.
    Lz4,
    /// One zstd frame.
    Zstd,
}

impl Compression {
    /// Returns the codec of `id`, or the id where Kafka knows none.
    #[inline]
    pub fn from_id(id: u8) -> Result<Self, u8> {
        match id {
            0 => Ok(Self::None),
            1 => Ok(Self::Gzip),
            2 => Ok(Self::Snappy),
            3 => Ok(Self::Lz4),
            4 => Ok(Self::Zstd),
            _ => Err(id),
        }
    }

    /// Returns the number that attributes hold for it.
    pub fn id(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip => 1,
            Self::Snappy => 2,
            Self::Lz4 => 3,
            Self::Zstd => 4,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        })
    }
}
