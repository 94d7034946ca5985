//! `tsumugi kv` with an engine's URL in place of a path, and the same beside an application's databases.

use tempfile::TempDir;
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;

use crate::{command, refused, serve};

/// What a call of the command prints, errors too.
fn call(folder: &TempDir, words: &[&str]) -> String {
    let words = [words, &["--address", "unix:kv.sock"]].concat();
    let mut command = command(folder, &words);
    let output = command.stdout(std::process::Stdio::piped()).output();
    let output = output.unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn engines_are_served_beside_databases_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let etcd = EtcdCluster::shared().place("command");
    let redis = format!("{}?prefix=command:", RedisServer::shared().url());
    let listen = ["--listen", "unix:kv.sock"];
    let mut served = serve(
        &folder,
        &[&listen[..], &["casket.tkt", &etcd, &redis]].concat(),
    );
    assert!(served.word_after("database 1: ").starts_with("etcd://"));
    served.word_after("serving workers=");
    for index in ["0", "1", "2"] {
        let at = ["--index", index];
        let with = |words: &[&str]| call(&folder, &[words, &at[..]].concat());
        with(&["set", "place", index]);
        assert_eq!(with(&["get", "place"]), format!("{index}\n"));
        assert_eq!(with(&["increment", "count", "5"]), "5\n");
    }
    assert!(call(&folder, &["list", "--index", "1"]).contains("place\t1\n"));
    let text = call(&folder, &["list", "--index", "2"]);
    assert!(
        text.contains("NOT_IMPLEMENTED: Iterate: a store in Redis has no order"),
        "{text}"
    );
    let text = call(&folder, &["search", "begin", "p", "--index", "1"]);
    assert!(
        text.contains("NOT_IMPLEMENTED: Search: a store in etcd"),
        "{text}"
    );
    let text = call(&folder, &["backup", "x", "--index", "1"]);
    assert!(text.contains("etcdctl snapshot save"), "{text}");
}

fn check(words: &[&str], expected: &str) {
    let text = refused(&[words, &["--listen", "127.0.0.1:0"]].concat());
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn engine_that_cannot_be_served_ends_the_start_with_the_reason() {
    check(&["mysql://a/b"], "no store has the scheme `mysql`");
    check(
        &["etcd://a/b", "--read-only"],
        "--read-only is for databases of this process",
    );
    check(
        &["etcd://a/b#durability=disk"],
        "settings of a database of this process",
    );
    check(
        &["etcd://user:s3cret@127.0.0.1:1/b?timeout=1"],
        "cannot open etcd://127.0.0.1:1/b: a store in etcd is not reached",
    );
}
