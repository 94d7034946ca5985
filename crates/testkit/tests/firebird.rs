//! Throwaway Firebird servers do what tests rely on. Not about Firebird itself.
//! Rule: what is checked here is what a driver's test would otherwise report as the driver's fault.

use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use tsumugi_testkit::firebird::{Options, Server, User};

fn answers(server: &Server) -> bool {
    TcpStream::connect(("127.0.0.1", server.port())).is_ok()
}

#[test]
fn a_database_takes_sql_in_every_character_set() {
    let database = Server::shared().database();
    let printed = database.isql(
        "create table word (u varchar(9) character set utf8, s varchar(9) character set sjis_0208, w varchar(9) character set win1251);
         insert into word values ('日本', '日本語', 'Привет'); commit;
         set heading off; select trim(u) || '/' || s || '/' || w from word;",
    );
    assert!(printed.contains("日本/日本語/Привет"), "{printed}");
    assert!(
        database
            .url()
            .starts_with("firebird://SYSDBA:masterkey@127.0.0.1:")
    );
    assert!(
        database
            .url_as(User::QUOTED)
            .contains("%22Mixed%20Case%22:mixed@")
    );
}

#[test]
fn a_server_that_was_killed_starts_again_with_its_databases() {
    let server = Options::default().setting("WireCrypt", "Enabled").start();
    let database = server.database();
    database.isql("create table t (n int); commit;");
    server.kill_9();
    assert!(!answers(&server));
    server.start_again();
    database.isql("insert into t values (1); commit;");
    server.freeze();
    server.thaw();
    database.isql("drop table t; commit;");
}

#[test]
fn a_server_that_is_kept_running_starts_again_after_a_fault() {
    // It lasts as long as the thread that keeps it running.
    let server: &Server = Box::leak(Box::new(Server::start()));
    let database = server.database();
    database.isql("create table t (n int); commit;");
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || server.keep_running(|what| drop(sender.send(what.to_owned()))));
    for _ in 0..2 {
        server.crash();
        let ended = receiver.recv().unwrap();
        assert!(
            ended.starts_with("Firebird ended by itself: signal: 11 (SIGSEGV)"),
            "{ended}"
        );
        assert_eq!(receiver.recv().unwrap(), "Firebird runs again");
        database.isql("insert into t values (1); commit;");
    }
}

#[test]
fn a_failed_test_says_that_its_server_ended_by_itself() {
    const FAILS: &str = "TSUMUGI_TEST_FAILS";
    if std::env::var_os(FAILS).is_some() {
        let server = Server::start();
        let _database = server.database();
        server.crash();
        panic!("as a test does whose server has gone");
    }
    let name = thread::current().name().unwrap().to_owned();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--test-threads=1"])
        .env(FAILS, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("1 failed"), "{printed}");
    let expected = "# Firebird ended by itself (signal: 11 (SIGSEGV)";
    let lines = printed.lines().filter(|line| line.starts_with(expected));
    assert_eq!(lines.count(), 1, "{printed}");
}

#[test]
fn a_server_goes_with_its_value() {
    let server = Server::start();
    let folder = server.folder().to_owned();
    assert!(folder.is_dir() && answers(&server));
    drop(server);
    assert!(!folder.exists());
}
