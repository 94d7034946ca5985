//! The suite soak: mixed load with clients that leave, thousands parked again and again, reloads and drains under load.
//! Nothing may grow for ever and nothing may fail that a client did not break itself. Prints what memory was at start and end.

mod encrypted;
mod together;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use nix::sys::signal::Signal;

use crate::PartVerdict;
use crate::bench::Bench;
use crate::client::ProbeClient;
use crate::limits::{
    FILES_SPARE, GROWTH_BYTES_MAX, GROWTH_PERCENT_MAX, RELOAD_MS, SOAK_CLIENTS, SOAK_PARKED_ROUNDS,
};
use crate::open_files::allow_files;
use crate::parked::{self, MemorySample, PARKED};
use crate::process::{Process, pause};
use crate::samples::thousands;
use crate::servers::{OwnPrograms, WORKERS, application_file};

/// Paths of the mixed load and the status of each.
const PATHS: [(&str, u16); 10] = [
    ("/hello", 200),
    ("/wait", 200),
    ("/greet/w%C3%B6rld", 200),
    ("/json", 200),
    ("/query?q=a&page=2", 200),
    ("/rows", 200),
    ("/both", 200),
    ("/gone", 404),
    ("/ensured", 200),
    ("/nowhere", 404),
];

/// Every how many requests a client of the mixed load leaves without waiting for its answer.
const LEAVES_EVERY: u64 = 70;

/// What the clients of a load saw.
#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    failed: AtomicU64,
    ended: AtomicBool,
}

impl Tally {
    fn count(&self, good: bool) {
        let counter = if good { &self.answered } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Answered and failed.
    fn totals(&self) -> (u64, u64) {
        (
            self.answered.load(Ordering::Relaxed),
            self.failed.load(Ordering::Relaxed),
        )
    }
}

/// Runs `client` on several threads while `script` runs on this one.
fn under_load<T>(
    client: impl Fn(&Tally, u64) + Sync,
    script: impl FnOnce(&Tally) -> Result<T>,
) -> Result<(T, u64, u64)> {
    let tally = Tally::default();
    let outcome = thread::scope(|scope| {
        for number in 0..SOAK_CLIENTS {
            let (tally, client) = (&tally, &client);
            scope.spawn(move || client(tally, number));
        }
        let outcome = script(&tally);
        tally.end();
        outcome
    })?;
    let (answered, failed) = tally.totals();
    Ok((outcome, answered, failed))
}

/// A part of the suite.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoakPart {
    /// The demo on PostgreSQL, its streams and a key-value store, while backends are ended
    Together,
    /// An application in Rust over TLS and HTTP/2, with clients that leave
    Native,
    /// Every way in which a handler spends its time
    Mixed,
    /// Ten thousand sleepers, again and again
    Parked,
    /// Reloads under load
    Reload,
    /// SIGTERM with requests under way
    Drain,
}

/// What to run, and for how long.
#[derive(Debug)]
pub struct SoakPlan {
    seconds: u64,
    parts: Vec<SoakPart>,
}

impl SoakPlan {
    /// `parts`, or all when there is none, in their order; those with mixed load for so many seconds each.
    pub fn new(seconds: u64, parts: &[SoakPart]) -> SoakPlan {
        let is_set = |part: &SoakPart| parts.is_empty() || parts.contains(part);
        let parts = SoakPart::value_variants().iter().copied().filter(is_set);
        SoakPlan {
            seconds,
            parts: parts.collect(),
        }
    }
}

/// Runs what is planned.
pub fn run(bench: &mut Bench, plan: &SoakPlan) -> Result<PartVerdict> {
    allow_files(PARKED as u64 + FILES_SPARE)?;
    let (ours, folder) = (bench.ours(), bench.folder().to_owned());
    let mut verdict = PartVerdict::Passed;
    let seconds = plan.seconds;
    for part in &plan.parts {
        let outcome = match part {
            SoakPart::Together => together::run(bench, seconds),
            SoakPart::Native => encrypted::run(bench, seconds),
            SoakPart::Mixed => mixed(&ours, &folder, seconds).map(Some),
            SoakPart::Parked => parked_again(&ours, &folder).map(Some),
            SoakPart::Reload => reload(&ours, &folder, seconds.min(60)).map(Some),
            SoakPart::Drain => drain(&ours, &folder).map(Some),
        };
        let name = part.to_possible_value();
        let name = name.as_ref().map_or("", PossibleValue::get_name);
        match outcome {
            Ok(Some(line)) => say!("soak     {name:<8} ok       {line}"),
            // What it lacks was reported.
            Ok(None) => {}
            Err(error) => {
                say!("soak     {name:<8} FAILED   {error:#}");
                verdict = PartVerdict::Failed;
            }
        }
    }
    Ok(verdict)
}

/// Mixed load; memory after the first tenth is what it must be at the end.
fn mixed(ours: &OwnPrograms, folder: &Path, seconds: u64) -> Result<String> {
    let process = ours.start("soak.rb", folder)?;
    let address = process.address;
    let client = |tally: &Tally, number: u64| {
        while !tally.is_ended() {
            visit(address, tally, number);
        }
    };
    let ((start, end), answered, failed) = under_load(client, |_| {
        pause(seconds * 100);
        let start = MemorySample::of(&process)?;
        pause(seconds * 900);
        Ok((start, MemorySample::of(&process)?))
    })
    .with_context(|| tail(&process))?;
    if failed > 0 {
        bail!(
            "{failed} of {answered} requests failed:\n{}",
            tail(&process)
        );
    }
    grown("the VMs", start.vm, end.vm)?;
    grown("the process", start.resident, end.resident)?;
    Ok(format!(
        "{} requests   {}",
        thousands(answered as f64),
        course(start, end)
    ))
}

