//! What there is to say of a server that does not change: options, limits, listeners; and what its operator says about the dashboard.
//! Rule: no value of the environment, no password and no token is in a description.

use std::sync::Arc;

use serde_json::Value;
use tsumugi_http::AdminToken;

/// What there is to say of a server that does not change.
#[derive(Clone, Debug, Default)]
pub struct ServerDescription {
    /// Versions of what it consists of, by name.
    pub versions: Vec<(&'static str, String)>,
    /// What can be switched on when it is built, and is.
    pub features: Vec<&'static str>,
    /// Options by name, with the values that hold.
    pub options: Vec<(&'static str, Value)>,
    /// All limits.
    pub limits: Vec<LimitRow>,
    /// Addresses, and what is spoken there.
    pub listeners: Vec<String>,
}

/// One limit.
#[derive(Clone, Debug)]
pub struct LimitRow {
    /// The name for `--limit`.
    pub name: &'static str,
    /// What holds.
    pub value: u64,
    /// What holds unless `--limit` says otherwise.
    pub default: u64,
}

impl LimitRow {
    /// What its number counts.
    pub fn unit(&self) -> &'static str {
        let words = || self.name.split(['_', '.']);
        let has = |unit: &str| words().any(|word| word == unit);
        match () {
            () if has("ms") => "ms",
            () if has("us") => "us",
            () if has("seconds") => "s",
            () if has("bytes") => "bytes",
            () => "",
        }
    }
}

/// What the operator says about the dashboard, and what there is to say about the server.
#[derive(Clone, Debug, Default)]
pub struct DashboardSettings {
    /// What it asks for.
    pub token: Option<AdminToken>,
    /// Options and limits.
    pub description: Arc<ServerDescription>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_of_a_limit_is_in_its_name() {
        for (name, unit) in [
            ("request_ms_max", "ms"),
            ("client.call_ms_max", "ms"),
            ("body_bytes_max", "bytes"),
            ("connections_max", ""),
        ] {
            let limit = LimitRow {
                name,
                value: 1,
                default: 1,
            };
            assert_eq!(limit.unit(), unit, "{name}");
        }
    }
}
