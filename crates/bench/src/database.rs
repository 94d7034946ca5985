//! The databases that suites ask: the user's, or one that a tool of this repository starts and throws away.
//! A PostgreSQL must have the tables `world` and `fortune`; the tool makes them. A Firebird needs none.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::limits::{DATABASE_MS_MAX, ENDED_MS_MAX, POLL_MS};
use crate::process::pause;
use crate::programs::{Programs, find};
use crate::report::{MissingPart, SessionScope};
use crate::session::arranged;
use crate::stop::StopFlag;

/// A kind of server.
pub struct ServerKind {
    name: &'static str,
    /// Where the user says which one is his.
    variable: &'static str,
    /// What starts one.
    tool: &'static str,
    packages: &'static str,
    is_installed: fn() -> bool,
}

/// With the tables of the benchmarks.
pub const POSTGRES: ServerKind = ServerKind {
    name: "PostgreSQL",
    variable: "DATABASE_URL",
    tool: "tsumugi-with-postgres",
    packages: "package postgresql",
    is_installed: has_postgres,
};

/// With an empty database.
pub const FIREBIRD: ServerKind = ServerKind {
    name: "Firebird",
    variable: "FIREBIRD_URL",
    tool: "tsumugi-with-firebird",
    packages: "packages firebird3.0-server firebird3.0-utils",
    is_installed: has_firebird,
};

/// The program that the tool runs beside its server: it prints the URL and waits until the server is no longer needed.
const HOLDER: &str = "echo \"$DATABASE_URL\"; exec cat";

/// With these the tool's lines begin that tell of a server that ended by itself, and that it runs again.
const ENDED: &str = "# Firebird ended by itself";
const RUNS_AGAIN: &str = "# Firebird runs again";

/// A server that can be asked.
pub struct DatabaseServer {
    /// Where it is.
    pub url: String,
    /// What holds it, when it is thrown away.
    holder: Option<Child>,
    ends: Arc<ServerEnds>,
}

/// How often a server that is thrown away has ended by itself, and runs again.
#[derive(Default)]
struct ServerEnds {
    ended: AtomicUsize,
    again: AtomicUsize,
}

impl DatabaseServer {
    /// The user's server, or one of our own; what is missing when there can be none.
    pub fn find(
        kind: &ServerKind,
        programs: &Programs,
        stop: &StopFlag,
    ) -> Result<Result<DatabaseServer, MissingPart>> {
        if let Ok(url) = std::env::var(kind.variable) {
            return Ok(Ok(DatabaseServer {
                url,
                holder: None,
                ends: Arc::default(),
            }));
        }
        let tool = programs.tool(kind.tool);
        let remedy = if !(kind.is_installed)() {
            format!("install the Debian {}", kind.packages)
        } else if !tool.is_file() {
            format!(
                "`cargo build --release --bin {}` builds what starts it",
                kind.tool
            )
        } else {
            return DatabaseServer::start(&tool, stop).map(Ok);
        };
        Ok(Err(MissingPart {
            what: kind.name.to_owned(),
            remedy: format!("{remedy}, or set {}", kind.variable),
        }))
    }

    fn start(tool: &Path, stop: &StopFlag) -> Result<DatabaseServer> {
        let mut command = Command::new(tool);
        command.args(["sh", "-c", HOLDER]);
        // Its session is not swept: what ends the server when the tool cannot is in it.
        let mut holder = arranged(&command, SessionScope::Own)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", tool.display()))?;
        let said = holder.stdout.take().context("the tool has no output")?;
        let told = holder.stderr.take().context("the tool has no output")?;
        let mut database = DatabaseServer {
            url: String::new(),
            holder: Some(holder),
            ends: Arc::default(),
        };
        let ends = Arc::clone(&database.ends);
        let teller = thread::spawn(move || ends.read(BufReader::new(told)));
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            // There is no reader when the other end has gone.
            let _ = BufReader::new(said)
                .read_line(&mut line)
                .map(|_| sender.send(line));
        });
        let until = Instant::now() + Duration::from_millis(DATABASE_MS_MAX);
        while Instant::now() < until {
            stop.check()?;
            match receiver.recv_timeout(Duration::from_millis(POLL_MS)) {
                Ok(line) if !line.trim().is_empty() => {
                    line.trim().clone_into(&mut database.url);
                    return Ok(database);
                }
                Err(RecvTimeoutError::Timeout) => {}
                _ => {
                    // It has ended, and so does its output.
                    let _ = teller.join();
                    bail!("{} printed no URL; its output is above", tool.display())
                }
            }
        }
        bail!(
            "{} printed no URL within {DATABASE_MS_MAX} ms",
            tool.display()
        )
    }
}

impl DatabaseServer {
    /// How often its server has ended by itself.
    pub fn ends(&self) -> usize {
        self.ends.ended.load(Ordering::Relaxed)
    }

    /// Whether it has ended more often than `before`; then it runs again.
    pub fn has_ended_since(&self, before: usize, stop: &StopFlag) -> Result<bool> {
        if self.holder.is_none() {
            return Ok(false);
        }
        let ended = || self.ends() > before;
        if !wait(ENDED_MS_MAX, stop, ended)? {
            return Ok(false);
        }
        let again = || self.ends.again.load(Ordering::Relaxed) >= self.ends();
        wait(DATABASE_MS_MAX, stop, again)
    }
}

/// Whether something happens in time.
fn wait(ms_max: u64, stop: &StopFlag, happened: impl Fn() -> bool) -> Result<bool> {
    let until = Instant::now() + Duration::from_millis(ms_max);
    while !happened() {
        stop.check()?;
        if Instant::now() >= until {
            return Ok(false);
        }
        pause(POLL_MS);
    }
    Ok(true)
}

impl ServerEnds {
    /// Passes on the lines that a tool prints, and counts them.
    fn read(&self, told: impl BufRead) {
        for line in told.lines().map_while(Result::ok) {
            eprintln!("{line}");
            if line.starts_with(ENDED) {
                self.ended.fetch_add(1, Ordering::Relaxed);
            } else if line.starts_with(RUNS_AGAIN) {
                self.again.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for DatabaseServer {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            // The end of its input ends it; its server is ended by the tool, or by who watches over that.
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}

/// Debian keeps its programs off the PATH.
fn has_postgres() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let beside = |entry: std::fs::DirEntry| entry.path().join("bin/initdb").is_file();
    find("initdb").is_some() || versions.into_iter().flatten().flatten().any(beside)
}

fn has_firebird() -> bool {
    find("firebird").is_some() && find("isql-fb").is_some()
}
