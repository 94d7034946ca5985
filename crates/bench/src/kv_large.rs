//! Large values of the suite kv: Set and Get of 1 KB to 1 MB in memory, ours beside the original, by our load and by the author's.
//! Rule: both servers are called by the same program with the same calls; ratios are of such pairs only.

use anyhow::Result;

use crate::bench::{Bench, ProgramEntry, Run};
use crate::kv_load::{BY_PERF, KvCallers, KvOperation, OwnCall, OwnLoad, PerfLoad};
use crate::kv_servers::{KvServer, KvServers, LARGE, OURS};
use crate::report::{GridCell, Length, ReportTable, Row};

/// Sizes of values, and how many are stored in a run: half a second to two of them.
const SIZES: [(&str, usize, u64); 4] = [
    ("1 KB", 1_000, 20_000),
    ("10 KB", 10_000, 10_000),
    ("100 KB", 100_000, 2_000),
    ("1 MB", 1_000_000, 300),
];
/// So many times fewer with `--quick`.
const QUICK_PART: u64 = 10;

/// The grid, on the first kind of address.
pub fn run(bench: &mut Bench, servers: &KvServers) -> Result<()> {
    let Some(group) = servers.groups.first() else {
        return Ok(());
    };
    let beside = servers.at(group);
    let own = &OwnLoad::new(bench);
    let programs = servers.programs.as_ref();
    let perf = programs.map(|programs| PerfLoad::new(programs, bench));
    let mut entries = Vec::new();
    for (row, size, count) in SIZES {
        for operation in [KvOperation::Set, KvOperation::Get] {
            let cell = GridCell::new(row, operation.heading());
            let case = LargeCase {
                operation,
                size,
                count,
            };
            add(&mut entries, &beside, &cell, "", move |server, length| {
                case.run_own(own, server, length)
            });
            if let Some(perf) = &perf {
                add(
                    &mut entries,
                    &beside,
                    &cell,
                    BY_PERF,
                    move |server, length| perf.run(server, &case.call(), case.count(length)),
                );
            }
        }
    }
    let table = ReportTable {
        name: "large".to_owned(),
        title: format!("large values in memory, one caller, {}", group.part),
        unit: "calls/s".to_owned(),
        notes: vec![
            "by `tsumugi bench kv` unless another load is named; the author's stores before it reads, so its Get has no processor time".to_owned(),
        ],
        ..ReportTable::default()
    };
    bench.contest(table, entries).map(drop)
}

/// An entry for each server, ours over the other.
fn add<'a>(
    entries: &mut Vec<ProgramEntry<'a>>,
    servers: &'a [KvServer<'a>],
    cell: &GridCell,
    by: &str,
    run: impl Fn(&KvServer<'_>, Length) -> Result<Run> + Copy + 'a,
) {
    let first = entries.len();
    for server in servers {
        let row = Row {
            ours: server.name == OURS,
            ..Row::in_cell(cell.clone(), &format!("{}{by}", server.name))
        };
        let entry = ProgramEntry::new(row, move |length| run(server, length));
        let others = match server.name == OURS {
            true => first + 1..first + servers.len(),
            false => 0..0,
        };
        entries.push(entry.over(others));
    }
}

/// A cell.
#[derive(Clone, Copy)]
struct LargeCase {
    operation: KvOperation,
    size: usize,
    count: u64,
}

impl LargeCase {
    fn count(self, length: Length) -> u64 {
        match length.is_quick() {
            true => self.count / QUICK_PART,
            false => self.count,
        }
    }

    fn call(self) -> OwnCall<'static> {
        OwnCall {
            operation: self.operation,
            callers: KvCallers::ONE,
            index: LARGE,
            records: self.count,
            size: self.size,
            form: &[],
        }
    }

    fn run_own(self, own: &OwnLoad, server: &KvServer<'_>, length: Length) -> Result<Run> {
        let (call, count) = (self.call(), self.count(length));
        if self.operation == KvOperation::Get {
            let stored = OwnCall {
                operation: KvOperation::Set,
                ..call.clone()
            };
            own.run(server, &stored, count)?;
        }
        own.run(server, &call, count)
    }
}
