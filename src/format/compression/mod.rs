//! The codecs of batches, decoded as far as a cap on the output allows.
//!
//! What is an error here is one in Kafka: each codec follows the stream class that Kafka reads with, also where that
//! is laxer than the codec's standard.

mod codec;
mod gzip;
mod lz4;
mod snappy;
mod xxhash;
mod zstd;

#[cfg(test)]
pub(crate) use codec::tests;
pub use codec::{Compression, DecompressError, Lz4Header, decompress};
