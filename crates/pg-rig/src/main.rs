//! `tsumugi-pg-rig COMMAND…`: runs a command beside a throwaway PostgreSQL with the tables `world` and `fortune`. Not a test.
//! The command finds the server in `DATABASE_URL`; the server ends with it, and the command's exit code is this program's.
#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};

use tsumugi_pg_rig::{Server, User};

const USAGE: &str = "usage: tsumugi-pg-rig COMMAND…
Runs COMMAND beside a throwaway PostgreSQL server whose address is in DATABASE_URL, for example:
  cargo run --package tsumugi-pg-rig -- target/release/tsumugi serve app.rb
  cargo run --package tsumugi-pg-rig -- sh -c 'psql \"$DATABASE_URL\"'
The server has the tables world and fortune of the benchmarks, and ends with the command.";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [program, arguments @ ..] = words.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if program == "--help" || program == "-h" {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let server = Server::start();
    server.load_world();
    eprintln!("# throwaway {}", server.description());
    let status = Command::new(program)
        .args(arguments)
        .env("DATABASE_URL", server.url(User::ADMIN))
        .status();
    match status {
        // A command that a signal ended has no code.
        Ok(status) => status.code().map_or(ExitCode::FAILURE, |code| {
            ExitCode::from(u8::try_from(code).unwrap_or(1))
        }),
        Err(error) => {
            eprintln!("tsumugi-pg-rig: cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}
