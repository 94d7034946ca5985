//! The address of a store in etcd: `etcd://user:password@a:2379,b,c/namespace?timeout=2`, `etcds://` over TLS. Opens nothing.
//! Rule: records lie below a namespace, so that clearing a store leaves alone what others keep in the same cluster.

use std::fmt;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::server_url::{ServerUrl, shown_hosts};
use crate::settings::StoreSettings;

const PORT: u16 = 2379;
const NAMESPACE: &str = "tsumugi";
const KNOWN: &[&str] = &["timeout", "ca", "cert", "key", "password"];

/// Longest namespace.
const NAMESPACE_BYTES_MAX: usize = 256;

/// A store in etcd. Needs the feature `grpc`.
#[derive(Clone, Debug)]
pub struct EtcdAddress {
    pub(super) url: ServerUrl,
    pub(super) transport: Transport,
    pub(super) timeout_ms: u64,
    namespace: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Tls,
}

impl EtcdAddress {
    pub(crate) fn parse(place: &str, settings: &StoreSettings) -> Result<EtcdAddress> {
        let (transport, rest) = match (place.strip_prefix("etcds://"), place) {
            (Some(rest), _) => (Transport::Tls, rest),
            (None, place) => (
                Transport::Plain,
                place.strip_prefix("etcd://").unwrap_or_default(),
            ),
        };
        let mut url = ServerUrl::parse(rest, PORT, settings)?;
        url.settings.check(super::table::ENGINE, KNOWN)?;
        if let Some(password) = url.settings.find("password") {
            url.password = Some(password.to_owned().into());
        }
        if url.password.is_some() != url.user.is_some() {
            return Err(Error::address(
                "a user of etcd has a name and a password: write etcd://NAME:PASSWORD@HOST, or give the password as a setting",
            ));
        }
        if url.settings.find("cert").is_some() != url.settings.find("key").is_some() {
            return Err(Error::address("cert and key are given together"));
        }
        Ok(EtcdAddress {
            namespace: namespace(&url.path)?,
            timeout_ms: url.settings.call_ms()?,
            transport,
            url,
        })
    }

    /// What the keys of its records begin with.
    pub(super) fn prefix(&self) -> Bytes {
        format!("{}/", self.namespace).into()
    }

    /// What the keys begin with by which processes find each other.
    pub(super) fn cluster_prefix(&self) -> Bytes {
        format!("{}!cluster/", self.namespace).into()
    }

    /// What the keys begin with that are no records: the last places of queues.
    pub(super) fn notes_prefix(&self) -> Bytes {
        format!("{}!queues/", self.namespace).into()
    }
}

/// The namespace of a URL's path: no key of one namespace is in another, nor what is noted beside it.
fn namespace(path: &str) -> Result<String> {
    let name = path.trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match name {
        "" => Ok(NAMESPACE.to_owned()),
        name if name.len() <= NAMESPACE_BYTES_MAX && name.bytes().all(is_plain) => {
            Ok(name.to_owned())
        }
        _ => Err(Error::address(format!(
            "the namespace of a store in etcd, after the first /, is letters, digits, `.`, `_` and `-`, at most {NAMESPACE_BYTES_MAX} (NAMESPACE_BYTES_MAX)"
        ))),
    }
}

impl fmt::Display for EtcdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.transport {
            Transport::Plain => "etcd",
            Transport::Tls => "etcds",
        };
        let servers = shown_hosts(&self.url.hosts);
        write!(f, "{scheme}://{servers}/{}", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: &str, expected: &str) {
        let shown = match EtcdAddress::parse(place, &StoreSettings::default()) {
            Ok(address) => format!("{address} {address:?}"),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(expected), "{place}: {shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn address_is_shown_without_its_password() {
        check("etcd://a,b:7", "etcd://a:2379,b:7/tsumugi ");
        check("etcds://me:s3cret@[::1]/app", "etcds://[::1]:2379/app ");
        check("etcd://a/app/?timeout=0.5", "timeout_ms: 500");
    }

    #[test]
    fn address_that_cannot_be_is_refused_with_what_to_write() {
        check("etcd://", "a host is missing");
        check("etcd://me@a", "a user of etcd has a name and a password");
        check("etcd://a/b/c", "the namespace of a store in etcd");
        check("etcd://a/b!queues", "the namespace of a store in etcd");
        check("etcd://a?timeout=x", "timeout is a positive number");
        check("etcd://a?timeout=3601", "timeout is a positive number");
        check("etcd://a?cert=x", "cert and key are given together");
        check("etcd://a?s=s3cret", "has no setting s");
    }

    #[test]
    fn namespace_one_byte_too_long_is_refused_with_the_limit() {
        let longest = "n".repeat(NAMESPACE_BYTES_MAX);
        check(&format!("etcd://a/{longest}"), &longest);
        check(&format!("etcd://a/{longest}n"), "NAMESPACE_BYTES_MAX");
    }
}
