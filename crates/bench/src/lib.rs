//! `tsumugi bench`: measures the shipped server from outside, over sockets, beside its peers. Links no crate of the server.
//! A figure is a ratio of programs measured in turn in one run; exit code 1 when a suite failed, 2 for wrong usage.

#![forbid(unsafe_code)]

mod client;
mod contest;
mod driver;
mod figures;
mod hello;
mod kv;
mod limits;
mod parked;
mod process;
mod programs;
mod servers;
mod soak;
mod store;
mod world;
mod wrk;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::programs::Programs;
use crate::servers::Ours;

/// What the command takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// What to run
    #[arg(value_enum, required = true)]
    suites: Vec<Suite>,
    /// The server, when it is not this program
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Where the programs of bench-peers are
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    /// Shorter and less certain: 3 pairs of 2 s instead of 6 of 5 s
    #[arg(long)]
    quick: bool,
    /// How long the mixed load of soak lasts
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    soak_seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// A one-line handler beside nginx+Lua and H2O
    Hello,
    /// What a fibre costs beside a direct call
    Tax,
    /// 10,000 requests asleep at once
    Parked,
    /// World and Fortune on PostgreSQL beside axum with tokio-postgres
    World,
    /// The PostgreSQL driver alone beside other drivers
    Pg,
    /// One request with 500 reads, in four ways
    Pool,
    /// The key-value service beside the published figures of Tkrzw-RPC
    Kv,
    /// Mixed load, reloads, drains: nothing may grow, nothing may fail
    Soak,
}

/// How a suite ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What it checks holds; the figures are another matter.
    Passed,
    /// A check failed.
    Failed,
}

/// How long throughput is measured.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Runs of each program.
    pub rounds: usize,
    /// Length of one run.
    pub seconds: u64,
}

/// Runs the suites; the code says whether what they check holds.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    let length = if arguments.quick {
        Length {
            rounds: 3,
            seconds: 2,
        }
    } else {
        Length {
            rounds: 6,
            seconds: 5,
        }
    };
    let programs = Programs::new(arguments.server, arguments.peers)?;
    let ours = Ours {
        tsumugi: programs.server.clone(),
        tax: programs.tool("tax"),
    };
    if !ours.tsumugi.is_file() {
        bail!(
            "there is no {}; build it: cargo build --release --package tsumugi-cli",
            ours.tsumugi.display()
        );
    }
    println!("{}", conditions(length));
    let mut failed = false;
    for suite in arguments.suites {
        let folder = tempfile::tempdir()?;
        let verdict = match suite {
            Suite::Hello => hello::hello(&ours, folder.path(), length),
            Suite::Tax => hello::tax(&ours, folder.path(), length),
            Suite::Parked => parked::run(&ours, folder.path()),
            Suite::World => world::world(&ours, programs.peers(), folder.path(), length),
            Suite::Pg => driver::run(&programs.tool("depth"), programs.peers(), length),
            Suite::Pool => world::pool(&ours, folder.path(), length),
            Suite::Kv => {
                let (calls, throughput) = (programs.tool("calls"), programs.tool("throughput"));
                kv::run(&ours, &calls, &throughput, folder.path(), length)
            }
            Suite::Soak => soak::run(&ours, folder.path(), arguments.soak_seconds),
        };
        match verdict {
            Ok(verdict) => failed |= verdict == Verdict::Failed,
            Err(error) => {
                println!("FAILED: {error:#}");
                failed = true;
            }
        }
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// What shares the machine, so that a figure is not read as more than it is.
fn conditions(length: Length) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "# {cores} cores shared by the server ({} workers) and its load generator on loopback; load average before: {}\n\
         # throughput: wrk -t{} -c{}, {} runs of {} s each in turn (A B B A); median (min-max)",
        servers::WORKERS,
        load.split(' ').next().unwrap_or("unknown"),
        wrk::THREADS,
        wrk::CONNECTIONS,
        length.rounds,
        length.seconds,
    )
}
