//! The process of one server: started into a log, ended, killed, stopped in its tracks. It knows nothing of what the server serves.
//! Rule: whatever was started here ends with its value, and with this process, by its guard.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::guard::Guard;
use crate::limits::{END_SEEN_MAX, LOG_LINES_MAX, STOP_S_MAX};
use crate::pause;

/// A server's process, or the place of one that was ended.
pub struct ServerProcess {
    guard: Guard,
    child: Option<Child>,
}

impl ServerProcess {
    /// Nothing runs yet. Of the directory and the signal, see [`Guard::over`].
    pub fn over(directory: &Path, signal: &str) -> ServerProcess {
        ServerProcess {
            guard: Guard::over(directory, signal),
            child: None,
        }
    }

    /// The same for a server whose processes outlive it. Of the programs, see [`Guard::over_programs`].
    pub fn over_programs(directory: &Path, signal: &str, programs: &[&str]) -> ServerProcess {
        ServerProcess {
            guard: Guard::over_programs(directory, signal, programs),
            child: None,
        }
    }

    /// Starts it; what it prints goes to the end of `log`. `wait` says how it went, and `stays` whether it is kept: else it is ended.
    #[track_caller]
    pub fn start<A>(
        &mut self,
        mut command: Command,
        log: &Path,
        wait: impl FnOnce(&mut Child) -> A,
        stays: impl FnOnce(&A) -> bool,
    ) -> A {
        let log = File::options().create(true).append(true).open(log);
        let log = log.expect("the directory is ours");
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("it is open"))
            .stderr(log)
            // Not in the terminal's group: an interrupt of the tests is not one of the server.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        self.guard.watch(&child);
        let went = wait(self.child.insert(child));
        if !stays(&went) {
            let mut child = self.child.take().expect("it was just put there");
            let _ = child.kill();
            let _ = child.wait();
            self.guard.forget();
        }
        went
    }

    /// Sends a signal that ends it, and waits for that. It is written to `log` when it does not.
    #[track_caller]
    pub fn end(&mut self, signal: Signal, log: impl Fn() -> String) {
        let mut child = self.child.take().expect("it runs");
        send(number(&child), signal);
        let until = Instant::now() + Duration::from_secs(STOP_S_MAX);
        while child.try_wait().expect("the process is ours").is_none() {
            assert!(
                Instant::now() < until,
                "the server did not stop within STOP_S_MAX ({STOP_S_MAX} s)\n{}",
                log()
            );
            pause();
        }
        self.guard.forget();
    }

    /// How it ended, if it did by itself; then nothing runs any more.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.as_mut()?.try_wait();
        let status = status.expect("the process is ours")?;
        self.child = None;
        self.guard.forget();
        Some(status)
    }

    /// For a test that failed: when a fault ended the server, it is reported to `make test`, which then repeats the test's program. [`crash`] is told
    /// too, because that is what it imitates.
    pub fn report_fault(&mut self, server: &str) {
        // Its connections close before its end can be seen.
        let until = Instant::now() + END_SEEN_MAX;
        while let Some(child) = &mut self.child {
            if let Ok(Some(status)) = child.try_wait() {
                if is_fault(status) {
                    // On a line of its own, whatever stands there; not by a macro, whose lines a test's harness keeps.
                    let _ = writeln!(
                        io::stdout(),
                        "\n{}",
                        line_of(server, "ended by itself", &status)
                    );
                }
                self.child = None;
                self.guard.forget();
            } else if Instant::now() > until {
                return;
            } else {
                pause();
            }
        }
    }

    /// For a test that failed beside a server that runs and answers nothing any more: it is reported to `make test` as [`ServerProcess::report_fault`]
    /// does, and ended, so that other tests need not wait for it.
    pub fn report_standstill(&mut self, server: &str, why: &str) {
        if let Some(mut child) = self.child.take() {
            let _ = writeln!(io::stdout(), "\n{}", line_of(server, "stood still", &why));
            let _ = child.kill();
            let _ = child.wait();
            self.guard.forget();
        }
    }

    /// Whether it was started and its end was not seen yet.
    pub fn runs(&self) -> bool {
        self.child.is_some()
    }

    /// The process id.
    #[track_caller]
    pub fn number(&self) -> i32 {
        number(self.child.as_ref().expect("it runs"))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.guard.end(self.child.take());
    }
}

