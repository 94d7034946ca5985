//! What a Firebird URL and the caller's options say, taken apart: what the driver needs, what is ours.
//! Rule: an unknown option is refused, and the error names the known ones.

use std::borrow::Cow;
use std::time::Duration;

use tsumugi_firebird::{Config, Wait};

use crate::error::{Error, Result};
use crate::options::{self, Names, Options};

/// The driver's configuration, and the options with those of the URL laid over them.
pub(super) fn read(url: &str, options: Options) -> Result<(Config, Options)> {
    let (mut config, rest) =
        Config::parse_known(url).map_err(|error| Error::usage(error.to_string()))?;
    let rest = rest.iter().map(|(key, value)| (&**key, &**value));
    let known = tsumugi_firebird::config::known_keys().join(", ");
    let known = format!("busy_timeout_ms, names=lower|as_is, {known}");
    let options = options::overlay(rest, options, &known, |key, value, options| {
        match (key, value) {
            ("names", "lower") => options.names = Names::Lower,
            ("names", "as_is") => options.names = Names::AsIs,
            ("busy_timeout_ms", value) => {
                options.busy_timeout = Duration::from_millis(options::number(key, value)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if config.statement_cache == tsumugi_firebird::limits::STATEMENT_CACHE_DEFAULT {
        config.statement_cache = options.statement_cache;
    }
    config.reply_bytes_max = options.rows_max_bytes;
    Ok((config, options))
}

impl Names {
    pub(super) fn shown(self, name: &str) -> Cow<'_, str> {
        if self == Names::AsIs || name.chars().any(char::is_lowercase) {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(name.to_lowercase())
        }
    }
}

/// How long a statement of a transaction waits for a row that another one has changed. The server counts whole seconds.
pub(super) fn wait(options: &Options) -> Wait {
    let seconds = options.busy_timeout.as_millis().div_ceil(1000);
    Wait::Seconds(u32::try_from(seconds).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, part: &str) {
        let error = read(url, Options::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{url}: {error}");
    }

    #[test]
    fn a_url_names_the_database_as_the_server_knows_it() {
        let url = "firebird://ann:s%40cret@db:3051//srv/x.fdb?role=clerk&names=as_is&busy_timeout_ms=1500&pool=2";
        let (config, options) = read(url, Options::default()).unwrap();
        assert_eq!(config.to_string(), "firebird://ann@db:3051//srv/x.fdb");
        assert_eq!(config.password.reveal(), "s@cret");
        assert_eq!((options.pool, options.names), (2, Names::AsIs));
        assert_eq!(wait(&options), Wait::Seconds(2));
    }

    #[test]
    fn unknown_settings_are_refused() {
        check(
            "firebird://a:b@h/t?colour=red",
            "unknown database option colour",
        );
        check("firebird://a:b@h/t?names=upper", "names=lower|as_is");
        check("firebird://a:b@h/t?pool=0", "1 to 64");
        check("firebird://a:b@h/t?charset=WIN1252", "UTF8");
        check("firebird://a:secret@h", "database");
    }
}
