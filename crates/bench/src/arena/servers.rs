//! The servers of the suite arena: ours in both languages, and the peers that are built. Knows their command lines and what they serve.
//! Rule: all of them get the same inputs, the same number of workers, and a port for each way of speaking HTTP.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::checks::ArenaPorts;
use super::inputs::ArenaInputs;
use super::profile::Profile;
use crate::bench::Bench;
use crate::process::{Process, free_address};
use crate::servers::{WORKERS, application_file};

/// The example of `crates/tsumugi`.
const NATIVE: &str = "arena";

/// A server and where it listens.
pub struct ArenaServer {
    /// What it is called in tables.
    pub name: &'static str,
    /// Whether it is ours.
    pub ours: bool,
    /// The running program.
    pub process: Process,
    /// The ports it listens on, by protocol.
    pub ports: ArenaPorts,
    /// The profiles that it serves.
    pub profiles: Vec<Profile>,
}

/// Four ports that were free a moment ago.
fn free_ports() -> Result<ArenaPorts> {
    Ok(ArenaPorts {
        plain: free_address()?,
        tls_http1: free_address()?,
        tls: free_address()?,
        h2c: free_address()?,
    })
}

/// All that can be started; what cannot is reported as missing.
pub fn start(bench: &mut Bench, inputs: &ArenaInputs) -> Result<Vec<ArenaServer>> {
    let folder = bench.folder().to_owned();
    let mut servers = Vec::new();
    let application = application_file("arena.rb", &folder)?;
    let mut command = Command::new(&bench.programs.server);
    command.arg("serve").arg(application);
    // The Ruby face has no WebSockets.
    let in_ruby = |profile: Profile| profile != Profile::EchoWs;
    servers.push(own("tsumugi, Ruby", command, &folder, inputs, in_ruby)?);
    let native = bench.programs.tool(NATIVE);
    if native.is_file() {
        let mut command = Command::new(native);
        command.arg("serve");
        servers.push(own("tsumugi, Rust", command, &folder, inputs, |_| true)?);
    } else {
        let remedy = "`cargo build --release --package tsumugi --example arena` builds it";
        bench.miss("tsumugi, Rust", remedy);
    }
    for peer in &PEERS {
        servers.extend(peer.start(bench, inputs)?);
    }
    Ok(servers)
}

/// A program of `bench-peers`.
struct ArenaPeer {
    name: &'static str,
    /// Its file, below the folder of the peers.
    program: &'static str,
    /// What the file runs, for those that are scripts.
    script: Option<&'static str>,
    /// How to have it.
    remedy: &'static str,
    serves: fn(Profile) -> bool,
}

const PEERS: [ArenaPeer; 3] = [
    ArenaPeer {
        name: "hyper",
        program: "arena-hyper",
        script: None,
        remedy: "`make bench-peers` builds it",
        serves: |profile| {
            matches!(
                profile,
                Profile::Baseline
                    | Profile::Pipelined
                    | Profile::LimitedConn
                    | Profile::Json
                    | Profile::JsonTls
                    | Profile::Upload
                    | Profile::BaselineH2
                    | Profile::BaselineH2c
                    | Profile::JsonH2c
            )
        },
    },
    ArenaPeer {
        name: "actix-web",
        program: "arena-actix",
        script: None,
        remedy: "`make bench-peers` builds it",
        serves: |profile| !matches!(profile, Profile::BaselineH2c | Profile::JsonH2c),
    },
    ArenaPeer {
        name: "Elysia on Bun",
        program: "elysia/node_modules/@oven/bun-linux-x64/bin/bun",
        script: Some("elysia/server.js"),
        remedy: "`make bench-peers` installs it where the Debian packages nodejs and npm are, on x86-64",
        // Bun serves no HTTP/2, and its processes share no cache.
        serves: |profile| {
            !matches!(
                profile,
                Profile::Crud
                    | Profile::BaselineH2
                    | Profile::StaticH2
                    | Profile::BaselineH2c
                    | Profile::JsonH2c
            )
        },
    },
];

impl ArenaPeer {
    /// Starts it, if it is built.
    fn start(&self, bench: &mut Bench, inputs: &ArenaInputs) -> Result<Option<ArenaServer>> {
        let program = bench.programs.peers().join(self.program);
        if !program.is_file() {
            bench.miss(self.name, self.remedy);
            return Ok(None);
        }
        let ports = free_ports()?;
        let mut command = Command::new(program);
        command.args(
            self.script
                .map(|script| bench.programs.peers().join(script)),
        );
        for port in [ports.plain, ports.tls_http1, ports.tls, ports.h2c] {
            command.arg(port.to_string());
        }
        command.arg(WORKERS.to_string());
        variables(&mut command, inputs);
        let log = self.name.replace(' ', "-");
        let process = Process::start(&log, command, ports.plain, bench.folder())?;
        Ok(Some(ArenaServer {
            name: self.name,
            ours: false,
            process,
            ports,
            profiles: served(inputs, self.serves),
        }))
    }
}

/// The profiles that can be served with what there is.
fn served(inputs: &ArenaInputs, serves: impl Fn(Profile) -> bool) -> Vec<Profile> {
    let is_served = |profile: &Profile| {
        serves(*profile) && (inputs.database.is_some() || !profile.needs_database())
    };
    Profile::ALL.into_iter().filter(is_served).collect()
}

/// Starts a program that takes the options of `tsumugi serve`.
fn own(
    name: &'static str,
    mut command: Command,
    folder: &Path,
    inputs: &ArenaInputs,
    serves: impl Fn(Profile) -> bool,
) -> Result<ArenaServer> {
    let ports = free_ports()?;
    command.args(["--workers", &WORKERS.to_string()]);
    for port in [
        ports.plain.to_string(),
        format!("{},tls,alpn=http/1.1", ports.tls_http1),
        format!("{},tls", ports.tls),
        format!("{},h2c", ports.h2c),
    ] {
        command.args(["--listen", &port]);
    }
    command.arg("--tls-cert").arg(&inputs.certificate);
    command.arg("--tls-key").arg(&inputs.key);
    let data = tempfile::tempdir_in(folder)?.keep();
    command.arg("--data").arg(data.join("data"));
    variables(&mut command, inputs);
    // Each has a log of its own.
    let process = Process::start("tsumugi", command, ports.plain, &data)?;
    Ok(ArenaServer {
        name,
        ours: true,
        process,
        ports,
        profiles: served(inputs, serves),
    })
}

/// What every program finds in its environment.
fn variables(command: &mut Command, inputs: &ArenaInputs) {
    command.env("ARENA_DATASET", &inputs.dataset);
    command.env("ARENA_FILES", &inputs.files);
    command.env("ARENA_CERTIFICATE", &inputs.certificate);
    command.env("ARENA_KEY", &inputs.key);
    match &inputs.database {
        Some(url) => command.env("DATABASE_URL", url),
        None => command.env_remove("DATABASE_URL"),
    };
}
