//! A server under measurement: started, waited for, looked at from outside, ended. Knows programs and ports, not what they answer.
//! Every child is ended when its handle is dropped, also when a suite fails half-way. It is in a session of its own, unless a suite
//! shows the other condition too.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use crate::client;
use crate::limits::{CRASH_MS_MAX, LAST_WORDS_LINES, POLL_MS, START_MS_MAX, STOP_MS_MAX};
use crate::report::SessionScope;
use crate::session::{ChildProgram, ProcessStat};

/// A tick of the times in /proc: Linux counts a hundred a second there, whatever its own clock does.
const TICK_US: f64 = 10_000.0;

/// A signal ended a program that was to go on, with this to say.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProgramCrash(pub String);

/// A running server.
pub struct Process {
    program: ChildProgram,
    /// Where it listens.
    pub address: SocketAddr,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts a server in a session of its own and waits until it answers. Its output goes to `NAME.log` in `folder`.
    pub fn start(
        name: &str,
        command: Command,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<Process> {
        Process::start_in(SessionScope::Own, name, command, address, folder)
    }

    /// The same, where it is to run.
    pub fn start_in(
        sessions: SessionScope,
        name: &str,
        command: Command,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<Process> {
        // A server may listen before it can answer.
        let answers = || client::fetch(address, "/hello").is_ok();
        Process::start_until(&answers, sessions, name, command, address, folder)
    }

    /// The same of a server that speaks another protocol, until it `answers`.
    pub fn start_until(
        answers: &dyn Fn() -> bool,
        sessions: SessionScope,
        name: &str,
        command: Command,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<Process> {
        let log = folder.join(format!("{name}.log"));
        let output = fs::File::create(&log)?;
        let errors = output.try_clone()?;
        let attach = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(output).stderr(errors);
        };
        let program = ChildProgram::start(&command, sessions, attach)
            .with_context(|| format!("cannot start {name}"))?;
        let mut process = Process {
            program,
            address,
            name: name.to_owned(),
            log,
        };
        process.await_answer(answers)?;
        Ok(process)
    }

    /// The signal that ended the program, and the last that it said; none while it runs. What ends it may take a moment. That it ended in
    /// another way is an error.
    pub fn crash(&mut self) -> Result<Option<ProgramCrash>> {
        let until = Instant::now() + Duration::from_millis(CRASH_MS_MAX);
        let mut status = self.program.try_wait()?;
        while status.is_none() && Instant::now() < until {
            pause(POLL_MS);
            status = self.program.try_wait()?;
        }
        let Some(status) = status else {
            return Ok(None);
        };
        if status.signal().is_none() {
            bail!("{} ended ({status}):\n{}", self.name, self.last_words());
        }
        let said = self.output();
        let said = said.trim().lines().last().unwrap_or_default();
        Ok(Some(match said {
            "" => ProgramCrash(format!("crash ({status})")),
            said => ProgramCrash(format!("crash ({status}: {said})")),
        }))
    }

    fn await_answer(&mut self, answers: &dyn Fn() -> bool) -> Result<()> {
        let until = Instant::now() + Duration::from_millis(START_MS_MAX);
        // A failed load may still end it.
        while !answers() {
            if let Some(status) = self.program.try_wait()? {
                let text = format!(
                    "{} ended at once ({status}):\n{}",
                    self.name,
                    self.last_words()
                );
                match status.signal() {
                    Some(_) => return Err(ProgramCrash(text).into()),
                    None => bail!(text),
                }
            }
            if Instant::now() > until {
                bail!(
                    "{} does not answer after {START_MS_MAX} ms:\n{}",
                    self.name,
                    self.output()
                );
            }
            pause(POLL_MS);
        }
        Ok(())
    }

    /// What it has printed.
    pub fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The end of what it has printed, where a failure is explained.
    pub fn last_words(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        let first = lines.len().saturating_sub(LAST_WORDS_LINES);
        lines.get(first..).unwrap_or_default().join("\n")
    }

    /// Resident memory, in bytes, its children's too.
    pub fn resident_bytes(&self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    /// The most resident memory that it ever had, in bytes, its children's too.
    pub fn peak_bytes(&self) -> Result<u64> {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> Result<u64> {
        let mut bytes = 0;
        for id in self.family() {
            let status = fs::read_to_string(format!("/proc/{id}/status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            let kib = line
                .and_then(|line| line.split_whitespace().next())
                .with_context(|| format!("no {field} in /proc"))?;
            bytes += kib.parse::<u64>()? * 1024;
        }
        Ok(bytes)
    }

    /// Processor time that it has used so far, in microseconds: user and system, all its threads and children.
    pub fn processor_us(&self) -> Result<f64> {
        self.family().into_iter().map(processor_us).sum()
    }

    /// The process and its children: the workers of nginx are processes.
    fn family(&self) -> Vec<u32> {
        let id = self.program.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let ids = children.split_whitespace().filter_map(|id| id.parse().ok());
        std::iter::once(id).chain(ids).collect()
    }

    /// Where it runs.
    pub fn sessions(&self) -> SessionScope {
        self.program.sessions()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.program.signal(signal)
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let until = Instant::now() + Duration::from_millis(STOP_MS_MAX);
        loop {
            if let Some(status) = self.program.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > until {
                bail!("{} still runs {STOP_MS_MAX} ms after its signal", self.name);
            }
            pause(POLL_MS);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Politely first: nginx and H2O have children of their own, which they end well.
        let has_ended = matches!(self.program.try_wait(), Ok(Some(_)));
        if !has_ended && self.signal(Signal::SIGTERM).is_ok() {
            // What does not end in time is ended with its handle.
            let _ = self.wait();
        }
    }
}

fn processor_us(id: u32) -> Result<f64> {
    Ok(ProcessStat::of(id)?.ticks * TICK_US)
}

/// A loopback address that was free a moment ago.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// Lets time pass on this thread, which serves no request.
pub fn pause(milliseconds: u64) {
    sleep(Duration::from_millis(milliseconds));
}

/// The same, by a finer clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the measuring program serves no request"
)]
pub fn sleep(time: Duration) {
    thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a shell that does this is told to have ended, once it was started.
    fn ended(script: &str) -> Result<Option<ProgramCrash>> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (always, address) = (|| true, free_address()?);
        let started = Process::start_until(
            &always,
            SessionScope::Own,
            "shell",
            command,
            address,
            folder.path(),
        );
        started?.crash()
    }

    #[test]
    fn end_by_a_signal_is_a_crash_and_another_exit_is_an_error_with_the_last_words() {
        let crash = ended("echo oh; kill -SEGV $$").unwrap().unwrap();
        assert!(
            crash.0.contains("signal") && crash.0.contains(": oh)"),
            "{crash}"
        );
        let error = ended("echo no such database; exit 1").unwrap_err();
        assert!(!error.is::<ProgramCrash>(), "{error}");
        assert!(error.to_string().ends_with("no such database"), "{error}");
    }

    #[test]
    fn program_that_ends_before_it_answers_has_crashed_only_by_a_signal() {
        let is_crash = |script: &str| {
            let folder = tempfile::tempdir().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let address = free_address().unwrap();
            let started = Process::start("shell", command, address, folder.path());
            started.err().map(|error| error.is::<ProgramCrash>())
        };
        assert_eq!(is_crash("kill -SEGV $$"), Some(true));
        assert_eq!(is_crash("exit 1"), Some(false));
    }
}
