//! The suite generator: our load beside wrk on the same servers, in turn. They must agree within a tenth, or one of them measures itself.
//! Of one server on what it answers: it has one worker, so that it is what both wait for. Of two servers of World on their ratio, which is
//! what suites say, with every program, wrk too, in a session of its own, as by hand.

use anyhow::{Result, ensure};

use crate::bench::{Bench, CONNECTIONS, HttpLoad, ProgramEntry, Run};
use crate::http::{PATH, hello};
use crate::programs::find;
use crate::report::{ReportTable, Row};
use crate::samples::Samples;
use crate::stop::StopFlag;
use crate::world::{self, EndpointLoad};
use crate::wrk;

/// How far the ratio of the best runs may be from 1, and the ratio of two such ratios.
const TENTH: f64 = 0.1;

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    if find("wrk").is_none() {
        bench.miss("wrk", "install the Debian package wrk");
        return Ok(());
    }
    let mut apart = speed(bench)?;
    apart.extend(ratios(bench)?);
    ensure!(
        apart.is_empty(),
        "our load and wrk are more than a tenth apart: {}",
        apart.join("; ")
    );
    Ok(())
}

/// On one server; what they do not agree on.
fn speed(bench: &mut Bench) -> Result<Vec<String>> {
    let server = bench.ours().start_on("hello.rb", bench.folder(), 1)?;
    let stop = bench.stop.clone();
    let row = |program: &str| Row {
        case: "1 worker".to_owned(),
        program: program.to_owned(),
        ours: program != "wrk",
        ..Row::default()
    };
    let asked = HttpLoad {
        threads: 1,
        ..HttpLoad::fast(&server, PATH, hello())
    };
    let (asked, stop) = (&asked, &stop);
    let ours = entry(row("tsumugi bench"), asked, stop).over([1]);
    let wrk = entry_by_wrk(row("wrk"), asked, stop);
    let table = ReportTable {
        name: "wrk".to_owned(),
        title: "our load and wrk on the same server".to_owned(),
        unit: "req/s".to_owned(),
        notes: vec![format!("one thread and {CONNECTIONS} connections each")],
        ..ReportTable::default()
    };
    let table = bench.contest(table, vec![ours, wrk])?;
    let mut apart = Vec::new();
    if let [ours, wrk] = table.rows.as_slice() {
        let ratio = best(ours) / best(wrk);
        bench.note(format!("the best runs: {ratio:.2} of what wrk gives"));
        if !agree(ratio, 1.0) {
            apart.push(format!("our load gives {ratio:.2} of what wrk gives"));
        }
    }
    Ok(apart)
}

/// On how ours is beside the peer, path by path; what they do not agree on.
fn ratios(bench: &mut Bench) -> Result<Vec<String>> {
    let mut apart = Vec::new();
    let Some(servers) = world::start(bench)? else {
        return Ok(apart);
    };
    let [ours, peer] = servers.as_slice() else {
        // Without the peer there is no ratio; that is said.
        return Ok(apart);
    };
    let stop = &bench.stop.clone();
    for (path, expected) in world::PATHS {
        let load = EndpointLoad::fast(path, expected);
        let loads = [ours.load(load)?, peer.load(load)?];
        // Ours is over the peer, by the same load.
        let [first, second] = &loads;
        let entries = vec![
            entry(ours.row("our load"), first, stop).over([1]),
            entry(peer.row("our load"), second, stop),
            entry_by_wrk(ours.row("wrk"), first, stop).over([3]),
            entry_by_wrk(peer.row("wrk"), second, stop),
        ];
        let table = ReportTable {
            name: format!("ratio {}", path.trim_start_matches('/')),
            title: format!("{path} by our load and by wrk"),
            unit: "req/s".to_owned(),
            ..ReportTable::default()
        };
        let table = bench.contest(table, entries)?;
        let bests: Vec<f64> = table.rows.iter().map(best).collect();
        if let [ours, peer, ours_by_wrk, peer_by_wrk] = bests[..] {
            let (ratio, by_wrk) = (ours / peer, ours_by_wrk / peer_by_wrk);
            bench.note(format!(
                "{path}, the best runs: ours is {ratio:.2} of the peer by our load, {by_wrk:.2} by wrk"
            ));
            if !agree(ratio, by_wrk) {
                apart.push(format!(
                    "ours is {ratio:.2} of the peer on {path} by our load, {by_wrk:.2} by wrk"
                ));
            }
        }
    }
    Ok(apart)
}

/// Whether two ratios are the same but for a tenth.
fn agree(ratio: f64, by_wrk: f64) -> bool {
    (ratio / by_wrk - 1.0).abs() <= TENTH
}

/// Whatever else the machine does only slows a run: the best of each are compared.
fn best(row: &Row) -> f64 {
    Samples::from(row.runs.as_slice()).max()
}

/// Our load, in its turn.
fn entry<'a>(row: Row, asked: &'a HttpLoad<'a>, stop: &'a StopFlag) -> ProgramEntry<'a> {
    ProgramEntry::new(row, move |length| asked.run(length, stop))
}

/// The same from wrk.
fn entry_by_wrk<'a>(row: Row, asked: &'a HttpLoad<'a>, stop: &'a StopFlag) -> ProgramEntry<'a> {
    ProgramEntry::new(row, move |length| {
        let load = wrk::Load {
            address: asked.process.address,
            path: asked.path,
            seconds: length.seconds,
            connections: asked.connections,
            threads: asked.threads,
            sessions: asked.process.sessions(),
        };
        Ok(Run {
            figure: wrk::run(&load, stop)?,
            ..Run::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_within_a_tenth_of_each_other_agree() {
        for (ratio, by_wrk, expected) in [
            (1.0, 1.0, true),
            (0.85, 0.80, true),
            (2.1, 2.0, true),
            (1.4, 0.8, false),
            (0.7, 0.8, false),
        ] {
            assert_eq!(agree(ratio, by_wrk), expected, "{ratio} {by_wrk}");
        }
    }
}
