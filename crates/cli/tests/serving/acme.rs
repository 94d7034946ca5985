//! Certificates by ACME, from a real authority: by both challenges, kept, renewed under load, refused. Its names lead to this machine.
//! Rule: what is waited for is a line of the log, so that no test hopes for a time.

use std::collections::HashSet;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, thread};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;
use tsumugi_testkit::acme::{Pebble, PebbleSettings};

use crate::rig::{Answer, PATIENCE, Served, ask, folder, get, request, serve};
use crate::tls::tls;

const APP: &[u8] = b"get('/') { \"ok #{request.scheme}\" }";

/// Failures after which a test gives up: on a crowded machine the authority may not find a server in time.
const FAILURES_MAX: usize = 3;

/// A server with a plain port that redirects and one of TLS.
struct Site {
    served: Served,
    plain: String,
    secure: String,
}

impl Site {
    fn start(folder: TempDir, pebble: &Pebble, names: &str, options: &[&str]) -> Site {
        let directory = pebble.directory();
        let authority = pebble.authority().display().to_string();
        let own = [
            "--listen",
            "127.0.0.1:0,redirect",
            "--listen",
            "127.0.0.1:0,tls",
            "--acme",
            names,
            "--acme-directory",
            &directory,
            "--acme-ca",
            &authority,
        ];
        let cache: &[&str] = match options.contains(&"--acme-cache") {
            true => &[],
            false => &["--acme-cache", "acme"],
        };
        let mut served = serve(folder, &[&own, cache, options].concat());
        Site {
            plain: served.word_after("listening on http://"),
            secure: served.word_after("listening on https://"),
            served,
        }
    }

    fn ports(&self) -> (u16, u16) {
        (port(&self.plain), port(&self.secure))
    }

    /// Has the authority look for it here.
    fn is_found_by(&self, pebble: &Pebble) {
        let (http, secure) = self.ports();
        pebble.lead_to(http, secure);
    }

    /// Reads the log up to a line with this, and answers the line.
    #[track_caller]
    fn line_with(&mut self, piece: &str) -> String {
        let (mut all, mut failures) = (String::new(), 0);
        loop {
            let mut line = String::new();
            assert!(
                self.served.log.read_line(&mut line).unwrap() > 0 && failures < FAILURES_MAX,
                "no {piece:?} in:\n{all}"
            );
            if line.contains(piece) {
                return line;
            }
            if line.contains("ext try in") {
                failures += 1;
                // Not after its pause, which is minutes.
                self.served.signal("-HUP");
            }
            all.push_str(&line);
        }
    }

    /// Ends it and leaves its folder.
    fn end(self) -> TempDir {
        let mut served = self.served;
        let empty = tempfile::tempdir().unwrap();
        let folder = std::mem::replace(&mut served.folder, empty);
        drop(served);
        folder
    }

    /// The body of `GET /`, over TLS by this name, and the certificate that was shown.
    fn over_tls(&self, roots: &RootCertStore, name: &str) -> std::io::Result<(String, Vec<u8>)> {
        let mut stream = connect(&self.secure, roots, name, &[])?;
        let shown = shown(&stream);
        stream.write_all(request("GET", "/", "").as_bytes())?;
        Ok((Answer::read(stream).text(), shown))
    }

    /// The file of the certificate in the cache.
    fn certificate(&self) -> PathBuf {
        let found = cache(self.served.folder.path());
        let mut found = found
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "pem"));
        let path = found.next().expect("the cache has a certificate");
        assert_eq!(found.next(), None);
        path
    }
}

fn port(address: &str) -> u16 {
    address.rsplit(':').next().unwrap().parse().unwrap()
}

/// The files of the cache.
fn cache(folder: &Path) -> Vec<PathBuf> {
    let files = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let directories = files(&folder.join("acme"));
    assert_eq!(directories.len(), 1, "{directories:?}");
    files(&directories[0])
}

