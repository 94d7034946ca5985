//! The limits of applications in Rust. Those of connections and bodies are HTTP's.

use tsumugi_server::{LimitSet, Row, limited};

/// Places in a type of `Json`, `Form`, `Query` or `Path` that `routes --openapi` describes; what is beyond is anything.
pub(crate) const PROBE_FIELDS_MAX: usize = 1_000;

/// How deep objects, lists and tuples of such a type are described.
pub(crate) const PROBE_DEPTH_MAX: usize = 8;

/// How often such a type is made again because it refused a value, and how many variants of an enum are looked at.
pub(crate) const PROBE_TRIES_MAX: usize = 64;

/// What one worker's application may use. Write `..Limits::default()` behind those that you set: a release or a feature (`mail`) may add one.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests of one worker that wait for something. While there are so many, another one is answered 503, and nothing of it runs.
    pub requests_max: usize,
    /// From the end of the request's header to the response, in milliseconds. Then the handler's future is dropped: 504.
    pub request_ms_max: u64,
    /// What handlers may use of other servers.
    pub client: tsumugi_client::CallLimits,
    /// What handlers may use of a mail server. Needs the feature `mail`.
    #[cfg(feature = "mail")]
    pub mail: tsumugi_mail::MailLimits,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests_max: 16_384,
            request_ms_max: 30_000,
            client: tsumugi_client::CallLimits::default(),
            #[cfg(feature = "mail")]
            mail: tsumugi_mail::MailLimits::default(),
        }
    }
}

/// The list of all limits, with those of what is not always built in.
macro_rules! limit_rows {
    ($($optional:tt)*) => {
        limited!(
            requests_max request_ms_max;
            client: connect_ms_max call_ms_max addresses_max connections_per_host_max connections_max idle_per_host_max idle_max
            idle_ms_max header_bytes_max response_bytes_max
            $($optional)*
        )
    };
}

impl LimitSet for Limits {
    const DEV: &'static str = "Development: show errors in the page";

    #[cfg(feature = "mail")]
    const LIMITS: &'static [Row<Limits>] = limit_rows!(
        ; mail: send_ms_max connections_max idle_max idle_ms_max message_bytes_max recipients_max
    );

    #[cfg(not(feature = "mail"))]
    const LIMITS: &'static [Row<Limits>] = limit_rows!();
}
