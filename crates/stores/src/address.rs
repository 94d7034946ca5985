//! Where a store is, as an author writes it: a folder, `memory:NAME`, or a URL whose scheme names the engine. Opens nothing.
//! Rule: a scheme that no engine has is refused, never taken for a folder; no error shows a password or a setting's value.

use std::fmt::{self, Display};

use tsumugi_kv::Spec;

use crate::capability::Capabilities;
use crate::error::{Error, Result};
#[cfg(feature = "grpc")]
use crate::etcd::EtcdAddress;
use crate::limits::ADDRESS_BYTES_MAX;
#[cfg(feature = "redis")]
use crate::redis::RedisAddress;
#[cfg(any(feature = "grpc", feature = "redis"))]
use crate::server_url::ServerUrl;
use crate::settings::StoreSettings;
#[cfg(feature = "grpc")]
use crate::tkrzw::TkrzwAddress;

/// Where a store is.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum StoreAddress {
    /// A database of this process, in memory or in a folder.
    Local(Spec),
    /// A database of a Tkrzw service: `tkrzw://host:port/index`, `tkrzw+tls://…`, `tkrzw+unix:/path`. Needs the feature `grpc`.
    #[cfg(feature = "grpc")]
    Tkrzw(TkrzwAddress),
    /// A namespace in etcd: `etcd://a,b,c/namespace`, `etcds://…`. Needs the feature `grpc`.
    #[cfg(feature = "grpc")]
    Etcd(EtcdAddress),
    /// Redis: `redis://host:port/database`, `redis+sentinel://host,host/service`, `redis+cluster://host,host`, and `rediss` for TLS.
    /// Needs the feature `redis`.
    #[cfg(feature = "redis")]
    Redis(RedisAddress),
    /// A store whose engine this program was built without. Commands that only look get an empty one in memory in its place; others are refused.
    Absent(AbsentEngine),
}

/// Where a store is whose engine is not in this program.
#[derive(Clone, Debug)]
pub struct AbsentEngine {
    engine: &'static str,
    feature: &'static str,
    place: String,
}

impl AbsentEngine {
    pub(crate) fn error(&self) -> Error {
        Error::NotBuiltIn {
            engine: self.engine,
            feature: self.feature,
        }
    }
}

impl fmt::Display for AbsentEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

const LOCAL: &[&str] = &["durability", "capacity", "when_full", "cache", "value_max"];
/// The schemes of each engine behind a network, whether it is in this program or not.
const TKRZW: &[&str] = &["tkrzw", "tkrzw+tls", "tkrzw+unix"];
const ETCD: &[&str] = &["etcd", "etcds"];
const REDIS: &[&str] = &[
    "redis",
    "rediss",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
];
const FORMS: &str = "a folder, memory:NAME, tkrzw://HOST:PORT/INDEX, tkrzw+tls://HOST:PORT/INDEX, tkrzw+unix:/PATH, etcd://HOST,HOST/NAMESPACE, etcds://HOST,HOST/NAMESPACE, redis://HOST:PORT/DATABASE, redis+sentinel://HOSTS/SERVICE or redis+cluster://HOSTS";

impl StoreAddress {
    /// Reads the place of a store, with settings beside those that it has itself.
    ///
    /// # Errors
    /// [`Error::Address`] of an unknown scheme, an unknown setting, or a URL that cannot be read; [`Error::NotBuiltIn`] of a service of Tkrzw-RPC
    /// where the feature `grpc` is off; [`Spec`](tsumugi_kv::Error::Spec) of a database of this process that cannot be.
    pub fn parse(place: &str, settings: &StoreSettings) -> Result<StoreAddress> {
        if place.len() > ADDRESS_BYTES_MAX {
            return Err(Error::address(format!(
                "the place of a store has {} bytes, at most {ADDRESS_BYTES_MAX} (ADDRESS_BYTES_MAX)",
                place.len()
            )));
        }
        match Spec::scheme(place) {
            None => local(place, settings).map(StoreAddress::Local),
            #[cfg(feature = "grpc")]
            Some(scheme) if TKRZW.contains(&scheme) => {
                TkrzwAddress::parse(place, settings).map(StoreAddress::Tkrzw)
            }
            #[cfg(feature = "grpc")]
            Some(scheme) if ETCD.contains(&scheme) => {
                EtcdAddress::parse(place, settings).map(StoreAddress::Etcd)
            }
            #[cfg(feature = "redis")]
            Some(scheme) if REDIS.contains(&scheme) => {
                RedisAddress::parse(place, settings).map(StoreAddress::Redis)
            }
            Some(scheme) => absent_address(place, scheme),
        }
    }
}

/// The address of a store whose engine is not in this program, by its scheme.
pub(crate) fn absent_address(place: &str, scheme: &str) -> Result<StoreAddress> {
    let engines = [
        (TKRZW, "Tkrzw-RPC", "grpc"),
        (ETCD, "etcd", "grpc"),
        (REDIS, "Redis", "redis"),
    ];
    let known = { engines }
        .into_iter()
        .find(|(of, ..)| of.contains(&scheme));
    match known {
        // Nothing stands in for it, wherever it is opened.
        Some((TKRZW, engine, feature)) => Err(Error::NotBuiltIn { engine, feature }),
        Some((_, engine, feature)) => {
            check_form(place)?;
            Ok(StoreAddress::Absent(AbsentEngine {
                engine,
                feature,
                place: without_secrets(place),
            }))
        }
        None => Err(Error::address(format!(
            "no store has the scheme `{scheme}`: the place of one is {FORMS}; a folder of such a name is written ./{scheme}:…"
        ))),
    }
}

