//! What the addresses of engines behind a network have in common: their settings, and URLs with several servers. Knows no engine.
//! Rule: neither a password nor the value of a setting is shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tsumugi_wire::{Secret, url_pairs};

use crate::error::{Error, Result};
use crate::limits::{CALL_MS_DEFAULT, CALL_MS_MAX, ENDPOINTS_MAX};
use crate::settings::StoreSettings;

/// What engines behind a network have in common.
impl StoreSettings {
    /// `timeout` in seconds, as milliseconds.
    pub(crate) fn timeout_ms(&self) -> Result<Option<u64>> {
        let Some(text) = self.find("timeout") else {
            return Ok(None);
        };
        let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let ms = timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok());
        match ms {
            Some(ms @ 1..=CALL_MS_MAX) => Ok(Some(ms)),
            _ => Err(Error::address(format!(
                "timeout is a positive number of seconds, at most {}",
                CALL_MS_MAX / 1_000
            ))),
        }
    }

    /// [`timeout_ms`](Self::timeout_ms), or the default.
    pub(crate) fn call_ms(&self) -> Result<u64> {
        Ok(self.timeout_ms()?.unwrap_or(CALL_MS_DEFAULT))
    }

    /// The file of certificates that servers are verified by: `ca`, or the one that is configured for all.
    pub(crate) fn authority(&self, configured: Option<&Path>) -> Option<PathBuf> {
        let own = self.find("ca").map(PathBuf::from);
        own.or_else(|| configured.map(Path::to_owned))
    }
}

/// What URLs of engines have in common: `user:password@host:port,host:port/path?name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
    /// At least one; names or IP addresses without brackets.
    pub(crate) hosts: Vec<(String, u16)>,
    /// What follows the first slash.
    pub(crate) path: String,
    pub(crate) settings: StoreSettings,
}

impl ServerUrl {
    /// Reads what follows `scheme://`. Settings beside the URL are over those in it.
    pub(crate) fn parse(text: &str, port: u16, settings: &StoreSettings) -> Result<ServerUrl> {
        let pairs = url_pairs(text, "/").map_err(Error::address)?;
        let mut url = ServerUrl {
            user: None,
            password: None,
            hosts: Vec::new(),
            path: String::new(),
            settings: StoreSettings::default(),
        };
        let (mut names, mut ports) = (String::new(), String::new());
        // A query comes behind what the URL's own parts give, and is told from them by its place alone.
        let query = text.split_once('?').map_or("", |(_, query)| query);
        let own = pairs.len() - query.split('&').filter(|part| !part.is_empty()).count();
        for (at, (key, value)) in pairs.into_iter().enumerate() {
            match key.as_str() {
                _ if at >= own => url.settings.set(key, value),
                "user" => url.user = Some(value),
                "password" => url.password = Some(Secret::from(value)),
                "host" => names = value,
                "port" => ports = value,
                _ => url.path = value,
            }
        }
        let mut ports = ports.split(',');
        for name in names.split(',') {
            let given = ports.next().filter(|given| !given.is_empty());
            let given = given.map_or(Ok(port), str::parse);
            let given = given.map_err(|_| Error::address("a port is a number up to 65535"))?;
            if name.is_empty() {
                return Err(Error::address(
                    "a host is missing in the address of a store",
                ));
            }
            url.hosts.push((name.to_owned(), given));
        }
        if url.hosts.len() > ENDPOINTS_MAX {
            return Err(Error::address(format!(
                "{} servers in the address of a store, at most {ENDPOINTS_MAX} (ENDPOINTS_MAX)",
                url.hosts.len()
            )));
        }
        for (name, value) in settings.pairs() {
            url.settings.set(name.as_str(), value.as_str());
        }
        Ok(url)
    }
}

/// Servers as a URL has them.
pub(crate) fn shown_hosts(hosts: &[(String, u16)]) -> String {
    let shown = hosts.iter().map(|(host, port)| match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_read_into_its_parts() {
        let mut over = StoreSettings::default();
        over.set("timeout", "2");
        let text = "me:p%40ss@a,b:7,[::1]:8/app?user=other&timeout=1";
        let url = ServerUrl::parse(text, 5, &over).unwrap();
        assert_eq!(url.user.as_deref(), Some("me"));
        assert!(url.password.is_some());
        assert_eq!(shown_hosts(&url.hosts), "a:5,b:7,[::1]:8");
        assert_eq!(url.path, "app");
        assert_eq!(url.settings.find("user"), Some("other"));
        assert_eq!(url.settings.timeout_ms().unwrap(), Some(2_000));
        assert!(!format!("{url:?}").contains("p@ss"));
    }

    #[test]
    fn servers_beyond_their_limit_are_refused() {
        let hosts = |count| vec!["a"; count].join(",");
        let parse = |count| ServerUrl::parse(&hosts(count), 1, &StoreSettings::default());
        assert!(parse(ENDPOINTS_MAX).is_ok());
        let refused = parse(ENDPOINTS_MAX + 1).unwrap_err().to_string();
        assert!(refused.contains("ENDPOINTS_MAX"), "{refused}");
        assert!(ServerUrl::parse("", 1, &StoreSettings::default()).is_err());
    }
}
