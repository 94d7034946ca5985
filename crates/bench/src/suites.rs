//! The suites by name: what each is about, whose table it is made after, and what runs it. Measures nothing itself.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::arena::ArenaRun;
use crate::bench::Bench;
use crate::report::{Suite, SuiteOutcome};
use crate::stop::Interruption;
use crate::{
    PartVerdict, arena, builder, driver, fibre, firebird, http, jobs, kv, native, pool, reads,
    soak, validate, workers, world,
};

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SuiteName {
    /// A one-line handler beside nginx+Lua and H2O; workers, allocator, collector; time to answer
    #[value(alias = "hello")]
    Http,
    /// What a fibre costs beside a direct call, Rust, H2O and ngx_mruby; requests asleep at once
    #[value(aliases = ["tax", "parked"])]
    Fibre,
    /// One request with 500 reads, in four ways
    #[value(alias = "pool")]
    Db,
    /// The PostgreSQL driver alone beside tokio-postgres, libpq, pgx and postgres.js
    Pg,
    /// 10,000 reads awaited together: fibres, futures, a bounded pool of threads; SQLite and PostgreSQL
    Async,
    /// Empty jobs on PostgreSQL, pushed and run, beside graphile-worker and pg-boss
    Jobs,
    /// What the query builder costs over the same SQL; Ruby and Rust, SQLite and PostgreSQL
    Builder,
    /// The catalogue of a Firebird database in six ways, beside node-firebird and the Go driver
    Firebird,
    /// The key-value service in the tables of Tkrzw-RPC, beside tkrzw_server; large values; stores in process. With --address, a load for any such server
    Kv,
    /// World and Fortune on PostgreSQL beside axum with tokio-postgres, Bun and nginx+Lua
    World,
    /// The same in Rust, and a one-line handler beside hyper alone
    WorldNative,
    /// One worker and several, allocators and collectors, rows and strings, Ruby and Rust; beside asynchttpserver and others
    Threads,
    /// The profiles of the public suite HttpArena, in Ruby and Rust
    Arena,
    /// All of these
    All,
    /// The load of these suites beside wrk: they must agree within a tenth. Not in `all`
    Generator,
    /// Mixed load, reloads, drains: nothing may grow, nothing may fail. Not in `all`
    Soak,
}

/// What `all` runs, in the order in which readers ask: beside others on the same work first, then ours beside ours.
const ALL: [SuiteName; 13] = [
    SuiteName::World,
    SuiteName::WorldNative,
    SuiteName::Http,
    SuiteName::Arena,
    SuiteName::Threads,
    SuiteName::Pg,
    SuiteName::Kv,
    SuiteName::Firebird,
    SuiteName::Jobs,
    SuiteName::Db,
    SuiteName::Async,
    SuiteName::Fibre,
    SuiteName::Builder,
];