/// One connection of the mixed load: some requests, and sometimes away before the answer.
fn visit(address: SocketAddr, tally: &Tally, number: u64) {
    let Ok(mut client) = ProbeClient::connect(address) else {
        return tally.count(false);
    };
    for at in 0..50 {
        if tally.is_ended() {
            return;
        }
        let turn = number + at;
        let (path, status) = PATHS[usize::try_from(turn).unwrap_or(0) % PATHS.len()];
        if (turn * 31 + number).is_multiple_of(LEAVES_EVERY) {
            let left = client.send("/ensured");
            return tally.count(left.is_ok());
        }
        let answer = if turn % 5 == 4 {
            client
                .post("/echo", "application/json", r#"{"text":"hello"}"#)
                .and_then(|()| client.answer())
        } else {
            client.fetch(path)
        };
        let expected = if turn % 5 == 4 { 200 } else { status };
        match answer {
            Ok(answer) => {
                tally.count(answer.status == expected);
                if answer.closes {
                    return;
                }
            }
            Err(_) => return tally.count(false),
        }
    }
}

/// Thousands of sleepers, several times over: the second round and the last take the same memory.
fn parked_again(ours: &OwnPrograms, folder: &Path) -> Result<String> {
    let process = ours.start("soak.rb", folder)?;
    let mut after = Vec::new();
    for round in 0..SOAK_PARKED_ROUNDS {
        let mut sleepers = parked::send_all(&process, "/parked")?;
        let errors = parked::count_missing(&mut sleepers);
        if errors > 0 {
            bail!(
                "round {round}: {errors} of {PARKED} were not answered:\n{}",
                tail(&process)
            );
        }
        drop(sleepers);
        after.push(MemorySample::settled(&process)?);
    }
    let (Some(&start), Some(&end)) = (after.get(1), after.last()) else {
        bail!("too few rounds to compare");
    };
    grown("the VMs", start.vm, end.vm)?;
    grown("the process", start.resident, end.resident)?;
    Ok(format!(
        "{SOAK_PARKED_ROUNDS} rounds of {}   {}",
        thousands(PARKED as f64),
        course(start, end)
    ))
}

/// A reload every two seconds under load on open connections: no request may notice.
fn reload(ours: &OwnPrograms, folder: &Path, seconds: u64) -> Result<String> {
    let file = folder.join("reload.rb");
    fs::rename(application_file("soak.rb", folder)?, &file)?;
    let process = ours.serve(&file, folder, WORKERS, &[])?;
    let address = process.address;
    let client = |tally: &Tally, _: u64| {
        let Ok(mut client) = ProbeClient::connect(address) else {
            return tally.count(false);
        };
        while !tally.is_ended() {
            let answer = client.fetch("/wait");
            let good = answer.is_ok_and(|answer| answer.status == 200 && !answer.closes);
            tally.count(good);
            if !good {
                return;
            }
        }
    };
    let (reloads, answered, failed) = under_load(client, |_| {
        let until = Instant::now() + Duration::from_secs(seconds);
        let mut reloads = 0;
        while Instant::now() < until {
            process.signal(Signal::SIGHUP)?;
            reloads += 1;
            pause(RELOAD_MS);
        }
        Ok(reloads)
    })?;
    if failed > 0 {
        bail!(
            "{failed} of {answered} requests failed during {reloads} reloads:\n{}",
            tail(&process)
        );
    }
    Ok(format!(
        "{reloads} reloads   {} requests   0 failed",
        thousands(answered as f64)
    ))
}

/// SIGTERM under load: what was asked before it is answered, and the server ends with 0.
fn drain(ours: &OwnPrograms, folder: &Path) -> Result<String> {
    let mut process = ours.start("soak.rb", folder)?;
    let mut asked = Vec::new();
    for _ in 0..200 {
        let mut client = ProbeClient::connect(process.address)?;
        client.fetch("/hello")?;
        client.send("/slow")?;
        asked.push(client);
    }
    pause(200); // all of them sleep by now
    process.signal(Signal::SIGTERM)?;
    let missing = parked::count_missing(&mut asked);
    if missing > 0 {
        bail!(
            "{missing} of 200 requests were not answered:\n{}",
            tail(&process)
        );
    }
    let status = process.wait()?;
    if !status.success() {
        bail!("it ended with {status}:\n{}", tail(&process));
    }
    Ok("200 requests answered after SIGTERM, exit code 0".to_owned())
}

fn grown(what: &str, start: u64, end: u64) -> Result<()> {
    let most = start + start * GROWTH_PERCENT_MAX / 100 + GROWTH_BYTES_MAX;
    if end > most {
        bail!("{what} grew from {start} to {end} bytes; at most {most} were expected");
    }
    Ok(())
}

fn course(start: MemorySample, end: MemorySample) -> String {
    format!(
        "VMs {:.1} -> {:.1} MiB   process {:.1} -> {:.1} MiB",
        mebibytes(start.vm),
        mebibytes(end.vm),
        mebibytes(start.resident),
        mebibytes(end.resident)
    )
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The last lines that a server printed.
fn tail(process: &Process) -> String {
    let output = process.output();
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
