//! A throwaway cluster of etcd on loopback: started, its members killed, stopped in their tracks and started again, and asked by etcdctl.
//! It ends with its value, or with the process when it is shared; see the guard.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::limits::{START_S_MAX, START_TRIES_MAX};
use crate::certificates::{ServerCertificate, server_certificate};
use crate::{ServerProcess, free_port, freeze, log_of, pause, printed, programs, thaw};

/// How a cluster is to be.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    members: usize,
    tls: bool,
    has_v2: bool,
}

impl Default for EtcdOptions {
    fn default() -> EtcdOptions {
        EtcdOptions {
            members: 3,
            tls: false,
            has_v2: false,
        }
    }
}

impl EtcdOptions {
    /// With so many members.
    #[must_use]
    pub fn members(mut self, count: usize) -> EtcdOptions {
        self.members = count;
        self
    }

    /// Clients speak TLS to it.
    #[must_use]
    pub fn with_tls(mut self) -> EtcdOptions {
        self.tls = true;
        self
    }

    /// Clients may speak the older protocol, too, whose keys are apart from the others.
    #[must_use]
    pub fn with_v2(mut self) -> EtcdOptions {
        self.has_v2 = true;
        self
    }

    /// Starts it.
    #[must_use]
    pub fn start(self) -> EtcdCluster {
        EtcdCluster::make(&self)
    }
}

/// A running cluster.
pub struct EtcdCluster {
    members: Vec<EtcdMember>,
    certificate: Option<ServerCertificate>,
    /// Of the certificate; the members' own go with them.
    _folder: Option<tempfile::TempDir>,
}

struct EtcdMember {
    folder: PathBuf,
    port: u16,
    arguments: Vec<String>,
    process: Mutex<ServerProcess>,
}

impl EtcdMember {
    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn shown_log(&self) -> String {
        log_of([self.log().as_path()])
    }

    fn start(&self) {
        let mut command = Command::new(programs::find("etcd", "etcd-server"));
        command.env_clear().args(&self.arguments);
        // Whether it stays is seen by asking it.
        self.process().start(command, &self.log(), |_| (), |_| true);
    }
}

impl EtcdCluster {
    /// Three members.
    #[must_use]
    pub fn start() -> EtcdCluster {
        EtcdOptions::default().start()
    }