fn connect(
    address: &str,
    roots: &RootCertStore,
    name: &str,
    protocols: &[&str],
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

fn shown(stream: &StreamOwned<ClientConnection, TcpStream>) -> Vec<u8> {
    stream.conn.peer_certificates().unwrap()[0].to_vec()
}

/// What the authority issues now is signed below this.
fn roots(pebble: &Pebble) -> RootCertStore {
    let authority = fs::read_to_string(pebble.authority()).unwrap();
    let mut stream = tls(&pebble.management(), &authority, &[]).unwrap();
    stream
        .write_all(request("GET", "/roots/0", "").as_bytes())
        .unwrap();
    let pem = Answer::read(stream).text();
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    roots.add(root).unwrap();
    roots
}

fn orders(pebble: &Pebble) -> usize {
    pebble.whole_log().matches("POST /order-plz").count()
}

const NEW: &str = "new certificate for";

#[test]
fn certificate_comes_by_http_while_the_plain_port_redirects() {
    let mut pebble = Pebble::start(PebbleSettings {
        nonces_refused: 5,
        ..PebbleSettings::default()
    });
    let names = "Example.org,www.example.org";
    let admin = ["--admin", "127.0.0.1:0"];
    let mut site = Site::start(folder(&[("app.rb", APP)]), &pebble, names, &admin);
    let admin = site.served.word_after("admin pages on http://");
    // The authority is silent: the plain port answers, and TLS is refused.
    let redirect = ask(&site.plain, "GET", "/a?b=c", "");
    assert_eq!(redirect.status(), 308);
    assert_eq!(redirect.field("location"), Some("https://x/a?b=c"));
    let unknown = get(&site.plain, "/.well-known/acme-challenge/unknown");
    assert_eq!(unknown.status(), 308);
    let none = RootCertStore::empty();
    let refusal = connect(&site.secure, &none, "example.org", &[]).unwrap_err();
    assert!(refusal.to_string().contains("AccessDenied"), "{refusal}");
    let (http, secure) = site.ports();
    pebble.open(http, secure);
    let line = site.line_with(NEW);
    assert!(
        line.contains("example.org, www.example.org: valid for 89 days"),
        "{line}"
    );
    let first_roots = roots(&pebble);
    let (body, first) = site.over_tls(&first_roots, "example.org").unwrap();
    assert_eq!(body, "ok https");
    let (_, same) = site.over_tls(&first_roots, "www.example.org").unwrap();
    assert_eq!(first, same);
    let h2 = connect(
        &site.secure,
        &first_roots,
        "example.org",
        &["h2", "http/1.1"],
    )
    .unwrap();
    assert_eq!(h2.conn.alpn_protocol(), Some(&b"h2"[..]));
    // Nothing is shown to one who looks for a challenge that is not there.
    assert!(connect(&site.secure, &first_roots, "example.org", &["acme-tls/1"]).is_err());
    let metrics = get(&admin, "/metrics").text();
    assert!(
        metrics.contains(r#"tsumugi_acme_orders_total{outcome="issued"} 1"#),
        "{metrics}"
    );
    assert!(
        metrics.contains("\ntsumugi_tls_certificate_end_seconds 1"),
        "{metrics}"
    );
}

#[test]
fn certificate_is_kept_and_ordered_again_only_where_it_cannot_be_used() {
    let mut pebble = Pebble::start(PebbleSettings::default());
    let names = "example.org,www.example.org";
    let mut site = Site::start(folder(&[("app.rb", APP)]), &pebble, names, &[]);
    let (http, secure) = site.ports();
    pebble.open(http, secure);
    site.line_with(NEW);
    let first_roots = roots(&pebble);
    let (_, first) = site.over_tls(&first_roots, "example.org").unwrap();

    // The next start has it from the cache, and asks nobody.
    let before = orders(&pebble);
    let mut site = Site::start(site.end(), &pebble, "www.example.org,example.org", &[]);
    let (_, kept) = site.over_tls(&first_roots, "example.org").unwrap();
    assert_eq!(first, kept);
    assert_eq!(orders(&pebble), before);
    let certificate = site.certificate();
    let account = certificate.with_file_name("account.json");
    let folder = site.end();
    fs::write(&certificate, "broken").unwrap();
    fs::write(&account, "broken").unwrap();
    pebble.hold();
    site = Site::start(folder, &pebble, names, &[]);
    site.is_found_by(&pebble);
    site.line_with("holds no account");
    site.line_with(NEW);
    assert!(account.with_file_name("account.json.unusable").exists());
    let (_, second) = site.over_tls(&first_roots, "example.org").unwrap();
    assert_ne!(first, second);
    // An authority that has forgotten the account.
    pebble.replace();
    let folder = site.end();
    fs::remove_file(&certificate).unwrap();
    site = Site::start(folder, &pebble, names, &[]);
    site.is_found_by(&pebble);
    site.line_with("does not know the account");
    site.line_with(NEW);
    site.over_tls(&roots(&pebble), "example.org").unwrap();
}

/// A certificate of which more than two thirds of its time are over, with its key first, and alone.
fn due(name: &str) -> (String, String) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let now = std::time::SystemTime::now();
    let day = std::time::Duration::from_secs(86_400);
    params.not_before = (now - 80 * day).into();
    params.not_after = (now + 10 * day).into();
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    (format!("{}{certificate}", key.serialize_pem()), certificate)
}

/// Asks on new connections and on one that lasts, without a failure, and counts the rounds. Answers the certificates that it was shown.
fn ask_until(
    address: &str,
    roots: &RootCertStore,
    is_over: &AtomicBool,
    rounds: &AtomicUsize,
) -> HashSet<Vec<u8>> {
    let mut certificates = HashSet::new();
    let mut lasting = connect(address, roots, "example.org", &[]).unwrap();
    while !is_over.load(Ordering::SeqCst) {
        let mut stream = connect(address, roots, "example.org", &[]).unwrap();
        certificates.insert(shown(&stream));
        stream
            .write_all(request("GET", "/", "").as_bytes())
            .unwrap();
        assert_eq!(Answer::read(stream).text(), "ok https");
        lasting
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"ok https") {
            let mut byte = [0];
            lasting.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
        rounds.fetch_add(1, Ordering::SeqCst);
    }
    certificates
}

#[test]
fn certificate_is_renewed_under_load_without_a_failed_request() {
    let mut pebble = Pebble::start(PebbleSettings::default());
    let alpn = ["--acme-challenge", "tls-alpn-01"];
    let mut site = Site::start(folder(&[("app.rb", APP)]), &pebble, "example.org", &alpn);
    let (http, secure) = site.ports();
    pebble.open(http, secure);
    let line = site.line_with("ordering a certificate");
    assert!(line.contains("by tls-alpn-01"), "{line}");
    site.line_with(NEW);
    let mut roots = roots(&pebble);
    let (_, first) = site.over_tls(&roots, "example.org").unwrap();
    let (file, old) = due("example.org");
    let old = CertificateDer::from_pem_slice(old.as_bytes()).unwrap();
    roots.add(old).unwrap();
    let roots = Arc::new(roots);
    let is_over = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let (roots, is_over, rounds) = (roots.clone(), is_over.clone(), rounds.clone());
            let address = site.secure.clone();
            thread::spawn(move || ask_until(&address, &roots, &is_over, &rounds))
        })
        .collect();
    let more_rounds = |count: usize| {
        let end = rounds.load(Ordering::SeqCst) + count;
        while rounds.load(Ordering::SeqCst) < end {
            assert!(
                clients.iter().all(|client| !client.is_finished()),
                "a client failed"
            );
            tsumugi_testkit::pause();
        }
    };
    more_rounds(6);
    fs::write(site.certificate(), file).unwrap();
    site.served.signal("-HUP");
    site.line_with(NEW);
    more_rounds(12);
    is_over.store(true, Ordering::SeqCst);
    let mut certificates = HashSet::new();
    for client in clients {
        certificates.extend(client.join().unwrap());
    }
    let (_, last) = site.over_tls(&roots, "example.org").unwrap();
    assert!(last != first && certificates.contains(&first) && certificates.contains(&last));
}

