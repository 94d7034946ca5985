//! Load from ab: asks so many times and reads its figure, for tables whose authors ran it. A run with a failed request, or with a status other
//! than 2xx, is no figure; bodies are not looked at, so a suite looks at one first.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::stop::StopFlag;

/// The program, from the Debian package apache2-utils.
pub const AB: &str = "ab";
/// Requests at once.
const CONNECTIONS: &str = "100";
/// Requests of one run.
pub const REQUESTS: u64 = 100_000;

/// Requests per second of `ab -c 100 -n 100000 -l -k`.
pub fn run(address: SocketAddr, path: &str, stop: &StopFlag) -> Result<f64> {
    let mut command = Command::new(AB);
    command.args(["-q", "-c", CONNECTIONS, "-n", &REQUESTS.to_string()]);
    command.args(["-l", "-k", &format!("http://{address}{path}")]);
    let output = stop.run(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("ab failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    figure(&text)
}

fn figure(output: &str) -> Result<f64> {
    let value = |name: &str| {
        let mut lines = output.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.split_whitespace().next())
    };
    for name in ["Failed requests", "Non-2xx responses"] {
        if let Some(count) = value(name).filter(|count| *count != "0") {
            bail!("the load was not answered as it should be: {name}: {count}");
        }
    }
    // A server may close connections that ab asked it to keep, which is another measurement.
    let kept = value("Keep-Alive requests").context("ab printed no Keep-Alive requests")?;
    if kept.parse() != Ok(REQUESTS) {
        bail!("connections were not kept: {kept} of {REQUESTS} requests were on one that was");
    }
    let per_second = value("Requests per second");
    Ok(per_second
        .context("ab printed no Requests per second")?
        .parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: Result<f64, &str>) {
        let found = figure(output).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn rate_is_read_from_abs_output() {
        let output = "Complete requests:      100000\nFailed requests:        0\nKeep-Alive requests:    100000\nRequests per second:    38788.47 [#/sec] (mean)\n";
        check(output, Ok(38_788.47));
    }

    #[test]
    fn output_of_connections_that_were_not_all_kept_is_an_error() {
        let closed = "Failed requests:        0\nKeep-Alive requests:    99050\nRequests per second:    98.50 [#/sec] (mean)\n";
        check(
            closed,
            Err("connections were not kept: 99050 of 100000 requests were on one that was"),
        );
    }

    #[test]
    fn output_with_failures_or_without_a_rate_is_an_error() {
        let failed = "Failed requests:        3\nRequests per second:    98.50 [#/sec] (mean)\n";
        check(
            failed,
            Err("the load was not answered as it should be: Failed requests: 3"),
        );
        let other =
            "Non-2xx responses:      100000\nRequests per second:    98.50 [#/sec] (mean)\n";
        check(
            other,
            Err("the load was not answered as it should be: Non-2xx responses: 100000"),
        );
        check("", Err("ab printed no Keep-Alive requests"));
        let kept = "Keep-Alive requests:    100000\n";
        check(kept, Err("ab printed no Requests per second"));
    }
}
