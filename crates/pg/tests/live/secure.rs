//! The TLS matrix: each mode with each kind of server and each set of roots.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tsumugi_testkit::postgres::{Dates, Options, PostgresTls, Server, User};

use crate::{connect, process, text};

/// For the modes disable, allow, prefer, require, verify-ca and verify-full: `plain`, `tls`, or a piece of the error.
async fn check(server: &Server, host: &str, roots: Option<&std::path::Path>, expected: [&str; 6]) {
    let modes = [
        "disable",
        "allow",
        "prefer",
        "require",
        "verify-ca",
        "verify-full",
    ];
    for (mode, expected) in modes.into_iter().zip(expected) {
        let mut words = format!(
            "host={host} port={} user=postgres sslmode={mode}",
            server.port()
        );
        if let Some(path) = roots {
            words.push_str(&format!(" sslrootcert={}", path.display()));
        }
        let found = match connect(&words).await {
            Ok(connected) => {
                let question = format!(
                    "select ssl from pg_stat_ssl where pid = {}",
                    process(&connected)
                );
                let encrypted = server.psql(&question) == "t";
                assert_eq!(connected.stream.is_encrypted(), encrypted);
                if encrypted {
                    "tls".to_owned()
                } else {
                    "plain".to_owned()
                }
            }
            Err(error) => text(Err(error)),
        };
        assert!(found.contains(expected), "{words}: {found}");
    }
}

const UNSURE: &str = "sslrootcert: not given; name the file";
const SIGNER: &str = "(TLS): invalid peer certificate: UnknownIssuer; name the file with its signer's certificate as sslrootcert";

#[tokio::test]
async fn server_without_tls_is_reached_as_sslmode_says() {
    let server = Server::shared();
    let none = "the server does not offer TLS";
    check(
        server,
        "localhost",
        None,
        ["plain", "plain", "plain", none, UNSURE, UNSURE],
    )
    .await;
    let directory = server.socket_directory().display().to_string();
    check(server, &directory, None, ["plain"; 6]).await;
}

#[tokio::test]
async fn server_with_tls_is_reached_as_sslmode_says() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    let files = server.certificates().clone();
    for host in ["localhost", "127.0.0.1"] {
        check(
            &server,
            host,
            None,
            ["plain", "plain", "tls", "tls", UNSURE, UNSURE],
        )
        .await;
        check(
            &server,
            host,
            Some(&files.authority),
            ["plain", "plain", "tls", "tls", "tls", "tls"],
        )
        .await;
        // As with libpq, a file of roots that is there counts in every mode.
        check(
            &server,
            host,
            Some(&files.stranger),
            ["plain", "plain", "plain", SIGNER, SIGNER, SIGNER],
        )
        .await;
        // Trusted as it is.
        check(
            &server,
            host,
            Some(&files.server),
            ["plain", "plain", "tls", "tls", "tls", "tls"],
        )
        .await;
    }
    let directory = server.socket_directory().display().to_string();
    check(&server, &directory, None, ["plain"; 6]).await;
    let bad = "cannot read /no/such/file";
    let nowhere = std::path::Path::new("/no/such/file");
    check(
        &server,
        "localhost",
        Some(nowhere),
        ["plain", bad, bad, bad, bad, bad],
    )
    .await;
    let key = Some(files.client_key.as_path());
    check(
        &server,
        "localhost",
        key,
        ["plain", "has no certificate in PEM", "", "", "", ""],
    )
    .await;
}

#[tokio::test]
async fn certificate_of_another_host_is_refused_by_verify_full_only() {
    let server = Options::default().tls(PostgresTls::Elsewhere).start();
    let files = server.certificates().clone();
    let name = "(TLS): invalid peer certificate: certificate not valid for name \"localhost\"";
    check(
        &server,
        "localhost",
        Some(&files.authority),
        ["plain", "plain", "tls", "tls", "tls", name],
    )
    .await;
    // The name counts, whatever the address.
    let words = format!(
        "host=elsewhere.example hostaddr=127.0.0.1 port={} sslmode=verify-full sslrootcert={}",
        server.port(),
        files.authority.display()
    );
    assert!(connect(&words).await.unwrap().stream.is_encrypted());
}

