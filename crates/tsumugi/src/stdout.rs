//! What a command of a native application prints. Decides nothing about the text.
//! Rule: a reader that reads no further, as `head` does, is no failure.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Result;

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<ExitCode> {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
