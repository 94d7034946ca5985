//! The key-value service beside an application: one database for handlers and for clients of Tkrzw-RPC.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tsumugi_testkit::etcd::EtcdCluster;

use crate::rig::{Served, folder, get, serve, start};

const APP: &str = "plugin(:store) { KV.open 'casket' }
                   get('/read') { store['from'] || 'nothing' }
                   get('/write') { store['to'] = 'a client'; 'written' }";

fn kv(served: &Served, words: &[&str]) -> String {
    let Output { stdout, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .arg("kv")
        .args(words)
        .args(["--address", "unix:kv.sock"])
        .current_dir(served.folder.path())
        .output()
        .unwrap();
    String::from_utf8([stdout, stderr].concat()).unwrap()
}

#[test]
fn handlers_and_clients_share_a_database() {
    let options = ["--kv-listen", "unix:kv.sock", "--kv-database", "casket"];
    let (mut served, address) = start(APP, &[], &options);
    assert_eq!(get(&address, "/read").text(), "nothing");
    kv(&served, &["set", "from", "a handler"]);
    assert_eq!(get(&address, "/read").text(), "a handler");
    assert_eq!(get(&address, "/write").text(), "written");
    assert_eq!(kv(&served, &["get", "to"]), "a client\n");
    served.signal("-TERM");
    assert!(served.child.wait().unwrap().success());
    assert!(!served.path("kv.sock").exists(), "the socket stays behind");
}

#[test]
fn handlers_and_clients_share_what_an_engine_keeps() {
    let place = EtcdCluster::shared().place("embedded");
    let app = APP.replace("casket", &place);
    let options = ["--kv-listen", "unix:kv.sock", "--kv-database", &place];
    let (served, address) = start(&app, &[], &options);
    assert_eq!(get(&address, "/read").text(), "nothing");
    kv(&served, &["set", "from", "a handler"]);
    assert_eq!(get(&address, "/read").text(), "a handler");
    assert_eq!(get(&address, "/write").text(), "written");
    assert_eq!(kv(&served, &["get", "to"]), "a client\n");
}

#[test]
fn both_read_their_settings_again_at_a_reload() {
    let secret = b"0123456789abcdef\n";
    let files: [(&str, &[u8]); 1] = [("tokens", secret)];
    let options = [
        "--kv-listen",
        "127.0.0.1:0",
        "--kv-database",
        "casket",
        "--kv-token-file",
        "tokens",
        "--listen",
        "127.0.0.1:0",
    ];
    let all = [&[("app.rb", APP.as_bytes())], &files[..]].concat();
    let mut served = serve(folder(&all), &options);
    let address = served.word_after("listening on tkrzw://");
    let asked = |served: &Served, token: &str| {
        std::fs::write(served.path("token"), token).unwrap();
        let words = ["inspect", "--address", &address, "--token-file", "token"];
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .arg("kv")
            .args(words)
            .current_dir(served.folder.path())
            .output();
        output.unwrap().status.success()
    };
    assert!(asked(&served, "0123456789abcdef"));
    std::fs::write(served.path("tokens"), "fedcba9876543210\n").unwrap();
    served.signal("-HUP");
    served.word_after("reloaded");
    served.word_after("reloaded");
    assert!(asked(&served, "fedcba9876543210"));
    assert!(!asked(&served, "0123456789abcdef"));
}

#[test]
fn address_of_other_machines_without_tls_is_refused() {
    let options = ["--kv-listen", "0.0.0.0:0", "--kv-database", "casket"];
    let mut served = serve(folder(&[("app.rb", APP.as_bytes())]), &options);
    served.word_after("is reached by other machines and would be served without TLS");
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}

/// The scheduling policy of each thread of this name, by the kernel's numbers, in order.
#[cfg(target_os = "linux")]
fn policies(process: u32, name: &str) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let stats = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")));
    let mut policies: Vec<u32> = stats
        .filter_map(|stat| {
            let stat = stat.ok()?;
            // The name stands in parentheses as the second field; the policy is the 41st.
            let (head, rest) = stat.rsplit_once(") ")?;
            head.contains(name)
                .then(|| rest.split(' ').nth(38)?.parse().ok())?
        })
        .collect();
    policies.sort_unstable();
    policies
}

#[cfg(target_os = "linux")]
#[test]
fn scheduling_applies_to_application_workers_and_not_to_kv_workers() {
    const NORMAL: u32 = 0;
    const BATCH: u32 = 3;
    let own = policies(std::process::id(), "")[0];
    let batch = if own == NORMAL { BATCH } else { own };
    for (how, application) in [("batches", batch), ("inherited", own)] {
        let options = ["--kv-listen", "unix:kv.sock", "--kv-database", "casket"];
        let own_options = ["--scheduling", how];
        let (served, address) = start(APP, &[], &[&options[..], &own_options].concat());
        assert_eq!(get(&address, "/read").text(), "nothing");
        let mut expected = [own, application];
        expected.sort_unstable();
        // A thread that a worker starts has its name until it takes its own.
        let found = || policies(served.child.id(), "(tsumugi-worker-");
        let latest = Instant::now() + Duration::from_secs(60);
        while found() != expected && Instant::now() < latest {
            tsumugi_testkit::pause();
        }
        assert_eq!(found(), expected, "{how}");
    }
}
