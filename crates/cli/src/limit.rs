//! `--limit NAME=VALUE`: any limit of any crate, under the name that error messages and logs give it.
//! Holds no default and enforces nothing. A limit that is added to a crate is added to the list here.

use std::num::ParseIntError;
use std::str::FromStr;

use tsumugi_script::Settings;
use tsumugi_worker::Config;

/// One limit and its value.
#[derive(Clone, Debug)]
pub struct Limit {
    set: fn(u64, &mut Config, &mut Settings) -> bool,
    value: u64,
    name: &'static str,
}

/// Why an argument of `--limit` is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no `=`.
    #[error("expected NAME=VALUE, for instance request_ms_max=10000")]
    Form,
    /// No limit has this name.
    #[error("there is no limit {0:?}; the names are {names}", names = names())]
    Name(String),
    /// The value is no number.
    #[error("the value of {0} is a whole number: {1}")]
    Value(&'static str, ParseIntError),
}

macro_rules! limits {
    ($($of:ident: $($name:ident)*;)*) => {
        const LIMITS: &[(&str, fn(u64, &mut Config, &mut Settings) -> bool)] = &[$($((
            limits!(@name $of $name),
            |value, config, settings| value
                .try_into()
                .map(|value| limits!(@place $of config settings).$name = value)
                .is_ok(),
        ),)*)*];
    };
    // The names of the client's limits are those of the server's, too.
    (@name client $name:ident) => { concat!("client.", stringify!($name)) };
    (@name $of:ident $name:ident) => { stringify!($name) };
    (@place worker $config:ident $settings:ident) => {{ let _ = &$settings; &mut $config.limits }};
    (@place script $config:ident $settings:ident) => {{ let _ = &$config; &mut $settings.limits }};
    (@place client $config:ident $settings:ident) => {{ let _ = &$config; &mut $settings.limits.client }};
    (@place http $config:ident $settings:ident) => {{ let _ = &$config; &mut $settings.http }};
}

limits! {
    worker: connections_max backlog_max drain_ms_max load_ms_max offload_threads_max offload_queue_max stall_ms
        turn_cpu_ms_max stack_bytes_max;
    script: requests_max request_ms_max cancel_ms_max vm_bytes_max idle_fibres_max json_depth_max parallel_max
        channel_max json_symbols_max regexps_max regexp_backtracks_max regexp_bytes_max source_bytes_max
        render_depth_max;
    client: connect_ms_max call_ms_max addresses_max connections_per_host_max connections_max idle_per_host_max idle_max idle_ms_max header_bytes_max response_bytes_max;
    http: headers_max tls_handshake_ms header_bytes_max header_timeout_ms keep_alive_ms send_timeout_ms linger_ms linger_bytes_max
        body_bytes_max body_timeout_ms connection_buffer_bytes_max stream_buffer_bytes_max streams_max parameters_max
        parts_max part_header_bytes_max field_bytes_max upload_memory_max upload_bytes_max;
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
    pub fn apply(&self, config: &mut Config, settings: &mut Settings) -> anyhow::Result<()> {
        anyhow::ensure!(
            (self.set)(self.value, config, settings),
            "--limit {}={} is too large",
            self.name,
            self.value
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<Limit>() {
            Ok(limit) => {
                let (mut config, mut settings) = (Config::default(), Settings::default());
                match limit.apply(&mut config, &mut settings) {
                    Ok(()) => format!(
                        "{} {} {}",
                        config.limits.stall_ms,
                        settings.limits.request_ms_max,
                        settings.http.streams_max
                    ),
                    Err(error) => error.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        assert!(outcome.starts_with(expected), "{text}: {outcome}");
    }

    #[test]
    fn limits_of_every_crate_are_set_by_name() {
        check("stall_ms=70", "70 30000 128");
        check("request_ms_max=10_000", "50 10000 128");
        check("streams_max=7", "50 30000 7");
    }

    #[test]
    fn every_limit_of_every_crate_has_its_name_here() {
        let (config, settings) = (Config::default(), Settings::default());
        let shown = format!(
            "{:?} {:?} {:?}",
            config.limits, settings.limits, settings.http
        );
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let fields = shown
            .split([' ', '{', ','])
            .filter_map(|word| word.strip_suffix(':'));
        let fields: Vec<&str> = fields.filter(|name| name.chars().all(is_name)).collect();
        assert!(fields.len() > 30, "{shown}");
        for field in fields.into_iter().filter(|field| *field != "client") {
            let clients = format!("client.{field}");
            let known = |(name, _): &(&str, _)| *name == field || *name == clients;
            assert!(LIMITS.iter().any(known), "{field} is not in the list");
        }
        let names: std::collections::HashSet<&str> = LIMITS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), LIMITS.len(), "two limits of one name");
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        check("stall_ms", "expected NAME=VALUE");
        check(
            "speed=1",
            "there is no limit \"speed\"; the names are connections_max, ",
        );
        check("stall_ms=soon", "the value of stall_ms is a whole number");
        check(
            "streams_max=5000000000",
            "--limit streams_max=5000000000 is too large",
        );
    }
}
