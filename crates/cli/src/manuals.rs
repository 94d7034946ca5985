//! `tsumugi completions` and `tsumugi man`: what shells complete and what `man` shows, made of the definition of the command line itself. Both are
//! left out of the help: packages call them when they are made.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Command;
use clap_complete::Shell;
use tsumugi_server::commands;

/// Options of `completions`.
#[derive(clap::Args)]
pub struct CompletionArguments {
    shell: Shell,
}

/// Options of `man`.
#[derive(clap::Args)]
pub struct PageArguments {
    /// The folder to write a page for each command to
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the script of a shell.
pub fn completions(arguments: &CompletionArguments, mut command: Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "tsumugi", &mut script);
    commands::print(String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes `tsumugi.1`, `tsumugi-serve.1` and so on.
pub fn pages(arguments: &PageArguments, command: Command) -> Result<ExitCode> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
