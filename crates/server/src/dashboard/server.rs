//! What the server is and how it was started, for the dashboard. Rule: no value of the environment, no password and no token is here.

use serde_json::{Map, Value, json};

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

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

/// `GET server`.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let known = &*dashboard.description;
    let options = known.options.iter().cloned();
    let options: Map<String, Value> = options
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let limits = known.limits.iter().map(|limit| {
        json!({
            "name": limit.name,
            "value": limit.value,
            "default": limit.default,
            "unit": limit.unit(),
        })
    });
    let mut answer = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "features": known.features,
        "options": options,
        "limits": limits.collect::<Vec<Value>>(),
        "listeners": known.listeners,
        "versions": { "rust": env!("CARGO_PKG_RUST_VERSION") },
        "process": std::process::id(),
    });
    for (name, version) in &known.versions {
        answer["versions"][*name] = json!(version);
    }
    Ok(answer)
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
