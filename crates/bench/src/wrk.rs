//! Load from wrk: runs it for some seconds and reads its figures. A run with an error or a wrong answer is no figure.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Threads and connections of the load.
pub const THREADS: u32 = 2;
/// Connections kept open, each with one request at a time.
pub const CONNECTIONS: u32 = 64;

/// Requests per second that the server answered.
pub fn run(address: SocketAddr, path: &str, seconds: u64) -> Result<f64> {
    let output = Command::new("wrk")
        .arg(format!("-t{THREADS}"))
        .arg(format!("-c{CONNECTIONS}"))
        .arg(format!("-d{seconds}s"))
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
    figure(&text)
}

fn figure(output: &str) -> Result<f64> {
    let wrong = output.lines().map(str::trim).find(|line| {
        line.starts_with("Socket errors:") || line.starts_with("Non-2xx or 3xx responses:")
    });
    if let Some(wrong) = wrong {
        bail!("the load was not answered as it should be: {wrong}");
    }
    let line = output
        .lines()
        .find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    let figure: f64 = line
        .context("wrk printed no Requests/sec")?
        .trim()
        .parse()?;
    if figure <= 0.0 {
        bail!("not one request was answered");
    }
    Ok(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: Result<f64, &str>) {
        let found = figure(output).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn the_figure_is_the_rate() {
        check(
            "  99 requests in 1.00s, 1MB read\nRequests/sec:  98.50\nTransfer/sec: 1MB\n",
            Ok(98.5),
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
        check("Requests/sec: 0.00\n", Err("not one request was answered"));
    }
}
