//! A name to addresses. Opens nothing.
//! Rule: a look-up blocks, so it runs on another thread; what it finds is bounded.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use crate::limits::ADDRESSES_MAX;

/// At least one address of the host.
#[expect(
    clippy::disallowed_methods,
    reason = "the driver knows no worker, and connections are opened rarely"
)]
pub(super) async fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    let found = tokio::task::spawn_blocking(move || {
        let found = (name.as_str(), port).to_socket_addrs()?;
        Ok::<_, io::Error>(found.take(ADDRESSES_MAX).collect::<Vec<_>>())
    });
    let found = found.await.map_err(io::Error::other)??;
    if found.is_empty() {
        return Err(none());
    }
    Ok(found)
}

/// There was no address to try.
pub(super) fn none() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}
