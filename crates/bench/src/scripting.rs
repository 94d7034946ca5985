//! The servers of World and Fortune that are written in other scripting languages, beside ours in Ruby: Bun with its own client of PostgreSQL,
//! or else Node with postgres.js, and nginx with Lua. Knows their command lines and packages.
//! Rule: all of them have the same workers, and what users give each of connections: where a client pipelines, as many as ours has.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench::Bench;
use crate::client;
use crate::process::{Process, free_address};
use crate::programs::find;
use crate::psql;
use crate::report::SessionScope;
use crate::servers::{PeerProgram, WORKERS, start_lua_world};
use crate::worlds::ExpectedAnswer;

const BUN: &str = "Bun SQL";
const NODE: &str = "Node + postgres.js";
const LUA: &str = "nginx+Lua";
/// Bun's program, below the folder of the peers.
const BUN_PROGRAM: &str = "elysia/node_modules/@oven/bun-linux-x64/bin/bun";
/// Connections of each worker of nginx: a cosocket carries one request at a time, and the database server has a hundred for all programs.
const LUA_CONNECTIONS: usize = 8;

/// Where each of them reads a row.
const ROW: &str = "/db";

/// Characters of the reason that one of them cannot.
const REASON_LENGTH_MAX: usize = 200;

/// What the report says of them.
pub const NOTE: &str = "Bun and Node have a connection a worker, on which they pipeline, as ours and axum; nginx+Lua has 8 a worker, because a \
                        connection of its sockets carries one request at a time";

/// Those that are here, by their names. What is missing is reported with the programs in own sessions.
pub fn start(
    bench: &mut Bench,
    sessions: SessionScope,
    url: &str,
) -> Result<Vec<(&'static str, Process)>> {
    let mut missing = Vec::new();
    let mut servers = Vec::new();
    match javascript(bench) {
        Ok((name, program, script)) => {
            let address = free_address()?;
            let mut command = Command::new(program);
            command.arg(script);
            command.args([&address.to_string(), url, &WORKERS.to_string()]);
            command.env("NODE_ENV", "production");
            // Two of them have a log each.
            let folder = &tempfile::tempdir_in(bench.folder())?.keep();
            let log = name.replace(' ', "-");
            let process = Process::start_in(sessions, &log, command, address, folder)?;
            servers.extend(answering(bench, name, process));
        }
        Err(remedy) => missing.push((BUN, remedy)),
    }
    match (PeerProgram::NginxLua.missing(), lua_database(url)) {
        (Some(packages), _) => {
            missing.push((LUA, format!("install the Debian packages {packages}")));
        }
        (None, Err(error)) => missing.push((LUA, format!("{error:#}"))),
        (None, Ok(database)) => {
            let folder = bench.folder().to_owned();
            let process = start_lua_world(&database, LUA_CONNECTIONS, &folder, sessions)?;
            servers.extend(answering(bench, LUA, process));
        }
    }
    for (name, remedy) in missing {
        if sessions == SessionScope::Own {
            bench.miss(name, &remedy);
        }
    }
    Ok(servers)
}

/// A server that reads a row, or none and what it says instead: not every client of PostgreSQL knows every way of logging in.
fn answering(
    bench: &mut Bench,
    name: &'static str,
    process: Process,
) -> Option<(&'static str, Process)> {
    match row(&process) {
        Ok(()) => Some((name, process)),
        Err(error) => {
            let what = match process.sessions() {
                SessionScope::Own => name.to_owned(),
                SessionScope::One => format!("{name} in one session"),
            };
            bench.miss(&what, &format!("{error:#}"));
            None
        }
    }
}

/// Has a server read a row.
fn row(process: &Process) -> Result<()> {
    let answer =
        client::fetch(process.address, ROW).with_context(|| format!("no answer to {ROW}"))?;
    let text = String::from_utf8_lossy(&answer.body);
    let said = || {
        let reason = reason(&process.output(), &text);
        format!("it answers {ROW} with {}: {reason}", answer.status)
    };
    ensure!(answer.status == 200, said());
    ExpectedAnswer::World.look(&text).with_context(said)
}

