//! One process of `redis-server`: start, kill, start again, freeze. It knows no client.
//! Rule: it listens on 127.0.0.1 only, keeps its files in a directory of its own, and ends with its value.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::certificates::RedisCertificates;
use super::inline;
use super::limits::{PORT_TRIES_MAX, START_S_MAX};
use crate::{ServerProcess, free_port, freeze, log_of, pause, thaw};

/// A server, running or stopped.
pub struct RedisServer {
    folder: PathBuf,
    arguments: Vec<String>,
    port: u16,
    process: Mutex<ServerProcess>,
}

impl RedisServer {
    /// One that keeps nothing on disk, with more options, as in `["--requirepass", "secret"]`.
    pub fn start(options: &[&str]) -> RedisServer {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        RedisServer::with(|port, _| {
            let mut arguments = vec!["--port".to_owned(), port.to_string()];
            arguments.extend_from_slice(&options);
            arguments
        })
    }

    /// One server for the whole test process, started at the first call. Others use it too: have a prefix of your own, and leave the server alone.
    pub fn shared() -> &'static RedisServer {
        static SHARED: OnceLock<RedisServer> = OnceLock::new();
        SHARED.get_or_init(|| RedisServer::start(&[]))
    }

    /// One that speaks TLS alone, and takes clients with and without a certificate.
    pub fn start_tls() -> (RedisServer, RedisCertificates) {
        let made = Mutex::new(None);
        let server = RedisServer::with(|port, folder| {
            let certificates = RedisCertificates::make(folder);
            let file = |path: &Path| path.display().to_string();
            let arguments = [
                ("--port", "0".to_owned()),
                ("--tls-port", port.to_string()),
                ("--tls-cert-file", file(&certificates.server)),
                ("--tls-key-file", file(&certificates.server_key)),
                ("--tls-ca-cert-file", file(&certificates.authority)),
                ("--tls-auth-clients", "optional".to_owned()),
            ];
            *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificates);
            let pairs = arguments.into_iter();
            pairs
                .flat_map(|(name, value)| [name.to_owned(), value])
                .collect()
        });
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        (server, made.expect("the server was started with them"))
    }

    /// One whose arguments depend on its port and its directory.
    pub(crate) fn with(arguments: impl Fn(u16, &Path) -> Vec<String>) -> RedisServer {
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-redis-")
            .tempdir()
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        let mut server = RedisServer {
            process: Mutex::new(ServerProcess::over(&folder, "KILL")),
            folder,
            arguments: Vec::new(),
            port: 0,
        };
        for _ in 0..PORT_TRIES_MAX {
            server.port = free_port();
            server.arguments = arguments(server.port, &server.folder);
            if server.try_start() {
                return server;
            }
        }
        panic!(
            "redis-server did not start in PORT_TRIES_MAX ({PORT_TRIES_MAX}) tries\n{}",
            server.log()
        );
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address as a store has it, with the database 0.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// What it answers to a command of words: the first line, or the string.
    #[track_caller]
    pub fn ask(&self, command: &str) -> String {
        inline::ask(self.port, command)
            .unwrap_or_else(|| panic!("no answer to {command}\n{}", self.log()))
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&self) {
        self.process().end(Signal::SIGKILL, || self.log());
    }

    /// Starts it again on the port that it had, with what it has kept on disk.
    #[track_caller]
    pub fn start_again(&self) {
        assert!(self.try_start(), "it does not start again\n{}", self.log());
    }

    /// Stops it in its tracks, as where a machine hangs.
    pub fn freeze(&self) {
        freeze(self.process().number());
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        thaw(self.process().number());
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        let file = self.folder.join("log");
        log_of([file.as_path()])
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_start(&self) -> bool {
        let mut command = Command::new(program());
        command.current_dir(&self.folder);
        command.args(&self.arguments).args(COMMON);
        let port = self.port;
        let log = self.folder.join("log");
        self.process()
            .start(command, &log, |child| listens(child, port), |went| *went)
    }
}

/// What all have: no other machine, nothing on disk but what is asked for, files in the directory that it runs in.
const COMMON: [&str; 6] = ["--bind", "127.0.0.1", "--save", "", "--daemonize", "no"];

impl Drop for RedisServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

fn listens(child: &mut Child, port: u16) -> bool {
    let until = Instant::now() + Duration::from_secs(START_S_MAX);
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        pause();
    }
    false
}

/// The server's program; Sentinels are the same one.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from))
        .map(|directory| directory.join("redis-server"))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "\n\n*** redis-server is missing: run `make setup PROFILE=test`; it installs the package redis-server ***\n\n"
            )
        })
}