    /// One cluster for the whole test process, started at the first call. Take a namespace of it and leave its members alone: others use it
    /// too.
    pub fn shared() -> &'static EtcdCluster {
        static SHARED: OnceLock<EtcdCluster> = OnceLock::new();
        SHARED.get_or_init(EtcdCluster::start)
    }

    fn make(options: &EtcdOptions) -> EtcdCluster {
        let mut log = String::new();
        for _ in 0..START_TRIES_MAX {
            let cluster = EtcdCluster::prepare(options);
            cluster.members.iter().for_each(EtcdMember::start);
            match cluster.wait_healthy() {
                Ok(()) => return cluster,
                Err(text) => log = text,
            }
        }
        panic!("etcd did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries\n{log}");
    }

    fn prepare(options: &EtcdOptions) -> EtcdCluster {
        let make = || tempfile::tempdir().expect("there is a temporary directory");
        let folder = options.tls.then(make);
        let certificate = folder
            .as_ref()
            .map(|folder| server_certificate(folder.path()));
        let ports: Vec<[u16; 2]> = (0..options.members)
            .map(|_| [free_port(), free_port()])
            .collect();
        let peer = |[_, peer]: &[u16; 2]| format!("http://127.0.0.1:{peer}");
        let cluster: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(at, ports)| format!("m{at}={}", peer(ports)))
            .collect();
        let scheme = match certificate {
            Some(_) => "https",
            None => "http",
        };
        // The same for all of them, and no other cluster's.
        let token = format!("tsumugi-{}", ports[0][1]);
        let members = ports.iter().enumerate().map(|(at, ports)| {
            let folder = tempfile::Builder::new()
                .prefix("tsumugi-etcd-")
                .tempdir()
                .expect("there is a temporary directory")
                .keep();
            let client = format!("{scheme}://127.0.0.1:{}", ports[0]);
            let data = folder.join("data").display().to_string();
            let mut arguments = Vec::new();
            let mut argument =
                |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
            argument("name", &format!("m{at}"));
            argument("data-dir", &data);
            argument("listen-client-urls", &client);
            argument("advertise-client-urls", &client);
            argument("listen-peer-urls", &peer(ports));
            argument("initial-advertise-peer-urls", &peer(ports));
            argument("initial-cluster", &cluster.join(","));
            argument("initial-cluster-token", &token);
            argument("initial-cluster-state", "new");
            // Not less: on a crowded machine a leader would be held for gone that waits for its turn.
            argument("heartbeat-interval", "100");
            argument("election-timeout", "1000");
            argument("enable-v2", &options.has_v2.to_string());
            argument("logger", "zap");
            argument("log-level", "warn");
            if let Some(certificate) = &certificate {
                argument("cert-file", &certificate.server.display().to_string());
                argument("key-file", &certificate.key.display().to_string());
            }
            EtcdMember {
                process: Mutex::new(ServerProcess::over(&folder, "KILL")),
                port: ports[0],
                folder,
                arguments,
            }
        });
        EtcdCluster {
            members: members.collect(),
            certificate,
            _folder: folder,
        }
    }

    /// Waits until a majority answers; the log of the member that ended otherwise.
    fn wait_healthy(&self) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        loop {
            let answered = self.ask(&["get", "tsumugi-health", "--consistency=l"]);
            if answered.status.success() {
                return Ok(());
            }
            let ended = self
                .members
                .iter()
                .find(|member| member.process().ended().is_some());
            if let Some(member) = ended {
                return Err(member.shown_log());
            }
            if Instant::now() > until {
                let logs: Vec<_> = self.members.iter().map(EtcdMember::log).collect();
                return Err(log_of(logs.iter().map(PathBuf::as_path)));
            }
            pause();
        }
    }

    /// The servers, as a store's address names them: `127.0.0.1:1,127.0.0.1:2`.
    #[must_use]
    pub fn servers(&self) -> String {
        let servers = self
            .members
            .iter()
            .map(|member| format!("127.0.0.1:{}", member.port));
        servers.collect::<Vec<_>>().join(",")
    }

    /// The address of a store in a namespace.
    #[must_use]
    pub fn place(&self, namespace: &str) -> String {
        match self.certificate {
            Some(_) => format!("etcds://{}/{namespace}", self.servers()),
            None => format!("etcd://{}/{namespace}", self.servers()),
        }
    }

    /// The port on 127.0.0.1 by which clients reach a member.
    #[must_use]
    pub fn port(&self, at: usize) -> u16 {
        self.members[at].port
    }

    /// Whether a member was started and has not ended.
    #[must_use]
    pub fn runs(&self, at: usize) -> bool {
        let mut process = self.members[at].process();
        process.ended();
        process.runs()
    }

    /// How many members it has.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// The authority of its certificate.
    #[must_use]
    pub fn authority(&self) -> &Path {
        let certificate = self.certificate.as_ref();
        &certificate.expect("it speaks TLS").authority
    }

    /// Ends a member as `kill -9` does.
    pub fn kill(&self, at: usize) {
        let member = &self.members[at];
        member.process().end(Signal::SIGKILL, || member.shown_log());
    }

    /// Starts a member again that was killed, with what it has on its disk.
    pub fn start_again(&self, at: usize) {
        self.members[at].start();
    }

    /// Stops a member in its tracks.
    pub fn freeze(&self, at: usize) {
        freeze(self.members[at].process().number());
    }

    /// Lets it go on.
    pub fn thaw(&self, at: usize) {
        thaw(self.members[at].process().number());
    }

    /// Waits until all members answer.
    pub fn wait_all(&self) {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        while !self.ask(&["endpoint", "health"]).status.success() {
            assert!(Instant::now() < until, "a member does not come back");
            pause();
        }
    }

    /// What etcdctl prints; a failure is a panic with what it said.
    pub fn etcdctl(&self, words: &[&str]) -> String {
        // A cluster on a crowded machine may choose a leader anew first.
        let patient = [words, &["--command-timeout=60s"]].concat();
        printed(Path::new("etcdctl"), self.ask(&patient))
    }

    /// The member that leads. It is waited for.
    #[must_use]
    pub fn leader(&self) -> usize {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        loop {
            let leader = (0..self.members.len()).find(|at| self.leads(*at));
            if let Some(leader) = leader {
                return leader;
            }
            assert!(Instant::now() < until, "no member leads");
            pause();
        }
    }

    /// Whether a member says of itself that it leads.
    fn leads(&self, at: usize) -> bool {
        let words = ["endpoint", "status", "--write-out=fields"];
        let status = self.ask_at(&self.endpoint(&self.members[at]), &words);
        let status = String::from_utf8_lossy(&status.stdout);
        let field = |name: &str| {
            let mut lines = status.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(field, _)| field.trim().trim_matches('"') == name);
            found.map(|(_, value)| value.trim().to_owned())
        };
        field("MemberID").is_some() && field("MemberID") == field("Leader")
    }

    fn ask(&self, words: &[&str]) -> Output {
        self.ask_at(&self.endpoints(), words)
    }

    fn ask_at(&self, endpoints: &str, words: &[&str]) -> Output {
        let mut command = Command::new(programs::find("etcdctl", "etcd-client"));
        command
            .env_clear()
            .env("ETCDCTL_API", "3")
            .arg(format!("--endpoints={endpoints}"))
            .args(["--dial-timeout=2s", "--command-timeout=5s"]);
        if let Some(certificate) = &self.certificate {
            command.arg(format!("--cacert={}", certificate.authority.display()));
        }
        let output = command.args(words).output();
        output.unwrap_or_else(|error| panic!("cannot run etcdctl: {error}"))
    }

    fn endpoints(&self) -> String {
        let endpoints = self.members.iter().map(|member| self.endpoint(member));
        endpoints.collect::<Vec<_>>().join(",")
    }

    fn endpoint(&self, member: &EtcdMember) -> String {
        let scheme = match self.certificate {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://127.0.0.1:{}", member.port)
    }
}
