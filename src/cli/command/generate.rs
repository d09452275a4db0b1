//! `completions` and `man`: what is made from the command line's own description.

use std::io::{self, Write};

use clap::CommandFactory as _;

use crate::cli::args::{Args, CompletionsArgs};
use crate::cli::{CliError, Exit};

/// Writes the completion script of a shell.
pub(in crate::cli) fn completions(
    args: &CompletionsArgs,
    out: &mut dyn Write,
) -> Result<Exit, CliError> {
    // The generator panics where its writer fails (a closed pipe), so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "krescue", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Ok)
}

/// Writes the manual: one page, then one for each command.
pub(in crate::cli) fn man(out: &mut dyn Write) -> Result<Exit, CliError> {
    let mut root = Args::command();
    root.build();
    render(root.clone(), out)?;
    for command in root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        render(command.clone(), out)?;
    }
    Ok(Exit::Ok)
}

/// Writes one page.
fn render(command: clap::Command, out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(command).render(out)
}