/// Refuses what a program that has the engine would refuse, too: what is no URL of servers. Where no engine is built in, nothing reads these.
fn check_form(place: &str) -> Result<()> {
    let malformed = || Error::address(format!("the place of a store is {FORMS}"));
    let (_, _rest) = place.split_once("://").ok_or_else(malformed)?;
    #[cfg(any(feature = "grpc", feature = "redis"))]
    ServerUrl::parse(_rest, 0, &StoreSettings::default())?;
    Ok(())
}

/// A URL without its user and its settings.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // Behind the last of them: one may be within a password.
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{rest}")
}

impl StoreAddress {
    /// As people know it. Holds no secret.
    #[must_use]
    pub fn place(&self) -> String {
        self.described().0.to_string()
    }

    /// What the engine promises and refuses.
    #[must_use]
    pub fn capabilities(&self) -> &'static Capabilities {
        self.described().1
    }

    /// Refuses the address of a store whose engine is not in this program.
    ///
    /// # Errors
    /// [`Error::NotBuiltIn`].
    pub fn require_engine(&self) -> Result<()> {
        match self {
            StoreAddress::Absent(absent) => Err(absent.error()),
            _ => Ok(()),
        }
    }

    fn described(&self) -> (&dyn Display, &'static Capabilities) {
        match self {
            StoreAddress::Local(spec) => (spec, &crate::local::CAPABILITIES),
            #[cfg(feature = "grpc")]
            StoreAddress::Tkrzw(address) => (address, &crate::tkrzw::CAPABILITIES),
            #[cfg(feature = "grpc")]
            StoreAddress::Etcd(address) => (address, &crate::etcd::CAPABILITIES),
            #[cfg(feature = "redis")]
            StoreAddress::Redis(address) => (address, &crate::redis::CAPABILITIES),
            // Those of the store in memory that stands in for it.
            StoreAddress::Absent(absent) => (absent, &crate::local::CAPABILITIES),
        }
    }
}

fn local(place: &str, settings: &StoreSettings) -> Result<Spec> {
    settings.check("a store here", LOCAL)?;
    let mut spelled = place.to_owned();
    for (name, value) in settings.pairs() {
        spelled.push(match spelled.contains('#') {
            true => ',',
            false => '#',
        });
        spelled.push_str(&format!("{name}={value}"));
    }
    Ok(Spec::of_place(&spelled)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: &str, settings: &[(&str, &str)], expected: &str) {
        let mut given = StoreSettings::default();
        for (name, value) in settings {
            given.set(*name, *value);
        }
        let shown = match StoreAddress::parse(place, &given) {
            Ok(address) => address.place(),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(expected), "{place}: {shown}");
    }

    #[test]
    fn scheme_that_no_engine_has_is_refused_and_no_folder() {
        check("mysql://a/b", &[], "no store has the scheme `mysql`");
        check("FOO+bar://", &[], "no store has the scheme `FOO+bar`");
        check("./mysql://a", &[], "./mysql://a#durability=process");
        check("data/kv", &[], "data/kv#durability=process");
        check("memory:pages", &[], "#durability=memory");
    }

    #[test]
    fn setting_that_an_engine_has_not_is_refused_by_name() {
        check(
            "data/kv",
            &[("token", "s3cret")],
            "no setting token; it has durability",
        );
        check("memory:x", &[("capacity", "64m")], "capacity=64m");
        #[cfg(feature = "grpc")]
        check(
            "tkrzw://h",
            &[("cache", "1")],
            "no setting cache; it has index",
        );
    }

    #[test]
    fn engine_that_is_not_built_in_is_named_with_its_feature() {
        for (place, expected) in [
            (
                "tkrzw+unix:/run/kv",
                "Tkrzw-RPC is not in this program: it was built without the feature `grpc`",
            ),
            (
                "etcds://a,b/shop",
                "etcd is not in this program: it was built without the feature `grpc`",
            ),
            (
                "rediss+cluster://a",
                "Redis is not in this program: it was built without the feature `redis`",
            ),
        ] {
            let address = absent_address(place, Spec::scheme(place).unwrap());
            let refused = address.and_then(|address| address.require_engine());
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Error::NotBuiltIn { .. }), "{refused:?}");
            assert_eq!(refused.to_string(), expected);
        }
    }

    #[test]
    fn engine_that_is_not_built_in_is_shown_without_secrets() {
        for (place, expected) in [
            ("redis://h:6379/0", "redis://h:6379/0"),
            ("redis://me:s3@cret@h/1?token=s3cret", "redis://h/1"),
            ("rediss+cluster://a,b#s3cret", "rediss+cluster://a,b"),
        ] {
            let address = absent_address(place, Spec::scheme(place).unwrap()).unwrap();
            assert_eq!(address.place(), expected);
        }
    }

    #[test]
    #[cfg(any(feature = "grpc", feature = "redis"))]
    fn malformed_address_of_an_engine_that_is_not_built_in_is_refused_as_malformed() {
        for (place, expected) in [
            ("redis://h:port/0", "a port is not a number"),
            ("redis://h:65536", "a port is a number up to 65535"),
            ("redis:///0", "a host is missing"),
            ("etcd://a,,b/shop", "a host is missing"),
            ("redis:h", "the place of a store is a folder"),
        ] {
            let scheme = place.split(':').next().unwrap();
            let refused = absent_address(place, scheme).unwrap_err().to_string();
            assert!(refused.contains(expected), "{place}: {refused}");
        }
    }

    #[test]
    fn place_one_byte_too_long_is_refused_with_the_limit() {
        check(&"x".repeat(ADDRESS_BYTES_MAX), &[], "x");
        check(&"x".repeat(ADDRESS_BYTES_MAX + 1), &[], "ADDRESS_BYTES_MAX");
    }
}
