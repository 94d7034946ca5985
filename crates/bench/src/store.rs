//! The second part of the suite kv: stores in process, called from Ruby by one worker, beside the same calls from Rust on one thread.
//! A request does many operations and says how long they took, so that neither HTTP nor this program is in the figure.
//! The two take turns. With 64 in flight they differ: a fibre goes on when its own write is done, Rust when all 64 are.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::bench::Bench;
use crate::client::ProbeClient;
use crate::process::{Process, free_address};
use crate::report::{Length, RatioRuns, ReportTable, Row};
use crate::samples::{Samples, order};
use crate::servers::{OwnPrograms, application_file};
use crate::stop::StopFlag;

/// Operations of one request: a turn that is no stall.
const OPERATIONS: u64 = 20_000;
/// Requests of one figure.
const REQUESTS: usize = 15;
/// Calls of the program in Rust that are under way where it says so; it counts them together.
const WINDOW: f64 = 64.0;

/// From Ruby, and what Rust calls the same.
const CASES: [(&str, &str, &str, f64); 5] = [
    ("get", "/memory/get", "memory get", 1.0),
    ("set", "/memory/set", "memory set", 1.0),
    ("get, on disk", "/disk/get", "disk, process get", 1.0),
    ("set, on disk", "/disk/set", "disk, process set", 1.0),
    (
        "set, on disk, 64 fibres",
        "/disk/set64",
        "disk, process set, 64 in flight",
        WINDOW,
    ),
];

/// Who calls.
const CALLERS: [&str; 2] = ["from Ruby, a worker", "from Rust, a thread"];

/// Ruby beside Rust.
pub fn run(bench: &mut Bench) -> Result<()> {
    let throughput = bench.programs.tool("throughput");
    if !throughput.is_file() {
        bench.miss(
            "stores in process",
            "`cargo build --release --package tsumugi-kv --example throughput` builds what calls them from Rust",
        );
        return Ok(());
    }
    let length = bench.length;
    // By case, then by caller.
    let mut rates: Vec<[Vec<f64>; 2]> = vec![Default::default(); CASES.len()];
    for round in 0..length.rounds {
        for at in order(CALLERS.len(), round) {
            bench.stop.check()?;
            let found = if at == 0 {
                let folder = bench.folder().join(format!("kv-{round}"));
                fs::create_dir(&folder)?;
                from_ruby(&bench.ours(), &folder)?
            } else {
                from_rust(&throughput, length, &bench.stop)?
            };
            for (rate, found) in rates.iter_mut().zip(found) {
                rate[at].push(found);
            }
        }
    }
    let mut rows = Vec::new();
    for (case, rates) in CASES.iter().zip(rates) {
        let ratios = Samples::from(&rates[0][..]).ratios(&Samples::from(&rates[1][..]));
        for (caller, runs) in CALLERS.iter().zip(rates) {
            let over = RatioRuns {
                program: CALLERS[1].to_owned(),
                place: None,
                runs: ratios.clone(),
            };
            rows.push(Row {
                case: case.0.to_owned(),
                program: (*caller).to_owned(),
                ours: true,
                runs,
                over: Vec::from_iter((*caller == CALLERS[0]).then_some(over)),
                ..Row::default()
            });
        }
    }
    bench.table(ReportTable {
        name: "in process".to_owned(),
        title: "stores in process".to_owned(),
        unit: "calls/s".to_owned(),
        rows,
        ..ReportTable::default()
    });
    Ok(())
}

/// The shipped binary on `apps/kv.rb`, with one worker.
fn from_ruby(ours: &OwnPrograms, folder: &Path) -> Result<Vec<f64>> {
    let address = free_address()?;
    let mut command = Command::new(&ours.tsumugi);
    command.arg("serve").arg(application_file("kv.rb", folder)?);
    command.args(["--workers", "1", "--listen", &address.to_string()]);
    command.arg("--data").arg(folder.join("kv-data"));
    command.env("KV_PATH", folder.join("kv-store"));
    let server = Process::start("kv-ruby", command, address, folder)?;
    ask(address).with_context(|| format!("the server printed this:\n{}", server.output()))
}

/// Fills both stores and asks for the figures of every case.
fn ask(address: SocketAddr) -> Result<Vec<f64>> {
    let mut client = ProbeClient::connect(address)?;
    for store in ["memory", "disk"] {
        client.post(&format!("/{store}/fill"), "application/json", "{}")?;
        let answer = client
            .answer()
            .with_context(|| format!("filling {store}"))?;
        ensure!(answer.status == 200, "{store} cannot be filled: {answer:?}");
    }
    let mut rates = Vec::new();
    for (_, path, _, _) in CASES {
        let mut rate = Samples::default();
        for _ in 0..REQUESTS {
            let answer = client.fetch(&format!("{path}?n={OPERATIONS}"));
            let answer = answer.with_context(|| format!("asking {path}"))?;
            if answer.status != 200 {
                bail!("{path} answers {answer:?}");
            }
            let answer: Value = serde_json::from_slice(&answer.body)?;
            let seconds = answer["seconds"].as_f64();
            rate.push(OPERATIONS as f64 / seconds.context("no seconds in the answer")?);
        }
        rates.push(rate.median());
    }
    Ok(rates)
}

/// What the program in Rust prints of each case: lines of JSON among others, two for each, as it measures one thread twice.
fn from_rust(throughput: &Path, length: Length, stop: &StopFlag) -> Result<Vec<f64>> {
    let seconds = if length.is_quick() { "1" } else { "3" };
    let output = stop.run(Command::new(throughput).args(["10000", "1", seconds]))?;
    ensure!(
        output.status.success(),
        "{} failed: {}",
        throughput.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    let measured: Vec<(String, f64)> = printed.lines().filter_map(rate).collect();
    let of_case = |(_, _, name, calls): &(&str, &str, &str, f64)| {
        let mut rates = Samples::default();
        let lines = measured.iter().filter(|(line, _)| line == name);
        lines.for_each(|(_, rate)| rates.push(rate * calls));
        ensure!(
            rates.median() > 0.0,
            "{} tells nothing of {name}",
            throughput.display()
        );
        Ok(rates.median())
    };
    CASES.iter().map(of_case).collect()
}

fn rate(line: &str) -> Option<(String, f64)> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some((
        line["name"].as_str()?.to_owned(),
        line["per_second"].as_f64()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_among_other_lines() {
        let line = r#"{"name":"memory get","threads":1,"per_second":4000000}"#;
        assert_eq!(rate(line), Some(("memory get".to_owned(), 4e6)));
        assert_eq!(rate("memory: Metrics { reads: 1 }"), None);
    }
}
