//! What a PostgreSQL URL and the caller's options say, taken apart: what the driver needs, what goes to the server, what is ours.
//! Rule: `statement_timeout` and `idle_timeout` are the server's as well, so that it stops what we gave up.

use std::time::Duration;

use tsumugi_pg::config::{Pooler, TargetSessionAttrs};
use tsumugi_pg::{Config, Connector, Environment};

use crate::error::{Error, Result};
use crate::options::{self, Options};

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

/// For connections to the primary alone, whatever the pool's go to. A host that does not answer leaves time within `acquire_timeout` for the others.
pub(super) fn primary(config: &Config, options: &Options) -> Connector {
    let mut config = config.clone();
    config.target_session_attrs = TargetSessionAttrs::Primary;
    let hosts = u32::try_from(config.hosts.len()).unwrap_or(u32::MAX);
    let share = options.acquire_timeout / hosts.saturating_add(1);
    let limit = config
        .connect_timeout
        .map_or(share, |limit| limit.min(share));
    config.connect_timeout = Some(limit);
    Connector::new(config)
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
