//! From the words of the command line to an exit code.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Parser as _;

use super::args::{Args, Command, GlobalArgs, QuarantineCommand, StatusArgs, WatchArgs};
use super::command::DumpDepth;
use super::out::Quiet;
use super::report::{JsonReport, Summary};
use super::{CliError, Context, Exit, command};
use crate::settings::Flags;

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
    let json = args.command.as_ref().is_some_and(prints_lines);
    let result = dispatch(args, &mut out).and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    result.unwrap_or_else(|error| {
        if json {
            let _ = JsonReport::new(&mut out).end(&Summary {
                exit: error.exit,
                cause: Some(error.to_string()),
                ..Summary::of_nothing()
            });
        }
        let _ = out.flush();
        let _ = error.write(&mut io::stderr().lock());
        error.exit
    })
}

/// Says whether a command's output is a run of JSON lines, which ends in a summary whatever happens.
fn prints_lines(command: &Command) -> bool {
    match command {
        Command::Scan(args) => args.json,
        Command::Recover(args) => args.json,
        Command::Watch(args) => args.json,
        Command::Truncate(args) => args.json,
        Command::Undo(args) => args.json,
        Command::Mirror(args) => args.json,
        Command::Volumes(args) => args.json,
        Command::Replicas(args) => args.json,
        Command::Cleanup(args) => args.json,
        Command::Segments(args) => args.json,
        Command::Preflight(args) => args.json,
        Command::Verify(args) => args.json,
        Command::Retention(args) => args.json,
        Command::DeleteRecords(args) => args.json,
        Command::Quota(args) => args.json,
        Command::Cordon(args) => args.json,
        Command::Move(args) => args.json,
        _ => false,
    }
}

fn watch(args: &WatchArgs, global: &GlobalArgs, out: &mut dyn Write) -> Result<Exit, CliError> {
    let context = Context::read(global, Flags::default())?;
    command::watch(&context, args, global.record.as_deref(), out)
}

/// Runs one command.
fn dispatch(args: Args, out: &mut dyn Write) -> Result<Exit, CliError> {
    let global = &args.global;
    let context = |flags| Context::read(global, flags);
    if global.record.is_some() && !matches!(args.command, None | Some(Command::Watch(_))) {
        return Err(CliError::usage(
            "--record goes with the dashboard and with watch only",
        ));
    }
    match args.command {
        Some(Command::Scan(args)) => {
            let flags = Flags {
                rate: args.rate,
                ..Flags::default()
            };
            command::scan(&context(flags)?, &args, out)
        }
        Some(Command::Recover(args)) => {
            let flags = Flags {
                quarantine: args.quarantine.clone(),
                ..Flags::default()
            };
            command::recover(&context(flags)?, &args, out)
        }
        Some(Command::Truncate(args)) => {
            let flags = Flags {
                quarantine: args.quarantine.clone(),
                ..Flags::default()
            };
            command::truncate(&context(flags)?, &args, out)
        }
        Some(Command::Verify(args)) => {
            let flags = Flags {
                rate: args.rate,
                quarantine: args.quarantine.clone(),
                ..Flags::default()
            };
            command::verify(&context(flags)?, &args, out)
        }
        Some(Command::Preflight(args)) => {
            let flags = Flags {
                quarantine: args.quarantine.clone(),
                ..Flags::default()
            };
            command::preflight(&context(flags)?, &args, out)
        }
        Some(Command::Undo(args)) => command::undo(&context(Flags::default())?, &args, out),
        Some(Command::Segments(args)) => command::segments(&context(Flags::default())?, &args, out),
        Some(Command::Dump(args)) => {
            let depth = if args.records {
                DumpDepth::Records
            } else {
                DumpDepth::Batches
            };
            command::dump(&args.file, depth, args.json, out)
        }
        Some(Command::Status(args)) => command::status(&context(Flags::default())?, &args, out),
        Some(Command::Cleanup(args)) => {
            let flags = Flags {
                quarantine: args.quarantine.clone(),
                ..Flags::default()
            };
            command::cleanup(&context(flags)?, &args, out)
        }
        Some(Command::Volumes(args)) => command::volumes(&context(Flags::default())?, &args, out),
        Some(Command::Replicas(args)) => command::replicas(&context(Flags::default())?, &args, out),
        Some(Command::Watch(args)) => watch(&args, global, out),
        Some(Command::Replay(args)) => command::replay(&args, out),
        Some(Command::Retention(args)) => {
            command::retention(&context(Flags::default())?, &args, out)
        }
        Some(Command::DeleteRecords(args)) => {
            command::delete_records(&context(Flags::default())?, &args, out)
        }
        Some(Command::Quota(args)) => command::quota(&context(Flags::default())?, &args, out),
        Some(Command::Move(args)) => command::move_replica(&context(Flags::default())?, &args, out),
        Some(Command::Cordon(args)) => command::cordon(&context(Flags::default())?, &args, out),
        Some(Command::Quarantine(args)) => {
            let context = context(Flags::default())?;
            match args.command {
                QuarantineCommand::Ls(args) => command::quarantine_ls(&context, &args, out),
                QuarantineCommand::Purge(args) => command::quarantine_purge(&context, &args, out),
            }
        }
        Some(Command::Mirror(args)) => command::mirror(&context(Flags::default())?, &args, out),
        Some(Command::Audit(args)) => command::audit(&context(Flags::default())?, &args, out),
        Some(Command::Jobs(args)) => command::jobs(&context(Flags::default())?, &args, out),
        Some(Command::Stop(args)) => command::stop(&context(Flags::default())?, &args, out),
        Some(Command::Job(args)) => command::job(&context(Flags::default())?, &args),
        Some(Command::Completions(args)) => command::completions(&args, out),
        Some(Command::Man) => command::man(out),
        #[cfg(feature = "tui")]
        Some(Command::Demo(args)) => command::demo(&args, global),
        #[cfg(feature = "tui")]
        None if command::has_terminal() => {
            command::dashboard(context(Flags::default())?, global.record.clone(), None)
        }
        #[cfg(not(feature = "tui"))]
        Some(Command::Demo(_)) => Err(CliError::usage("this build has no dashboard")),
        // Without a terminal the situation is told in lines.
        None => command::status(&context(Flags::default())?, &StatusArgs::default(), out),
    }
}
