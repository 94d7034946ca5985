//! What a PostgreSQL URL and the caller's options say, taken apart: what the driver needs, what goes to the server, what is ours.
//! Rule: `statement_timeout` and `idle_timeout` are the server's as well, so that it stops what we gave up.

use std::time::Duration;

use tsumugi_pg::config::{Pooler, TargetSessionAttrs};
use tsumugi_pg::{Config, Connector, Environment};

use crate::error::{Error, Result};
use crate::limits::{HOST_TIME_MIN, REPLICAS_MAX};
use crate::options::{self, Options, ReadTarget};
use crate::test_databases::is_test_database;

/// The driver's configuration, and the options with those of the URL laid over them.
pub(super) async fn read(url: &str, options: Options) -> Result<(Config, Options)> {
    let url = url.to_owned();
    // A service file may be named, and files are not read on a worker.
    #[expect(
        clippy::disallowed_methods,
        reason = "once for each connect, which is at load; this crate knows no worker to offload to"
    )]
    let read =
        tokio::task::spawn_blocking(move || Config::parse_known(&url, &Environment::of_process()));
    let (mut config, rest) = read
        .await
        .map_err(|_| Error::usage("the database URL could not be read"))?
        .map_err(|error| Error::usage(error.to_string()))?;
    let rest = rest.iter().map(|(key, value)| (&**key, &**value));
    let known = tsumugi_pg::config::known_keys().join(", ");
    let options = options::overlay(rest, options, &known, |_, _, _| Ok(false))?;
    if config.statement_cache == tsumugi_pg::limits::STATEMENT_CACHE_DEFAULT {
        config.statement_cache = options.statement_cache;
    }
    if config.application_name.is_none() {
        config.application_name = Some("tsumugi".to_owned());
    }
    if config.hosts.len() > 1 {
        let share = share(&config, &options).max(HOST_TIME_MIN);
        let limit = config
            .connect_timeout
            .map_or(share, |limit| limit.min(share));
        config.connect_timeout = Some(limit);
    }
    // A pooler between us and the server refuses start-up parameters that it does not know.
    if config.pooler != Pooler::Transaction {
        for (name, value) in [
            ("statement_timeout", options.statement_timeout),
            ("idle_in_transaction_session_timeout", options.idle_timeout),
        ] {
            if !config.parameters.iter().any(|(other, _)| other == name) {
                config
                    .parameters
                    .push((name.to_owned(), milliseconds(value)));
            }
        }
    }
    Ok((config, options))
}

/// How long a host may take, so that one that does not answer leaves time within `acquire_timeout` for the others.
fn share(config: &Config, options: &Options) -> Duration {
    let hosts = u32::try_from(config.hosts.len()).unwrap_or(u32::MAX);
    let share = options.acquire_timeout / hosts.saturating_add(1);
    config
        .connect_timeout
        .map_or(share, |limit| limit.min(share))
}

/// For connections to the primary alone, whatever the pool's go to.
pub(super) fn primary(config: &Config, options: &Options) -> Connector {
    let mut config = config.clone();
    config.target_session_attrs = TargetSessionAttrs::Primary;
    config.connect_timeout = Some(share(&config, options));
    Connector::new(config)
}

/// The replicas that the options name, each in settings of its own. Where there are any, those of the primary go to no standby.
pub(super) async fn replicas(config: &mut Config, options: &Options) -> Result<Vec<Config>> {
    let mut replicas = Vec::new();
    // The database of a test is its own; replicas that the application names are those of another one.
    let named = match is_test_database(&config.database) {
        true => None,
        false => Some(options.replicas.iter()),
    };
    for url in named.into_iter().flatten() {
        // What does not say where a server is, is as for the primary.
        let (mut replica, _) = Box::pin(read(url, options.clone())).await?;
        if replica.target_session_attrs == TargetSessionAttrs::Any {
            replica.target_session_attrs = TargetSessionAttrs::Standby;
        }
        replicas.push(replica);
    }
    if options.reads == ReadTarget::Replica && config.hosts.len() > 1 {
        replicas.extend(config.hosts.iter().map(|host| {
            let mut replica = config.clone();
            replica.hosts = vec![host.clone()];
            replica.target_session_attrs = TargetSessionAttrs::Standby;
            replica
        }));
    }
    if replicas.is_empty() {
        return Ok(replicas);
    }
    check_replicas(config, &replicas)?;
    replicas.iter_mut().for_each(only_read);
    if config.target_session_attrs == TargetSessionAttrs::Any {
        config.target_session_attrs = TargetSessionAttrs::Primary;
    }
    Ok(replicas)
}

/// Has the server itself refuse what writes, also once it is a standby no more: until that is noticed, reads still go there.
fn only_read(replica: &mut Config) {
    const NAME: &str = "default_transaction_read_only";
    replica.parameters.retain(|(name, _)| name != NAME);
    replica.parameters.push((NAME.to_owned(), "on".to_owned()));
}

fn check_replicas(config: &Config, replicas: &[Config]) -> Result<()> {
    if replicas.len() > REPLICAS_MAX {
        let count = replicas.len();
        return Err(Error::usage(format!(
            "a database has at most {REPLICAS_MAX} replicas (replicas_max), not {count}"
        )));
    }
    let takes_standbys = match config.target_session_attrs {
        TargetSessionAttrs::Any | TargetSessionAttrs::ReadWrite | TargetSessionAttrs::Primary => {
            false
        }
        TargetSessionAttrs::ReadOnly
        | TargetSessionAttrs::Standby
        | TargetSessionAttrs::PreferStandby => true,
    };
    if takes_standbys {
        return Err(Error::usage(
            "the URL beside replicas is that of the primary: its target_session_attrs is primary or read-write",
        ));
    }
    let mut all = replicas.iter().chain([config]);
    if all.any(|config| config.pooler == Pooler::Transaction) {
        return Err(Error::usage(
            "replicas are asked how far they are on connections of their own: connect past a pooler in transaction mode",
        ));
    }
    Ok(())
}

/// Sets the server's limits for one transaction, where they are not set for the session.
pub(super) fn limits_of_transaction(options: &Options) -> String {
    format!(
        "SET LOCAL statement_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}",
        milliseconds(options.statement_timeout),
        milliseconds(options.idle_timeout)
    )
}

fn milliseconds(duration: Duration) -> String {
    duration.as_millis().to_string()
}
