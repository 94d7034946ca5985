//! The keys and their variables, and what was said for each. What a value means is decided elsewhere.
//! Rule: an empty value says nothing, as in libpq.

use std::collections::BTreeMap;

use super::environment::Environment;

/// Every key, with the variable that stands in for it.
const KEYS: &[(&str, Option<&str>)] = &[
    ("application_name", Some("PGAPPNAME")),
    ("channel_binding", Some("PGCHANNELBINDING")),
    ("client_encoding", Some("PGCLIENTENCODING")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("dbname", Some("PGDATABASE")),
    ("fallback_application_name", None),
    ("gssencmode", Some("PGGSSENCMODE")),
    ("host", Some("PGHOST")),
    ("hostaddr", Some("PGHOSTADDR")),
    ("keepalives", None),
    ("keepalives_count", None),
    ("keepalives_idle", None),
    ("keepalives_interval", None),
    ("load_balance_hosts", Some("PGLOADBALANCEHOSTS")),
    ("options", Some("PGOPTIONS")),
    ("passfile", Some("PGPASSFILE")),
    ("password", Some("PGPASSWORD")),
    ("pooler", None),
    ("port", Some("PGPORT")),
    ("scram_iterations_max", None),
    ("service", Some("PGSERVICE")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslnegotiation", Some("PGSSLNEGOTIATION")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslsni", Some("PGSSLSNI")),
    ("statement_cache", None),
    ("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    ("tcp_user_timeout", None),
    ("user", Some("PGUSER")),
];

/// The keys of a connection string.
pub fn known_keys() -> Vec<&'static str> {
    KEYS.iter().map(|(key, _)| *key).collect()
}

pub fn is_known(key: &str) -> bool {
    KEYS.iter().any(|(known, _)| *known == key)
}

/// What was said, by key.
#[derive(Default)]
pub struct Settings(BTreeMap<&'static str, String>);

impl Settings {
    /// Takes the pairs with known keys, later ones over earlier ones, and gives back the others.
    pub fn sort(pairs: Vec<(String, String)>) -> (Settings, Vec<(String, String)>) {
        let mut settings = Settings::default();
        let mut rest = Vec::new();
        for (key, value) in pairs {
            match KEYS.iter().find(|(known, _)| *known == key) {
                Some((known, _)) => drop(settings.0.insert(known, value)),
                None => rest.push((key, value)),
            }
        }
        settings.0.retain(|_, value| !value.is_empty());
        (settings, rest)
    }

    /// Takes what is not yet said.
    pub fn fill(&mut self, other: Settings) {
        for (key, value) in other.0 {
            self.0.entry(key).or_insert(value);
        }
    }

    pub fn fill_from_environment(&mut self, environment: &Environment) {
        for (key, variable) in KEYS {
            let value = variable.and_then(|name| environment.variable(name));
            if let Some(value) = value {
                self.0.entry(key).or_insert(value);
            }
        }
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        debug_assert!(is_known(key));
        self.0.get(key).map(String::as_str)
    }

    pub fn take(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }
}
