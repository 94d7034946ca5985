//! PgBouncer in transaction mode in front of a test server. It knows no driver.
//! Rule: all clients are trusted and every client is the superuser on the server, so that only pooling is tested here.

use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::{Guard, free_port, pause};

use crate::postgres::limits::{PORT_TRIES_MAX, START_S_MAX};
use crate::postgres::process_user::ProcessUser;
use crate::postgres::programs;
use crate::postgres::server::{IMMEDIATE, Server};

/// A running PgBouncer.
pub struct Pooler {
    folder: PathBuf,
    guard: Guard,
    child: Option<Child>,
    port: u16,
}

impl Pooler {
    /// Starts one with a single server connection per database, so that clients are sure to share it.
    pub fn start(server: &Server) -> Pooler {
        let account = ProcessUser::choose();
        let program = programs::find("pgbouncer");
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-pooler-")
            .tempdir()
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        let mut guard = Guard::over(&folder, IMMEDIATE);
        account.own(&folder);
        for _ in 0..PORT_TRIES_MAX {
            let port = free_port();
            let configuration = folder.join("pgbouncer.ini");
            std::fs::write(&configuration, settings(server, port)).expect("the directory is ours");
            account.own(&configuration);
            let mut child = account
                .command(&program, &folder)
                .arg("--quiet")
                .arg(&configuration)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
            guard.watch(&child);
            if listens(&mut child, port) {
                return Pooler {
                    folder,
                    guard,
                    child: Some(child),
                    port,
                };
            }
            let _ = child.kill();
            let _ = child.wait();
            guard.forget();
        }
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        guard.end(None);
        panic!("pgbouncer did not start in PORT_TRIES_MAX ({PORT_TRIES_MAX}) tries\n{log}");
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A database of the server behind it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the pooler's log ---\n{}---", self.log());
        }
        let child = self.child.take();
        self.guard.end(child);
    }
}

fn settings(server: &Server, port: u16) -> String {
    let directory = server.socket_directory().display();
    let server_port = server.port();
    format!(
        "[databases]
* = host={directory} port={server_port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
max_client_conn = 200
logfile = log
server_tls_sslmode = disable
ignore_startup_parameters = extra_float_digits
"
    )
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
