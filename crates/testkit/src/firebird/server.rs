//! One throwaway server: start, kill, start again, freeze, databases, SQL through isql. It knows no driver.
//! It ends with its value, or with the process when it is shared. Rule: it listens on 127.0.0.1 only.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::{
    ServerProcess, build_directory, crash, free_port, freeze, is_frozen, log_of, pause, thaw,
};
use nix::sys::signal::Signal;

use crate::firebird::limits::{ANSWER_S_MAX, PORT_TRIES_MAX, RESTARTS_MAX, START_S_MAX};
use crate::firebird::user::User;
use crate::firebird::{programs, template};

/// How a server is to be.
#[derive(Clone, Debug, Default)]
pub struct Options {
    settings: String,
    page_bytes: Option<u32>,
}

impl Options {
    /// Adds a line of firebird.conf, such as `WireCrypt`, `Enabled`.
    pub fn setting(mut self, name: &str, value: &str) -> Options {
        self.settings += &format!("{name} = {value}\n");
        self
    }

    /// Makes its databases with pages of this size instead of 4096 bytes: 8192 or 16384.
    pub fn page_bytes(mut self, bytes: u32) -> Options {
        self.page_bytes = Some(bytes);
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
    settings: String,
    /// An empty database that no server ever opens.
    empty: PathBuf,
    port: AtomicU16,
    databases: AtomicUsize,
    process: Mutex<ServerProcess>,
}

/// What [`Server::keep_running`] tells begins with this when the server has ended. The benchmarks wait for both.
const ENDED: &str = "Firebird ended by itself";
/// What it tells when the server runs again.
const STARTED_AGAIN: &str = "Firebird runs again";

/// How an attempt to start went.
enum Attempt {
    Ready,
    /// It ended at once: its port was taken, or its log says why.
    Ended,
    Late,
}

impl Server {
    /// A server as the package configures it: Srp, encryption required.
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
        let template = template::directory();
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-firebird-")
            .tempdir()
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        // A server that was not asked to stop may take its time; nothing in it is worth that.
        let process = ServerProcess::over(&folder, "KILL");
        programs::furnish(&folder).expect("the directory is ours");
        std::fs::copy(
            template.join(template::SECURITY),
            folder.join(template::SECURITY),
        )
        .and_then(|_| std::fs::copy(template.join(template::EMPTY), folder.join(template::EMPTY)))
        .unwrap_or_else(|error| panic!("cannot copy {}: {error}", template.display()));
        let empty = template.join(template::EMPTY);
        let empty = match options.page_bytes {
            Some(bytes) => template::empty_of_pages(&folder, bytes),
            None => empty,
        };
        let server = Server {
            folder,
            empty,
            settings: options.settings,
            port: AtomicU16::new(0),
            databases: AtomicUsize::new(0),
            process: Mutex::new(process),
        };
        server.start_somewhere();
        server
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// The directory that its files are in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new, empty database of its own, in UTF8; its file goes with its value.
    #[track_caller]
    pub fn database(&self) -> FirebirdDatabase<'_> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("data/test_{number}.fdb"));
        // A file that a server has open is copied in the middle of what it writes.
        std::fs::copy(&self.empty, &path)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", path.display()));
        FirebirdDatabase { server: self, path }
    }

    /// The URL of any file or alias on this server. A path begins with `/`, and so has two of them.
    pub fn url_of(&self, user: User, database: &str) -> String {
        let (user, port) = (user.in_url(), self.port());
        format!("firebird://{user}@127.0.0.1:{port}/{database}")
    }

    /// Kills it, as a crash does.
    #[track_caller]
    pub fn kill_9(&self) {
        self.process().end(Signal::SIGKILL, || self.log());
    }

    /// Starts it on its old port after [`Server::kill_9`].
    #[track_caller]
    pub fn start_again(&self) {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        loop {
            match self.attempt() {
                Attempt::Ready => return,
                Attempt::Ended if Instant::now() < until => pause(),
                _ => panic!("the server did not start again\n{}", self.log()),
            }
        }
    }

    /// Starts it again whenever it ends by itself, as Firebird's own fbguard does, `RESTARTS_MAX` times at most. Tells both.
    pub fn keep_running(&self, tell: impl Fn(&str)) {
        let mut restarts = 0;
        while restarts < RESTARTS_MAX {
            pause();
            let Some(status) = self.process().ended() else {
                continue;
            };
            tell(&format!("{ENDED}: {status}\n{}", self.log()));
            self.start_again();
            tell(STARTED_AGAIN);
            restarts += 1;
        }
    }

