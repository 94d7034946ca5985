//! What proxies and balancers say of their clients: `Forwarded`, and headers of the PROXY protocol.
//! Rule: a header is the same whole, cut where the parser asks for more, and with bytes after it; no byte beyond it is asked for.

use tsumugi_http::forwarding::{address, read_forwarded};
use tsumugi_http::proxy_protocol::{ProxyStep, read};

const HEADER_BYTES_MAX: usize = 256;
const HOPS_MAX: usize = 16;

/// A line of `Forwarded`, and the same bytes as the address of a node.
pub fn forwarding(bytes: &[u8]) {
    if let Ok(hops) = read_forwarded(bytes, HOPS_MAX) {
        assert!(hops.len() <= HOPS_MAX);
        for hop in &hops {
            let host = hop.host.as_deref().unwrap_or_default();
            assert!(host.len() < bytes.len());
        }
        // What the next proxy adds stands beside what was there, and changes nothing of it.
        let longer = [bytes, b", for=192.0.2.60"].concat();
        if let Ok(more) = read_forwarded(&longer, HOPS_MAX) {
            assert_eq!(more.len(), hops.len() + 1);
            assert_eq!(more[..hops.len()], hops);
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(found) = address(text) {
        let shown = found.to_string();
        assert_eq!(address(&shown), Some(found), "{shown}");
    }
}

/// The beginning of a connection on which a balancer speaks first.
pub fn proxy_header(bytes: &[u8]) {
    let whole = read(bytes, HEADER_BYTES_MAX);
    if let Ok(ProxyStep::Whole(header)) = &whole {
        assert!(header.length <= bytes.len().min(HEADER_BYTES_MAX));
    }
    let mut at = 0;
    while let Ok(ProxyStep::Needs(needed)) = read(&bytes[..at], HEADER_BYTES_MAX) {
        assert!(needed > 0 && at + needed <= HEADER_BYTES_MAX);
        if at + needed > bytes.len() {
            assert!(
                !matches!(whole, Ok(ProxyStep::Whole(_))),
                "asked for too much"
            );
            return;
        }
        at += needed;
    }
    let stepwise = read(&bytes[..at], HEADER_BYTES_MAX);
    match (whole, stepwise) {
        (Ok(whole), Ok(stepwise)) => assert_eq!(whole, stepwise),
        (whole, stepwise) => assert!(whole.is_err() && stepwise.is_err()),
    }
    // Byte by byte: an end that is still to come is never taken for a mistake, and a mistake stays one.
    let mut is_refused = false;
    for end in 0..=bytes.len() {
        let step = read(&bytes[..end], HEADER_BYTES_MAX);
        assert!(!is_refused || step.is_err(), "refused, and then taken");
        is_refused = step.is_err();
    }
}