/// What libpq makes of it: whether it connects.
fn libpq(words: &str) -> Result<(), String> {
    let program = tsumugi_testkit::postgres::find_program("psql");
    let output = std::process::Command::new(program)
        .args(["--no-psqlrc", "--no-password", "-c", "select 1", words])
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A server whose certificate, or whose authority, is trusted by name and has these dates: as libpq takes it, so do we.
async fn check_dates(tls: PostgresTls, expected: Option<&str>) {
    let server = Options::default().tls(tls).start();
    let files = server.certificates().clone();
    let roots = match tls {
        PostgresTls::SelfSigned(_) => &files.server,
        _ => &files.authority,
    };
    for mode in ["require", "verify-ca", "verify-full"] {
        let words = format!(
            "host=localhost port={} user=postgres dbname=postgres sslmode={mode} sslrootcert={}",
            server.port(),
            roots.display()
        );
        let (ours, theirs) = (connect(&words).await, libpq(&words));
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{words}: {theirs:?}");
        assert_eq!(ours.is_ok(), expected.is_none(), "{words}");
        if let Some(expected) = expected {
            let text = text(ours);
            assert!(text.contains(expected), "{words}: {text}");
        }
    }
}

#[tokio::test]
async fn certificate_out_of_its_dates_is_refused_though_it_is_trusted() {
    let (past, future) = (
        "invalid peer certificate: certificate expired",
        "invalid peer certificate: certificate not valid yet",
    );
    check_dates(PostgresTls::SelfSigned(Dates::Now), None).await;
    check_dates(PostgresTls::SelfSigned(Dates::Past), Some(past)).await;
    check_dates(PostgresTls::SelfSigned(Dates::Future), Some(future)).await;
    check_dates(PostgresTls::AuthorityOf(Dates::Now), None).await;
    check_dates(PostgresTls::AuthorityOf(Dates::Past), Some(past)).await;
    check_dates(PostgresTls::AuthorityOf(Dates::Future), Some(future)).await;
}

/// A certificate in PEM with `z` for the `Z` behind its last date.
fn with_unreadable_date(pem: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let is_date = |text: &[u8]| {
        text.len() == 13 && text.ends_with(b"Z") && text[..12].iter().all(u8::is_ascii_digit)
    };
    let at = certificate.windows(13).rposition(is_date).unwrap() + 12;
    // Letters of either case differ in the bit of 0x20, the third of eight.
    let bit = at * 8 + 2;
    let mut digits = 0..;
    let mut changed = |character: u8| {
        let value = ALPHABET.iter().position(|one| *one == character);
        match value.filter(|_| digits.next() == Some(bit / 6)) {
            Some(value) => char::from(ALPHABET[value ^ (0x20 >> (bit % 6))]),
            None => char::from(character),
        }
    };
    let lines = pem.lines().map(|line| match line.starts_with('-') {
        true => line.to_owned(),
        false => line.bytes().map(&mut changed).collect(),
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

#[tokio::test]
async fn authority_whose_dates_cannot_be_read_is_refused() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    let authority = std::fs::read_to_string(&server.certificates().authority).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("authority.crt");
    for (pem, is_taken) in [(with_unreadable_date(&authority), false), (authority, true)] {
        std::fs::write(&path, pem).unwrap();
        let words = format!(
            "host=localhost port={} user=postgres dbname=postgres sslmode=verify-full sslrootcert={}",
            server.port(),
            path.display()
        );
        let (ours, theirs) = (connect(&words).await, libpq(&words));
        assert_eq!(theirs.is_ok(), is_taken, "{theirs:?}");
        assert_eq!(ours.is_ok(), is_taken, "{:?}", ours.err());
    }
}

#[tokio::test]
async fn encryption_fallback_is_tried_when_the_server_refuses_one_way() {
    let server = Options::default()
        .tls(PostgresTls::Localhost)
        .access("hostnossl all trusting all reject")
        .access("hostssl all postgres all reject")
        .start();
    for (user, mode, encrypted) in [
        (User::TRUST, "allow", true),
        (User::TRUST, "prefer", true),
        (User::ADMIN, "allow", false),
        (User::ADMIN, "prefer", false),
    ] {
        let connected = connect(&format!("{}?sslmode={mode}", server.url(user)))
            .await
            .unwrap();
        assert_eq!(
            connected.stream.is_encrypted(),
            encrypted,
            "{user:?} {mode}"
        );
    }
    for (user, mode) in [(User::TRUST, "disable"), (User::ADMIN, "require")] {
        let error = text(connect(&format!("{}?sslmode={mode}", server.url(user))).await);
        assert!(error.contains("pg_hba.conf rejects connection"), "{error}");
    }
}
