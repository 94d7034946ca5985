//! URLs and what they mean. Rule: an error is checked by its text, and no text has a password.

use super::*;

/// What is made of a URL: how it is shown, or the error.
#[track_caller]
fn check(url: &str, expected: &str) {
    let shown = match Config::parse(url) {
        Ok(config) => config.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected);
    assert!(!shown.contains("secret"));
}

#[test]
fn first_slash_divides_the_server_from_its_database() {
    check("firebird://u:secret@h/test", "firebird://u@h:3050/test");
    check(
        "firebird://u:secret@h:3051//srv/x.fdb",
        "firebird://u@h:3051//srv/x.fdb",
    );
    check("firebird://u@h/C:%5Cx.fdb", "firebird://u@h:3050/C:\\x.fdb");
    check("firebird://u@h/a%40b", "firebird://u@h:3050/a@b");
    check("firebird://u@[::1]:3051/a", "firebird://u@[::1]:3051/a");
    check("firebird://u@/a", "firebird://u@localhost:3050/a");
    check("firebird://u@:3051/a", "firebird://u@localhost:3051/a");
}

#[test]
fn key_with_a_wrong_value_is_refused_with_what_it_takes() {
    check("firebird://u@h/a?charset=utf8", "firebird://u@h:3050/a");
    check(
        "firebird://u@h/a?charset=NONE",
        "charset: must be UTF8; the server converts what it stores",
    );
    check(
        "firebird://u@h/a?auth=Srp,Plain",
        "auth: must be of Srp256, Srp and Legacy_Auth, divided by commas",
    );
    check(
        "firebird://u@h/a?wire_crypt=on",
        "wire_crypt: must be disabled, enabled or required",
    );
    check("firebird://u@h/a?port=x", "port: not a number that fits");
    check(
        "firebird://u@h/a?statement_cache=65537",
        "statement_cache: more than statement_cache_max (65536)",
    );
    let known = KEYS.join(", ");
    check(
        "firebird://u@h/a?rolle=x",
        &format!("rolle: unknown; the known keys are {known}"),
    );
}

#[test]
fn missing_or_unescaped_part_is_reported_without_the_password() {
    check(
        "firebird://u:secret@h",
        "database: missing; write firebird://user:password@host/database",
    );
    check(
        "firebird://h/a",
        "user: missing; write firebird://user:password@host/database",
    );
    check(
        "firebird://u:sec/ret@h/a",
        "url: a port is not a number; write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)",
    );
    for url in ["firebird://u:p@secret/w@h/a", "firebird://u:p@w/secret@h/a"] {
        check(
            url,
            "url: an @ comes after the first /; write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)",
        );
    }
    check(
        "firebird://u:secret@[::1]3050/a",
        "url: only :port may follow an IPv6 address in brackets",
    );
    check(
        "postgres://u@h/a",
        "url: it does not begin with firebird://",
    );
    check(
        "firebird://u:%secret@h/a",
        "url: a % is not followed by two hexadecimal digits; write special characters of names and passwords as % and two hexadecimal digits (%40 is @, %2F is /)",
    );
    let config = Config::parse("firebird://u:p%40ss@h/a?role=r&connect_timeout=0").unwrap();
    assert_eq!(config.password.reveal(), "p@ss");
    assert_eq!(config.role.as_deref(), Some("r"));
    assert_eq!(config.connect_timeout, None);
    assert!(!format!("{config:?}").contains("p@ss"));
}
