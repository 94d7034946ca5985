//! `--limit NAME=VALUE`: any limit of any crate, under the name that error messages and logs give it.
//! Holds no default and enforces nothing. A limit that is added to a crate is added to its list.

use std::num::ParseIntError;
use std::str::FromStr;

use crate::dashboard::LimitRow;
use crate::limits::ServerLimits;

/// A limit in a list: its name, what sets it, and what reads it. The setter says whether the limit's type can hold the value.
pub type Row<T> = (&'static str, fn(u64, &mut T) -> bool, fn(&T) -> u64);

/// The limits of what is served.
pub trait LimitSet: Clone + Default + 'static {
    /// Every one of them, but those of workers and of HTTP.
    const LIMITS: &'static [Row<Self>];

    /// What development mode does, for the help.
    const DEV: &'static str;

    /// Sets the limits of HTTP whose defaults depend on those of what is served. `is_given` says which limits the operator has set.
    fn settle(&self, http: &mut tsumugi_http::HttpLimits, is_given: impl Fn(&str) -> bool) {
        let _ = (http, is_given);
    }
}

/// The limits of a server.
#[derive(Clone, Debug, Default)]
pub struct Limits<T> {
    /// Those of workers.
    pub worker: tsumugi_worker::WorkerLimits,
    /// Those of HTTP.
    pub http: tsumugi_http::HttpLimits,
    /// Those of the server as a whole.
    pub server: ServerLimits,
    /// Those of what is served.
    pub app: T,
}

/// One limit and its value.
#[derive(Clone, Debug)]
pub struct Limit<T> {
    set: Setter<T>,
    value: u64,
    name: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Setter<T> {
    Worker(fn(u64, &mut tsumugi_worker::WorkerLimits) -> bool),
    Http(fn(u64, &mut tsumugi_http::HttpLimits) -> bool),
    Server(fn(u64, &mut ServerLimits) -> bool),
    App(fn(u64, &mut T) -> bool),
}

/// Why an argument of `--limit` is refused.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// There is no `=`.
    #[error("expected NAME=VALUE, for instance stall_ms=100")]
    Form,
    /// No limit has this name.
    #[error("there is no limit {name:?}; the names are {known}")]
    Name {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The value is no number.
    #[error("the value of {0} is a whole number: {1}")]
    Value(&'static str, ParseIntError),
}

/// A list of limits: of the fields of a type, and of the fields of one of its fields, which then have its name before them.
#[macro_export]
macro_rules! limited {
    ($($field:ident)* $(; $of:ident: $($inner:ident)*)*) => {
        &[
            $((
                stringify!($field),
                |value, limits| value.try_into().map(|value| limits.$field = value).is_ok(),
                |limits| limits.$field.try_into().unwrap_or(u64::MAX),
            ),)*
            $($((
                concat!(stringify!($of), ".", stringify!($inner)),
                |value, limits| value.try_into().map(|value| limits.$of.$inner = value).is_ok(),
                |limits| limits.$of.$inner.try_into().unwrap_or(u64::MAX),
            ),)*)*
        ]
    };
}

/// The limits of workers, which every server has.
pub const WORKER: &[Row<tsumugi_worker::WorkerLimits>] = limited!(
    connections_max backlog_max drain_ms_max load_ms_max offload_threads_max offload_queue_max stall_ms turn_cpu_ms_max
    stack_bytes_max
);

const HTTP: &[Row<tsumugi_http::HttpLimits>] = limited!(
    headers_max tls_handshake_ms proxy_header_ms proxy_header_bytes_max forwarded_hops_max header_bytes_max header_timeout_ms keep_alive_ms send_timeout_ms half_close_ms linger_ms
    linger_bytes_max body_bytes_max bodies_bytes_max body_timeout_ms connection_buffer_bytes_max connection_window_bytes_max
    answers_bytes_max stream_buffer_bytes_max streams_max parameters_max parts_max part_header_bytes_max field_bytes_max upload_memory_max
    upload_bytes_max uploads_bytes_max websocket_message_bytes_max websockets_bytes_max websocket_idle_ms websocket_close_ms
    handover_idle_ms
);

const SERVER: &[Row<ServerLimits>] = limited!(handover_store_ms);

/// Reads `NAME=VALUE`: the name, what `find` has for it, and the value. `names` are those that there are.
///
/// # Errors
/// What is wrong with the text.
pub fn assigned<S, N: Iterator<Item = &'static str>>(
    text: &str,
    find: impl Fn(&str) -> Option<(&'static str, S)>,
    names: impl Fn() -> N,
) -> Result<(&'static str, S, u64), LimitError> {
    let (name, value) = text.split_once('=').ok_or(LimitError::Form)?;
    let (name, set) = find(name).ok_or_else(|| LimitError::Name {
        name: name.to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
    })?;
    let value = value.replace('_', "").parse();
    let value = value.map_err(|source| LimitError::Value(name, source))?;
    Ok((name, set, value))
}

/// What sets the limit of this name.
pub fn row<T>(rows: &[Row<T>], name: &str) -> Option<Row<T>> {
    rows.iter().find(|(known, ..)| *known == name).copied()
}

impl<T: LimitSet> Limit<T> {
    /// The names of all limits.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let worker = WORKER.iter().map(|(name, ..)| *name);
        let app = T::LIMITS.iter().map(|(name, ..)| *name);
        let server = SERVER.iter().map(|(name, ..)| *name);
        let http = HTTP.iter().map(|(name, ..)| *name);
        worker.chain(app).chain(http).chain(server)
    }

    fn setter(name: &str) -> Option<(&'static str, Setter<T>)> {
        let worker = row(WORKER, name).map(|(name, set, _)| (name, Setter::Worker(set)));
        let app = || row(T::LIMITS, name).map(|(name, set, _)| (name, Setter::App(set)));
        let http = || row(HTTP, name).map(|(name, set, _)| (name, Setter::Http(set)));
        let server = || row(SERVER, name).map(|(name, set, _)| (name, Setter::Server(set)));
        worker.or_else(app).or_else(http).or_else(server)
    }

    /// Every limit with its value and its default.
    pub fn shown(limits: &Limits<T>) -> Vec<LimitRow> {
        fn rows<T: Default>(rows: &'static [Row<T>], of: &T) -> impl Iterator<Item = LimitRow> {
            let standard = T::default();
            rows.iter().map(move |(name, _, value)| LimitRow {
                name,
                value: value(of),
                default: value(&standard),
            })
        }
        let worker = rows(WORKER, &limits.worker);
        let app = rows(T::LIMITS, &limits.app);
        let http = rows(HTTP, &limits.http);
        let server = rows(SERVER, &limits.server);
        worker.chain(app).chain(http).chain(server).collect()
    }

    /// The limits that an operator has set, and the defaults of the others.
    ///
    /// # Errors
    /// When a value is beyond what its limit's type can hold.
    pub fn settle(
        given: &[Limit<T>],
        worker: tsumugi_worker::WorkerLimits,
    ) -> anyhow::Result<Limits<T>> {
        let mut limits = Limits {
            worker,
            ..Limits::default()
        };
        for limit in given {
            limit.apply(&mut limits)?;
        }
        let Limits { http, app, .. } = &mut limits;
        app.settle(http, |name| given.iter().any(|limit| limit.name == name));
        Ok(limits)
    }

    /// Puts the value where it is enforced.
    ///
    /// # Errors
    /// When the value is beyond what the limit's type can hold.
    pub fn apply(&self, limits: &mut Limits<T>) -> anyhow::Result<()> {
        let fits = match self.set {
            Setter::Worker(set) => set(self.value, &mut limits.worker),
            Setter::Http(set) => set(self.value, &mut limits.http),
            Setter::Server(set) => set(self.value, &mut limits.server),
            Setter::App(set) => set(self.value, &mut limits.app),
        };
        anyhow::ensure!(fits, "--limit {}={} is too large", self.name, self.value);
        Ok(())
    }
}

impl<T: LimitSet> FromStr for Limit<T> {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Limit<T>, LimitError> {
        let (name, set, value) = assigned(text, Self::setter, Self::names)?;
        Ok(Limit { set, value, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default)]
    struct App {
        request_ms_max: u64,
        client: Client,
    }

