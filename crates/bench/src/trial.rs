//! `tsumugi bench load`: the load of the suites on any server, at either pace, and what came of it as text. Starts no server.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::spread;
use crate::figures::thousands;
use crate::limits::{CONNECTIONS_MAX, WARM_UP_MS};
use crate::load::{self, Expected, Pace, Plan};
use crate::report::print::figure;
use crate::stop::Stop;

/// Percentiles that are told.
const TOLD: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// What the command takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    /// What to ask for, for example http://127.0.0.1:8080/hello. Every answer must have status 200
    url: String,
    /// Connections kept open
    #[arg(short, long, default_value_t = 64)]
    connections: usize,
    /// Threads of the load
    #[arg(short, long, default_value_t = 2)]
    threads: usize,
    /// How long
    #[arg(short, long, default_value_t = 10)]
    seconds: u64,
    /// So many requests a second, evenly, whatever the server does: times begin when a request is due. Without it, each connection
    /// asks again when it was answered
    #[arg(short, long, value_name = "PER_SECOND")]
    rate: Option<f64>,
}

/// Loads the server and tells.
pub fn run(arguments: &Arguments, stop: &Stop) -> Result<ExitCode> {
    let (address, path) = parse(&arguments.url)?;
    ensure!(
        (1..=CONNECTIONS_MAX).contains(&arguments.connections),
        "--connections is 1 to {CONNECTIONS_MAX}"
    );
    ensure!(
        arguments.rate.is_none_or(|rate| rate > 0.0),
        "--rate is more than 0"
    );
    let pace = arguments.rate.map_or(Pace::Closed, Pace::Open);
    let plan = Plan {
        address,
        path,
        expected: &Expected::Any,
        connections: arguments.connections,
        threads: arguments.threads,
        pace,
        warm_up: Duration::from_millis(WARM_UP_MS),
        length: Duration::from_secs(arguments.seconds),
    };
    let outcome = load::run(&plan, stop, || Ok(0.0))?;
    let (errors, first) = (outcome.tally.errors, outcome.tally.first.clone());
    say!(
        "{} requests in {:.2} s: {} a second; {} us of processor time of the load each",
        thousands(outcome.tally.requests as f64),
        outcome.seconds,
        thousands(outcome.per_second()),
        figure(outcome.client_us / outcome.tally.requests.max(1) as f64),
    );
    let (latency, told) = spread(outcome, arguments.rate.unwrap_or_default());
    for percentile in TOLD {
        let ms = latency.value_at_percentile(percentile) as f64 / 1e6;
        say!("  p{percentile:<6} {ms:>10.3} ms");
    }
    if pace != Pace::Closed {
        say!(
            "  the load itself was late by at most {:.3} ms in 99 of 100 requests",
            told.late_p99_ms
        );
    }
    if told.unanswered > 0 {
        say!(
            "{} requests were never answered; they count with the time that they had",
            told.unanswered
        );
    }
    if errors > 0 {
        say!(
            "{errors} requests failed, the first with: {}",
            first.unwrap_or_default()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a URL leads, and what is asked there.
fn parse(url: &str) -> Result<(SocketAddr, &str)> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("{url} is no URL of http://, which is all that the load speaks");
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let authority = if has_port {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let address = authority
        .to_socket_addrs()
        .with_context(|| format!("{url} names no host that is known here"))?
        .next()
        .with_context(|| format!("{url} names a host without an address"))?;
    Ok((address, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        let shown = match parse(url) {
            Ok((address, path)) => format!("{address} {path}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_url_is_an_address_and_a_path() {
        check("http://127.0.0.1:8080/a?b=c", "127.0.0.1:8080 /a?b=c");
        check("http://127.0.0.1", "127.0.0.1:80 /");
        check("http://[::1]:81/", "[::1]:81 /");
        check(
            "https://127.0.0.1/",
            "https://127.0.0.1/ is no URL of http://, which is all that the load speaks",
        );
    }
}
