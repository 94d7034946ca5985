//! `tsumugi-with-postgres COMMAND…`: runs a command beside a throwaway PostgreSQL with the tables `world` and `fortune`, or with an empty database. Not a test.
//! The command finds the server in `DATABASE_URL`; the server ends with it, and the command's exit code is this program's.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tsumugi_testkit::postgres::{Server, User};
use tsumugi_testkit::{ProgramRequest, read_arguments, run_beside};

const USAGE: &str = "usage: tsumugi-with-postgres [--empty] COMMAND…
Runs COMMAND beside a throwaway PostgreSQL server whose address is in DATABASE_URL, for example:
  cargo run --package tsumugi-testkit --bin tsumugi-with-postgres -- target/release/tsumugi serve app.rb
  cargo run --package tsumugi-testkit --bin tsumugi-with-postgres -- sh -c 'psql \"$DATABASE_URL\"'
The server has the tables world and fortune of the benchmarks, or with --empty no table, and ends with the command.";

fn main() -> ExitCode {
    let words = match read_arguments(USAGE) {
        ProgramRequest::Command(words) => words,
        ProgramRequest::Ended(code) => return code,
    };
    let (is_empty, words) = match words.split_first() {
        Some((first, rest)) if first == "--empty" => (true, rest),
        _ => (false, &*words),
    };
    let server = Server::start();
    if !is_empty {
        server.load_world();
    }
    eprintln!("# throwaway {}", server.description());
    run_beside(words, &server.url(User::ADMIN))
}
