//! `tsumugi health`: asks the pages of `--admin` whether a server takes requests. For supervisors, and for containers that hold no other program
//! to ask with. It looks at the status of the answer alone.
//! Rule: every wait has an end.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tsumugi_server::commands;

use crate::limits::{HEALTH_BYTES_MAX, HEALTH_WAIT_MAX};

/// What `tsumugi health --help` shows below its options.
pub const HELP: &str = "\
Examples:
  tsumugi health                              /ready of --admin 127.0.0.1:9090
  tsumugi health unix:/run/tsumugi/admin.sock

Exit code 0 when it is ready; 1 when it is not, or does not answer within 5 seconds.";

const REQUEST: &[u8] = b"GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Options of `health`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where --admin of the server is: 127.0.0.1:9090, [::1]:9090 or unix:/path
    #[arg(value_name = "ADDR", default_value = "127.0.0.1:9090")]
    address: String,
}

/// Asks once.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let address = &arguments.address;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let answer = async { tokio::time::timeout(HEALTH_WAIT_MAX, status(address)).await };
    let status = runtime
        .block_on(answer)
        .with_context(|| format!("{address} does not answer"))?
        .with_context(|| {
            format!("cannot ask {address}: was the server started with --admin {address}?")
        })?;
    if status != 200 {
        bail!("{address} is not ready: it answers {status}");
    }
    commands::print("ready\n")?;
    Ok(ExitCode::SUCCESS)
}

/// The status of the answer.
async fn status(address: &str) -> Result<u16> {
    match address.strip_prefix("unix:") {
        Some(path) => status_on(UnixStream::connect(path).await?).await,
        None => status_on(TcpStream::connect(address).await?).await,
    }
}

async fn status_on(mut connection: impl AsyncRead + AsyncWrite + Unpin) -> Result<u16> {
    connection.write_all(REQUEST).await?;
    let mut answer = Vec::new();
    let mut limited = connection.take(HEALTH_BYTES_MAX);
    limited.read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let mut words = answer.split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    status
        .filter(|_| version.starts_with("HTTP/1."))
        .context("its answer is not HTTP")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> usize {
        usize::try_from(HEALTH_BYTES_MAX).unwrap()
    }

    /// What is made of this answer, whose sender does not close the connection.
    fn asked(answer: &[u8]) -> Result<u16> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let (ours, mut theirs) = tokio::io::duplex(answer.len() + REQUEST.len());
        runtime.block_on(async {
            theirs.write_all(answer).await?;
            status_on(ours).await
        })
    }

    #[test]
    fn answer_beyond_the_limit_is_cut_behind_its_status() {
        let mut answer = b"HTTP/1.1 503 Service Unavailable\r\n\r\n".to_vec();
        answer.resize(limit() + 1, b'x');
        assert_eq!(asked(&answer).unwrap(), 503);
    }

    #[test]
    fn answer_that_is_not_http_is_refused() {
        let mut answer = b"SSH-2.0-OpenSSH 200 ".to_vec();
        answer.resize(limit(), b'x');
        let error = asked(&answer).unwrap_err().to_string();
        assert_eq!(error, "its answer is not HTTP");
    }
}
