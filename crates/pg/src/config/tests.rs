//! Tables of texts and what they mean, for every key and every way to say it wrongly. No sockets.
//! Rule: an expectation lists only what differs from the empty configuration.

use std::path::Path;

use super::*;

const SECRET: &str = "hunter2";

fn environment() -> Environment {
    Environment::empty()
        .with_user("me")
        .with_home(Path::new("/home/me"))
        .with_socket_directory(Path::new("/run/sockets"))
}

/// Each field as `name: value`.
fn fields(config: &Config) -> Vec<String> {
    let hosts: Vec<String> = config.hosts.iter().map(Host::to_string).collect();
    let password = config.password.as_ref().map(Secret::reveal);
    let Config { tls, keepalive, .. } = config;
    vec![
        format!("hosts: {}", hosts.join(",")),
        format!("user: {}", config.user),
        format!("password: {}", password.unwrap_or("none")),
        format!("passfile: {:?}", config.passfile),
        format!("database: {}", config.database),
        format!("application_name: {:?}", config.application_name),
        format!("options: {:?}", config.options),
        format!("parameters: {:?}", config.parameters),
        format!("connect_timeout: {:?}", config.connect_timeout),
        format!(
            "keepalive: {} {:?} {:?} {:?}",
            keepalive.enabled, keepalive.idle, keepalive.interval, keepalive.count
        ),
        format!("tcp_user_timeout: {:?}", config.tcp_user_timeout),
        format!("mode: {}", tls.mode.as_str()),
        format!("negotiation: {}", tls.negotiation.as_str()),
        format!("roots: {:?}", tls.roots),
        format!(
            "client: {}",
            tls.client.as_ref().map_or_else(
                || "none".to_owned(),
                |client| {
                    format!(
                        "{} {} {}",
                        client.certificate.display(),
                        client.key.display(),
                        client.named
                    )
                }
            )
        ),
        format!("sni: {}", tls.sni),
        format!("channel_binding: {}", config.channel_binding.as_str()),
        format!(
            "target_session_attrs: {}",
            config.target_session_attrs.as_str()
        ),
        format!("load_balance_hosts: {}", config.load_balance_hosts.as_str()),
        format!("scram_iterations_max: {}", config.scram_iterations_max),
        format!("statement_cache: {}", config.statement_cache),
        format!("pooler: {}", config.pooler.as_str()),
    ]
}

/// What is not as in the empty configuration.
fn different(config: &Config) -> String {
    let empty = fields(&Config::parse("", &environment()).unwrap());
    let differing = fields(config)
        .into_iter()
        .filter(|field| !empty.contains(field));
    differing.collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_in(&environment(), text, expected);
}

