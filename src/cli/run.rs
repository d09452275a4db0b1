//! From the words of the command line to an exit code.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser as _;

use super::args::{Args, Command};
use super::command::DumpDepth;
use super::out::Quiet;
use super::{CliError, Exit, command};

/// Parses `words` (the program's name first), runs the command and reports an error; returns how the process ends.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Exit {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            // Help and version come this way too, for the standard output.
            let _ = error.print();
            return if error.exit_code() == 0 {
                Exit::Ok
            } else {
                Exit::Usage
            };
        }
    };
    let mut out = Quiet::new(io::BufWriter::new(io::stdout().lock()));
    let result = dispatch(args, &mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    result.unwrap_or_else(|error| {
        let _ = out.flush();
        let _ = error.write(&mut io::stderr().lock());
        error.exit
    })
}

/// Runs one command.
fn dispatch(args: Args, out: &mut dyn Write) -> Result<Exit, CliError> {
    match args.command {
        Some(Command::Completions(args)) => command::completions(&args, out),
        Some(Command::Dump(args)) => {
            let depth = if args.records {
                DumpDepth::Records
            } else {
                DumpDepth::Batches
            };
            command::dump(&args.file, depth, args.json, out)
        }
        Some(Command::Man) => command::man(out),
        _ => Err(CliError::failed("this command is being built")),
    }
}