/// Neither a test nor a lack of the system's memory causes it.
fn is_fault(status: ExitStatus) -> bool {
    let faults = [
        Signal::SIGSEGV,
        Signal::SIGABRT,
        Signal::SIGBUS,
        Signal::SIGFPE,
        Signal::SIGILL,
    ];
    let signal = status.signal().map(Signal::try_from);
    matches!(signal, Some(Ok(signal)) if faults.contains(&signal))
}

/// What xtask's `suite` reads.
fn line_of(server: &str, fault: &str, detail: &impl Display) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let directory = std::env::current_dir().unwrap_or_default();
    format!(
        "# {server} {fault} ({detail}) beside {} in {}",
        program.display(),
        directory.display()
    )
}

fn number(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a process number fits")
}

#[track_caller]
fn send(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).expect("the process is there");
}

/// Waits until a server that was just started takes connections; false when it has ended or does not within so many seconds.
pub(crate) fn listens(child: &mut Child, address: SocketAddr, limit_s: u64) -> bool {
    let until = Instant::now() + Duration::from_secs(limit_s);
    loop {
        // One that found its address taken has ended, and another server answers there.
        pause();
        if Instant::now() > until || !matches!(child.try_wait(), Ok(None)) {
            return false;
        }
        if TcpStream::connect(address).is_ok() {
            return matches!(child.try_wait(), Ok(None));
        }
    }
}

/// Ends a process as a fault of its own does: no caller waits for that.
#[track_caller]
pub fn crash(process: i32) {
    send(process, Signal::SIGSEGV);
}

/// Stops a process in its tracks: its connections stay open and nothing answers, as when a machine is gone.
#[track_caller]
pub fn freeze(process: i32) {
    send(process, Signal::SIGSTOP);
    // A thread on another core goes on for a moment.
    let until = Instant::now() + Duration::from_secs(STOP_S_MAX);
    while !is_frozen(process) {
        assert!(Instant::now() < until, "the process {process} goes on");
        pause();
    }
}

/// Whether a process was stopped in its tracks.
pub fn is_frozen(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| stat.contains(") T "))
}

/// Lets a frozen process go on.
#[track_caller]
pub fn thaw(process: i32) {
    send(process, Signal::SIGCONT);
}

/// The last lines of these files, one after the other; one that is not there has none.
pub fn log_of<'a>(files: impl IntoIterator<Item = &'a Path>) -> String {
    let mut text = String::new();
    for file in files {
        let bytes = std::fs::read(file).unwrap_or_default();
        text += &String::from_utf8_lossy(&bytes);
    }
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
    format!("--- the server's log ---\n{}\n---", shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signal_of_a_fault_is_a_fault() {
        for (status, fault) in [
            (0, false),
            (1 << 8, false),
            (11, true),
            (6, true),
            (9, false),
            (15, false),
        ] {
            assert_eq!(is_fault(ExitStatus::from_raw(status)), fault, "{status}");
        }
    }

    #[test]
    fn the_line_of_an_end_names_server_program_and_directory() {
        let line = line_of("Firebird", "ended by itself", &"signal: 11 (SIGSEGV)");
        let program = std::env::current_exe().unwrap();
        let directory = env!("CARGO_MANIFEST_DIR");
        assert_eq!(
            line,
            format!(
                "# Firebird ended by itself (signal: 11 (SIGSEGV)) beside {} in {directory}",
                program.display()
            )
        );
    }
}
