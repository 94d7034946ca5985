//! Starts programs, each in a session of its own, and ends what they leave behind. Knows no program and no port.
//!
//! A service manager and a container give each program a session of its own. Where `kernel.sched_autogroup_enabled` is set, Linux shares the
//! cores between sessions first and between the threads of a session second, so programs that share one are measured under conditions that no
//! user has. [`SessionScope::One`] is that other condition, for the suites that show both.
//!
//! The program `setsid` of util-linux makes the session, after the fork and before the program takes its place, with the same number.
//! `pre_exec` would be unsafe code, which this crate forbids; the crate that may have it is a part of the server, which this crate does not link.
//! Rule: a signal reaches only this program, which ends the others itself, with all that is left of their sessions.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitCode, ExitStatus};
use std::thread;

use anyhow::{Context as _, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpid, getsid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::limits::SWEEPS_MAX;
use crate::programs::find;
use crate::report::SessionScope;

/// Added to the number of a signal that ended a program, as shells do.
const SIGNALLED: i32 = 128;

/// A program that runs, or has ended.
pub struct ChildProgram {
    child: Child,
    sessions: SessionScope,
    has_ended: bool,
}

impl ChildProgram {
    /// Starts a program whose streams `attach` sets.
    pub fn start(
        command: &Command,
        sessions: SessionScope,
        attach: impl FnOnce(&mut Command),
    ) -> Result<ChildProgram> {
        let mut command = arranged(command, sessions)?;
        attach(&mut command);
        let child = command.spawn().context("cannot start it")?;
        Ok(ChildProgram {
            child,
            sessions,
            has_ended: false,
        })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Where it runs.
    pub fn sessions(&self) -> SessionScope {
        self.sessions
    }

    /// What it prints, when that is a pipe that was not taken yet.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// How it ended, if it did. Then nothing that it started runs any more.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if !self.has_ended {
            let id = Pid::from_raw(self.id().try_into()?);
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
            if waitid(Id::Pid(id), flags)? == WaitStatus::StillAlive {
                return Ok(None);
            }
            // As long as it is not reaped, its number is no other program's.
            sweep(self.id());
            self.has_ended = true;
        }
        Ok(self.child.try_wait()?)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = Pid::from_raw(self.id().try_into()?);
        Ok(kill(id, signal)?)
    }

    /// Ends it at once, and what it started.
    pub fn kill(&mut self) -> io::Result<()> {
        if !self.has_ended {
            self.child.kill()?;
            sweep(self.id());
            self.has_ended = true;
        }
        self.child.wait().map(drop)
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.kill();
    }
}

/// A command that starts another where it belongs. Its streams are still to be set.
pub fn arranged(command: &Command, sessions: SessionScope) -> Result<Command> {
    let wanted = Path::new(command.get_program());
    let program = if wanted.components().count() > 1 {
        wanted.is_file().then(|| wanted.to_owned())
    } else {
        wanted.to_str().and_then(find)
    };
    let program = program.with_context(|| format!("there is no {}", wanted.display()))?;
    let mut arranged = match sessions {
        SessionScope::Own => {
            let setsid = find("setsid");
            let setsid = setsid.context("there is no setsid: install the package util-linux")?;
            let mut command = Command::new(setsid);
            // It forks when it leads a process group, which it does not here: it has ours.
            command.arg(program);
            command
        }
        SessionScope::One => {
            let mut command = Command::new(program);
            command.process_group(0);
            command
        }
    };
    arranged.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => arranged.env(name, value),
            None => arranged.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        arranged.current_dir(folder);
    }
    Ok(arranged)
}

/// Ends what is left of the session or of the process group of this number. Its leader may be among them.
fn sweep(leader: u32) {
    // What ends may have started another meanwhile.
    for _ in 0..SWEEPS_MAX {
        let left = members(leader);
        if left.is_empty() {
            return;
        }
        for id in left {
            // It may have ended meanwhile.
            let _ = kill(id, Signal::SIGKILL);
        }
    }
}

/// The processes of a session or a process group that run, in no order.
fn members(leader: u32) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let belongs = |id: &u32| {
        let stat = ProcessStat::of(*id);
        stat.is_ok_and(|stat| stat.runs() && (stat.session == leader || stat.group == leader))
    };
    ids.filter(belongs)
        .filter_map(|id| Some(Pid::from_raw(id.try_into().ok()?)))
        .collect()
}

/// What Linux says of a process in one line.
#[derive(Debug)]
pub struct ProcessStat {
    state: String,
    group: u32,
    /// The number of the process that began its session.
    pub session: u32,
    /// Processor time, in ticks: user and system.
    pub ticks: f64,
}

impl ProcessStat {
    /// Of a process that is there.
    pub fn of(id: u32) -> Result<ProcessStat> {
        let line = fs::read_to_string(format!("/proc/{id}/stat"))?;
        // The name before them may hold anything, spaces and brackets too; it ends at the last bracket.
        let fields = line.rsplit_once(')').map_or("", |(_, fields)| fields);
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let field = |at: usize| {
            let field = fields.get(at).copied();
            field.with_context(|| format!("/proc says too little of {id}"))
        };
        Ok(ProcessStat {
            state: field(0)?.to_owned(),
            group: field(2)?.parse()?,
            session: field(3)?.parse()?,
            ticks: field(11)?.parse::<f64>()? + field(12)?.parse::<f64>()?,
        })
    }