#[test]
fn order_that_fails_says_why_and_what_to_do_while_the_application_is_served() {
    let mut pebble = Pebble::start(PebbleSettings::default());
    let start = |names: &str, options: &[&str]| {
        let options = [&["--listen", "127.0.0.1:0"], options].concat();
        let mut site = Site::start(folder(&[("app.rb", APP)]), &pebble, names, &options);
        let plain = site.served.word_after("listening on http://");
        (site, plain)
    };
    let (mut refused, plain) = start("refused.example", &[]);
    let (mut missing, _) = start("nowhere.invalid", &[]);
    let (mut unanswered, _) = start("example.org", &["--acme-challenge", "http-01"]);
    let (_, secure) = refused.ports();
    pebble.open(port(&plain), secure);
    for (site, expected) in [
        (
            &mut refused,
            ["the authority refuses: ", "take it out of --acme"],
        ),
        (
            &mut missing,
            [
                "at nowhere.invalid",
                "see that the name leads to this machine",
            ],
        ),
        // Another server answers at its name.
        (
            &mut unanswered,
            [
                "by http-01 at example.org",
                "see where its A and AAAA records lead",
            ],
        ),
    ] {
        let line = site.line_with("no certificate for ");
        let line = match line.contains("yet: TLS handshakes are refused") {
            true => site.line_with("no certificate for "),
            false => line,
        };
        assert!(expected.iter().all(|piece| line.contains(piece)), "{line}");
        assert!(line.contains("Next try in 2 min or at SIGHUP"), "{line}");
    }
    assert_eq!(get(&plain, "/").text(), "ok http");
    // The reload that tries again is one of the application too, which goes on.
    unanswered.is_found_by(&pebble);
    unanswered.served.signal("-HUP");
    unanswered.line_with(NEW);
    unanswered.over_tls(&roots(&pebble), "example.org").unwrap();
}

