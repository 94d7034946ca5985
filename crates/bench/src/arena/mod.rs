//! The suite arena: the profiles of the public suite HttpArena that this server can serve, in Ruby and in Rust, beside other servers.
//! First every answer of every program is looked at; only then is anything measured. A wrong answer of ours is an error; a profile in which
//! a peer answers otherwise than it must is said and not measured of it.
//! Rule: same work beside same work: all read the same inputs, compress when they are asked to, and keep no answer that the profile forbids to keep.

mod checks;
mod client;
mod inputs;
mod load;
mod profile;
mod servers;
mod socket;

use std::time::Duration;

use anyhow::{Result, ensure};

use self::checks::CheckTally;
use self::client::{ArenaClient, ArenaPort};
use self::inputs::ArenaInputs;
use self::load::ProfileLoad;
use self::profile::Profile;
use self::servers::ArenaServer;
use crate::bench::{Bench, ProgramEntry, Run, THREADS};
use crate::limits::WARM_UP_MS;
use crate::load::{LoadPlan, LoadTransport, Pace};
use crate::process::Process;
use crate::report::{Length, ReportTable, Row};
use crate::stop::StopFlag;

/// What the suite does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArenaRun {
    /// Looks at answers and measures them.
    #[default]
    Whole,
    /// Looks at answers.
    Checks,
}

/// Runs the suite.
pub fn run(bench: &mut Bench, run: ArenaRun) -> Result<()> {
    let database = bench.database()?;
    let folder = bench.folder().to_owned();
    let inputs = ArenaInputs::write(&folder, database, &bench.stop)?;
    let mut servers = servers::start(bench, &inputs)?;
    let client = ArenaClient::new()?;
    look(bench, &mut servers, &inputs, &client)?;
    if run == ArenaRun::Checks {
        return Ok(());
    }
    bench.note("echo-ws is looked at and not measured: the load speaks no WebSocket");
    for profile in Profile::ALL {
        contest(bench, profile, &servers, &client)?;
    }
    Ok(())
}

/// The servers of a profile beside each other.
fn contest(
    bench: &mut Bench,
    profile: Profile,
    servers: &[ArenaServer],
    client: &ArenaClient,
) -> Result<()> {
    let serving: Vec<&ArenaServer> = servers
        .iter()
        .filter(|server| server.profiles.contains(&profile))
        .collect();
    let mut entries = Vec::new();
    for server in &serving {
        let port = server.ports.of(profile);
        let Some(load) = ProfileLoad::of(profile, client, port)? else {
            return Ok(());
        };
        let row = Row {
            case: profile.name().to_owned(),
            program: server.name.to_owned(),
            ours: server.ours,
            ..Row::default()
        };
        let (process, stop) = (&server.process, bench.stop.clone());
        let entry = ProgramEntry::new(row, move |length| {
            measure(&load, port, process, length, &stop)
        });
        let peers = serving.iter().enumerate().filter(|(_, peer)| !peer.ours);
        let peers = peers.map(|(at, _)| at).filter(|_| server.ours);
        entries.push(entry.over(peers));
    }
    let table = ReportTable {
        name: profile.name().to_owned(),
        title: profile.name().to_owned(),
        unit: "req/s".to_owned(),
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// One run of a load; an error if an answer was not what it must be.
fn measure(
    load: &ProfileLoad,
    port: ArenaPort,
    process: &Process,
    length: Length,
    stop: &StopFlag,
) -> Result<Run> {
    let plan = LoadPlan {
        address: port.address,
        transport: LoadTransport {
            protocol: load.protocol,
            tls: port.tls,
        },
        requests: &load.requests,
        connection_use: load.connection_use,
        connections: load.connections,
        threads: THREADS,
        pace: Pace::Closed,
        warm_up: Duration::from_millis(WARM_UP_MS),
        length: Duration::from_secs(length.seconds),
    };
    let outcome = crate::load::run(&plan, stop, || process.processor_us())?;
    let tally = &outcome.tally;
    let first = tally.first.clone().unwrap_or_default();
    ensure!(
        tally.errors == 0,
        "{} of {} requests failed, the first with: {first}\n{}",
        tally.errors,
        tally.requests + tally.errors,
        process.last_words(),
    );
    stop.check()?;
    ensure!(tally.requests > 0, "not one request was answered");
    let each = |us: f64| Some(us / tally.requests as f64);
    Ok(Run {
        figure: outcome.per_second(),
        server_us: each(outcome.server_us),
        client_us: each(outcome.client_us),
        resident_bytes: Some(process.resident_bytes()?),
        ..Run::default()
    })
}

/// Looks at the answers of every server; an error names all of ours that are wrong. Peers lose the profiles in which theirs are.
fn look(
    bench: &mut Bench,
    servers: &mut [ArenaServer],
    inputs: &ArenaInputs,
    client: &ArenaClient,
) -> Result<()> {
    let mut failures = Vec::new();
    for server in servers {
        let mut passed = 0;
        let mut failed = Vec::new();
        let count = server.profiles.len();
        let mut tallies = Vec::with_capacity(count);
        for profile in &server.profiles {
            bench.stop.check()?;
            let tally = checks::look(*profile, client, &server.ports, inputs);
            passed += tally.passed;
            tallies.push((*profile, tally));
        }
        server.profiles = answered(&tallies);
        for (_, tally) in tallies {
            failed.extend(tally.failures);
        }
        bench.note(format!(
            "{}: {passed} checks of {count} profiles passed, {} failed",
            server.name,
            failed.len()
        ));
        for failure in failed {
            match server.ours {
                true => failures.push(format!("{} {failure}", server.name)),
                false => bench.note(format!(
                    "{} {failure}; this profile of it is not measured",
                    server.name
                )),
            }
        }
    }
    ensure!(
        failures.is_empty(),
        "{} checks failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    Ok(())
}

/// The profiles in which every answer was what it must be.
fn answered(tallies: &[(Profile, CheckTally)]) -> Vec<Profile> {
    let right = tallies
        .iter()
        .filter(|(_, tally)| tally.failures.is_empty());
    right.map(|(profile, _)| *profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_with_a_wrong_answer_is_left_out() {
        let tally = |failures: &[&str]| CheckTally {
            passed: 3,
            failures: failures.iter().map(ToString::to_string).collect(),
        };
        let [first, second, third, ..] = Profile::ALL;
        let tallies = [
            (first, tally(&[])),
            (second, tally(&["agrees on HTTP/1.1: agreed on None"])),
            (third, tally(&[])),
        ];
        assert_eq!(answered(&tallies), [first, third]);
    }
}
