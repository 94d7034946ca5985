//! Load from wrk: runs it for some seconds and reads its figures. A run with an error or a wrong answer is no figure.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Threads and connections of the load.
pub const THREADS: u32 = 2;
/// Connections kept open, each with one request at a time.
pub const CONNECTIONS: u32 = 64;
/// An answer that takes longer is an error.
const TIMEOUT_S: u32 = 30;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests that were answered.
    pub requests: f64,
    /// Of them, in a second.
    pub per_second: f64,
}

/// Requests per second that the server answered on [`CONNECTIONS`].
pub fn run(address: SocketAddr, path: &str, seconds: u64) -> Result<f64> {
    load(address, path, seconds, CONNECTIONS).map(|load| load.per_second)
}

/// Loads the server on so many connections.
pub fn load(address: SocketAddr, path: &str, seconds: u64, connections: u32) -> Result<Load> {
    let output = Command::new("wrk")
        .arg(format!("-t{THREADS}"))
        .arg(format!("-c{connections}"))
        .arg(format!("-d{seconds}s"))
        .args(["--timeout", &format!("{TIMEOUT_S}s")])
        .arg(format!("http://{address}{path}"))
        .output()
        .context("cannot start wrk; install the Debian package wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!(
            "wrk failed: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    figures(&text)
}

fn figures(output: &str) -> Result<Load> {
    let lines = || output.lines().map(str::trim);
    let wrong = lines().find(|line| {
        line.starts_with("Socket errors:") || line.starts_with("Non-2xx or 3xx responses:")
    });
    if let Some(wrong) = wrong {
        bail!("the load was not answered as it should be: {wrong}");
    }
    let per_second = lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    let requests = lines().find_map(|line| Some(line.split_once(" requests in ")?.0));
    let load = Load {
        requests: requests
            .context("wrk printed no count of requests")?
            .parse()?,
        per_second: per_second
            .context("wrk printed no Requests/sec")?
            .trim()
            .parse()?,
    };
    if load.per_second <= 0.0 {
        bail!("not one request was answered");
    }
    Ok(load)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: Result<(f64, f64), &str>) {
        let found = figures(output).map(|load| (load.requests, load.per_second));
        assert_eq!(
            found.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn the_figures_are_count_and_rate() {
        check(
            "  99 requests in 1.00s, 1MB read\nRequests/sec:  98.50\nTransfer/sec: 1MB\n",
            Ok((99.0, 98.5)),
        );
    }

    #[test]
    fn an_error_is_no_figure() {
        check(
            "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec: 98.50\n",
            Err(
                "the load was not answered as it should be: Socket errors: connect 0, read 3, write 0, timeout 0",
            ),
        );
        check(
            "  0 requests in 1.00s, 1MB read\nRequests/sec: 0.00\n",
            Err("not one request was answered"),
        );
        check(
            "Requests/sec: 1.00\n",
            Err("wrk printed no count of requests"),
        );
    }
}
