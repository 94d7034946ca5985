//! The Unix half. Not the protocol's or the configuration's meaning.
//! Rule: what one Unix lacks is left out without an error only where it cannot change an answer.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{Uid, User};

/// A connection over a UNIX socket.
pub type LocalStream = tokio::net::UnixStream;

/// Where servers put their sockets, the likeliest first.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/run/postgresql"];

/// Connects to `directory/.s.PGSQL.port`.
pub async fn connect_local(directory: &Path, port: u16) -> io::Result<LocalStream> {
    LocalStream::connect(directory.join(format!(".s.PGSQL.{port}"))).await
}

/// The system's name of the user of this process.
pub fn user_name() -> Option<String> {
    User::from_uid(Uid::effective())
        .ok()
        .flatten()
        .map(|user| user.name)
}

/// The directory of sockets, if this system has it.
pub fn socket_directory() -> Option<PathBuf> {
    let mut directories = SOCKET_DIRECTORIES.iter().map(PathBuf::from);
    directories.find(|directory| directory.is_dir())
}

/// Whether a password file calls this directory `localhost`.
pub fn is_usual_socket_directory(directory: &Path) -> bool {
    SOCKET_DIRECTORIES
        .iter()
        .any(|usual| Path::new(usual) == directory)
}

/// Why a file with secrets must not be used; blocks.
///
/// A file of root's may be readable by its group, so that a service can share it.
pub fn exposed(path: &Path) -> io::Result<Option<&'static str>> {
    let metadata = std::fs::metadata(path)?;
    let (others, of_root) = (metadata.mode() & 0o077, metadata.uid() == 0);
    Ok(if others == 0 || of_root && others & 0o037 == 0 {
        None
    } else {
        Some("others may read it; chmod it to 0600")
    })
}

/// How long sent data may stay unacknowledged.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn user_timeout(socket: socket2::SockRef<'_>, timeout: Duration) -> io::Result<()> {
    socket.set_tcp_user_timeout(Some(timeout))
}

/// How long sent data may stay unacknowledged: this system has no such limit, as libpq leaves it then.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn user_timeout(_: socket2::SockRef<'_>, _: Duration) -> io::Result<()> {
    Ok(())
}
