//! One throwaway server: start, stop, restart, kill, standby, databases, SQL through psql. It knows no driver.
//! It ends with its value, or with the process when it is shared; see the guard.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::process_tree::ProcessTree;
use crate::{ServerProcess, free_port, freeze, log_of, pause, printed, thaw};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::postgres::certificates::{Certificates, PostgresTls};
use crate::postgres::limits::{CATCH_UP_S_MAX, PORT_TRIES_MAX, START_S_MAX};
use crate::postgres::process_user::ProcessUser;
use crate::postgres::user::{User, escaped};
use crate::postgres::{programs, psql, template, world};

/// What every server is started with: nothing survives anyway, so nothing is synced.
const SETTINGS: [(&str, &str); 11] = [
    ("listen_addresses", "127.0.0.1,::1"),
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("synchronous_commit", "off"),
    ("autovacuum", "off"),
    ("jit", "off"),
    ("shared_buffers", "32MB"),
    ("max_wal_size", "256MB"),
    ("max_prepared_transactions", "10"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
];

/// The signal for PostgreSQL's immediate shutdown; it ends PgBouncer too.
pub(crate) const IMMEDIATE: &str = "QUIT";

/// How a server is to be.
#[derive(Clone, Debug, Default)]
pub struct Options {
    tls: PostgresTls,
    settings: Vec<(String, String)>,
    access: String,
}

impl Options {
    /// With TLS or without.
    pub fn tls(mut self, tls: PostgresTls) -> Options {
        self.tls = tls;
        self
    }

    /// Adds a setting of postgresql.conf.
    pub fn setting(mut self, name: &str, value: &str) -> Options {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts a line of pg_hba.conf before all others.
    pub fn access(mut self, line: &str) -> Options {
        self.access.push_str(line);
        self.access.push('\n');
        self
    }

    /// Starts it.
    pub fn start(self) -> Server {
        Server::make(self)
    }
}

/// A running, or stopped, server.
pub struct Server {
    folder: PathBuf,
    account: ProcessUser,
    settings: Vec<(String, String)>,
    certificates: Option<Certificates>,
    port: AtomicU16,
    databases: AtomicUsize,
    process: Mutex<ServerProcess>,
}

/// A server that stands still.
pub struct FrozenServer<'s>(ProcessTree<'s>);

impl Drop for FrozenServer<'_> {
    fn drop(&mut self) {
        self.0.thaw();
    }
}

/// How an attempt to start went.
enum Attempt {
    Ready,
    PortTaken,
    /// The remains of a killed server are still there.
    Occupied,
    Failed(String),
}

impl Server {
    /// A server without TLS.
    pub fn start() -> Server {
        Options::default().start()
    }

