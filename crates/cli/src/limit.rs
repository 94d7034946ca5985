//! The limits of Ruby under the names that `--limit` knows them by, beside those that every server has.
//! Holds no default and enforces nothing. A limit that is added to crates/ruby is added to the list here.

use std::ops::{Deref, DerefMut};

use tsumugi_server::{LimitSet, Row, limited};

/// The limits of an application in Ruby.
#[derive(Clone, Debug, Default)]
pub struct RubyLimits(pub tsumugi_ruby::Limits);

impl Deref for RubyLimits {
    type Target = tsumugi_ruby::Limits;

    fn deref(&self) -> &tsumugi_ruby::Limits {
        &self.0
    }
}

impl DerefMut for RubyLimits {
    fn deref_mut(&mut self) -> &mut tsumugi_ruby::Limits {
        &mut self.0
    }
}

// The names of the client's limits are those of the server's, too; they have its name before them.
impl LimitSet for RubyLimits {
    const DEV: &'static str = "Development: reload when a file of Ruby changes, show errors in the page, make up a session secret";

    const LIMITS: &'static [Row<RubyLimits>] = limited!(
        requests_max request_ms_max cancel_ms_max vm_bytes_max idle_fibres_max json_depth_max parallel_max
        channel_max json_symbols_max regexps_max regexp_backtracks_max regexp_bytes_max source_bytes_max
        eval_bytes_max render_depth_max;
        client: connect_ms_max call_ms_max addresses_max connections_per_host_max connections_max idle_per_host_max idle_max
        idle_ms_max header_bytes_max response_bytes_max
    );

    /// Every body that is read becomes a String of the VM: half of its memory is for them.
    fn settle(&self, http: &mut tsumugi_http::HttpLimits, is_given: impl Fn(&str) -> bool) {
        if !is_given("bodies_bytes_max") {
            http.bodies_bytes_max = self.vm_bytes_max as u64 / 2;
        }
    }
}

/// The names of fields in what `{:?}` shows of limits.
#[cfg(test)]
pub(crate) fn field_names(shown: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let fields = shown
        .split([' ', '{', ','])
        .filter_map(|word| word.strip_suffix(':'));
    fields.filter(|name| name.chars().all(is_name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsumugi_server::Limit;

    fn check(given: &[&str], bodies_bytes_max: u64) {
        let given: Vec<Limit<RubyLimits>> =
            given.iter().map(|text| text.parse().unwrap()).collect();
        let limits = Limit::settle(&given, tsumugi_worker::WorkerLimits::default()).unwrap();
        assert_eq!(limits.http.bodies_bytes_max, bodies_bytes_max);
    }

    #[test]
    fn bodies_may_take_half_of_the_vm_unless_their_limit_is_given() {
        check(&[], 128 << 20);
        check(&["vm_bytes_max=8_000_000"], 4_000_000);
        check(&["bodies_bytes_max=5", "vm_bytes_max=8000000"], 5);
    }

    #[test]
    fn every_limit_of_ruby_has_its_name_here() {
        let shown = format!("{:?}", RubyLimits::default());
        let fields = field_names(&shown);
        assert!(fields.len() > 20, "{shown}");
        for field in fields.into_iter().filter(|field| *field != "client") {
            let clients = format!("client.{field}");
            let known = |(name, _): &Row<RubyLimits>| *name == field || *name == clients;
            assert!(
                RubyLimits::LIMITS.iter().any(known),
                "{field} is not in the list"
            );
        }
    }
}
