//! The suite kv: the key-value service in the grids of Tkrzw-RPC's author, on disk as he had it and in memory, and as a fourth grid the
//! asynchronous and streamed calls that he wished for. Where his programs are, his server stands beside ours and his load beside our own.
//! Loads are processes of their own; processor time for each call does not depend on who else uses the machine.

use anyhow::Result;

use crate::bench::{Bench, ProgramEntry};
use crate::kv_load::{
    BY_PERF, ConnectionSharing, KvCallers, KvOperation, OwnCall, OwnLoad, PerfLoad,
};
use crate::kv_servers::{
    AddressGroup, IN_MEMORY, KvServer, KvServers, ON_DISK, ORIGINAL, OURS, PERF_DATABASE,
};
use crate::report::{Cost, GridCell, Length, RatioRuns, ReportTable, Row};
use crate::samples::{Samples, thousands};
use crate::{kv_large, publications, store};

/// Records in the database, as in the published table.
const RECORDS: u64 = 1_000_000;
/// With `--quick`.
const RECORDS_QUICK: u64 = 100_000;
/// Calls of one run of the author's load, all callers together.
const PERF_CALLS: u64 = 20_000;
/// With `--quick`.
const PERF_CALLS_QUICK: u64 = 4_000;
/// Runs of each case: there are many.
const ROUNDS_MAX: usize = 3;
/// With `--quick`.
const ROUNDS_QUICK: usize = 1;
/// Bytes of a value, as in the published table.
const SIZE: usize = 8;

/// Rows of the published table.
const CALLERS: [KvCallers; 5] = [
    KvCallers::ONE,
    callers(2, ConnectionSharing::Same),
    callers(2, ConnectionSharing::Separate),
    callers(4, ConnectionSharing::Same),
    callers(4, ConnectionSharing::Separate),
];

const fn callers(threads: u64, connection: ConnectionSharing) -> KvCallers {
    KvCallers {
        threads,
        connection,
    }
}

/// Rows of the fourth grid, of one caller: how its calls follow each other.
const FORMS: [(&str, &[&str]); 7] = [
    ("one call at a time", &[]),
    ("16 calls in flight", &["--async", "--depth", "16"]),
    ("64 calls in flight", &["--async", "--depth", "64"]),
    ("a stream, one call at a time", &["--stream"]),
    (
        "a stream, 64 calls in flight",
        &["--stream", "--async", "--depth", "64"],
    ),
    ("batches of 10 records", &["--batch", "10"]),
    (
        "batches of 10 records, 8 in flight",
        &["--batch", "10", "--async", "--depth", "8"],
    ),
];

/// What the callers of one row are, of ours and of the author's.
const CALLERS_NOTE: &str = "same connection: callers are tasks of one thread in `tsumugi bench kv`, threads in tkrzw_dbm_remote_perf; separate: a thread and a \
    connection for each in both. tkrzw_dbm_remote_perf looks at the status of an answer only";

/// What each load does to the database.
const LOADS_NOTE: &str = "our load calls for scattered keys of a full database, in which Set overwrites. tkrzw_dbm_remote_perf empties a database of its own first, \
    in which Set inserts in the order of its keys, and makes a new iterator every 100 calls of Iterate; processor time is shown of its Echo and Set, and \
    the emptying is within that";

/// The grids of the author, then calls in flight, streams and batches, large values; stores in process at the end.
pub fn run(bench: &mut Bench) -> Result<()> {
    let servers = KvServers::start(bench)?;
    service(bench, &servers)?;
    kv_large::run(bench, &servers)?;
    drop(servers);
    store::run(bench)
}

fn service(bench: &mut Bench, servers: &KvServers) -> Result<()> {
    let own = OwnLoad::new(bench);
    let records = match bench.length.is_quick() {
        true => RECORDS_QUICK,
        false => RECORDS,
    };
    let table = KvGrids {
        own: &own,
        perf: servers
            .programs
            .as_ref()
            .map(|programs| PerfLoad::new(programs, bench)),
        records,
    };
    table.fill(servers)?;
    bench.note(format!(
        "the service: {} records with keys and values of 8 bytes, called for without order, every answer checked; an operation goes on for {} s, {}",
        thousands(records as f64),
        seconds(bench.length),
        match rounds(bench.length) {
            1 => "once".to_owned(),
            rounds => format!("{rounds} times"),
        }
    ));
    let mut tables = Vec::new();
    for group in &servers.groups {
        tables.push(table.published(bench, servers, group)?);
    }
    for group in &servers.groups {
        tables.push(table.in_memory(bench, servers, group)?);
    }
    if let Some(first) = servers.groups.first() {
        tables.push(table.forms(bench, servers, first)?);
    }
    summarize(bench, &tables);
    Ok(())
}

