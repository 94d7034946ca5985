//! From a configuration to a session that is ready for its first statement: which host, in which order, encrypted how, within
//! which time. What is said on the wire belongs to the protocol crate, statements to the connection that gets the stream.
//! Rule: a failure names the host and the phase; when no host will do, every host's failure is reported.

mod address;
mod attempt;
mod cancel;
mod password;
mod session_attrs;
mod silent_hosts;
mod socket;
mod stream;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::timeout;
use tsumugi_pg_proto::Session;

use self::attempt::Attempt;
use self::session_attrs::RoleFilter;
use self::silent_hosts::SilentHosts;
use crate::config::{Config, Host, LoadBalanceHosts, TargetSessionAttrs};
use crate::error::Error;
use crate::limits::SILENT_HOST_TIMEOUT;

pub use self::cancel::Canceller;
pub use self::stream::Stream;
pub use crate::error::Cause;
pub use crate::phase::Phase;

/// Fills a buffer with random bytes; they decide the order of hosts and are the client's part of SCRAM, so they must not be
/// predictable.
pub type Randomness<'a> = &'a mut dyn FnMut(&mut [u8]);

/// Opens connections as one configuration wants them.
#[derive(Clone)]
pub struct Connector {
    config: Rc<Config>,
    silent: Rc<SilentHosts>,
}

/// A connection after its start-up.
#[non_exhaustive]
pub struct StartedConnection {
    /// The bytes go here.
    pub stream: Stream,
    /// What has been read already but belongs to what comes next; usually empty, its room can be used further.
    pub leftover: BytesMut,
    /// What the server said about itself.
    pub session: Session,
    /// Cancels what runs on this connection; `None` when the server gave no key.
    pub cancel: Option<Canceller>,
    /// The host, as it was configured.
    pub host: Host,
}

impl Connector {
    /// A connector; nothing is opened yet.
    pub fn new(config: Config) -> Connector {
        Connector {
            config: Rc::new(config),
            silent: Rc::default(),
        }
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Opens a connection to the first host that will do. Dropped midway, it leaves nothing open. Of several hosts those that did not answer lately come last
    /// and have [`SILENT_HOST_TIMEOUT`].
    pub fn connect<'a>(
        &'a self,
        random: Randomness<'a>,
    ) -> LocalBoxFuture<'a, Result<StartedConnection, Error>> {
        async move {
            let mut hosts: Vec<(usize, &Host)> = self.config.hosts.iter().enumerate().collect();
            if self.config.load_balance_hosts == LoadBalanceHosts::Random {
                address::shuffle(&mut hosts, random);
            }
            hosts.sort_by_key(|(place, _)| self.silent.has(*place));
            let rounds: &[RoleFilter] = match self.config.target_session_attrs {
                TargetSessionAttrs::Any => &[RoleFilter::Any],
                TargetSessionAttrs::ReadWrite => &[RoleFilter::ReadWrite],
                TargetSessionAttrs::ReadOnly => &[RoleFilter::ReadOnly],
                TargetSessionAttrs::Primary => &[RoleFilter::Primary],
                TargetSessionAttrs::Standby => &[RoleFilter::Standby],
                TargetSessionAttrs::PreferStandby => &[RoleFilter::Standby, RoleFilter::Any],
            };
            let mut failures = Vec::new();
            for wanted in rounds {
                // What failed in the round before is reported by this one again.
                failures.clear();
                for (place, host) in &hosts {
                    let before = failures.len();
                    let limit = self.limit(*place);
                    let outcome = self.host(host, limit, *wanted, random, &mut failures).await;
                    match failures.iter().skip(before).any(Error::is_connect_timeout) {
                        true => self.silent.add(*place),
                        false => self.silent.remove(*place),
                    }
                    match outcome {
                        Ok(Some(connected)) => return Ok(connected),
                        Ok(None) => {}
                        Err(error) if error.is_about_one_host() => failures.push(error),
                        Err(error) => return Err(error),
                    }
                }
            }
            match failures.pop() {
                Some(only) if failures.is_empty() => Err(only),
                last => Err(Error::Hosts(failures.into_iter().chain(last).collect())),
            }
        }
        .boxed_local()
    }

    /// How long each address of a host may take.
    fn limit(&self, place: usize) -> Option<Duration> {
        let usual = self.config.connect_timeout;
        match self.config.hosts.len() > 1 && self.silent.has(place) {
            true => Some(usual.map_or(SILENT_HOST_TIMEOUT, |usual| usual.min(SILENT_HOST_TIMEOUT))),
            false => usual,
        }
    }

    /// One host: each of its addresses in turn. Addresses that fail are noted; `None` says that all have.
    async fn host(
        &self,
        host: &Host,
        limit: Option<Duration>,
        wanted: RoleFilter,
        random: Randomness<'_>,
        failures: &mut Vec<Error>,
    ) -> Result<Option<StartedConnection>, Error> {
        let phase = Cell::new(Phase::Resolve);
        let found = address::look_up(host);
        let mut addresses = limited(limit, host, &phase, found).await?;
        if self.config.load_balance_hosts == LoadBalanceHosts::Random {
            address::shuffle(&mut addresses, random);
        }
        for address in addresses {
            let attempt = Attempt {
                config: &self.config,
                host,
                address: &address,
                phase: &phase,
            };
            let run = attempt.run(wanted, random);
            match limited(limit, host, &phase, run).await {
                Ok(connected) => return Ok(Some(connected)),
                Err(error) if error.is_about_one_host() => failures.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Runs one step within this time, and says what it was doing if it fails.
async fn limited<T>(
    limit: Option<Duration>,
    host: &Host,
    phase: &Cell<Phase>,
    step: impl Future<Output = Result<T, Cause>>,
) -> Result<T, Error> {
    let done = match limit {
        Some(limit) => {
            let done = timeout(limit, step).await;
            done.unwrap_or(Err(Cause::Timeout(limit)))
        }
        None => step.await,
    };
    done.map_err(|cause| match cause {
        Cause::Configuration(error) => *error,
        cause => Error::Connect {
            host: host.to_string(),
            phase: phase.get(),
            cause,
        },
    })
}
