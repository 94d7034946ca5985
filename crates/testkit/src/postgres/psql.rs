//! SQL through psql, as the superuser over a server's UNIX socket. Not a driver.
//! Rule: nothing of the caller's environment decides which server is asked.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::postgres::programs;

/// What it prints: rows as lines, columns divided by `|`; or what went wrong. A server that does not answer is given up after half a minute.
pub fn run(
    socket_directory: &Path,
    port: u16,
    database: &str,
    sql: &str,
) -> Result<String, String> {
    let program = programs::find("psql");
    let mut command = Command::new(&program);
    let given = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG"));
    for (name, _) in given {
        command.env_remove(name);
    }
    let output = command
        .env("PGCONNECT_TIMEOUT", "30")
        .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
        .arg(socket_directory)
        .args(["-p", &port.to_string(), "-d", database, "-c", sql])
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
