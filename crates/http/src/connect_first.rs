//! A connection to another server, whose name may mean several addresses. Looks up no name and speaks no protocol.
//! Rule: an address that swallows what is sent to it does not use up the time of those behind it.

use std::{io, net::SocketAddr, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};

/// A connection to the first of these addresses that answers, one tried after the other: each gets its share of what is left of `limit`.
///
/// # Errors
/// What became of the last of them; `NotFound` where there is none.
pub fn connect_first(
    addresses: &[SocketAddr],
    limit: Duration,
) -> BoxFuture<'_, io::Result<TcpStream>> {
    first(addresses, limit, TcpStream::connect).boxed()
}

async fn first<T, F>(
    addresses: &[SocketAddr],
    limit: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let begun = Instant::now();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (address, waiting) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let left = limit.saturating_sub(begun.elapsed());
        let share = left / u32::try_from(waiting).unwrap_or(u32::MAX);
        match timeout(share, connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => {
                let text = format!("no answer within {} ms", share.as_millis());
                last = io::Error::new(io::ErrorKind::TimedOut, text);
            }
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// Port 1 swallows, 2 refuses, the others answer with themselves.
    async fn connect(address: SocketAddr) -> io::Result<u16> {
        match address.port() {
            1 => std::future::pending().await,
            2 => Err(io::ErrorKind::ConnectionRefused.into()),
            port => Ok(port),
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn address_that_swallows_leaves_its_share_to_those_behind_it() {
        let try_ports = async |ports: &[u16]| {
            let addresses: Vec<SocketAddr> = ports.iter().copied().map(address).collect();
            let found = first(&addresses, Duration::from_millis(200), connect).await;
            found.map_err(|error| error.to_string())
        };
        assert_eq!(try_ports(&[1, 80]).await, Ok(80));
        assert_eq!(try_ports(&[2, 1, 80]).await, Ok(80));
        let late = try_ports(&[1, 2, 1]).await.unwrap_err();
        assert!(late.starts_with("no answer within "), "{late}");
        let none = "the name has no address".to_owned();
        assert_eq!(try_ports(&[]).await, Err(none));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn real_address_is_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = [listener.local_addr().unwrap()];
        let connected = connect_first(&addresses, Duration::from_secs(60)).await;
        assert_eq!(connected.unwrap().peer_addr().unwrap(), addresses[0]);
    }
}