/// What a server says of its wrong answer: the last line of its log that tells of an error, or else the first line of the answer.
fn reason(log: &str, body: &str) -> String {
    let tells = |line: &&str| line.to_ascii_lowercase().contains("error:");
    let line = log.lines().rfind(tells).or_else(|| body.lines().next());
    let line = line.unwrap_or_default().trim();
    line.chars().take(REASON_LENGTH_MAX).collect()
}

/// Bun and its script, or else Node and its own; or how to have them.
fn javascript(bench: &Bench) -> Result<(&'static str, PathBuf, PathBuf), String> {
    let peers = bench.programs.peers();
    let script = |name: &str| peers.join("javascript").join(name);
    let (bun, of_bun) = (peers.join(BUN_PROGRAM), script("world-bun.mjs"));
    if bun.is_file() && of_bun.is_file() {
        return Ok((BUN, bun, of_bun));
    }
    let has_client = script("node_modules/postgres").is_dir();
    match find("node").filter(|_| has_client) {
        Some(node) => Ok((NODE, node, script("world-node.mjs"))),
        None => Err(
            "install the Debian packages nodejs npm, `make bench-peers` fetches it then, or where there is no Bun postgres.js for Node"
                .to_owned(),
        ),
    }
}

/// The database of a URL, in the words of a Lua table.
fn lua_database(url: &str) -> Result<String> {
    let context = "its client takes postgres://USER[:PASSWORD]@HOST:PORT/DATABASE";
    let (bare, password) = psql::apart(url);
    let (_, rest) = bare.split_once("://").context(context)?;
    let (user, place) = rest.split_once('@').context(context)?;
    let (host, name) = place.split_once('/').context(context)?;
    let name = name.split('?').next().unwrap_or_default();
    // It finds no names of hosts.
    let address = host.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = address.context(context)?;
    let host = match address.ip() {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    };
    let text = |text: &str| lua_text(&psql::decoded(text)).context(context);
    Ok(format!(
        "{{ host = {}, port = {}, user = {}, password = {}, name = {} }}",
        lua_text(&host).context(context)?,
        address.port(),
        text(user)?,
        lua_text(&password.unwrap_or_default()).context(context)?,
        text(name)?,
    ))
}

/// A text in Lua, and in the configuration around it; only of signs that need no escape in either.
fn lua_text(text: &str) -> Option<String> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.:[]@+=~!^*".contains(sign);
    text.chars().all(is_plain).then(|| format!("'{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(lua_database(url).ok().as_deref(), expected, "{url}");
    }

    #[test]
    fn database_of_a_url_is_told_in_lua() {
        check(
            "postgres://postgres@127.0.0.1:5433/postgres",
            Some(
                "{ host = '127.0.0.1', port = 5433, user = 'postgres', password = '', name = 'postgres' }",
            ),
        );
        check(
            "postgres://a:b%40c@[::1]:1/d?sslmode=disable",
            Some("{ host = '[::1]', port = 1, user = 'a', password = 'b@c', name = 'd' }"),
        );
    }

    #[test]
    fn reason_of_a_wrong_answer_is_the_last_error_of_the_log_or_else_the_answer() {
        let log = "[error] 1#1: open() failed\n[error] 1#1: runtime error: no such way of authenticating: 10\nstack traceback:\n[C]: in function 'error'\n";
        let expected = "[error] 1#1: runtime error: no such way of authenticating: 10";
        assert_eq!(reason(log, "<html>"), expected);
        assert_eq!(reason("", "password refused\n"), "password refused");
        assert_eq!(reason("", ""), "");
    }

    #[test]
    fn database_that_lua_cannot_reach_is_refused() {
        check("host=127.0.0.1 dbname=a", None);
        check("postgres://a@127.0.0.1:1/d'b", None);
        check("postgres://a@%2Frun:1/d", None);
    }
}
