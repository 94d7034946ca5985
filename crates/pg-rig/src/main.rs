//! `tsumugi-pg-rig COMMAND…`: runs a command beside a throwaway PostgreSQL with the tables `world` and `fortune`. Not a test.
//! The command finds the server in `DATABASE_URL`; the server ends with it, and the command's exit code is this program's.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tsumugi_pg_rig::{Server, User};
use tsumugi_rig::{Asked, asked, beside};

const USAGE: &str = "usage: tsumugi-pg-rig COMMAND…
Runs COMMAND beside a throwaway PostgreSQL server whose address is in DATABASE_URL, for example:
  cargo run --package tsumugi-pg-rig -- target/release/tsumugi serve app.rb
  cargo run --package tsumugi-pg-rig -- sh -c 'psql \"$DATABASE_URL\"'
The server has the tables world and fortune of the benchmarks, and ends with the command.";

fn main() -> ExitCode {
    let words = match asked(USAGE) {
        Asked::Command(words) => words,
        Asked::Ended(code) => return code,
    };
    let server = Server::start();
    server.load_world();
    eprintln!("# throwaway {}", server.description());
    beside(&words, &server.url(User::ADMIN))
}
