//! A command beside a throwaway server: it finds the server's address in `DATABASE_URL`. Starts no server and knows none.
//! Rule: the exit code of the command is the answer; the server outlives the command: its value, or the process that holds it, ends it.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// What a rig's program was called with.
pub enum ProgramRequest {
    /// A command and its arguments.
    Command(Vec<OsString>),
    /// Everything was said that was asked for.
    Ended(ExitCode),
}

/// Looks at the arguments of this program: a command, or a question for `usage`.
pub fn read_arguments(usage: &str) -> ProgramRequest {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.first() {
        None => {
            eprintln!("{usage}");
            ProgramRequest::Ended(ExitCode::from(2))
        }
        Some(word) if word == "--help" || word == "-h" => {
            println!("{usage}");
            ProgramRequest::Ended(ExitCode::SUCCESS)
        }
        Some(_) => ProgramRequest::Command(words),
    }
}

/// Runs a command to its end with a server's address in `DATABASE_URL`.
pub fn run_beside(words: &[OsString], url: &str) -> ExitCode {
    let [program, arguments @ ..] = words else {
        return ExitCode::from(2);
    };
    let status = Command::new(program)
        .args(arguments)
        .env("DATABASE_URL", url)
        .status();
    match status {
        // A command that a signal ended has no code.
        Ok(status) => status.code().map_or(ExitCode::FAILURE, |code| {
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }),
        Err(error) => {
            eprintln!("cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}
