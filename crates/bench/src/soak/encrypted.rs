//! The part `native` of the suite soak: an application in Rust over TLS, whose clients speak HTTP/2 and HTTP/1.1 and leave whenever it
//! suits them. The example `native-soak` counts what its handlers and plugins hold. Every answer that is waited for is looked at.
//! Rule: when the clients have gone nothing is held but the plugins, and memory is what it was after the first tenth.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::task::LocalSet;
use tokio::time::timeout;

use super::{Tally, grown, mebibytes, tail};
use crate::bench::Bench;
use crate::limits::{ANSWER_MS_MAX, POLL_MS, SETTLE_MS};
use crate::load::{LoadLink, LoadProtocol, LoadTarget, LoadTransport};
use crate::process::{Process, free_address, pause};
use crate::samples::thousands;
use crate::servers::WORKERS;

const PROGRAM: &str = "native-soak";
/// Threads of the load, each with a connection after the other.
const CLIENTS: usize = 8;
/// Requests that a client of HTTP/2 begins at once.
const STREAMS: usize = 8;
/// Requests of a connection, before its client leaves in the middle of the last.
const REQUESTS: usize = 40;
/// Paths, their status, and after how many milliseconds the client of every third request leaves.
const PATHS: [(&str, u16, u64); 3] = [("/wait", 200, 10), ("/tx", 204, 2), ("/stream", 200, 15)];

/// Runs for so many seconds.
pub fn run(bench: &mut Bench, seconds: u64) -> Result<Option<String>> {
    let program = bench.programs.tool(PROGRAM);
    if !program.is_file() {
        bench.miss(
            "native",
            "`cargo build --release --package tsumugi --example native-soak` builds its server",
        );
        return Ok(None);
    }
    let (process, address) = start(&program, bench.folder())?;
    let tally = Tally::default();
    let memory = thread::scope(|scope| {
        for number in 0..CLIENTS {
            let tally = &tally;
            scope.spawn(move || {
                if let Err(error) = clients(address, number, tally) {
                    say!("soak     native   a client failed: {error:#}");
                    tally.count(false);
                }
            });
        }
        let until = |part: u64| Instant::now() + Duration::from_millis(seconds * part);
        bench.stop.pause_until(until(100));
        let start = process.resident_bytes();
        bench.stop.pause_until(until(900));
        let end = process.resident_bytes();
        tally.end();
        anyhow::Ok((start?, end?))
    });
    let (start, end) = memory?;
    bench.stop.check()?;
    let (answered, failed) = tally.totals();
    if failed > 0 {
        bail!(
            "{failed} of {answered} requests failed:\n{}",
            tail(&process)
        );
    }
    grown("the process", start, end)?;
    let held = held(address).with_context(|| tail(&process))?;
    Ok(Some(format!(
        "{} answers   process {:.1} -> {:.1} MiB   held at the end: {held}",
        thousands(answered as f64),
        mebibytes(start),
        mebibytes(end),
    )))
}

/// The server, and where it speaks TLS.
fn start(program: &Path, folder: &Path) -> Result<(Process, SocketAddr)> {
    let folder = tempfile::tempdir_in(folder)?.keep();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let (certificate, key) = (folder.join("soak.pem"), folder.join("soak.key"));
    fs::write(&certificate, made.cert.pem())?;
    fs::write(&key, made.signing_key.serialize_pem())?;
    let (address, admin) = (free_address()?, free_address()?);
    let mut command = Command::new(program);
    command.args(["serve", "--workers", &WORKERS.to_string()]);
    command.args(["--listen", &address.to_string()]);
    command.args(["--admin", &admin.to_string()]);
    command.arg("--tls-cert").arg(certificate);
    command.arg("--tls-key").arg(key);
    command.arg("--data").arg(folder.join("data"));
    // The admin pages are plain, and there once the application is.
    let process = Process::start(PROGRAM, command, admin, &folder)?;
    Ok((process, address))
}

/// One connection after the other, until the end.
fn clients(address: SocketAddr, number: usize, tally: &Tally) -> Result<()> {
    let protocol = match number % 3 {
        0 => LoadProtocol::Http1,
        _ => LoadProtocol::Http2 { streams: STREAMS },
    };
    let transport = LoadTransport {
        protocol,
        tls: true,
    };
    let target = LoadTarget::new(address, "/live", transport)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    while !tally.is_ended() {
        // What the connection still has under way ends with its tasks.
        let local = LocalSet::new();
        local.block_on(&runtime, visit(&target, number, tally))?;
    }
    Ok(())
}

async fn visit(target: &LoadTarget, number: usize, tally: &Tally) -> Result<()> {
    let link = LoadLink::open(target.clone()).await?;
    let at_once = match number % 3 {
        0 => 1,
        _ => STREAMS,
    };
    for round in 0..REQUESTS / at_once {
        if tally.is_ended() {
            return Ok(());
        }
        let requests = (0..at_once).map(|at| ask(&link, target, number + round + at, tally));
        futures_util::future::try_join_all(requests).await?;
    }
    // Everything is under way when the client goes.
    let stream = target.at("/stream")?;
    let left = (0..at_once).map(|_| link.fetch_from(&stream));
    let all = futures_util::future::join_all(left);
    drop(timeout(Duration::from_millis(5), all).await);
    Ok(())
}

/// One request; every third client leaves before it is answered, and no client waits for the end of a stream.
async fn ask(link: &LoadLink, target: &LoadTarget, turn: usize, tally: &Tally) -> Result<()> {
    let (path, status, leaves_ms) = PATHS[turn % PATHS.len()];
    let target = target.at(path)?;
    let asked = link.fetch_from(&target);
    if path == "/stream" || turn.is_multiple_of(3) {
        let left = timeout(Duration::from_millis(leaves_ms), asked).await;
        // One that was answered all the same is looked at.
        if let Ok(Ok((found, _))) = left {
            tally.count(found == status);
        }
        return Ok(());
    }
    let answer = timeout(Duration::from_millis(ANSWER_MS_MAX), asked).await;
    let (found, body) = answer.context("no answer")??;
    let is_right = match path {
        "/wait" => std::str::from_utf8(&body).is_ok_and(|text| text.parse::<u64>().is_ok()),
        _ => body.is_empty(),
    };
    tally.count(found == status && is_right);
    Ok(())
}

/// What the server holds once its clients have gone: nothing but the plugins.
fn held(address: SocketAddr) -> Result<String> {
    let transport = LoadTransport {
        protocol: LoadProtocol::Http1,
        tls: true,
    };
    let target = LoadTarget::new(address, "/live", transport)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let until = Instant::now() + Duration::from_millis(4 * SETTLE_MS);
    loop {
        let local = LocalSet::new();
        let (status, body) = local.block_on(&runtime, async {
            LoadLink::open(target.clone()).await?.fetch().await
        })?;
        ensure!(status == 200, "/live: {status}");
        let counts: Value = serde_json::from_slice(&body)?;
        let counts = counts.as_object().context("/live is no object")?;
        let is_free = counts.iter().all(|(name, count)| match name.as_str() {
            "plugins" => count.as_u64() == Some(WORKERS as u64),
            _ => count.as_u64() == Some(0),
        });
        if is_free {
            return Ok(format!("{WORKERS} plugins"));
        }
        if Instant::now() > until {
            bail!("the clients have gone, and held are still {counts:?}");
        }
        pause(POLL_MS);
    }
}
