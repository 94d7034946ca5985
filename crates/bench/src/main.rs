//! `tsumugi bench` as a program of its own, which is built in seconds while the suites are worked on. It holds no server: name one with
//! `--server target/release/tsumugi`. Users have the command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    arguments: tsumugi_bench::BenchArguments,
}

fn main() -> Result<ExitCode> {
    tsumugi_bench::run(Program::parse().arguments)
}
