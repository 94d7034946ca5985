//! Commands as a person types them into a socket, and the first line or the string of the answer. No client: no value with a space can be sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::limits::START_S_MAX;
use crate::pause;

/// What the server on a port of 127.0.0.1 answers; nothing when it does not.
pub(crate) fn ask(port: u16, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .ok()?;
    stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.trim_end().to_owned();
    // `$-1` is a value that is not there.
    let length = line
        .strip_prefix('$')
        .and_then(|length| length.parse().ok());
    let Some(length) = length else {
        return Some(line);
    };
    let mut text = vec![0; length];
    reader.read_exact(&mut text).ok()?;
    String::from_utf8(text).ok()
}

/// Asks until the answer is as it shall be.
#[track_caller]
pub(crate) fn wait_for(port: u16, command: &str, is_as_wanted: impl Fn(&str) -> bool) {
    let until = Instant::now() + Duration::from_secs(START_S_MAX);
    loop {
        let answer = ask(port, command);
        if answer.as_deref().is_some_and(&is_as_wanted) {
            return;
        }
        assert!(
            Instant::now() < until,
            "the server on port {port} answers {answer:?} to {command} after START_S_MAX ({START_S_MAX} s)"
        );
        pause();
    }
}
