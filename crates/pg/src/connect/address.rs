//! The addresses of a host of the configuration, and their order. Opens nothing.
//! Rule: the order is random only where the configuration says so.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Randomness;
use crate::config::Host;
use crate::error::Cause;

/// Where one socket is.
#[derive(Clone, Debug)]
pub enum Address {
    Tcp(SocketAddr),
    Local { directory: PathBuf, port: u16 },
}

/// At least one address of the host.
pub async fn look_up(host: &Host) -> Result<Vec<Address>, Cause> {
    let found = match host {
        Host::Unix { directory, port } => {
            return Ok(vec![Address::Local {
                directory: directory.clone(),
                port: *port,
            }]);
        }
        Host::Tcp {
            address: Some(address),
            port,
            ..
        } => vec![SocketAddr::new(*address, *port)],
        Host::Tcp { name, port, .. } => tsumugi_wire::look_up(name, *port).await?,
    };
    Ok(found.into_iter().map(Address::Tcp).collect())
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