/// A line for each grid and load: ours over the original, cell by cell. A grid has too many cells to say it of each.
fn summarize(bench: &mut Bench, tables: &[ReportTable]) {
    let mut rows = Vec::new();
    for table in tables {
        for by in ["", BY_PERF] {
            let [ours, original] = [OURS, ORIGINAL].map(|name| format!("{name}{by}"));
            let cells = |program: &str, of: &dyn Fn(&Row) -> Vec<f64>| -> Vec<f64> {
                let rows = table.rows.iter().filter(|row| row.program == program);
                rows.flat_map(of).collect()
            };
            let rates = |program: &str| cells(program, &|row| vec![row.median()]);
            let [own, other] = [rates(&ours), rates(&original)];
            if other.is_empty() {
                continue;
            }
            let cost = |program: &str| Cost {
                server_us: cells(program, &|row| {
                    let cost = row.cost.iter();
                    cost.flat_map(|cost| cost.server_us.clone()).collect()
                }),
                ..Cost::default()
            };
            let over = RatioRuns {
                program: original.clone(),
                place: None,
                runs: Samples::from(own.as_slice()).ratios(&Samples::from(other.as_slice())),
            };
            let row = |program: String, runs| Row {
                case: table.name.clone(),
                cost: Some(cost(&program)),
                program,
                runs,
                ..Row::default()
            };
            rows.push(Row {
                ours: true,
                over: vec![over],
                ..row(ours, own)
            });
            rows.push(row(original, other));
        }
    }
    if !rows.is_empty() {
        bench.table(ReportTable {
            name: "summary".to_owned(),
            title: "all cells of each grid".to_owned(),
            unit: "queries/s".to_owned(),
            notes: vec!["the middle of a grid's cells, its lowest and its highest".to_owned()],
            rows,
            ..ReportTable::default()
        });
    }
}

/// How long our load calls in one run. A case is short: there are many.
fn seconds(length: Length) -> f64 {
    if length.is_quick() { 0.3 } else { 1.5 }
}

fn rounds(length: Length) -> usize {
    match length.is_quick() {
        true => ROUNDS_QUICK,
        false => length.rounds.min(ROUNDS_MAX),
    }
}

/// What makes the cells of the grids.
struct KvGrids<'a> {
    own: &'a OwnLoad,
    perf: Option<PerfLoad>,
    records: u64,
}