impl SuiteName {
    /// What it is called on the command line.
    pub fn word(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Where a suite of this name stands in a report: as in `all`, others after.
    pub fn place(name: &str) -> usize {
        let found = ALL.iter().position(|suite| suite.word() == name);
        found.unwrap_or(ALL.len())
    }

    /// Its subject, and the published table that it follows.
    fn story(self) -> (&'static str, &'static str) {
        match self {
            SuiteName::Http => (
                "A string over HTTP",
                "after ngx_mruby's comparison of a one-line handler; beside it nginx with Lua and H2O with mruby",
            ),
            SuiteName::Fibre => (
                "What a fibre costs",
                "after ngx_mruby: a one-line handler called directly, and as a Proc in a Fiber",
            ),
            SuiteName::Db => (
                "500 reads in one request",
                "after allographer's comparison of a prepared statement on one connection with a pool whose queries are not prepared",
            ),
            SuiteName::Pg => (
                "The PostgreSQL driver alone",
                "after postgresql-pure: one statement of 13 values, by threads",
            ),
            SuiteName::Async => (
                "10,000 reads at once",
                "many small waits as fibres, as futures, and on threads; after allographer's comparison of two asynchronous libraries of Nim",
            ),
            SuiteName::Jobs => (
                "Jobs",
                "empty jobs a second; nothing was published to put beside it",
            ),
            SuiteName::Builder => (
                "What the query builder costs",
                "one row by its key, built and as SQL; nothing was published to put beside it",
            ),
            SuiteName::Firebird => (
                "Firebird",
                "after node-firebird-libfbclient: six ways of answering, from a connection for each request to a pool of prepared statements",
            ),
            SuiteName::Kv => (
                "The key-value store",
                "after Tkrzw-RPC 0.5.0: Echo, Set, Get, Iterate and Remove by callers and addresses, and the asynchronous and streamed calls that its author wished for",
            ),
            SuiteName::World => (
                "World and Fortune",
                "after the public framework benchmarks' tables on PostgreSQL",
            ),
            SuiteName::WorldNative => (
                "World and Fortune in Rust",
                "after the public framework benchmarks' tables on PostgreSQL",
            ),
            SuiteName::Threads => (
                "Workers, allocators and collectors",
                "after allographer's comparison of HTTP servers in Nim, with threads and without, some of which crashed",
            ),
            SuiteName::Arena => (
                "HttpArena's profiles",
                "after the public suite HttpArena: JSON, files, uploads, queries over HTTP/1.1, HTTP/2 and TLS",
            ),
            SuiteName::All => ("Everything", ""),
            SuiteName::Generator => ("The load itself", "beside wrk on the same server"),
            SuiteName::Soak => ("Hours of everything at once", ""),
        }
    }

    /// `all` is several.
    pub fn expand(names: &[SuiteName]) -> Vec<SuiteName> {
        let mut expanded = Vec::new();
        for name in names {
            let several = if *name == SuiteName::All {
                &ALL[..]
            } else {
                std::slice::from_ref(name)
            };
            for name in several {
                if !expanded.contains(name) {
                    expanded.push(*name);
                }
            }
        }
        expanded
    }

    /// Runs it; failures and interruptions are in the result.
    pub fn run(self, bench: &mut Bench, soak: &soak::SoakPlan, arena: ArenaRun) -> Result<Suite> {
        let (title, source) = self.story();
        bench.begin(Suite {
            name: self.word(),
            title: title.to_owned(),
            source: source.to_owned(),
            command: bench.command(&self.word()),
            ..Suite::default()
        })?;
        let began = Instant::now();
        let result = self.measure(bench, soak, arena);
        let mut suite = bench.end();
        suite.took_s = began.elapsed().as_secs_f64();
        suite.outcome = match result {
            Ok(()) if suite.tables.is_empty() && !suite.missing.is_empty() => SuiteOutcome::Skipped,
            Ok(()) => SuiteOutcome::Passed,
            Err(error) if error.is::<Interruption>() || bench.stop.is_set() => {
                SuiteOutcome::Interrupted
            }
            Err(error) => {
                say!("{}: FAILED: {error:#}", suite.name);
                suite.fault = Some(format!("{error:#}"));
                SuiteOutcome::Failed
            }
        };
        Ok(suite)
    }

    fn measure(self, bench: &mut Bench, soak: &soak::SoakPlan, arena: ArenaRun) -> Result<()> {
        match self {
            SuiteName::Http => http::run(bench),
            SuiteName::Fibre => fibre::run(bench),
            SuiteName::Db => {
                world::db(bench)?;
                pool::run(bench)
            }
            SuiteName::Pg => driver::run(bench),
            SuiteName::World => world::world(bench),
            SuiteName::WorldNative => native::world(bench),
            SuiteName::Threads => {
                workers::run(bench)?;
                native::threads(bench)
            }
            SuiteName::Arena => arena::run(bench, arena),
            SuiteName::Async => reads::run(bench),
            SuiteName::Builder => builder::run(bench),
            SuiteName::Jobs => jobs::run(bench),
            SuiteName::Generator => validate::run(bench),
            SuiteName::Firebird => firebird::run(bench),
            SuiteName::Kv => kv::run(bench),
            SuiteName::Soak => {
                let verdict = soak::run(bench, soak)?;
                ensure!(verdict == PartVerdict::Passed, "a part of it failed");
                Ok(())
            }
            SuiteName::All => Ok(()),
        }
    }
}
