//! The demo on three processes behind a balancer, over three PostgreSQL and their etcd, and what a command does to a part of it. It reads no words.
//! Rule: a part that runs is not started, and one that does not is neither killed nor stopped.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use super::command::{COUNT, Part, PartCommand, Verb};
use super::process::{DemoProcess, DemoProgram, SharedSettings};
use crate::haproxy::Balancer;
use crate::patroni::PatroniCluster;

const DATABASE: &str = "board";

/// Bytes of the secret that the processes share, before they are written as hexadecimal digits.
const SECRET_BYTES: usize = 32;

/// What runs. The balancer is first to end, and the database last.
pub struct DemoCluster {
    balancer: Balancer,
    web: Vec<DemoProcess>,
    postgres: PatroniCluster,
    /// Parts that were stopped in their tracks or cut off, by their names.
    marks: Mutex<BTreeSet<(String, &'static str)>>,
}

impl DemoCluster {
    /// Starts all of it, with the balancer at an address; without one it has a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When the address is taken, or a process does not start.
    pub fn start(program: &DemoProgram, listen: Option<SocketAddr>) -> Result<DemoCluster, String> {
        if !program.tsumugi.is_file() {
            let path = program.tsumugi.display();
            return Err(format!(
                "{path} is missing: cargo build --package tsumugi-cli"
            ));
        }
        let secret = secret()?;
        let postgres = PatroniCluster::start();
        postgres.create_database(DATABASE);
        let shared = SharedSettings {
            database: postgres.urls(DATABASE),
            secret,
        };
        let web: Vec<DemoProcess> = (0..COUNT)
            .map(|at| DemoProcess::prepare(at, program, &shared))
            .collect();
        web.iter().try_for_each(DemoProcess::start)?;
        let servers: Vec<SocketAddr> = web.iter().map(|web| web.address).collect();
        let admins: Vec<SocketAddr> = web.iter().map(|web| web.admin).collect();
        let balancer = match listen {
            None => Balancer::start(&servers, &admins),
            Some(at) => Balancer::listen(at, &servers, &admins)
                .map_err(|log| format!("the balancer does not start at {at}\n{log}"))?,
        };
        Ok(DemoCluster {
            balancer,
            web,
            postgres,
            marks: Mutex::default(),
        })
    }

    /// What a browser opens, without the slash at its end.
    pub fn url(&self) -> String {
        self.balancer.url()
    }

    /// A line for each part: what it is at the moment.
    pub fn lines(&self) -> Vec<String> {
        let primary = match self.postgres.primary() {
            Some(at) => format!("primary: {}", Part::Postgres(at)),
            None => "primary: none, and what is written waits".to_owned(),
        };
        let parts = (0..COUNT).flat_map(|at| [Part::Postgres(at), Part::Web(at), Part::Etcd(at)]);
        let mut lines: Vec<String> = parts
            .map(|part| format!("{part}: {}", self.state(part)))
            .collect();
        lines.sort();
        lines.insert(0, primary);
        lines
    }

    /// Does what a command says; a sentence for who typed it.
    ///
    /// # Errors
    /// Why nothing was done.
    pub fn run(&self, command: PartCommand) -> Result<String, String> {
        let (verb, part) = match command {
            PartCommand::Status => return Ok(self.lines().join("\n")),
            PartCommand::To(verb, Part::Primary) => (verb, self.primary()?),
            PartCommand::To(verb, part) => (verb, part),
        };
        let runs = self.runs(part);
        match verb {
            Verb::Start if runs => return Err(format!("{part} runs")),
            Verb::Kill | Verb::Freeze if !runs => return Err(format!("{part} does not run")),
            Verb::Thaw if !self.has_mark(part, Verb::Freeze) => {
                return Err(format!("{part} is not stopped"));
            }
            _ => {}
        }
        self.apply(verb, part)?;
        self.mark(verb, part);
        let mut text = format!("{part}: {}", self.state(part));
        let back = match verb {
            Verb::Kill => Some(Verb::Start),
            Verb::Freeze => Some(Verb::Thaw),
            Verb::Cut => Some(Verb::Heal),
            _ => None,
        };
        if let Some(back) = back {
            let _ = write!(text, "; {} brings it back", PartCommand::To(back, part));
        }
        Ok(text)
    }

    fn primary(&self) -> Result<Part, String> {
        let primary = self.postgres.primary().map(Part::Postgres);
        primary.ok_or_else(|| "there is no primary at the moment".to_owned())
    }

    fn apply(&self, verb: Verb, part: Part) -> Result<(), String> {
        let etcd = self.postgres.etcd();
        match (verb, part) {
            (Verb::Kill, Part::Postgres(at)) => self.postgres.kill(at),
            (Verb::Kill, Part::Web(at)) => self.web[at].kill(),
            (Verb::Kill, Part::Etcd(at)) => etcd.kill(at),
            (Verb::Start, Part::Postgres(at)) => self.postgres.start_again(at),
            (Verb::Start, Part::Web(at)) => self.web[at].start()?,
            (Verb::Start, Part::Etcd(at)) => etcd.start_again(at),
            (Verb::Freeze, Part::Postgres(at)) => self.postgres.freeze(at),
            (Verb::Freeze, Part::Web(at)) => self.web[at].freeze(),
            (Verb::Freeze, Part::Etcd(at)) => etcd.freeze(at),
            (Verb::Thaw, Part::Postgres(at)) => self.postgres.thaw(at),
            (Verb::Thaw, Part::Web(at)) => self.web[at].thaw(),
            (Verb::Thaw, Part::Etcd(at)) => etcd.thaw(at),
            (Verb::Cut, Part::Postgres(at)) => self.postgres.cut(at),
            (Verb::Heal, Part::Postgres(at)) => self.postgres.heal(at),
            (Verb::Cut | Verb::Heal, _) => {
                return Err(format!("{part} cannot be cut off, a postgres can"));
            }
            (_, Part::Primary) => unreachable!("it was looked up"),
        }
        Ok(())
    }

    fn runs(&self, part: Part) -> bool {
        match part {
            Part::Postgres(at) => self.postgres.runs(at),
            Part::Web(at) => self.web[at].runs(),
            Part::Etcd(at) => self.postgres.etcd().runs(at),
            Part::Primary => true,
        }
    }

    fn state(&self, part: Part) -> &'static str {
        if !self.runs(part) {
            "killed"
        } else if self.has_mark(part, Verb::Freeze) {
            "stopped in its tracks"
        } else if self.has_mark(part, Verb::Cut) {
            "cut off"
        } else {
            "runs"
        }
    }

    fn mark(&self, verb: Verb, part: Part) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let part = part.to_string();
        match verb {
            Verb::Freeze => marks.insert((part, "freeze")),
            Verb::Cut => marks.insert((part, "cut")),
            Verb::Heal => marks.remove(&(part, "cut")),
            Verb::Kill | Verb::Thaw | Verb::Start => marks.remove(&(part, "freeze")),
        };
    }

    fn has_mark(&self, part: Part, verb: Verb) -> bool {
        let word = match verb {
            Verb::Cut => "cut",
            _ => "freeze",
        };
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.contains(&(part.to_string(), word))
    }
}

/// From the system: the processes are reached by whoever can reach loopback.
fn secret() -> Result<String, String> {
    use std::io::Read as _;
    let mut bytes = [0; SECRET_BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
