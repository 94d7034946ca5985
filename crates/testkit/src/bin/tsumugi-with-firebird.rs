//! `tsumugi-with-firebird COMMAND…`: runs a command beside a throwaway Firebird with an empty database. Not a test.
//! The command finds the database in `DATABASE_URL`; the server ends with it, and the command's exit code is this program's.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tsumugi_testkit::firebird::Server;
use tsumugi_testkit::{ProgramRequest, read_arguments, run_beside};

const USAGE: &str = "usage: tsumugi-with-firebird COMMAND…
Runs COMMAND beside a throwaway Firebird server with an empty database whose address is in DATABASE_URL, for example:
  cargo run --package tsumugi-testkit --bin tsumugi-with-firebird -- target/release/tsumugi serve app.rb
The server ends with the command. When it ends before, by itself, it is started again.";

fn main() -> ExitCode {
    let words = match read_arguments(USAGE) {
        ProgramRequest::Command(words) => words,
        ProgramRequest::Ended(code) => return code,
    };
    let server = Server::shared();
    let database = server.database();
    eprintln!("# throwaway Firebird at 127.0.0.1:{}", server.port());
    std::thread::spawn(|| server.keep_running(|what| eprintln!("# {what}")));
    run_beside(&words, &database.url())
}
