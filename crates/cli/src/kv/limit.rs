//! `--limit NAME=VALUE` of `kv`: any limit of the service and of its workers, under the name that error messages give it.
//! Holds no default and enforces nothing.

use std::str::FromStr;

use tsumugi_rpc::{AWAKE_US_MAX, Limits};
use tsumugi_worker::Limits as WorkerLimits;

/// One limit and its value.
#[derive(Clone, Debug)]
pub struct Limit {
    set: Set,
    value: u64,
    name: &'static str,
}

type Set = fn(u64, &mut WorkerLimits, &mut Limits) -> bool;

/// Why an argument of `--limit` is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `=`.
    #[error("expected NAME=VALUE, for instance message_bytes_max=268435456")]
    Form,
    /// No limit has this name.
    #[error("there is no limit {0:?}; the names are {names}", names = names())]
    Name(String),
    /// The value is no number.
    #[error("the value of {0} is a whole number: {1}")]
    Value(&'static str, std::num::ParseIntError),
}

macro_rules! limits {
    ($($of:ident: $($name:ident)*;)*) => {
        const LIMITS: &[(&str, Set)] = &[$($((
            stringify!($name),
            |value, workers, service| value
                .try_into()
                .map(|value| limits!(@place $of workers service).$name = value)
                .is_ok(),
        ),)*)*];
    };
    (@place worker $workers:ident $service:ident) => {{ let _ = &$service; $workers }};
    (@place service $workers:ident $service:ident) => {{ let _ = &$workers; $service }};
}

limits! {
    worker: connections_max backlog_max drain_ms_max load_ms_max offload_threads_max offload_queue_max stall_ms
        turn_cpu_ms_max stack_bytes_max;
    service: message_bytes_max inbound_bytes_max outbound_bytes_max message_timeout_ms streams_max header_bytes_max
        tls_handshake_ms preface_ms keep_alive_ms keep_alive_answer_ms send_timeout_ms awake_us retry_wait_ms_max stream_writes_max
        stream_bytes_max;
}

fn names() -> String {
    let names: Vec<&str> = LIMITS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Limit, Error> {
        let (name, value) = text.split_once('=').ok_or(Error::Form)?;
        let known = LIMITS.iter().find(|(known, _)| *known == name);
        let (name, set) = *known.ok_or_else(|| Error::Name(name.to_owned()))?;
        let value = value
            .replace('_', "")
            .parse()
            .map_err(|source| Error::Value(name, source))?;
        Ok(Limit { set, value, name })
    }
}

impl Limit {
    /// Puts the value where it is enforced.
    ///
    /// # Errors
    /// When the value is beyond what the limit's type can hold.
    pub fn apply(&self, workers: &mut WorkerLimits, service: &mut Limits) -> anyhow::Result<()> {
        anyhow::ensure!(
            (self.set)(self.value, workers, service),
            "--limit {}={} is too large",
            self.name,
            self.value
        );
        anyhow::ensure!(
            service.awake_us <= AWAKE_US_MAX,
            "--limit awake_us={} is too large: it is at most {AWAKE_US_MAX}, in microseconds",
            service.awake_us
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_its_name_here() {
        let shown = format!("{:?} {:?}", WorkerLimits::default(), Limits::default());
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let fields = shown
            .split([' ', '{', ','])
            .filter_map(|word| word.strip_suffix(':'));
        let fields: Vec<&str> = fields.filter(|name| name.chars().all(is_name)).collect();
        assert!(fields.len() > 20, "{shown}");
        for field in fields {
            assert!(LIMITS.iter().any(|(name, _)| *name == field), "{field}");
        }
    }

    #[test]
    fn limits_are_set_by_name() {
        let (mut workers, mut service) = (WorkerLimits::default(), Limits::default());
        for text in ["streams_max=7", "connections_max=1_000"] {
            let limit: Limit = text.parse().unwrap();
            limit.apply(&mut workers, &mut service).unwrap();
        }
        assert_eq!((service.streams_max, workers.connections_max), (7, 1_000));
        let error = "speed=1".parse::<Limit>().unwrap_err().to_string();
        assert!(error.contains("the names are connections_max, "), "{error}");
    }
}