    /// Ends it as a fault of its own does; see [`Server::keep_running`].
    #[track_caller]
    pub fn crash(&self) {
        crash(self.process().number());
    }

    /// Stops it in its tracks: connections stay open and nothing answers, as when a machine is gone.
    #[track_caller]
    pub fn freeze(&self) {
        freeze(self.process().number());
    }

    /// Lets a frozen server go on.
    #[track_caller]
    pub fn thaw(&self) {
        thaw(self.process().number());
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        let files = ["output", "firebird.log"].map(|name| self.folder.join(name));
        log_of(files.iter().map(PathBuf::as_path))
    }

    /// A test that fails shows the server's last words. When a fault ended it, or keeps it from taking connections, it is reported to `make test`.
    fn explain_failure(&self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
            self.process().report_fault("Firebird");
            if self.stands_still(ANSWER_S_MAX) {
                let why = format!("no connection within {ANSWER_S_MAX} s");
                self.process().report_standstill("Firebird", &why);
            }
        }
    }

    /// Whether it runs and takes no connection. One that a test has frozen does not run.
    fn stands_still(&self, answer_s_max: u64) -> bool {
        let process = self.process();
        if !process.runs() || is_frozen(process.number()) {
            return false;
        }
        drop(process);
        let mut child = self
            .isql(&self.alias())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it was run before");
        let until = Instant::now() + Duration::from_secs(answer_s_max);
        while Instant::now() < until {
            if child.try_wait().expect("the process is ours").is_some() {
                return false;
            }
            pause();
        }
        let _ = child.kill();
        let _ = child.wait();
        true
    }

    fn start_somewhere(&self) {
        for _ in 0..PORT_TRIES_MAX {
            self.port.store(free_port(), Ordering::Relaxed);
            match self.attempt() {
                Attempt::Ready => return,
                Attempt::Ended => {}
                Attempt::Late => panic!(
                    "the server was not ready within START_S_MAX ({START_S_MAX} s)\n{}",
                    self.log()
                ),
            }
        }
        panic!(
            "the server did not start in PORT_TRIES_MAX ({PORT_TRIES_MAX}) tries\n{}",
            self.log()
        );
    }

    fn attempt(&self) -> Attempt {
        self.configure();
        // Its option for a port would make it listen on every address.
        let command = programs::command(&programs::find("firebird"), &self.folder);
        let wait = |child: &mut Child| self.wait_until_ready(child);
        let is_ready = |attempt: &Attempt| matches!(attempt, Attempt::Ready);
        let log = self.folder.join("output");
        self.process().start(command, &log, wait, is_ready)
    }

    fn configure(&self) {
        let folder = self.folder.display();
        let settings = format!(
            "RemoteBindAddress = 127.0.0.1\nRemoteServicePort = {}\nSecurityDatabase = {folder}/{}\n\
             DatabaseAccess = Full\nTempDirectories = {folder}/tmp\n{}",
            self.port(),
            template::SECURITY,
            self.settings
        );
        let databases = format!(
            "security.db = {folder}/{}\n{{\nRemoteAccess = false\n}}\n{} = {folder}/{}\n",
            template::SECURITY,
            self.alias(),
            template::EMPTY
        );
        for (name, text) in [("firebird.conf", settings), ("databases.conf", databases)] {
            std::fs::write(self.folder.join(name), text).expect("the directory is ours");
        }
    }

    /// A name for a database that no other server knows.
    fn alias(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        name.display().to_string().replace('-', "_")
    }

    fn wait_until_ready(&self, child: &mut Child) -> Attempt {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        loop {
            if child.try_wait().expect("the process is ours").is_some() {
                return Attempt::Ended;
            }
            // Another process may listen there: only this server knows the alias.
            if TcpStream::connect(("127.0.0.1", self.port())).is_ok()
                && self.try_isql(&self.alias(), "quit;").is_ok()
            {
                return Attempt::Ready;
            }
            if Instant::now() >= until {
                return Attempt::Late;
            }
            pause();
        }
    }

    /// isql as the superuser over TCP.
    fn isql(&self, database: &str) -> Command {
        let mut command = programs::command(&programs::find("isql-fb"), &self.folder);
        command
            .args(["-q", "-bail", "-ch", "UTF8", "-user", User::ADMIN.name])
            .args(["-password", User::ADMIN.password])
            .arg(format!("127.0.0.1/{}:{database}", self.port()));
        command
    }

    /// Runs a script of isql as the superuser over TCP.
    fn try_isql(&self, database: &str, script: &str) -> Result<String, String> {
        let mut command = self.isql(database);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let mut pipe = child.stdin.take().expect("the pipe was asked for");
        // Whatever ends it early is in what it printed.
        let _ = pipe.write_all(script.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().expect("the child was started");
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // A database that it cannot open is only said.
        if output.status.success() && said.is_empty() {
            let printed = String::from_utf8_lossy(&output.stdout);
            Ok(printed.trim().to_owned())
        } else {
            Err(said)
        }
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.explain_failure();
    }
}

