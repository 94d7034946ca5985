//! Which addresses belong to the public internet, by the registries of special-purpose addresses of IANA (RFC 6890). Knows no name and no socket.
//! Rule: what is not known to be public is not; an address inside of another one is judged by itself, or the outer one is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of version 4 that are not public: the first address and how many bits of it count.
const SPECIAL_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Between a provider and its customers (RFC 6598).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Of one link; clouds have their metadata here.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    // Measurements between networks.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, what is reserved, and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// The one network of version 6 that addresses of the internet are given from (RFC 4291 section 2.4).
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Networks within it that are not public.
const SPECIAL_V6: [(Ipv6Addr, u32); 5] = [
    // Protocols of the IETF, Teredo among them, which holds an address of version 4.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which holds an address of version 4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16),
    // Documentation (RFC 9637).
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether whoever has this address can be reached by everyone. Of an address of version 4 in the form of version 6 (`::ffff:192.0.2.1`), and of one
/// behind the translator of RFC 6052 (`64:ff9b::192.0.2.1`), that of version 4 is what counts.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, bits): &(Ipv4Addr, u32)| {
        (u32::from(address) ^ u32::from(*network)).leading_zeros() >= *bits
    };
    !SPECIAL_V4.iter().any(is_in)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_in = |(network, bits): &(Ipv6Addr, u32)| {
        (u128::from(address) ^ u128::from(*network)).leading_zeros() >= *bits
    };
    is_in(&GLOBAL_V6) && !SPECIAL_V6.iter().any(is_in)
}

/// The address of version 4 that packets to this one reach in the end.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d] = [12, 13, 14, 15].map(|place: usize| address.octets()[place]);
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(addresses: &[&str], expected: bool) {
        for address in addresses {
            let parsed: IpAddr = address.parse().unwrap();
            assert_eq!(is_public(parsed), expected, "{address}");
        }
    }

    #[test]
    fn addresses_of_version_4_at_the_edges_of_special_networks() {
        check(
            &[
                "1.0.0.0",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.0.3.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "198.51.99.255",
                "198.51.101.0",
                "203.0.112.255",
                "203.0.114.0",
                "223.255.255.255",
                "8.8.8.8",
            ],
            true,
        );
        check(
            &[
                "0.0.0.0",
                "0.255.255.255",
                "10.0.0.0",
                "10.255.255.255",
                "100.64.0.0",
                "100.127.255.255",
                "127.0.0.0",
                "127.0.0.1",
                "127.255.255.255",
                "169.254.0.0",
                "169.254.169.254",
                "169.254.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.0.0.0",
                "192.0.0.255",
                "192.0.2.0",
                "192.0.2.255",
                "192.31.196.1",
                "192.52.193.1",
                "192.88.99.0",
                "192.168.0.0",
                "192.168.255.255",
                "192.175.48.1",
                "198.18.0.0",
                "198.19.255.255",
                "198.51.100.0",
                "203.0.113.255",
                "224.0.0.0",
                "239.255.255.255",
                "240.0.0.0",
                "255.255.255.255",
            ],
            false,
        );
    }

    #[test]
    fn addresses_of_version_6_at_the_edges_of_special_networks() {
        check(
            &[
                "2000::",
                "2001:200::",
                "2001:db7:ffff::",
                "2001:db9::",
                "2001:4860:4860::8888",
                "2003::",
                "2606:4700::1111",
                "3ffd::1",
                "3fff:1000::",
                "3fff:ffff:ffff::",
            ],
            true,
        );
        check(
            &[
                "::",
                "::1",
                "1fff:ffff::",
                "2001::",
                "2001:0:53aa:64c::1",
                "2001:1ff:ffff::",
                "2001:2::",
                "2001:db8::",
                "2001:db8:ffff::1",
                "2002:7f00:1::",
                "2002:808:808::1",
                "3ffe::1",
                "3fff::",
                "3fff:fff:ffff::",
                "4000::",
                "64:ff9b:1::a00:1",
                "100::1",
                "5f00::1",
                "fc00::1",
                "fd00::1",
                "fdff:ffff::1",
                "fe80::1",
                "febf::1",
                "fec0::1",
                "ff02::1",
                "ff0e::1",
            ],
            false,
        );
    }

    #[test]
    fn address_of_version_4_within_one_of_version_6_is_what_counts() {
        check(&["::ffff:8.8.8.8", "64:ff9b::8.8.8.8"], true);
        check(
            &[
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::ffff:169.254.169.254",
                "64:ff9b::127.0.0.1",
                "64:ff9b::10.0.0.1",
                "64:ff9b::1:8.8.8.8",
                "::127.0.0.1",
                "::8.8.8.8",
                "::ffff:0:8.8.8.8",
            ],
            false,
        );
    }
}
