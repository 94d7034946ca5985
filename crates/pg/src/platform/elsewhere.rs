//! The half for systems that are no Unix: no local sockets, no permissions to check. Not the protocol's meaning.
//! Rule: what cannot be done is an error, or a check left out where the system has nothing to check.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that cannot exist here.
pub enum LocalStream {}

impl AsyncRead for LocalStream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match *self {}
    }
}

impl AsyncWrite for LocalStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match *self {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}

/// Refuses.
pub async fn connect_local(_: &Path, _: u16) -> io::Result<LocalStream> {
    let reason = "this system has no UNIX sockets; give a host name";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}

/// The system's name of the user of this process.
pub fn user_name() -> Option<String> {
    std::env::var("USERNAME").ok()
}

/// There is none.
pub fn socket_directory() -> Option<PathBuf> {
    None
}

/// There is none.
pub fn is_usual_socket_directory(_: &Path) -> bool {
    false
}

/// The user's own folders are private here.
pub fn exposed(path: &Path) -> io::Result<Option<&'static str>> {
    std::fs::metadata(path).map(|_| None)
}

/// This system has no such limit, and libpq leaves it then.
pub fn user_timeout(_: socket2::SockRef<'_>, _: Duration) -> io::Result<()> {
    Ok(())
}