#[test]
fn directory_that_is_not_there_is_named_and_asked_again_soon() {
    let pebble = Pebble::start(PebbleSettings::default());
    let directory = format!("https://localhost:{}/dir", tsumugi_testkit::free_port());
    let authority = pebble.authority().display().to_string();
    let options = ["--listen", "127.0.0.1:0", "--acme-ca", &authority];
    let acme = [
        "--acme",
        "example.org",
        "--acme-cache",
        "acme",
        "--acme-directory",
        &directory,
    ];
    let mut served = serve(
        folder(&[("app.rb", APP)]),
        &[&options[..], &acme[..]].concat(),
    );
    let line = loop {
        let mut line = String::new();
        assert!(served.log.read_line(&mut line).unwrap() > 0);
        if line.contains("Next try in 1") {
            break line;
        }
    };
    assert!(
        line.contains(&format!("the directory {directory} cannot be reached")),
        "{line}"
    );
}

#[test]
fn processes_that_share_a_cache_order_once_and_answer_for_each_other() {
    let mut pebble = Pebble::start(PebbleSettings::default());
    let shared = tempfile::tempdir().unwrap();
    let cache = shared.path().join("acme").display().to_string();
    let start = || {
        let options = ["--acme-cache", &cache, "--acme-challenge", "http-01"];
        Site::start(folder(&[("app.rb", APP)]), &pebble, "example.org", &options)
    };
    let (mut first, mut second) = (start(), start());
    // Whichever of them orders, the authority looks at the first.
    let (http, secure) = first.ports();
    pebble.open(http, secure);
    first.line_with("valid for 89 days");
    second.line_with("valid for 89 days");
    let roots = roots(&pebble);
    let (_, of_first) = first.over_tls(&roots, "example.org").unwrap();
    let (_, of_second) = second.over_tls(&roots, "example.org").unwrap();
    assert_eq!(of_first, of_second);
    assert_eq!(orders(&pebble), 1);
}