impl KvGrids<'_> {
    /// Has every server store the records.
    fn fill(&self, servers: &KvServers) -> Result<()> {
        for (at, group) in servers.groups.iter().enumerate() {
            // Ours is one server at all addresses.
            for server in servers.at(group).iter().skip(usize::from(at > 0)) {
                for index in [ON_DISK, IN_MEMORY] {
                    let call = self.call(KvOperation::Set, KvCallers::ONE, index);
                    self.own.store(server, &call, self.records)?;
                }
            }
        }
        Ok(())
    }

    fn call(&self, operation: KvOperation, callers: KvCallers, index: usize) -> OwnCall<'static> {
        OwnCall {
            operation,
            callers,
            index,
            records: self.records,
            size: SIZE,
            form: &[],
        }
    }

    /// A grid of the published table, on disk, with the author's figures.
    fn published(
        &self,
        bench: &mut Bench,
        servers: &KvServers,
        group: &AddressGroup,
    ) -> Result<ReportTable> {
        let beside = servers.at(group);
        let mut table =
            publications::part(8, group.part)?.report(&format!("on disk, {}", group.part));
        table.title = format!("{}, {}, on disk", table.title, group.part);
        table.notes.push(CALLERS_NOTE.to_owned());
        table.notes.push(LOADS_NOTE.to_owned());
        let mut entries = Vec::new();
        for callers in CALLERS {
            for operation in KvOperation::ALL {
                let call = self.call(operation, callers, ON_DISK);
                self.add_own(&mut entries, &beside, &call, &callers.heading());
                let perf = OwnCall {
                    index: PERF_DATABASE,
                    ..call
                };
                self.add_perf(&mut entries, &beside, &perf);
            }
        }
        contest(bench, table, entries)
    }

    /// The same in memory, which the author did not publish.
    fn in_memory(
        &self,
        bench: &mut Bench,
        servers: &KvServers,
        group: &AddressGroup,
    ) -> Result<ReportTable> {
        let beside = servers.at(group);
        let title = publications::part(8, group.part)?.title.clone();
        let mut entries = Vec::new();
        for callers in CALLERS {
            for operation in KvOperation::ALL {
                let call = self.call(operation, callers, IN_MEMORY);
                self.add_own(&mut entries, &beside, &call, &callers.heading());
            }
        }
        let table = ReportTable {
            name: format!("in memory, {}", group.part),
            title: format!("{title}, {}, in memory", group.part),
            unit: "queries/s".to_owned(),
            notes: vec!["in memory nothing was published".to_owned()],
            ..ReportTable::default()
        };
        contest(bench, table, entries)
    }

    /// Calls in flight, streams and batches of one caller, on disk.
    fn forms(
        &self,
        bench: &mut Bench,
        servers: &KvServers,
        group: &AddressGroup,
    ) -> Result<ReportTable> {
        let beside = servers.at(group);
        let mut entries = Vec::new();
        for (row, form) in FORMS {
            for operation in KvOperation::ALL {
                let is_batch = form.contains(&"--batch");
                if is_batch && !operation.has_batches() {
                    continue;
                }
                let call = OwnCall {
                    form,
                    ..self.call(operation, KvCallers::ONE, ON_DISK)
                };
                self.add_own(&mut entries, &beside, &call, row);
            }
        }
        let wish = publications::part(8, group.part)?.said.clone();
        let table = ReportTable {
            name: "calls in flight".to_owned(),
            title: format!(
                "calls in flight, streams and batches of one caller, {}, on disk",
                group.part
            ),
            unit: "records/s".to_owned(),
            notes: wish
                .into_iter()
                .chain(["nothing was published of these".to_owned()])
                .collect(),
            ..ReportTable::default()
        };
        contest(bench, table, entries)
    }

    /// A cell by our load: ours, and the original where it is.
    fn add_own<'a>(
        &'a self,
        entries: &mut Vec<ProgramEntry<'a>>,
        servers: &'a [KvServer<'a>],
        call: &OwnCall<'a>,
        row: &str,
    ) {
        for server in servers {
            let cell = GridCell::new(row, call.operation.heading());
            let row = Row {
                ours: server.name == OURS,
                ..Row::in_cell(cell, server.name)
            };
            let call = call.clone();
            entries.push(ProgramEntry::new(row, move |length| {
                self.own.run_for(server, &call, seconds(length))
            }));
        }
    }

    /// The same cell by the author's load, where it is.
    fn add_perf<'a>(
        &'a self,
        entries: &mut Vec<ProgramEntry<'a>>,
        servers: &'a [KvServer<'a>],
        call: &OwnCall<'a>,
    ) {
        let Some(perf) = &self.perf else {
            return;
        };
        for server in servers {
            let cell = GridCell::new(&call.callers.heading(), call.operation.heading());
            let program = format!("{}{BY_PERF}", server.name);
            let row = Row {
                ours: server.name == OURS,
                ..Row::in_cell(cell, &program)
            };
            let call = call.clone();
            entries.push(ProgramEntry::new(row, move |length| {
                let calls = match length.is_quick() {
                    true => PERF_CALLS_QUICK,
                    false => PERF_CALLS,
                };
                perf.run(server, &call, calls / call.callers.threads)
            }));
        }
    }
}

fn contest(
    bench: &mut Bench,
    table: ReportTable,
    entries: Vec<ProgramEntry<'_>>,
) -> Result<ReportTable> {
    let length = Length {
        rounds: rounds(bench.length),
        ..bench.length
    };
    bench.contest_for(length, table, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_published_grids_is_measured() {
        for part in ["UNIX socket", "IPv4", "IPv6"] {
            let table = publications::part(8, part).unwrap();
            let cells: Vec<GridCell> = table.cells().map(|(cell, _)| cell).collect();
            let measured = CALLERS.into_iter().flat_map(|callers| {
                let row = callers.heading();
                KvOperation::ALL.map(|operation| GridCell::new(&row, operation.heading()))
            });
            assert_eq!(measured.collect::<Vec<_>>(), cells, "{part}");
        }
    }
}
