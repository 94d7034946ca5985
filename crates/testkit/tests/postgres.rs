//! The rig itself: servers start, stop, recover and leave nothing behind. Uses psql only.
//! Rule: what a test of another crate relies on is shown here first.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tsumugi_testkit::postgres::{Options, Pooler, PostgresTls, Server, User};

/// What psql prints for a connection string of libpq's.
fn psql(url: &str, sql: &str) -> Result<String, String> {
    let output = Command::new("psql")
        .args(["-X", "-A", "-t", "-w", "-d", url, "-c", sql])
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn databases_are_new_and_apart() {
    let server = Server::shared();
    let (one, two) = (server.database(), server.database());
    assert_ne!(one.name(), two.name());
    one.psql("create table only_here (id int); create extension hstore; create extension ltree");
    assert_eq!(two.psql("select to_regclass('only_here') is null"), "t");
    let url = one.url_as(User::TRUST);
    assert_eq!(
        psql(&url, "create table mine (); select current_user"),
        Ok("CREATE TABLE\ntrusting".into())
    );
}

#[test]
fn each_role_authenticates_in_its_own_way() {
    let server = Server::shared();
    for user in [
        User::ADMIN,
        User::TRUST,
        User::CLEARTEXT,
        User::MD5,
        User::SCRAM,
    ] {
        for url in [server.url(user), server.socket_url(user)] {
            assert_eq!(psql(&url, "select user"), Ok(user.name.to_owned()));
        }
        if user.password.is_some() {
            let bare = User {
                password: None,
                ..user
            };
            let error = psql(&server.url(bare), "select 1").unwrap_err();
            assert!(error.contains("password"), "{error}");
        }
    }
    for user in [User::REFUSED, User::CERTIFICATE] {
        let error = psql(&server.url(user), "select 1").unwrap_err();
        assert!(error.contains("pg_hba.conf rejects"), "{error}");
    }
}

#[test]
fn tls_has_certificates_of_every_kind() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    let certificates = server.certificates();
    let url = |user: User, host: &str, root: &Path| {
        format!(
            "host={host} port={} user={} dbname=postgres sslmode=verify-full sslrootcert={}",
            server.port(),
            user.name,
            root.display()
        )
    };
    let shown = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    let ours = url(User::ADMIN, "localhost", &certificates.authority);
    assert_eq!(psql(&ours, shown), Ok("t".into()));
    let theirs = url(User::ADMIN, "localhost", &certificates.stranger);
    assert!(
        psql(&theirs, shown)
            .unwrap_err()
            .contains("certificate verify failed")
    );
    let client = |certificate: &Path, key: &Path| {
        let ours = url(User::CERTIFICATE, "localhost", &certificates.authority);
        format!(
            "{ours} sslcert={} sslkey={}",
            certificate.display(),
            key.display()
        )
    };
    assert_eq!(
        psql(
            &client(&certificates.client, &certificates.client_key),
            "select user"
        ),
        Ok("certified".into())
    );
    let stranger = client(
        &certificates.stranger_client,
        &certificates.stranger_client_key,
    );
    assert!(psql(&stranger, "select user").is_err());
}

#[test]
fn a_killed_server_starts_again_with_what_was_committed() {
    let server = Options::default().setting("work_mem", "5MB").start();
    assert_eq!(server.psql("show work_mem"), "5MB");
    server.psql("set synchronous_commit = on; create table kept (id int)");
    let port = server.port();
    server.kill_9();
    assert!(psql(&server.url(User::ADMIN), "select 1").is_err());
    server.start_again();
    assert_eq!(server.port(), port);
    assert_eq!(server.psql("select count(*) from kept"), "0");
    server.restart();
    assert_eq!(server.psql("select count(*) from kept"), "0");
}

#[test]
fn a_standby_follows_and_takes_no_writes() {
    let primary = Server::start();
    let standby = primary.standby();
    primary.psql("create table seen (id int)");
    standby.catch_up(&primary);
    assert_eq!(standby.psql("select count(*) from seen"), "0");
    assert_eq!(standby.psql("select pg_is_in_recovery()"), "t");
    let error = psql(&standby.url(User::ADMIN), "insert into seen values (1)").unwrap_err();
    assert!(error.contains("read-only"), "{error}");
}

#[test]
fn the_pooler_shares_one_connection() {
    let server = Server::start();
    let pooler = Pooler::start(&server);
    let backend = || psql(&pooler.url("postgres"), "select pg_backend_pid()").unwrap();
    assert_eq!(backend(), backend());
}

#[test]
fn a_frozen_backend_answers_when_it_is_thawed() {
    let server = Server::start();
    let mut client = Command::new("psql")
        .args(["-X", "-A", "-t", "-w", "-d", &server.url(User::ADMIN)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (client.stdin.take().unwrap(), client.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    writeln!(input, "select pg_backend_pid();").unwrap();
    let process: i32 = lines.next().unwrap().parse().unwrap();
    server.freeze_backend(process);
    writeln!(input, "select 'answer';").unwrap();
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    assert!(state.contains(") T "), "{state}");
    assert_eq!(server.psql("select 1"), "1");
    server.thaw_backend(process);
    assert_eq!(lines.next().as_deref(), Some("answer"));
    drop(input);
    client.wait().unwrap();
}

#[test]
fn a_dropped_server_leaves_nothing() {
    let server = Server::start();
    let (folder, url) = (
        server.socket_directory().to_owned(),
        server.url(User::ADMIN),
    );
    let process: i32 = server
        .psql("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")
        .parse()
        .unwrap();
    drop(server);
    assert!(!folder.exists());
    assert!(psql(&url, "select 1").is_err());
    assert!(!Path::new(&format!("/proc/{process}")).exists());
}

/// Set for the test process that is to be killed.
const VICTIM: &str = "TSUMUGI_RIG_VICTIM";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test's thread serves no request"
)]
fn a_killed_test_process_leaves_nothing() {
    let name = "a_killed_test_process_leaves_nothing";
    if std::env::var_os(VICTIM).is_some() {
        let server = Server::start();
        eprintln!("\nserver {}", server.socket_directory().display());
        std::thread::sleep(Duration::from_secs(600));
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stderr.take().unwrap()).lines();
    let line = lines.find_map(|line| line.unwrap().strip_prefix("server ").map(str::to_owned));
    let folder = line.expect("the victim started a server");
    let file = std::fs::read_to_string(Path::new(&folder).join("data/postmaster.pid")).unwrap();
    let process = Path::new("/proc").join(file.lines().next().unwrap());
    let runs = || {
        std::fs::read_to_string(process.join("cmdline")).is_ok_and(|line| line.contains("postgres"))
    };
    assert!(runs());
    victim.kill().unwrap();
    victim.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while runs() || Path::new(&folder).exists() {
        assert!(Instant::now() < until, "{folder} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_command_runs_beside_a_server_with_world_and_fortune() {
    let rig = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi-with-postgres"))
            .args(words)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned();
        (printed, output.status.code())
    };
    let ask = "psql -X -A -t -d \"$DATABASE_URL\" -c 'select count(*), min(randomnumber), max(randomnumber) from world' \
        -c 'select count(*) from fortune'; exit 3";
    assert_eq!(
        rig(&["sh", "-c", ask]),
        ("10000|1|10000\n12".into(), Some(3))
    );
    let blocked = rig(&["grep", "^SigBlk", "/proc/self/status"]);
    assert_eq!(blocked, ("SigBlk:\t0000000000000000".into(), Some(0)));
    assert_eq!(rig(&[]).1, Some(2));
}
