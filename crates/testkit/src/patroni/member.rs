//! One member: Patroni, the PostgreSQL that it runs, and the proxies that are its network. It knows no other member.
//! Rule: others reach it by its proxies alone, and it reaches etcd by its own, so that its gate cuts it off whole.

use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::Signal;

use super::configuration::{MemberConfiguration, SynchronousMode};
use crate::etcd::EtcdCluster;
use crate::postgres::process_user::ProcessUser;
use crate::postgres::{programs as postgres_programs, psql};
use crate::process_tree::ProcessTree;
use crate::{
    ClientGates, GateProxy, NetworkGate, ServerProcess, free_port, http_status, log_of, programs,
};

/// What Patroni starts, and itself. What it starts in turn is found by its parent.
const PROGRAMS: [&str; 5] = [
    "patroni",
    "postgres",
    "pg_basebackup",
    "pg_rewind",
    "initdb",
];

/// Its name for Patroni, which its connections to a primary have too.
pub fn name(at: usize) -> String {
    format!("m{at}")
}

/// By the name of the member that streams from another one.
pub fn gates_of_standbys(gates: Vec<NetworkGate>) -> ClientGates {
    Arc::new(move |startup| {
        let is_of = |at: usize| {
            let parameter = format!("application_name\0{}\0", name(at));
            startup
                .windows(parameter.len())
                .any(|window| window == parameter.as_bytes())
        };
        let named = gates.iter().enumerate().filter(|(at, _)| is_of(*at));
        named.map(|(_, gate)| gate.clone()).collect()
    })
}

pub struct PatroniMember {
    at: usize,
    folder: PathBuf,
    account: ProcessUser,
    /// Of PostgreSQL and REST.
    listens: [u16; 2],
    gate: NetworkGate,
    postgres: GateProxy,
    rest: GateProxy,
    etcd: Vec<GateProxy>,
    process: Mutex<ServerProcess>,
}

impl PatroniMember {
    /// Its directory, its proxies and its guard; nothing runs.
    pub fn prepare(at: usize, gates: &[NetworkGate], etcd: &EtcdCluster) -> PatroniMember {
        let account = ProcessUser::choose();
        // The path of a UNIX socket has about a hundred bytes.
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-patroni-")
            .tempdir_in("/tmp")
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("it is ours");
        account.own(&folder);
        let process = ServerProcess::over_programs(&folder, "KILL", &PROGRAMS);
        let gate = gates.get(at).cloned().unwrap_or_default();
        let listens = [free_port(), free_port()];
        let own = std::slice::from_ref(&gate);
        let standbys = gates_of_standbys(gates.to_vec());
        PatroniMember {
            at,
            account,
            listens,
            postgres: GateProxy::with_client_gates(listens[0], own, standbys),
            rest: GateProxy::start(listens[1], own),
            etcd: (0..etcd.members())
                .map(|member| GateProxy::start(etcd.port(member), own))
                .collect(),
            gate,
            folder,
            process: Mutex::new(process),
        }
    }

    /// Writes what Patroni reads.
    pub fn configure(&self, ttl_s: u32, synchronous: SynchronousMode) {
        let programs = postgres_programs::find("postgres");
        let etcd: Vec<u16> = self.etcd.iter().map(GateProxy::port).collect();
        let text = MemberConfiguration {
            name: &name(self.at),
            folder: &self.folder,
            programs: programs.parent().unwrap_or(Path::new("")),
            listens: self.listens,
            reached: [self.postgres.port(), self.rest.port()],
            etcd: &etcd,
            ttl_s,
            synchronous,
        }
        .text();
        let file = self.file();
        std::fs::write(&file, text).expect("the directory is ours");
        self.account.own(&file);
    }

    /// Starts Patroni, which starts its server.
    pub fn start(&self) {
        let program = programs::find("patroni", "patroni");
        let mut command = self.account.command(&program, &self.folder);
        command.arg(self.file());
        // Whether it stays is seen by asking it.
        self.process().start(command, &self.log(), |_| (), |_| true);
    }

    pub fn kill(&self) {
        self.tree().kill();
        let log = || log_of([self.log().as_path()]);
        self.process().end(Signal::SIGKILL, log);
    }

    pub fn freeze(&self) {
        self.tree().freeze();
    }

    pub fn thaw(&self) {
        self.tree().thaw();
    }

    /// How Patroni ended by itself, if it did.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.process().ended()
    }

    pub fn runs(&self) -> bool {
        let mut process = self.process();
        process.ended();
        process.runs()
    }

    pub fn gate(&self) -> &NetworkGate {
        &self.gate
    }

    /// The port by which others reach its server.
    pub fn port(&self) -> u16 {
        self.postgres.port()
    }

    /// Whether it holds the leader's key, writes, and can be reached. Patroni says the first before its server has been promoted.
    pub fn is_primary(&self) -> bool {
        !self.gate.is_closed()
            && self.runs()
            && self.says_yes("/primary")
            && self.psql("postgres", "select pg_is_in_recovery()") == Ok("f".to_owned())
    }

    /// Whether it is a standby that has what was acknowledged, and can be reached.
    pub fn is_synchronous(&self) -> bool {
        !self.gate.is_closed() && self.runs() && self.says_yes("/synchronous")
    }

    /// What Patroni answers to a balancer that looks for members of one kind.
    fn says_yes(&self, path: &str) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.rest.port()));
        http_status(address, path) == Some(200)
    }

    pub fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        psql::run(&self.folder, self.listens[0], database, sql)
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn file(&self) -> PathBuf {
        self.folder.join("patroni.yml")
    }

    fn tree(&self) -> ProcessTree<'_> {
        ProcessTree {
            directory: &self.folder,
            programs: &PROGRAMS,
        }
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