/// A database of one test.
pub struct FirebirdDatabase<'a> {
    server: &'a Server,
    path: PathBuf,
}

impl FirebirdDatabase<'_> {
    /// The file of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server it is on.
    pub fn server(&self) -> &Server {
        self.server
    }

    /// It, for the superuser.
    pub fn url(&self) -> String {
        self.url_as(User::ADMIN)
    }

    /// It, for another user, who may do in it what the superuser granted.
    pub fn url_as(&self, user: User) -> String {
        self.server.url_of(user, &self.path.display().to_string())
    }

    /// Runs a script of isql in it as the superuser and gives what it printed. The script is UTF-8; statements end with `;`.
    #[track_caller]
    pub fn isql(&self, script: &str) -> String {
        match self
            .server
            .try_isql(&self.path.display().to_string(), script)
        {
            Ok(printed) => printed,
            Err(reason) => panic!("{script}: {reason}\n{}", self.server.log()),
        }
    }

    /// Kills the server and keeps the file as it is then, so that a failed test can be examined. Says where it is, and what
    /// Firebird finds wrong with it.
    pub fn examine(&self) -> String {
        // Whether it had ended by a fault of its own cannot be seen afterwards.
        self.server.process().report_fault("Firebird");
        if self.server.process().runs() {
            self.server.kill_9();
        }
        let kept = build_directory().join("tmp").join(format!(
            "firebird-kept-{}-{}",
            std::process::id(),
            self.path.file_name().unwrap_or_default().display()
        ));
        if let Err(error) = std::fs::copy(&self.path, &kept) {
            return format!("cannot keep {}: {error}", self.path.display());
        }
        let found = template::validated(&self.server.folder, &kept);
        let kept = kept.display();
        format!("the database is kept in {kept}; gfix -v -full says: {found}")
    }
}

impl Drop for FirebirdDatabase<'_> {
    fn drop(&mut self) {
        self.server.explain_failure();
        // A server that still has it open keeps it until its last connection goes.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_takes_no_connection_stands_still() {
        let server = Server::start();
        assert!(!server.stands_still(ANSWER_S_MAX));
        server.freeze();
        assert!(!server.stands_still(ANSWER_S_MAX));
        server.thaw();
        server.kill_9();
        assert!(!server.stands_still(ANSWER_S_MAX));
        // Something else listens in its place and answers nothing.
        let _silent = std::net::TcpListener::bind(("127.0.0.1", server.port()));
        let log = server.folder.join("output");
        let mut sleep = Command::new("sleep");
        sleep.arg("600");
        server.process().start(sleep, &log, |_| (), |()| true);
        assert!(server.stands_still(1));
    }

    #[test]
    fn a_database_is_empty_whatever_the_server_has_open() {
        let server = Server::start();
        let alias = server.alias();
        let made = server.try_isql(&alias, "create table ours (n int); commit;");
        made.unwrap();
        let database = server.database();
        let tables =
            "set heading off; select count(*) from rdb$relations where rdb$system_flag = 0;";
        assert_eq!(database.isql(tables).trim(), "0");
    }

    #[test]
    fn pages_are_of_the_size_that_was_wanted() {
        for bytes in [4096, 16_384] {
            let server = Options::default().page_bytes(bytes).start();
            let size = "set heading off; select mon$page_size from mon$database;";
            assert_eq!(server.database().isql(size).trim(), bytes.to_string());
        }
    }

    #[test]
    fn damaged_database_is_reported_damaged() {
        let server = Server::start();
        let sound = server.database();
        sound.isql("create table t (n int, w varchar(200)); commit; insert into t values (1, 'a'); commit;");
        let damaged = sound.path().with_extension("damaged");
        let examined = sound.examine();
        assert!(examined.ends_with("nothing"), "{examined}");
        // Half of each page of rows is lost, as of one that a killed server was writing.
        let mut bytes = std::fs::read(sound.path()).unwrap();
        for page in bytes.chunks_exact_mut(4096).filter(|page| page[0] == 5) {
            page[2048..].fill(0);
        }
        std::fs::write(&damaged, bytes).unwrap();
        let found = template::validated(server.folder(), &damaged);
        assert_ne!(found, "nothing");
    }
}
