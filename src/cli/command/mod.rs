//! One file a command: from its arguments to an [`Exit`](super::Exit).

mod generate;

pub(super) use generate::{completions, man};