    /// One server for the whole test process, started at the first call. Take a [`Server::database`] of it and leave
    /// the server itself alone: others use it too.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Server::start)
    }

    fn make(options: Options) -> Server {
        let mut server = Server::prepare();
        template::copy(server.account, &server.data());
        if !options.access.is_empty() {
            let path = server.data().join("pg_hba.conf");
            let usual = std::fs::read_to_string(&path).expect("the template has it");
            std::fs::write(&path, options.access + &usual).expect("the directory is ours");
        }
        server.settings.extend(options.settings);
        if options.tls != PostgresTls::Off {
            let made = Certificates::make(&server.folder, options.tls, server.account);
            for (name, path) in [
                ("ssl_cert_file", &made.server),
                ("ssl_key_file", &made.server_key),
                ("ssl_ca_file", &made.authority),
            ] {
                let path = path.display().to_string();
                server.settings.push((name.to_owned(), path));
            }
            server.settings.push(("ssl".to_owned(), "on".to_owned()));
            server.certificates = Some(made);
        }
        server.start_somewhere();
        server
    }

    /// The directory and its guard, without a server in it.
    fn prepare() -> Server {
        let account = ProcessUser::choose();
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-pg-")
            .tempdir_in(short_directory())
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        let process = ServerProcess::over(&folder, IMMEDIATE);
        let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        // Clients of other accounts reach the socket in it.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("it is ours");
        account.own(&folder);
        Server {
            folder,
            account,
            settings: settings.into(),
            certificates: None,
            port: AtomicU16::new(0),
            databases: AtomicUsize::new(0),
            process: Mutex::new(process),
        }
    }

    /// A standby that streams from this server. It takes no writes; it ends on its own, or with its value.
    pub fn standby(&self) -> Server {
        let mut standby = Server::prepare();
        let program = programs::find("pg_basebackup");
        let output = standby
            .account
            .command(&program, &standby.folder)
            .arg("--pgdata")
            .arg(standby.data())
            .args(["--write-recovery-conf", "--wal-method", "stream"])
            .args(["--checkpoint=fast", "--no-sync", "--username=postgres"])
            .arg("--host")
            .arg(&self.folder)
            .args(["--port", &self.port().to_string()])
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
        printed(&program, output);
        standby.settings = self.settings.clone();
        standby.certificates = self.certificates.clone();
        standby.start_somewhere();
        standby
    }

    /// Waits until this standby has replayed all that `primary` has written.
    #[track_caller]
    pub fn catch_up(&self, primary: &Server) {
        // A commit that is flushed: what is only inserted may lie there for seconds before it is sent.
        primary.psql(
            "set synchronous_commit = on; select pg_logical_emit_message(true, 'rig', 'catch up')",
        );
        let written = primary.psql("select pg_current_wal_flush_lsn()");
        let question = format!("select pg_last_wal_replay_lsn() >= '{written}'");
        let until = Instant::now() + Duration::from_secs(CATCH_UP_S_MAX);
        while self.psql(&question) != "t" {
            assert!(
                Instant::now() < until,
                "the standby did not catch up within CATCH_UP_S_MAX ({CATCH_UP_S_MAX} s)\n{}",
                self.log()
            );
            pause();
        }
    }

    /// The port on 127.0.0.1 and ::1, and of the socket's name.
    pub fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// The directory of the UNIX socket.
    pub fn socket_directory(&self) -> &Path {
        &self.folder
    }

    /// The files for TLS.
    #[track_caller]
    pub fn certificates(&self) -> &Certificates {
        self.certificates
            .as_ref()
            .expect("start it with Options::tls")
    }

    /// The database `postgres` over TCP.
    pub fn url(&self, user: User) -> String {
        self.url_of(user, "postgres")
    }

    /// The database `postgres` over the UNIX socket.
    pub fn socket_url(&self, user: User) -> String {
        let directory = escaped(&self.folder.display().to_string());
        let (user, port) = (user.in_url(), self.port());
        format!("postgres://{user}@{directory}:{port}/postgres")
    }

    fn url_of(&self, user: User, database: &str) -> String {
        let (user, port) = (user.in_url(), self.port());
        format!("postgres://{user}@127.0.0.1:{port}/{database}")
    }

    /// A new, empty database of its own, dropped with its value.
    #[track_caller]
    pub fn database(&self) -> PostgresDatabase<'_> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.psql(&format!("create database {name} template template1"));
        PostgresDatabase { server: self, name }
    }

    /// Runs SQL as the superuser in the database `postgres`; rows come as lines, columns divided by `|`.
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        match self.try_psql("postgres", sql) {
            Ok(printed) => printed,
            Err(reason) => panic!("{sql}: {reason}\n{}", self.log()),
        }
    }

    /// What it is, for those who read a figure: version and settings.
    pub fn description(&self) -> String {
        let version = self.psql("show server_version");
        let settings = self.settings.iter();
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("PostgreSQL {version} with {}", settings.join(" "))
    }

    /// Makes the tables `world` and `fortune` of the framework benchmarks in the database `postgres`.
    #[track_caller]
    pub fn load_world(&self) {
        self.psql(&world::tables());
        self.psql(world::AFTERWARDS);
    }

    fn try_psql(&self, database: &str, sql: &str) -> Result<String, String> {
        psql::run(&self.folder, self.port(), database, sql)
    }

    /// Ends one connection from the server's side, by its backend's process number.
    #[track_caller]
    pub fn kill_backend(&self, process: i32) {
        self.psql(&format!("select pg_terminate_backend({process})"));
    }

    /// Kills one backend as a crash does: the server ends all others and recovers by itself.
    #[track_caller]
    pub fn crash_backend(&self, process: i32) {
        kill(Pid::from_raw(process), Signal::SIGKILL).expect("the backend is there");
    }

    /// Stops one backend in its tracks: its connection stays open and nothing answers, as when a machine is gone.
    #[track_caller]
    pub fn freeze_backend(&self, process: i32) {
        freeze(process);
    }

    /// Lets a frozen backend go on.
    #[track_caller]
    pub fn thaw_backend(&self, process: i32) {
        thaw(process);
    }

    /// Stops all of its processes in their tracks, until the answer is dropped: connections stay open, new ones are taken by the machine, and
    /// nothing answers.
    #[track_caller]
    pub fn frozen(&self) -> FrozenServer<'_> {
        let tree = ProcessTree {
            directory: &self.folder,
            programs: &["postgres"],
        };
        tree.freeze();
        FrozenServer(tree)
    }

    /// Stops it; connections are broken off, transactions rolled back. Its port stays its own for [`Server::start_again`].
    #[track_caller]
    pub fn stop(&self) {
        self.end(Signal::SIGINT);
    }

    /// Kills it, as a crash does. [`Server::start_again`] recovers from its log.
    #[track_caller]
    pub fn kill_9(&self) {
        self.end(Signal::SIGKILL);
    }

    #[track_caller]
    fn end(&self, signal: Signal) {
        self.process().end(signal, || self.log());
    }

    /// Starts it on its old port after [`Server::stop`] or [`Server::kill_9`].
    #[track_caller]
    pub fn start_again(&self) {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        loop {
            match self.attempt() {
                Attempt::Ready => return,
                // Backends of a killed server take a moment to notice.
                Attempt::Occupied | Attempt::PortTaken if Instant::now() < until => pause(),
                _ => panic!("the server did not start again\n{}", self.log()),
            }
        }
    }

    /// Stops and starts it.
    #[track_caller]
    pub fn restart(&self) {
        self.stop();
        self.start_again();
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        log_of([self.log_path().as_path()])
    }

    fn start_somewhere(&self) {
        for _ in 0..PORT_TRIES_MAX {
            self.port.store(free_port(), Ordering::Relaxed);
            match self.attempt() {
                Attempt::Ready => return,
                Attempt::PortTaken => {}
                Attempt::Occupied => panic!("a new directory is occupied\n{}", self.log()),
                Attempt::Failed(reason) => panic!("the server {reason}\n{}", self.log()),
            }
        }
        panic!(
            "no free port in PORT_TRIES_MAX ({PORT_TRIES_MAX}) tries\n{}",
            self.log()
        );
    }

    fn attempt(&self) -> Attempt {
        let log = self.log_path();
        let said_before = log.metadata().map_or(0, |log| log.len());
        let program = programs::find("postgres");
        let mut command = self.account.command(&program, &self.folder);
        command.arg("-D").arg(self.data());
        command.args(["-p", &self.port().to_string(), "-k"]);
        command.arg(&self.folder);
        for (name, value) in &self.settings {
            command.args(["-c", &format!("{name}={value}")]);
        }
        let wait = |child: &mut Child| self.wait_until_ready(child, said_before);
        let is_ready = |attempt: &Attempt| matches!(attempt, Attempt::Ready);
        self.process().start(command, &log, wait, is_ready)
    }

    fn wait_until_ready(&self, child: &mut Child, said_before: u64) -> Attempt {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        let number = child.id().to_string();
        loop {
            let ended = child.try_wait().expect("the process is ours");
            let file = std::fs::read_to_string(self.data().join("postmaster.pid"));
            let file = file.unwrap_or_default();
            let lines: Vec<&str> = file.lines().collect();
            let ready = lines.first() == Some(&number.as_str())
                && lines.get(7).is_some_and(|status| status.trim() == "ready");
            if !ready && ended.is_none() && Instant::now() < until {
                pause();
                continue;
            }
            let said = std::fs::read(self.log_path()).unwrap_or_default();
            let from = usize::try_from(said_before).unwrap_or(0).min(said.len());
            let said = String::from_utf8_lossy(&said[from..]);
            return if said.contains("Address already in use") {
                Attempt::PortTaken
            } else if ready {
                Attempt::Ready
            } else if said.contains("is still in use") || said.contains("already exists") {
                Attempt::Occupied
            } else if let Some(status) = ended {
                Attempt::Failed(format!("ended with {status}"))
            } else {
                Attempt::Failed(format!(
                    "was not ready within START_S_MAX ({START_S_MAX} s)"
                ))
            };
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// A database of one test.
pub struct PostgresDatabase<'a> {
    server: &'a Server,
    name: String,
}

impl PostgresDatabase<'_> {
    /// The name of the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server it is in.
    pub fn server(&self) -> &Server {
        self.server
    }

    /// It, for the superuser, over TCP.
    pub fn url(&self) -> String {
        self.url_as(User::ADMIN)
    }

    /// It, for another role.
    pub fn url_as(&self, user: User) -> String {
        self.server.url_of(user, &self.name)
    }

    /// Runs SQL in it as the superuser; rows come as lines, columns divided by `|`.
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        match self.server.try_psql(&self.name, sql) {
            Ok(printed) => printed,
            Err(reason) => panic!("{sql}: {reason}\n{}", self.server.log()),
        }
    }
}

impl Drop for PostgresDatabase<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.server.log());
        }
        // A stopped server keeps it, until its directory goes.
        let drop = format!("drop database if exists {} with (force)", self.name);
        let _ = self.server.try_psql("postgres", &drop);
    }
}

/// A UNIX socket's path has about a hundred bytes.
fn short_directory() -> PathBuf {
    let usual = std::env::temp_dir();
    if usual.as_os_str().len() <= 60 {
        usual
    } else {
        PathBuf::from("/tmp")
    }
}
