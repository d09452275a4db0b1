//! Small trees and the outcome that Kafka's own procedure has for them; each is built by the encoder of these tests.

mod decisions;
mod dirs;
mod files;
mod on_disk;
mod overflow;
mod preallocation;