    /// Whether it has not ended.
    fn runs(&self) -> bool {
        !matches!(self.state.as_str(), "Z" | "X")
    }
}

/// Has this program lead a session, whose only threads besides are those of its load. Unless it leads one already, it starts itself in one,
/// hands signals on, and this is how that ended. It stays where it is itself, so that Ctrl-C reaches it.
pub fn lead() -> Result<Option<ExitCode>> {
    if getsid(None)? == getpid() {
        return Ok(None);
    }
    let mut again = Command::new(std::env::current_exe()?);
    again.args(std::env::args_os().skip(1));
    let again = arranged(&again, SessionScope::Own)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(follow(again)).map(Some)
}

/// Runs a command to its end, with the signals that come here.
async fn follow(mut command: Command) -> Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = command.spawn().context("cannot run setsid")?;
    let id = Pid::from_raw(child.id().try_into()?);
    let (ended, mut end) = oneshot::channel();
    // Its receiver is here until it ends.
    thread::spawn(move || drop(ended.send(child.wait())));
    loop {
        let signal = tokio::select! {
            status = &mut end => return Ok(code(status??)),
            _ = interrupt.recv() => Signal::SIGINT,
            _ = terminate.recv() => Signal::SIGTERM,
            _ = hangup.recv() => Signal::SIGHUP,
        };
        match kill(id, signal) {
            // It has just ended.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// How a program ended, as shells say it.
fn code(status: ExitStatus) -> ExitCode {
    let signalled = status.signal().map(|signal| SIGNALLED + signal);
    let code = status.code().or(signalled);
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::limits::POLL_MS;
    use crate::process::pause;

    /// A shell that starts a program and prints its number, and then does the rest of `script`.
    fn shell(script: &str, sessions: SessionScope) -> (ChildProgram, u32) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("sleep 600 & echo $!; {script}")]);
        let piped = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
        };
        let mut program = ChildProgram::start(&command, sessions, piped).unwrap();
        let (printed, _) = program.take_output();
        let mut line = String::new();
        BufReader::new(printed.unwrap())
            .read_line(&mut line)
            .unwrap();
        (program, line.trim().parse().unwrap())
    }

    fn session(id: u32) -> u32 {
        ProcessStat::of(id).unwrap().session
    }

    fn ours() -> u32 {
        session(std::process::id())
    }

    fn await_end(id: u32) {
        let until = Instant::now() + Duration::from_secs(60);
        while ProcessStat::of(id).is_ok_and(|stat| stat.runs()) {
            assert!(Instant::now() < until, "{id} still runs");
            pause(POLL_MS);
        }
    }

    #[test]
    fn program_in_a_session_of_its_own_leads_it_and_its_children_are_in_it() {
        let (mut program, child) = shell("wait", SessionScope::Own);
        assert_eq!(session(program.id()), program.id());
        assert_ne!(program.id(), ours());
        assert_eq!(session(child), program.id());
        program.kill().unwrap();
        await_end(child);
    }

    #[test]
    fn program_in_the_one_session_is_in_that_of_the_load() {
        let (mut program, child) = shell("wait", SessionScope::One);
        assert_eq!([session(program.id()), session(child)], [ours(); 2]);
        program.kill().unwrap();
        await_end(child);
    }

    #[test]
    fn program_that_ends_by_itself_leaves_nothing_of_its_session() {
        for sessions in [SessionScope::Own, SessionScope::One] {
            let (mut program, child) = shell("exit 3", sessions);
            let until = Instant::now() + Duration::from_secs(60);
            let status = loop {
                if let Some(status) = program.try_wait().unwrap() {
                    break status;
                }
                assert!(Instant::now() < until, "it does not end");
                pause(POLL_MS);
            };
            assert_eq!(status.code(), Some(3));
            await_end(child);
        }
    }

    #[test]
    fn program_of_either_session_has_its_arguments_folder_and_environment() {
        let folder = tempfile::tempdir().unwrap();
        for sessions in [SessionScope::Own, SessionScope::One] {
            let mut command = Command::new("sh");
            command.args(["-c", "echo \"$1 $WORD ${HOME-none}\" >said", "sh", "a b"]);
            command.env("WORD", "c").env_remove("HOME");
            command.current_dir(&folder);
            let mut program = ChildProgram::start(&command, sessions, |_| {}).unwrap();
            while program.try_wait().unwrap().is_none() {
                pause(POLL_MS);
            }
            let said = fs::read_to_string(folder.path().join("said")).unwrap();
            assert_eq!(said, "a b c none\n");
        }
    }

    #[test]
    fn absent_program_is_named() {
        for name in ["no-such-program", "/no/such/program"] {
            let started = ChildProgram::start(&Command::new(name), SessionScope::Own, |_| {});
            let error = started.err().map(|error| error.to_string());
            assert_eq!(error, Some(format!("there is no {name}")));
        }
    }
}