    #[derive(Clone, Debug, Default)]
    struct Client {
        call_ms_max: u32,
    }

    impl LimitSet for App {
        const DEV: &'static str = "Development";
        const LIMITS: &'static [Row<App>] = limited!(request_ms_max; client: call_ms_max);
    }

    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<Limit<App>>() {
            Ok(limit) => {
                let mut limits = Limits::default();
                match limit.apply(&mut limits) {
                    Ok(()) => format!(
                        "{} {} {} {}",
                        limits.worker.stall_ms,
                        limits.app.request_ms_max,
                        limits.app.client.call_ms_max,
                        limits.http.streams_max
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
        check("stall_ms=70", "70 0 0 128");
        check("request_ms_max=10_000", "50 10000 0 128");
        check("client.call_ms_max=5", "50 0 5 128");
        check("streams_max=7", "50 0 0 7");
    }

    #[test]
    fn limits_are_shown_with_their_values_and_defaults() {
        let given = [
            "stall_ms=70".parse().unwrap(),
            "client.call_ms_max=5".parse().unwrap(),
        ];
        let limits = Limit::<App>::settle(&given, tsumugi_worker::WorkerLimits::default()).unwrap();
        let shown = Limit::shown(&limits);
        let of = |name: &str| {
            let found = shown.iter().find(|row| row.name == name).unwrap();
            (found.value, found.default)
        };
        assert_eq!(of("stall_ms"), (70, 50));
        assert_eq!(of("client.call_ms_max"), (5, 0));
        assert_eq!(of("streams_max"), (128, 128));
        assert_eq!(shown.len(), Limit::<App>::names().count());
    }

    #[test]
    fn every_limit_of_workers_http_and_the_server_has_its_name_here() {
        let limits = Limits::<App>::default();
        let shown = format!("{:?} {:?} {:?}", limits.worker, limits.http, limits.server);
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let fields = shown
            .split([' ', '{', ','])
            .filter_map(|word| word.strip_suffix(':'));
        let fields: Vec<&str> = fields.filter(|name| name.chars().all(is_name)).collect();
        assert!(fields.len() > 20, "{shown}");
        for field in fields {
            assert!(Limit::<App>::names().any(|name| name == field), "{field}");
        }
        let names: std::collections::HashSet<&str> = Limit::<App>::names().collect();
        assert_eq!(names.len(), Limit::<App>::names().count());
    }

    #[test]
    fn argument_that_names_no_limit_is_refused() {
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
