//! The suites world and pool: the example `world` on PostgreSQL beside a server in Rust, and its four ways of asking 500 times.
//! The database server is whose URL is in `DATABASE_URL`; it shares the machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::contest::{Entrant, Expected, measure};
use crate::figures::thousands;
use crate::process::{Process, free_address};
use crate::servers::{Ours, WORKERS, example_file};
use crate::{Length, Verdict, wrk};

/// The server beside ours, a program of `bench-peers`.
const PEER: &str = "world-axum";

/// What is measured, and what it must answer.
const PATHS: [(&str, Expected); 5] = [
    ("/db", Expected::World),
    ("/queries?q=20", Expected::Worlds(20)),
    ("/queries?q=500", Expected::Worlds(500)),
    ("/fortunes", Expected::Fortunes),
    ("/updates?q=20", Expected::Changed(20)),
];

/// The ways of `/pool`; the first is what the others are compared with.
const WAYS: [(&str, &str); 4] = [
    ("single prepared", "/pool?way=single_prepared"),
    ("pool unprepared", "/pool?way=pool_unprepared"),
    ("pool prepared", "/pool?way=pool_prepared"),
    ("pipelined", "/pool?way=pipelined"),
];
/// Reads of one request of `/pool`.
const READS: usize = 500;
/// Connections of the load on `/pool`, where one request keeps the database busy.
const POOL_CONNECTIONS: u32 = 4;

/// The URL of the database.
pub fn database() -> Result<String> {
    std::env::var("DATABASE_URL").context(
        "DATABASE_URL is not set: `make` starts a throwaway server and sets it (scripts/setup bench installs the package postgresql)",
    )
}

fn peer(program: &Path, folder: &Path) -> Result<Process> {
    let address = free_address()?;
    let mut command = Command::new(program);
    command.args([&address.to_string(), &database()?, &WORKERS.to_string()]);
    Process::start(PEER, command, address, folder)
}

/// Ours beside the peer, path by path.
pub fn world(ours: &Ours, peers: &Path, folder: &Path, length: Length) -> Result<Verdict> {
    database()?;
    let ours = Entrant::new("tsumugi", ours.start_file(&example_file("world"), folder)?);
    let program = peers.join(PEER);
    let other = if program.is_file() {
        Some(Entrant::new("axum", peer(&program, folder)?))
    } else {
        println!("world    {PEER} skipped: `make bench-peers` builds it");
        None
    };
    for (path, expected) in PATHS {
        let mut starts = vec![(&ours, path)];
        starts.extend(other.as_ref().map(|other| (other, path)));
        for (entrant, path) in &starts {
            entrant.examine(path, expected)?;
        }
        let costs = measure(&starts, length, wrk::CONNECTIONS)?;
        let mut line = format!("world    {path:<15}");
        for ((entrant, _), cost) in starts.iter().zip(&costs) {
            line += &format!(
                " {} {:>7} req/s {:>7} us/req  ",
                entrant.name,
                thousands(cost.rate.median()),
                thousands(cost.processor_us.median())
            );
        }
        if let [ours, other] = costs.as_slice() {
            line += &format!(
                " ratio {}   cpu {}",
                ours.rate.over(&other.rate),
                ours.processor_us.over(&other.processor_us)
            );
        }
        println!("{line}");
    }
    Ok(Verdict::Passed)
}

/// The four ways, as a table.
pub fn pool(ours: &Ours, folder: &Path, length: Length) -> Result<Verdict> {
    database()?;
    let ours = Entrant::new("tsumugi", ours.start_file(&example_file("world"), folder)?);
    for (_, path) in WAYS {
        ours.examine(path, Expected::Worlds(READS))?;
    }
    let starts = WAYS.map(|(_, path)| (&ours, path));
    let costs = measure(&starts, length, POOL_CONNECTIONS)?;
    println!("# {READS} reads a request, {POOL_CONNECTIONS} requests at once");
    for ((way, _), cost) in WAYS.iter().zip(&costs) {
        println!(
            "pool     {way:<16} {:>6} req/s   {:>9} reads/s   {:>7} us/req   over single {}",
            thousands(cost.rate.median()),
            thousands(cost.rate.median() * READS as f64),
            thousands(cost.processor_us.median()),
            cost.rate.over(&costs[0].rate)
        );
    }
    Ok(Verdict::Passed)
}