#[track_caller]
fn check_in(environment: &Environment, text: &str, expected: &str) {
    let found = match Config::parse(text, environment) {
        Ok(config) => different(&config),
        Err(error) => {
            assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
            format!("! {error}")
        }
    };
    if expected.starts_with('!') && expected.ends_with('…') {
        assert!(
            found.starts_with(expected.trim_end_matches('…')),
            "{text}: {found}"
        );
    } else {
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn empty_text_means_the_default_server_of_the_user() {
    let config = Config::parse("", &environment()).unwrap();
    assert_eq!(
        fields(&config)[..5],
        [
            "hosts: /run/sockets/.s.PGSQL.5432",
            "user: me",
            "password: none",
            "passfile: Some(\"/home/me/.pgpass\")",
            "database: me"
        ]
    );
    assert_eq!(config.connect_timeout, Some(Duration::from_secs(10)));
    assert_eq!(config.tls.mode, SslMode::Prefer);
    assert_eq!(
        config.tls.roots,
        Roots::Usual("/home/me/.postgresql/root.crt".into())
    );
    let bare = Config::parse("user=u", &Environment::empty()).unwrap();
    assert_eq!(bare.hosts[0].to_string(), "localhost:5432");
    assert_eq!(
        (bare.passfile, bare.tls.roots, bare.tls.client),
        (None, Roots::Nowhere, None)
    );
    check_in(
        &Environment::empty(),
        "",
        "! user: not given, and the system does not tell its user's name",
    );
}

#[test]
fn urls_are_read_into_their_parts() {
    for scheme in ["postgres", "postgresql"] {
        check(&format!("{scheme}://"), "");
        check(
            &format!("{scheme}://u:p@h:1/d"),
            "hosts: h:1; user: u; password: p; database: d",
        );
    }
    check("postgres://h", "hosts: h:5432");
    check("postgres://h/", "hosts: h:5432");
    check("postgres:///d", "database: d");
    check("postgres://u@", "user: u; database: u");
    check("postgres://u@h", "hosts: h:5432; user: u; database: u");
    check("postgres://:p@h", "hosts: h:5432; password: p");
    check("postgres://u:@h", "hosts: h:5432; user: u; database: u");
    check("postgres://:7", "hosts: /run/sockets/.s.PGSQL.7");
    check(
        "postgres://u:a:b@c@h/d",
        "hosts: h:5432; user: u; password: a:b@c; database: d",
    );
    check(
        "postgres://%75%40:%2f%3F%E7%B4%A1@h/%64%2F",
        "hosts: h:5432; user: u@; password: /?紡; database: d/",
    );
    check("postgres://h/a%40b", "hosts: h:5432; database: a@b");
    check(
        "postgres://[::1]:7,[fe80::2]/d",
        "hosts: [::1]:7,[fe80::2]:5432; database: d",
    );
    check("postgres://a:1,b,c:3/", "hosts: a:1,b:5432,c:3");
    check("postgres://a,/", "hosts: a:5432,/run/sockets/.s.PGSQL.5432");
    check(
        "postgres://%2Ftmp%2Fx:7/d",
        "hosts: /tmp/x/.s.PGSQL.7; database: d",
    );
    check(
        "postgres:///d?host=/tmp/x&port=7",
        "hosts: /tmp/x/.s.PGSQL.7; database: d",
    );
    check(
        "postgres://h/d?user=v&password=w&dbname=e",
        "hosts: h:5432; user: v; password: w; database: e",
    );
    check("postgres://h?ssl=true", "hosts: h:5432; mode: require");
    check(
        "postgres://h/?options=-c%20a=b&application_name=x%26y",
        "hosts: h:5432; application_name: Some(\"x&y\"); options: Some(\"-c a=b\")",
    );
    check(
        "postgres://h?sslmode=disable&&sslmode=require",
        "hosts: h:5432; mode: require",
    );
}

#[test]
fn malformed_urls_are_refused_with_the_reason() {
    check("postgres://h:x", "! url: a port is not a number…");
    check("postgres://h:70000", "! port: not a number from 1 to 65535");
    check("postgres://h:0", "! port: not a number from 1 to 65535");
    check(
        "postgres://[::1",
        "! url: an IPv6 address has no closing bracket",
    );
    check(
        "postgres://[::1]7",
        "! url: only :port may follow an IPv6 address in brackets",
    );
    check(
        "postgres://u:%zz@h",
        "! url: a % is not followed by two hexadecimal digits…",
    );
    check(
        "postgres://u:%4@h",
        "! url: a % is not followed by two hexadecimal digits…",
    );
    check("postgres://u:%00@h", "! url: %00 cannot be part of a value");
    check(
        "postgres://u:p@ss/w@h:1/d",
        "! url: an @ comes after the first /; write special characters…",
    );
    check("postgres://u@h/a@b", "! url: an @ comes after the first /…");
    check("postgres://u:%ff@h", "! url: a value is not UTF-8");
    check("postgres://a%2Cb", "! url: a host name has a comma");
    check(
        "postgres://h/d?sslmode",
        "! url: a part of the query has no `=`…",
    );
    check(
        "postgres://h/d?colour=red",
        "! colour: unknown; the known keys are application_name, channel_binding,…",
    );
    check(
        "http://h",
        "! connection string: a word is not followed by `=`…",
    );
}

#[test]
fn key_value_texts_are_read_with_their_quotes() {
    check(
        "host=h port=1 user=u password=p dbname=d",
        "hosts: h:1; user: u; password: p; database: d",
    );
    check("  host = h\n\tport=1 ", "hosts: h:1");
    check(
        r"password='it''",
        "! connection string: a word is not followed by `=`…",
    );
    check(
        r"password='it\'s a \\ b' user=u",
        r"user: u; password: it's a \ b; database: u",
    );
    check(r"password=a\ b\'", "password: a b'");
    check("password='' user=''", "");
    check("host= port=1", "hosts: port=1:5432");
    check("user=u user=v", "user: v; database: v");
    check("host=a,b port=1,2", "hosts: a:1,b:2");
    check("host=a,b port=7", "hosts: a:7,b:7");
    check("host=a,b port=,7", "hosts: a:5432,b:7");
    check("host=/x,b", "hosts: /x/.s.PGSQL.5432,b:5432");
    check("host=紡ぎ", "hosts: 紡ぎ:5432");
    check(
        "password='open",
        "! connection string: a quoted value has no closing quote",
    );
    check("=x", "! connection string: a `=` has no key before it");
    check(
        "host",
        "! connection string: a word is not followed by `=`…",
    );
    check("host=a,b port=1,2,3", "! port: 3 elements for 2 hosts");
    check(
        "host=a,b hostaddr=1.2.3.4",
        "! hostaddr: 1 elements for 2 hosts",
    );
    check(
        "host=a hostaddr=b",
        "! hostaddr: `b` is not an IPv4 or IPv6 address",
    );
    check("colour=red", "! colour: unknown; the known keys are…");
    check(
        &format!("host={}", ["h"; 65].join(",")),
        "! host: 65 hosts are more than hosts_max (64)",
    );
    check(
        &"x".repeat(CONNECTION_STRING_BYTES_MAX + 1),
        "! connection string: longer than connection_string_bytes_max (65536)",
    );
}

#[test]
fn host_and_session_keys_are_read_or_refused_with_a_reason() {
    check("hostaddr=127.0.0.1", "hosts: 127.0.0.1:5432");
    check("hostaddr=::1 port=7", "hosts: [::1]:7");
    let named = Config::parse("host=db.example hostaddr=192.0.2.7", &environment()).unwrap();
    let address = Some("192.0.2.7".parse().unwrap());
    assert_eq!(
        named.hosts,
        [Host::Tcp {
            name: "db.example".into(),
            address,
            port: 5432
        }]
    );
    check("passfile=/p", "passfile: Some(\"/p\")");
    check("application_name=a", "application_name: Some(\"a\")");
    check(
        "fallback_application_name=f",
        "application_name: Some(\"f\")",
    );
    check(
        "application_name=a fallback_application_name=f",
        "application_name: Some(\"a\")",
    );
    check("options='-c geqo=off'", "options: Some(\"-c geqo=off\")");
    for encoding in ["UTF8", "utf-8", "auto", "unicode"] {
        check(&format!("client_encoding={encoding}"), "");
    }
    check(
        "client_encoding=latin1",
        "! client_encoding: `latin1` is not UTF8, the only encoding of this client",
    );
    check("scram_iterations_max=5000", "scram_iterations_max: 5000");
    check("statement_cache=0", "statement_cache: 0");
    check("statement_cache=65536", "statement_cache: 65536");
    check(
        "statement_cache=65537",
        "! statement_cache: `65537` is not a number of statements from 0 to 65536",
    );
}

#[test]
fn time_keys_are_read_in_their_units_or_refused() {
    check("connect_timeout=3", "connect_timeout: Some(3s)");
    check("connect_timeout=0", "connect_timeout: None");
    check("connect_timeout=-1", "connect_timeout: None");
    check(
        "connect_timeout=soon",
        "! connect_timeout: `soon` is not a number of seconds",
    );
    check("keepalives=0", "keepalive: false None None None");
    check(
        "keepalives_idle=5 keepalives_interval=6 keepalives_count=7",
        "keepalive: true Some(5s) Some(6s) Some(7)",
    );
    check(
        "keepalives_idle=0 keepalives_interval=0 keepalives_count=0",
        "",
    );
    check("keepalives=2", "! keepalives: `2` is not one of 0, 1");
    check(
        "keepalives_idle=x",
        "! keepalives_idle: `x` is not a number of seconds from 0 to 32767",
    );
    check(
        "keepalives_count=128",
        "! keepalives_count: `128` is not a number of tries from 0 to 127",
    );
    check("tcp_user_timeout=1500", "tcp_user_timeout: Some(1.5s)");
    check("tcp_user_timeout=0", "");
}

#[test]
fn tls_keys_set_mode_and_roots_or_are_refused() {
    check("sslsni=0", "sni: false");
    check(
        "sslnegotiation=direct sslmode=require",
        "mode: require; negotiation: direct",
    );
    check(
        "sslnegotiation=direct",
        "! sslnegotiation: `direct` needs sslmode=require or stricter, not `prefer`",
    );
    check("sslrootcert=/r", "roots: File(\"/r\")");
    check("sslrootcert=system", "mode: verify-full; roots: System");
    check(
        "sslrootcert=system sslmode=require",
        "! sslmode: `require` is too weak for sslrootcert=system; use verify-full",
    );
    check("sslcert=/c sslkey=/k", "client: /c /k true");
    check(
        "sslkey=/k",
        "client: /home/me/.postgresql/postgresql.crt /k false",
    );
    check_in(
        &Environment::empty(),
        "user=me sslcert=/c",
        "! sslkey: not given, and sslcert needs it",
    );
    check("gssencmode=disable", "");
    check(
        "gssencmode=require",
        "! gssencmode: encryption by GSSAPI is not supported; use sslmode=verify-full",
    );
    check(
        "gssencmode=maybe",
        "! gssencmode: `maybe` is not one of disable, prefer, require",
    );
}

#[test]
fn keys_of_words_take_their_words_only() {
    for (key, field, words) in [
        (
            "sslmode",
            "mode",
            "disable, allow, prefer, require, verify-ca, verify-full",
        ),
        (
            "channel_binding",
            "channel_binding",
            "disable, prefer, require",
        ),
        ("sslnegotiation", "negotiation", "postgres, direct"),
        (
            "target_session_attrs",
            "target_session_attrs",
            "any, read-write, read-only, primary, standby, prefer-standby",
        ),
        (
            "load_balance_hosts",
            "load_balance_hosts",
            "disable, random",
        ),
        ("pooler", "pooler", "none, transaction"),
    ] {
        let empty = fields(&Config::parse("", &environment()).unwrap());
        for word in words.split(", ").filter(|word| *word != "direct") {
            let field = format!("{field}: {word}");
            let expected = if empty.contains(&field) { "" } else { &field };
            check(&format!("{key}={word}"), expected);
        }
        check(
            &format!("{key}=Any"),
            &format!("! {key}: `Any` is not one of {words}"),
        );
    }
}

#[test]
fn environment_fills_what_the_text_leaves_open() {
    let given = [
        ("PGHOST", "h", "hosts: h:5432"),
        ("PGHOSTADDR", "127.0.0.1", "hosts: 127.0.0.1:5432"),
        ("PGPORT", "7", "hosts: /run/sockets/.s.PGSQL.7"),
        ("PGDATABASE", "d", "database: d"),
        ("PGUSER", "u", "user: u; database: u"),
        ("PGPASSWORD", "p", "password: p"),
        ("PGPASSFILE", "/p", "passfile: Some(\"/p\")"),
        ("PGOPTIONS", "-c a=b", "options: Some(\"-c a=b\")"),
        ("PGAPPNAME", "a", "application_name: Some(\"a\")"),
        ("PGSSLMODE", "disable", "mode: disable"),
        ("PGSSLROOTCERT", "/r", "roots: File(\"/r\")"),
        (
            "PGSSLCERT",
            "/c",
            "client: /c /home/me/.postgresql/postgresql.key true",
        ),
        (
            "PGSSLKEY",
            "/k",
            "client: /home/me/.postgresql/postgresql.crt /k false",
        ),
        ("PGSSLSNI", "0", "sni: false"),
        (
            "PGSSLNEGOTIATION",
            "direct",
            "! sslnegotiation: `direct` needs…",
        ),
        ("PGCHANNELBINDING", "require", "channel_binding: require"),
        ("PGCONNECT_TIMEOUT", "2", "connect_timeout: Some(2s)"),
        (
            "PGCLIENTENCODING",
            "latin1",
            "! client_encoding: `latin1` is not UTF8…",
        ),
        (
            "PGTARGETSESSIONATTRS",
            "primary",
            "target_session_attrs: primary",
        ),
        ("PGLOADBALANCEHOSTS", "random", "load_balance_hosts: random"),
        (
            "PGGSSENCMODE",
            "require",
            "! gssencmode: encryption by GSSAPI…",
        ),
        (
            "PGTZ",
            "Asia/Tokyo",
            "parameters: [(\"TimeZone\", \"Asia/Tokyo\")]",
        ),
        ("PGUSER", "", ""),
        ("PGCOLOUR", "red", ""),
    ];
    for (name, value, expected) in given {
        check_in(&environment().with_variable(name, value), "", expected);
    }
    let both = environment()
        .with_variable("PGHOST", "h")
        .with_variable("PGPORT", "7");
    check_in(&both, "host=g", "hosts: g:7");
    check_in(&both, "postgres://u@/d", "hosts: h:7; user: u; database: d");
}

#[test]
fn service_is_a_group_of_keys() {
    let home = tempfile::tempdir().unwrap();
    let system = tempfile::tempdir().unwrap();
    let path = home.path().join(".pg_service.conf");
    let text = "# ours\n[first]\nhost=h\n\n[second]\n host = g \nport=7\nuser=s\n[odd]\ncolour=red\n[nested]\nservice=first\n[bare]\nhost\n[first]\nhost=never\n";
    std::fs::write(&path, text).unwrap();
    std::fs::write(
        system.path().join("pg_service.conf"),
        "[shared]\nhost=everywhere\n[first]\nhost=never\n",
    )
    .unwrap();
    let environment = environment()
        .with_home(home.path())
        .with_variable("PGSYSCONFDIR", &system.path().display().to_string());
    let check = |environment: &Environment, text: &str, expected: &str| {
        let found = match Config::parse(text, environment) {
            Ok(config) => format!("{config}"),
            Err(error) => format!("! {error}"),
        };
        assert!(found.starts_with(expected), "{text}: {found}");
    };
    check(&environment, "service=first", "postgres://me@h:5432/me");
    check(&environment, "service=second", "postgres://s@g:7/s");
    check(
        &environment,
        "service=second port=8 user=u",
        "postgres://u@g:8/u",
    );
    check(
        &environment,
        "postgres:///?service=shared",
        "postgres://me@everywhere:5432/me",
    );
    let variables = environment
        .clone()
        .with_variable("PGSERVICE", "second")
        .with_variable("PGPORT", "9");
    check(&variables, "", "postgres://s@g:7/s");
    check(&variables, "service=first", "postgres://me@h:9/me");
    check(
        &environment,
        "service=none",
        &format!(
            "! service: there is no service `none` in {} and ",
            path.display()
        ),
    );
    check(&environment, "service=odd", "! colour: unknown in ");
    check(&environment, "service=nested", "! service: line 12 of ");
    check(&environment, "service=bare", "! service: line 14 of ");
    let named = environment
        .clone()
        .with_variable("PGSERVICEFILE", "/nowhere/at/all");
    check(
        &named,
        "service=first",
        "! service: cannot read /nowhere/at/all: ",
    );
    let large = "x".repeat(usize::try_from(crate::limits::FILE_BYTES_MAX).unwrap() + 1);
    std::fs::write(&path, large).unwrap();
    check(
        &environment,
        "service=first",
        &format!(
            "! service: cannot read {}: larger than file_bytes_max (1048576)",
            path.display()
        ),
    );
}

#[test]
fn password_file_is_searched_line_by_line() {
    let text = "\
# comment:*:*:*:no
h:5432:d:u:plain
h:*:d:v:any port
*:7:*:*:port seven
[::1]:1:a:b:no
::1:1:a:b:no
\\:\\:1:8:d:u:v6
e:9:d\\:e:u\\\\:esc\\:aped\\\\ and:colons
localhost:*:d:u:socket
/tmp/x:*:d:u:other socket
short:line
*:*:empty:*:
*:*:empty:*:second";
    for (connection, expected) in [
        ("host=h dbname=d user=u", Some("plain")),
        ("host=h dbname=d user=v port=99", Some("any port")),
        ("host=h dbname=x user=u", None),
        ("host=g dbname=x user=y port=7", Some("port seven")),
        ("host=::1 port=8 dbname=d user=u", Some("v6")),
        ("hostaddr=::1 port=8 dbname=d user=u", Some("v6")),
        (
            r"host=e port=9 dbname=d:e user=u\\",
            Some(r"esc:aped\ and:colons"),
        ),
        ("host=/var/run/postgresql dbname=d user=u", Some("socket")),
        ("host=/tmp/x dbname=d user=u", Some("other socket")),
        ("host=h dbname=empty", Some("second")),
    ] {
        let config = Config::parse(connection, &environment()).unwrap();
        let found = Passfile(text).password(&config, &config.hosts[0]);
        assert_eq!(found.as_ref().map(Secret::reveal), expected, "{connection}");
    }
}

#[test]
fn no_password_is_shown() {
    for text in [
        format!("postgres://u:{SECRET}@h:x"),
        format!("postgres://u:{SECRET}/w@h"),
        format!("postgres://u:1/{SECRET}@h"),
        format!("postgres://u:p@{SECRET}/w@h:1/d"),
        format!("postgres://u:p@w/{SECRET}@h:1/d"),
        format!("postgres://u:{SECRET}?w@h"),
        format!("postgres://u:1?{SECRET}@h"),
        format!("postgres://u:%{SECRET}@h"),
        format!("postgres://u:[{SECRET}"),
        format!("password=my {SECRET}"),
        format!("password=my {SECRET}=x"),
        format!("password='{SECRET}"),
        format!("password={SECRET} port=x"),
        format!("postgres://u:{SECRET}@h?sslmode=x"),
    ] {
        check(&text, "!…");
    }
    let config = Config::parse(&format!("postgres://u:{SECRET}@h/d"), &environment()).unwrap();
    assert_eq!(config.password.as_ref().unwrap().reveal(), SECRET);
    assert_eq!(config.to_string(), "postgres://u@h:5432/d");
    assert!(!format!("{config:?} {config:#?}").contains(SECRET));
}

#[test]
fn unknown_keys_can_be_kept_for_the_caller() {
    let text = "postgres://h/d?pool_max=5&sslmode=require&log=true";
    let (config, rest) = Config::parse_known(text, &environment()).unwrap();
    assert_eq!(
        different(&config),
        "hosts: h:5432; database: d; mode: require"
    );
    assert_eq!(
        rest,
        [
            ("pool_max".into(), "5".into()),
            ("log".into(), "true".into())
        ]
    );
}

#[test]
fn arbitrary_text_never_panics_the_parser() {
    let pieces = [
        "postgres://",
        "host",
        "=",
        " ",
        "'",
        "\\",
        "@",
        ":",
        "/",
        "?",
        "&",
        ",",
        "[",
        "]",
        "%",
        "%4",
        "%e7",
        "0",
        "65536",
        "紡",
        "port",
        "password",
        "sslmode",
        "service",
        "hostaddr",
        "::1",
        "#",
        "\n",
        "\0",
    ];
    let dice = tsumugi_testkit::Dice::new(1);
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            text.push_str(dice.pick(&pieces));
        }
        // Whatever comes of it is a configuration with a host or an error with a text.
        match Config::parse(&text, &environment()) {
            Ok(config) => assert!(!config.hosts.is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
