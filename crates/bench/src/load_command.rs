//! `tsumugi bench load`: the load of the suites on any server, at either pace, and what came of it as text. Starts no server.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::spread;
use crate::limits::{CONNECTIONS_MAX, STREAMS_MAX, WARM_UP_MS};
use crate::load::{
    self, ConnectionUse, ExpectedBody, LoadPlan, LoadProtocol, LoadRequest, LoadTransport, Pace,
};
use crate::report::print::figure;
use crate::samples::thousands;
use crate::stop::StopFlag;

/// Percentiles that are printed.
const TOLD: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// What the command takes.
#[derive(clap::Args, Debug)]
pub struct LoadArguments {
    /// What to ask for, for example http://127.0.0.1:8080/hello or https://localhost:8443/; certificates are not verified. Every answer
    /// must have status 200
    url: String,
    /// Speak HTTP/2, with --streams requests under way on each connection
    #[arg(long)]
    http2: bool,
    /// Requests under way on a connection of HTTP/2
    #[arg(long, default_value_t = 10, value_name = "N", requires = "http2")]
    streams: usize,
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

/// Loads the server and returns the figures.
pub fn run(arguments: &LoadArguments, stop: &StopFlag) -> Result<ExitCode> {
    let (address, path, tls) = parse(&arguments.url)?;
    ensure!(
        (1..=STREAMS_MAX).contains(&arguments.streams),
        "--streams is 1 to {STREAMS_MAX}"
    );
    let streams = arguments.streams;
    let protocol = match arguments.http2 {
        true => LoadProtocol::Http2 { streams },
        false => LoadProtocol::Http1,
    };
    ensure!(
        (1..=CONNECTIONS_MAX).contains(&arguments.connections),
        "--connections is 1 to {CONNECTIONS_MAX}"
    );
    ensure!(
        arguments.rate.is_none_or(|rate| rate > 0.0),
        "--rate is more than 0"
    );
    let pace = arguments.rate.map_or(Pace::Closed, Pace::Open);
    let plan = LoadPlan {
        address,
        transport: LoadTransport { protocol, tls },
        requests: &[LoadRequest::get(path, ExpectedBody::Any)],
        connection_use: ConnectionUse::default(),
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
    let (latency, latencies) = spread(outcome, arguments.rate.unwrap_or_default());
    for percentile in TOLD {
        let ms = latency.value_at_percentile(percentile) as f64 / 1e6;
        say!("  p{percentile:<6} {ms:>10.3} ms");
    }
    if pace != Pace::Closed {
        say!(
            "  the load itself was late by at most {:.3} ms in 99 of 100 requests",
            latencies.late_p99_ms
        );
    }
    if latencies.unanswered > 0 {
        say!(
            "{} requests were never answered; they count with the time that they had",
            latencies.unanswered
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

/// Where a URL leads, what is asked there, and whether that is over TLS.
fn parse(url: &str) -> Result<(SocketAddr, &str, bool)> {
    let (rest, tls, port) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (rest, false, 80),
        (_, Some(rest)) => (rest, true, 443),
        _ => bail!("{url} is no URL of http:// or https://"),
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
        format!("{authority}:{port}")
    };
    let address = authority
        .to_socket_addrs()
        .with_context(|| format!("{url} names no host that is known here"))?
        .next()
        .with_context(|| format!("{url} names a host without an address"))?;
    Ok((address, path, tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: &str) {
        let shown = match parse(url) {
            Ok((address, path, tls)) => format!("{address} {path} {tls}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_url_is_an_address_and_a_path() {
        check("http://127.0.0.1:8080/a?b=c", "127.0.0.1:8080 /a?b=c false");
        check("http://127.0.0.1", "127.0.0.1:80 / false");
        check("http://[::1]:81/", "[::1]:81 / false");
        check("https://127.0.0.1/x", "127.0.0.1:443 /x true");
        check(
            "ftp://127.0.0.1/",
            "ftp://127.0.0.1/ is no URL of http:// or https://",
        );
    }
}
