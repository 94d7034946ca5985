//! `--limit NAME=VALUE` of `kv`: any limit of the service and of its workers, under the name that error messages give it.
//! Holds no default and enforces nothing.

use std::str::FromStr;

use tsumugi_rpc::{AWAKE_US_MAX, RpcLimits};
use tsumugi_server::{LimitError, Row, WORKER, assigned, limited, row};
use tsumugi_worker::WorkerLimits;

/// One limit and its value.
#[derive(Clone, Debug)]
pub struct LimitSetting {
    set: Setter,
    value: u64,
    name: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Setter {
    Worker(fn(u64, &mut WorkerLimits) -> bool),
    Service(fn(u64, &mut RpcLimits) -> bool),
}

const SERVICE: &[Row<RpcLimits>] = limited!(
    message_bytes_max inbound_bytes_max outbound_bytes_max message_timeout_ms streams_max header_bytes_max tls_handshake_ms
    preface_ms keep_alive_ms keep_alive_answer_ms send_timeout_ms awake_us retry_wait_ms_max stream_writes_max stream_bytes_max
    watches_max connection_watches_max watch_alive_ms engine_calls_max
);

fn names() -> impl Iterator<Item = &'static str> {
    let workers = WORKER.iter().map(|(name, ..)| *name);
    workers.chain(SERVICE.iter().map(|(name, ..)| *name))
}

fn setter(name: &str) -> Option<(&'static str, Setter)> {
    let worker = row(WORKER, name).map(|(name, set, _)| (name, Setter::Worker(set)));
    worker.or_else(|| row(SERVICE, name).map(|(name, set, _)| (name, Setter::Service(set))))
}

impl FromStr for LimitSetting {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<LimitSetting, LimitError> {
        let (name, set, value) = assigned(text, setter, names)?;
        Ok(LimitSetting { set, value, name })
    }
}

impl LimitSetting {
    /// Puts the value where it is enforced.
    ///
    /// # Errors
    /// When the value is beyond what the limit's type can hold.
    pub fn apply(&self, workers: &mut WorkerLimits, service: &mut RpcLimits) -> anyhow::Result<()> {
        let fits = match self.set {
            Setter::Worker(set) => set(self.value, workers),
            Setter::Service(set) => set(self.value, service),
        };
        anyhow::ensure!(fits, "--limit {}={} is too large", self.name, self.value);
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
    use tsumugi_testkit::field_names;

    #[test]
    fn every_limit_has_its_name_here() {
        let shown = format!("{:?} {:?}", WorkerLimits::default(), RpcLimits::default());
        let fields = field_names(&shown);
        assert!(fields.len() > 20, "{shown}");
        for field in fields {
            assert!(names().any(|name| name == field), "{field}");
        }
    }

    #[test]
    fn limits_are_set_by_name() {
        let (mut workers, mut service) = (WorkerLimits::default(), RpcLimits::default());
        for text in ["streams_max=7", "connections_max=1_000"] {
            let limit: LimitSetting = text.parse().unwrap();
            limit.apply(&mut workers, &mut service).unwrap();
        }
        assert_eq!((service.streams_max, workers.connections_max), (7, 1_000));
        let error = "speed=1".parse::<LimitSetting>().unwrap_err().to_string();
        assert!(error.contains("the names are connections_max, "), "{error}");
    }
}
