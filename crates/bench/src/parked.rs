//! The second part of the suite fibre: 10,000 requests asleep at once, each on a connection of its own, and what one of them costs.
//! Every one must be answered; memory is read from the VMs and from the kernel while all of them sleep.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};

use crate::bench::Bench;
use crate::client::{self, ProbeClient};
use crate::limits::{FIGURES_ASKED_MAX, FILES_SPARE, SETTLING_LOOKS, SETTLING_MS};
use crate::open_files::allow_files;
use crate::process::{Process, pause};
use crate::report::{Better, ReportTable, Row};
use crate::samples::thousands;
use crate::servers::WORKERS;

/// Requests that sleep at once.
pub const PARKED: usize = 10_000;
/// Bytes of the VM that one parked request may take.
const VM_BYTES_MAX: u64 = 8 * 1024;

/// Collections before a VM's figure counts.
const COLLECTIONS: usize = 3;

/// Memory of a server at one moment, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemorySample {
    /// What the VMs of all workers hold, garbage excluded.
    pub vm: u64,
    /// What the process holds.
    pub resident: u64,
}

impl MemorySample {
    /// Asks until every worker has answered some times. Of its answers the lowest counts: a collection that finds another
    /// one half done finishes that first, and leaves what became garbage meanwhile to the next.
    pub fn of(process: &Process) -> Result<MemorySample> {
        let mut workers = [(0, u64::MAX); WORKERS];
        for _ in 0..FIGURES_ASKED_MAX {
            let (id, bytes) = figures(process.address)?;
            let (times, lowest) = workers.get_mut(id).context("there is no such worker")?;
            *times += 1;
            *lowest = bytes.min(*lowest);
            if workers.iter().all(|(times, _)| *times >= COLLECTIONS) {
                return Ok(MemorySample {
                    vm: workers.iter().map(|(_, bytes)| bytes).sum(),
                    resident: process.resident_bytes()?,
                });
            }
        }
        bail!("one worker answered nearly all of {FIGURES_ASKED_MAX} connections")
    }

    /// The same once the process has given back what it will: the allocator keeps pages for a second, and looks at them when it is asked
    /// for more. The least of several looks.
    pub fn settled(process: &Process) -> Result<MemorySample> {
        let mut least = MemorySample::of(process)?;
        for _ in 0..SETTLING_LOOKS {
            pause(SETTLING_MS);
            let memory = MemorySample::of(process)?;
            if memory.resident < least.resident {
                least = memory;
            }
        }
        Ok(least)
    }
}

/// A worker's number and the bytes of its VM, from the route `/figures`.
fn figures(address: SocketAddr) -> Result<(usize, u64)> {
    let answer = client::fetch(address, "/figures")?;
    let text = String::from_utf8(answer.body)?;
    let (id, bytes) = text
        .trim()
        .split_once(' ')
        .context("/figures answers what it should not")?;
    Ok((id.parse()?, bytes.parse()?))
}

/// Runs this part of the suite fibre.
pub fn run(bench: &mut Bench) -> Result<()> {
    allow_files(PARKED as u64 + FILES_SPARE)?;
    let process = bench.ours().start("hello.rb", bench.folder())?;
    let before = MemorySample::of(&process)?;
    let mut sleepers = send_all(&process, "/parked")?;
    let during = MemorySample::of(&process)?;
    let errors = count_missing(&mut sleepers);
    drop(sleepers);
    let each = |during: u64, before: u64| during.saturating_sub(before) / PARKED as u64;
    let vm = each(during.vm, before.vm);
    let row = |case: &str, bytes: u64| Row {
        case: case.to_owned(),
        program: "tsumugi".to_owned(),
        ours: true,
        runs: vec![bytes as f64],
        ..Row::default()
    };
    bench.table(ReportTable {
        name: "parked".to_owned(),
        title: "memory of a request that sleeps".to_owned(),
        unit: "bytes".to_owned(),
        better: Better::Less,
        notes: vec![format!(
            "{} requests asleep at once, each on a connection of its own; {errors} errors",
            thousands(PARKED as f64)
        )],
        rows: vec![
            row("in the VM", vm),
            row("of the process", each(during.resident, before.resident)),
        ],
        ..ReportTable::default()
    });
    ensure!(
        errors == 0,
        "{errors} of {PARKED} sleepers were not answered"
    );
    ensure!(
        vm < VM_BYTES_MAX,
        "a sleeper takes {vm} bytes of its VM, more than {VM_BYTES_MAX}"
    );
    Ok(())
}

/// Opens the connections and sends a request on each. Their answers are still to be read.
pub fn send_all(process: &Process, path: &str) -> Result<Vec<ProbeClient>> {
    let mut sleepers = Vec::with_capacity(PARKED);
    for number in 0..PARKED {
        let mut sleeper = ProbeClient::connect(process.address)
            .with_context(|| format!("connection {number}"))?;
        sleeper.send(path)?;
        sleepers.push(sleeper);
    }
    Ok(sleepers)
}

/// Reads an answer on each connection; counts those that do not get the right one.
pub fn count_missing(clients: &mut [ProbeClient]) -> usize {
    let mut missing = 0;
    for client in clients {
        let answer = client.answer();
        let right = answer.is_ok_and(|answer| answer.status == 200 && answer.body == b"hello\n");
        missing += usize::from(!right);
    }
    missing
}
