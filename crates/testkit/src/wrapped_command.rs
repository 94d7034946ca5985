//! A command beside a throwaway server: it finds the server's address in `DATABASE_URL`. Starts no server and knows none.
//! Rule: the exit code of the command is the answer; the server outlives the command: its value, or the process that holds it, ends it. A signal that
//! ends programs goes to the command, with which all of it ends.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitCode};
use std::thread;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;

/// What a rig's program was called with.
pub enum ProgramRequest {
    /// A command and its arguments.
    Command(Vec<OsString>),
    /// Everything was said that was asked for.
    Ended(ExitCode),
}

/// Looks at the arguments of this program: a command, or a question for `usage`. The first that a program calls: signals are kept for
/// [`run_beside`] from here on, by this thread and those that it starts. The command begins without that.
pub fn read_arguments(usage: &str) -> ProgramRequest {
    if let Err(error) = ending_signals().thread_block() {
        eprintln!("cannot keep signals for the command: {error}");
    }
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
    let mut command = Command::new(program);
    command.args(arguments).env("DATABASE_URL", url);
    let mut child = match start_unblocked(&mut command) {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cannot run {}: {error}", program.display());
            return ExitCode::from(127);
        }
    };
    let process = i32::try_from(child.id()).map(Pid::from_raw);
    thread::spawn(move || {
        while let (Ok(signal), Ok(process)) = (ending_signals().wait(), process) {
            // A terminal sends Ctrl-C to the command as well.
            if signal != Signal::SIGINT {
                let _ = kill(process, signal);
            }
        }
    });
    match child.wait() {
        // A command that a signal ended has no code.
        Ok(status) => status.code().map_or(ExitCode::FAILURE, |code| {
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }),
        Err(error) => {
            eprintln!("cannot wait for {}: {error}", program.display());
            ExitCode::FAILURE
        }
    }
}

/// Starts a command that blocks no signal: it would begin with what this thread blocks. A signal that has come before ends this process here, and its guard
/// the server.
fn start_unblocked(command: &mut Command) -> io::Result<Child> {
    let blocked = SigSet::empty().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let child = command.spawn();
    blocked.thread_set_mask()?;
    child
}

/// The signals by which a program is asked to end.
fn ending_signals() -> SigSet {
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect()
}
