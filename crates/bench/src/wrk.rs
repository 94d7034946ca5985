//! Load from wrk: runs it for some seconds and reads its figure. A run with an error, or with a status other than 2xx
//! and 3xx, is no figure; bodies are not looked at. When wrk is asked, `bench.rs` decides.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::report::SessionScope;
use crate::stop::StopFlag;

/// An answer that takes longer is an error.
const TIMEOUT_S: u32 = 30;

/// The requests, their server, and how they are sent.
pub struct Load<'a> {
    /// Where the server is.
    pub address: SocketAddr,
    /// What is asked, with GET.
    pub path: &'a str,
    /// For how long.
    pub seconds: u64,
    /// Connections of all threads together.
    pub connections: usize,
    /// Threads of wrk.
    pub threads: usize,
    /// Where wrk runs.
    pub sessions: SessionScope,
}

/// Requests per second that the server answered.
pub fn run(load: &Load<'_>, stop: &StopFlag) -> Result<f64> {
    let output = stop.run_in(
        load.sessions,
        Command::new("wrk")
            .arg(format!("-t{}", load.threads))
            .arg(format!("-c{}", load.connections))
            .arg(format!("-d{}s", load.seconds))
            .args(["--timeout", &format!("{TIMEOUT_S}s")])
            .arg(format!("http://{}{}", load.address, load.path)),
    )?;
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
    let lines = || output.lines().map(str::trim);
    let wrong = lines().find(|line| {
        line.starts_with("Socket errors:") || line.starts_with("Non-2xx or 3xx responses:")
    });
    if let Some(wrong) = wrong {
        bail!("the load was not answered as it should be: {wrong}");
    }
    let per_second = lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    let per_second: f64 = per_second
        .context("wrk printed no Requests/sec")?
        .trim()
        .parse()?;
    if per_second <= 0.0 {
        bail!("not one request was answered");
    }
    Ok(per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: Result<f64, &str>) {
        let found = figure(output).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn rate_is_read_from_wrks_output() {
        check(
            "  99 requests in 1.00s, 1MB read\nRequests/sec:  98.50\nTransfer/sec: 1MB\n",
            Ok(98.5),
        );
    }

    #[test]
    fn output_with_socket_errors_or_no_request_is_an_error() {
        check(
            "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec: 98.50\n",
            Err(
                "the load was not answered as it should be: Socket errors: connect 0, read 3, write 0, timeout 0",
            ),
        );
        check("Requests/sec: 0.00\n", Err("not one request was answered"));
        check("", Err("wrk printed no Requests/sec"));
    }
}
