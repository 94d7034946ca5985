//! Ctrl-C, SIGTERM and a terminal that is closed: the measurement ends where it is and what there is gets printed. Ends nothing itself.
//! Long waits look here; no child is in this program's process group, so that the signal reaches only this program.

use std::io::Read as _;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};

use crate::limits::POLL_MS;
use crate::process::{pause, sleep};
use crate::report::SessionScope;
use crate::session::ChildProgram;

/// Whether the user wants an end.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

/// The user wants an end: nothing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interruption;

impl StopFlag {
    /// One that signals ask, from now on. Without a thread to spare they end the process as usual.
    pub fn at_signals() -> StopFlag {
        let stop = StopFlag::default();
        let asked = Arc::clone(&stop.0);
        let (begun, listens) = mpsc::channel();
        let watch = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let mut interrupt = signal(SignalKind::interrupt())?;
                let mut terminate = signal(SignalKind::terminate())?;
                let mut hangup = signal(SignalKind::hangup())?;
                // Its receiver waits for it.
                let _ = begun.send(());
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = hangup.recv() => {}
                    }
                    asked.store(true, Ordering::Relaxed);
                }
            })
        };
        let named = thread::Builder::new().name("bench-signals".to_owned());
        drop(named.spawn(move || -> std::io::Result<()> { watch() }));
        // A thread that could not listen has given up its end.
        let _ = listens.recv();
        stop
    }

    /// Whether it was asked for.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error when it was asked for.
    pub fn check(&self) -> Result<()> {
        if self.is_set() {
            return Err(Interruption.into());
        }
        Ok(())
    }

    /// Lets time pass, unless the end is asked for.
    pub fn pause_until(&self, until: Instant) {
        while !self.is_set() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let step = left.min(Duration::from_millis(POLL_MS));
            pause(u64::try_from(step.as_millis()).unwrap_or(POLL_MS).max(1));
        }
    }

    /// Lets time pass to the moment, as exactly as the system can, unless the end is asked for.
    pub fn sleep_until(&self, until: Instant) {
        self.pause_until(until - Duration::from_millis(POLL_MS));
        if !self.is_set() {
            sleep(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Runs a program to its end, or to that of this one, in a session of its own.
    pub fn run(&self, command: &mut Command) -> Result<Output> {
        self.run_in(SessionScope::Own, command)
    }

    /// The same, where it is to run.
    pub fn run_in(&self, sessions: SessionScope, command: &mut Command) -> Result<Output> {
        self.check()?;
        let program = command.get_program().to_string_lossy().into_owned();
        let attach = |command: &mut Command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        };
        let mut running = ChildProgram::start(command, sessions, attach)
            .with_context(|| format!("cannot run {program}"))?;
        let (stdout, stderr) = running.take_output();
        // Read aside, so that a program that says much never waits for room.
        let gather = |stream: Option<Box<dyn std::io::Read + Send>>| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map_or(Ok(0), |mut stream| stream.read_to_end(&mut bytes))?;
                std::io::Result::Ok(bytes)
            })
        };
        let stdout = gather(stdout.map(|out| Box::new(out) as _));
        let stderr = gather(stderr.map(|err| Box::new(err) as _));
        let status = loop {
            if let Some(status) = running.try_wait()? {
                break status;
            }
            if self.is_set() {
                running.kill()?;
                return Err(Interruption.into());
            }
            pause(POLL_MS);
        };
        let gathered = |thread: thread::JoinHandle<std::io::Result<Vec<u8>>>| {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("reading what {program} says panicked"))?
                .context("cannot read what a program says")
        };
        Ok(Output {
            status,
            stdout: gathered(stdout)?,
            stderr: gathered(stderr)?,
        })
    }
}
