//! The suite generator: our load beside wrk on the same server, in turn. They must agree within a tenth, or one of them measures itself.
//! The server has one worker, so that it is what both wait for.

use anyhow::{Result, ensure};

use crate::bench::{Bench, CONNECTIONS, HttpLoad, ProgramEntry, Run};
use crate::http::{PATH, hello};
use crate::process::find;
use crate::report::{ReportTable, Row};
use crate::samples::Samples;
use crate::wrk;

/// How far the ratio of the best runs may be from 1.
const TENTH: f64 = 0.1;

/// Runs the suite.
pub fn run(bench: &mut Bench) -> Result<()> {
    if find("wrk").is_none() {
        bench.miss("wrk", "install the Debian package wrk");
        return Ok(());
    }
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
    let (address, stop) = (server.address, &stop);
    let ours =
        ProgramEntry::new(row("tsumugi bench"), move |length| asked.run(length, stop)).over([1]);
    let wrk = ProgramEntry::new(row("wrk"), move |length| {
        let load = wrk::Load {
            address,
            path: PATH,
            seconds: length.seconds,
            connections: CONNECTIONS,
            threads: 1,
        };
        let per_second = wrk::run(&load, stop)?;
        Ok(Run {
            figure: per_second,
            ..Run::default()
        })
    });
    let table = ReportTable {
        name: "wrk".to_owned(),
        title: "our load and wrk on the same server".to_owned(),
        unit: "req/s".to_owned(),
        notes: vec![format!("one thread and {CONNECTIONS} connections each")],
        ..ReportTable::default()
    };
    let table = bench.contest(table, vec![ours, wrk])?;
    // Whatever else the machine does only slows a run: the best of each are compared.
    let best = |row: &Row| Samples::from(row.runs.as_slice()).max();
    if let [ours, wrk] = table.rows.as_slice() {
        let ratio = best(ours) / best(wrk);
        bench.note(format!("the best runs: {ratio:.2} of what wrk gives"));
        ensure!(
            (ratio - 1.0).abs() <= TENTH,
            "our load gives {ratio:.2} of what wrk gives: more than a tenth apart"
        );
    }
    Ok(())
}
