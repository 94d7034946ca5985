//! The address of a `tkrzw://` store: the server, the database's index after the last slash, and the settings of its client. Opens nothing.

use std::fmt;

use tsumugi_rpc::RpcTarget;
use tsumugi_wire::Secret;

use crate::error::{Error, Result};
use crate::settings::StoreSettings;

const KNOWN: &[&str] = &["index", "token", "timeout", "ca"];

/// A database of a Tkrzw service. Needs the feature `grpc`.
#[derive(Clone, Debug)]
pub struct TkrzwAddress {
    pub(super) target: RpcTarget,
    pub(super) index: i32,
    pub(super) token: Option<Secret>,
    pub(super) timeout_ms: Option<u64>,
    /// For `ca`, which may be configured elsewhere.
    pub(super) settings: StoreSettings,
}

impl TkrzwAddress {
    /// The database of a server that was found in another way.
    pub(crate) fn of(target: RpcTarget, index: i32) -> TkrzwAddress {
        TkrzwAddress {
            target,
            index,
            token: None,
            timeout_ms: None,
            settings: StoreSettings::default(),
        }
    }

    pub(crate) fn parse(place: &str, settings: &StoreSettings) -> Result<TkrzwAddress> {
        settings.check("a store behind a service", KNOWN)?;
        let (address, index) = split(place);
        let wrong_index =
            || Error::address("index is the number of a database behind a service, from 0");
        let index = match settings.find("index") {
            Some(given) => given.parse().map_err(|_| wrong_index())?,
            None => index,
        };
        Ok(TkrzwAddress {
            target: address.parse()?,
            index: i32::try_from(index)
                .ok()
                .filter(|index| *index >= 0)
                .ok_or_else(wrong_index)?,
            token: settings
                .find("token")
                .map(|token| Secret::from(token.to_owned())),
            timeout_ms: settings.timeout_ms()?,
            settings: settings.clone(),
        })
    }
}

impl fmt::Display for TkrzwAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.target, self.index)
    }
}

/// The address, and the index after the last slash, which is 0 without one.
fn split(place: &str) -> (&str, i64) {
    if place.starts_with("tkrzw+unix:") {
        return (place, 0);
    }
    match place.rsplit_once('/') {
        Some((address, index)) if !address.ends_with('/') => match index.parse() {
            Ok(index) => (address, index),
            Err(_) => (place, 0),
        },
        _ => (place, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn index_follows_the_last_slash() {
        for (place, expected) in [
            ("tkrzw://h:1", ("tkrzw://h:1", 0)),
            ("tkrzw://h:1/", ("tkrzw://h:1/", 0)),
            ("tkrzw://h:1/3", ("tkrzw://h:1", 3)),
            ("tkrzw://h:1/x", ("tkrzw://h:1/x", 0)),
            ("tkrzw+tls://[::1]:5/2", ("tkrzw+tls://[::1]:5", 2)),
            ("tkrzw+unix:/run/kv/3", ("tkrzw+unix:/run/kv/3", 0)),
        ] {
            assert_eq!(split(place), expected);
        }
    }
}
