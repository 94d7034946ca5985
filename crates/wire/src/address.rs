//! A host's name to its addresses. Opens nothing.
//! Rule: a look-up blocks, so it runs on another thread; what it finds is bounded, and never empty.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::limits::ADDRESSES_MAX;

/// At least one address of the host.
///
/// # Errors
/// When the name has none, or cannot be looked up.
pub fn look_up(host: &str, port: u16) -> LocalBoxFuture<'_, io::Result<Vec<SocketAddr>>> {
    async move {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let name = host.to_owned();
        let look_up = move || {
            let found = (name.as_str(), port).to_socket_addrs()?;
            Ok::<_, io::Error>(found.take(ADDRESSES_MAX).collect::<Vec<_>>())
        };
        let found = off_thread(look_up).await??;
        match found.is_empty() {
            true => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address",
            )),
            false => Ok(found),
        }
    }
    .boxed_local()
}

/// Runs what blocks on a thread of tokio's. There is one such call a connection, so its queue is bounded by the pool that connects.
///
/// # Errors
/// When the thread cannot be had, or panics.
#[expect(
    clippy::disallowed_methods,
    reason = "a driver knows no worker, and connections are opened rarely"
)]
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)
}
