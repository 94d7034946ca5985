//! The command line of an executable with an application, and its help. What is in the executable is `bundle`'s.
//! Rule: without a command the application is served, and what takes no application unpacks none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Arg, Command};
use tsumugi_server::TemporaryFolder;

use crate::bundle::{self, Bundle};

/// What such an executable does without its application.
const WITHOUT_APPLICATION: &[&str] = &[
    "help",
    "-V",
    "--version",
    "kv",
    "bench",
    "new",
    "build",
    "health",
    "completions",
    "man",
];

/// What the process was started with.
pub enum CommandLine {
    /// Its words, and what was unpacked for them.
    Words(Vec<OsString>, Option<TemporaryFolder>),
    /// The help of an executable with an application was asked for, which is this.
    Help(clap::Error),
}

/// That of this process. `command` makes what the program takes; it is called for the help alone, since it keeps the
/// application file that it finds, which is to be the unpacked one.
///
/// # Errors
/// Where this executable has an application that cannot be used.
pub fn command_line(command: fn() -> Command) -> Result<CommandLine> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if !bundle::is_built_in() {
        return Ok(CommandLine::Words(words, None));
    }
    let first = words.get(1).map(|word| word.to_string_lossy().into_owned());
    match (first.as_deref(), words.len()) {
        (Some("-h"), _) => return help(command(), "-h"),
        (Some("--help"), _) | (Some("help"), 2) => return help(command(), "--help"),
        (Some(first), _) if WITHOUT_APPLICATION.contains(&first) => {
            return Ok(CommandLine::Words(words, None));
        }
        _ => {}
    }
    let begins_with_option = first.is_some_and(|first| first.starts_with('-'));
    if begins_with_option || words.len() < 2 {
        words.insert(1.min(words.len()), "serve".into());
    }
    // Before the words are read: the file is what commands have without one.
    let unpacked = Bundle::open()?.unpack()?;
    if begins_with_option && asks_for_help(command(), &words) {
        return help(command(), "--help");
    }
    Ok(CommandLine::Words(words, Some(unpacked)))
}

/// Whether the last of the words is the command `help`, behind options of `serve`, and not the value of one.
fn asks_for_help(command: Command, words: &[OsString]) -> bool {
    if words.last().is_none_or(|last| last != "help") {
        return false;
    }
    let matches = command.try_get_matches_from(words).ok();
    let serve = matches.as_ref().and_then(|all| all.subcommand());
    serve.is_some_and(|(_, serve)| {
        let app = serve.get_one::<PathBuf>("app");
        app.is_some_and(|app| app == Path::new("help"))
    })
}

/// The help of this executable: that of `serve`, which it does by itself.
fn help(command: Command, option: &str) -> Result<CommandLine> {
    let application = Bundle::open()?.application()?;
    let path = std::env::current_exe().context("cannot find this executable")?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let serve = command.find_subcommand("serve").cloned();
    let serve = as_executable(serve.context("there is no `serve`")?, &name, &application);
    match serve.try_get_matches_from([&*name, option]) {
        Err(help) => Ok(CommandLine::Help(help)),
        Ok(_) => bail!("there is no {option}"),
    }
}

/// `serve`, as the command of an executable of this name with an application in it.
fn as_executable(serve: Command, name: &str, application: &str) -> Command {
    let about = format!("Serve the application {application}, which is in this executable");
    let more = format!(
        "\
Other commands, each with --help:
  {name} check, routes, console, migrate, seed, jobs    for the application in this executable
  {name} kv, health, build, new                         as those of tsumugi, without an application

Signals: SIGTERM or SIGINT lets running requests finish, a second one ends at once;
SIGHUP loads the application anew and swaps it in if it loads.

The log goes to standard error. TSUMUGI_LOG=debug shows more, TSUMUGI_LOG=error less;
TSUMUGI_LOG_FORMAT=json writes each event as a JSON object.
Exit codes: 0 ok, 1 failed, 2 wrong usage."
    );
    let hidden = |argument: Arg| argument.hide(true);
    serve
        .bin_name(name.to_owned())
        .about(about)
        .after_help(more)
        .mut_arg("app", hidden)
        .mut_arg("dev", hidden)
}

/// Refuses what needs the files of an application as its author has them.
///
/// # Errors
/// Where `file` is the application of this executable; `what` begins the error.
pub fn ensure_sources(file: &Path, what: &str) -> Result<()> {
    ensure!(
        !bundle::is_application(file),
        "{what} is not for the application in this executable, whose files are fixed: take `tsumugi` where its sources are"
    );
    Ok(())
}
