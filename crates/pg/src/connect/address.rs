//! Names to addresses, and their order. Opens nothing.
//! Rule: a look-up blocks, so it runs on another thread; what it finds is bounded.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use super::Randomness;
use crate::config::Host;
use crate::error::Cause;
use crate::limits::ADDRESSES_MAX;

/// Where one socket is.
#[derive(Clone, Debug)]
pub enum Address {
    Tcp(SocketAddr),
    Local { directory: PathBuf, port: u16 },
}

/// At least one address of the host.
pub async fn look_up(host: &Host) -> Result<Vec<Address>, Cause> {
    let (name, port) = match host {
        Host::Unix { directory, port } => {
            return Ok(vec![Address::Local {
                directory: directory.clone(),
                port: *port,
            }]);
        }
        Host::Tcp {
            name,
            address,
            port,
        } => match address.or_else(|| name.parse::<IpAddr>().ok()) {
            Some(address) => return Ok(vec![Address::Tcp(SocketAddr::new(address, *port))]),
            None => (name.clone(), *port),
        },
    };
    let found = off_thread(move || {
        (name.as_str(), port).to_socket_addrs().map(|found| {
            found
                .take(ADDRESSES_MAX)
                .map(Address::Tcp)
                .collect::<Vec<_>>()
        })
    });
    let found = found.await?.map_err(Cause::Io)?;
    if found.is_empty() {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
        return Err(Cause::Io(error));
    }
    Ok(found)
}

/// Puts the elements in a random order.
pub fn shuffle<T>(elements: &mut [T], random: Randomness<'_>) {
    for last in (1..elements.len()).rev() {
        let mut bytes = [0; 8];
        random(&mut bytes);
        // The bias of the remainder is below 2^-57 for the few elements there are.
        let drawn = u64::from_ne_bytes(bytes) % (last as u64 + 1);
        elements.swap(last, usize::try_from(drawn).unwrap_or(last));
    }
}

/// Runs what blocks on a thread of tokio's. There is one such call a connection, so its queue is bounded by the pool that connects.
#[expect(
    clippy::disallowed_methods,
    reason = "the driver knows no worker, and connections are opened rarely"
)]
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Cause> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Cause::Io(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_up_about_equally_often() {
        let dice = tsumugi_testkit::Dice::new(7);
        let mut random = |bytes: &mut [u8]| {
            for byte in bytes {
                *byte = dice.byte();
            }
        };
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut elements = [1, 2, 3];
            shuffle(&mut elements, &mut random);
            *counts.entry(elements).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }
}
