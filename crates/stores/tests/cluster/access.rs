//! Who may use a cluster: users with passwords, servers with certificates, namespaces beside each other.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_kv::Write;
use tsumugi_stores::{Error, StoreAddress, StoreSettings};
use tsumugi_testkit::etcd::{EtcdCluster, EtcdOptions};

use crate::engines::{open, opener, run};

/// A member that asks for passwords: `root` may do everything, `me` what is below `app`.
fn with_users() -> EtcdCluster {
    let cluster = EtcdOptions::default().members(1).start();
    for words in [
        &["user", "add", "root:r00t"][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", "app"],
        &[
            "role",
            "grant-permission",
            "app",
            "--prefix=true",
            "readwrite",
            "app",
        ],
        &["user", "add", "me:s3cret"],
        &["user", "grant-role", "me", "app"],
        &["auth", "enable"],
    ] {
        cluster.etcdctl(words);
    }
    cluster
}

/// Tokens are forgotten with the server's memory.
fn forget_tokens(cluster: &EtcdCluster) {
    cluster.kill(0);
    cluster.start_again(0);
}

#[test]
fn user_is_let_in_with_the_right_password_and_stays_in() {
    let cluster = with_users();
    run(async {
        let servers = cluster.servers();
        let store = open(&format!("etcd://me:s3cret@{servers}/app"))
            .await
            .unwrap();
        store.write(Write::set("a", "1")).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), Some("1".into()));
        assert!(!format!("{store:?}{}", store.place()).contains("s3cret"));
        forget_tokens(&cluster);
        let mut tries = 0;
        while let Err(error) = store.get("a").await {
            tries += 1;
            assert!(tries < 20, "{error}");
        }
        let mut watch = store.watch("b").await.unwrap();
        store.write(Write::set("b", "1")).await.unwrap();
        watch.next().await.unwrap();
        for (place, expected) in [
            (
                format!("etcd://me:wr0ng@{servers}/app"),
                "authentication failed",
            ),
            (format!("etcd://{servers}/app"), "user name is empty"),
            (
                format!("etcd://me:s3cret@{servers}/other"),
                "permission denied",
            ),
        ] {
            let refused = open(&place).await.unwrap_err();
            let text = refused.to_string();
            assert!(matches!(refused, Error::Refused { .. }), "{text}");
            assert!(text.contains(expected), "{text}");
            assert!(
                !text.contains("wr0ng") && !text.contains("s3cret"),
                "{text}"
            );
        }
    });
}

#[test]
fn watch_whose_token_has_ended_logs_in_again() {
    let cluster = with_users();
    run(async {
        let servers = cluster.servers();
        let store = open(&format!("etcd://me:s3cret@{servers}/app")).await;
        let store = store.unwrap();
        let put = |value| cluster.etcdctl(&["--user", "root:r00t", "put", "app/b", value]);
        let soon = Duration::from_secs(60);
        // One that goes on, without any other call.
        let mut watch = store.watch("b").await.unwrap();
        forget_tokens(&cluster);
        put("1");
        timeout(soon, watch.next()).await.unwrap().unwrap();
        // One that begins, as the first call.
        forget_tokens(&cluster);
        let mut begun = store.watch("b").await.unwrap();
        put("2");
        timeout(soon, begun.next()).await.unwrap().unwrap();
    });
}

#[test]
fn server_is_believed_by_its_authority_alone() {
    let cluster = EtcdOptions::default().members(1).with_tls().start();
    let stranger = EtcdOptions::default().members(1).with_tls();
    run(async {
        let place = cluster.place("tls");
        let with = |authority: &std::path::Path| {
            let authority = authority.display().to_string();
            let settings = StoreSettings::default().with("ca", authority);
            StoreAddress::parse(&format!("{place}?timeout=1"), &settings).unwrap()
        };
        let store = opener().open(with(cluster.authority())).await.unwrap();
        store.write(Write::set("a", "1")).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), Some("1".into()));
        let unsaid = open(&place).await.unwrap_err().to_string();
        assert!(unsaid.contains("give its file as ca"), "{unsaid}");
        let plain = place.replace("etcds://", "etcd://");
        let plain = open(&format!("{plain}?timeout=1")).await.unwrap_err();
        assert!(plain.to_string().contains("etcds://"), "{plain}");
        let stranger = stranger.start();
        let doubted = opener().open(with(stranger.authority())).await;
        let doubted = doubted.unwrap_err().to_string();
        assert!(doubted.contains("nothing was written"), "{doubted}");
    });
}

#[test]
fn namespaces_have_nothing_of_each_other() {
    let cluster = EtcdCluster::shared();
    run(async {
        let one = open(&cluster.place("one")).await.unwrap();
        let other = open(&cluster.place("one-more")).await.unwrap();
        for store in [&one, &other] {
            store.write(Write::set("a", "1")).await.unwrap();
            let push = Write::Push {
                queue: "q".into(),
                value: "1".into(),
            };
            store.write(push).await.unwrap();
        }
        one.write(Write::Clear).await.unwrap();
        assert_eq!(one.count().await.unwrap(), 0);
        assert_eq!(other.count().await.unwrap(), 2);
        // Other clients of the cluster see the values as they are.
        let said = cluster.etcdctl(&["get", "one-more/a", "--print-value-only"]);
        assert_eq!(said, "1");
        let default = open(&format!("etcd://{}", cluster.servers()))
            .await
            .unwrap();
        default.write(Write::set("k", "2")).await.unwrap();
        let said = cluster.etcdctl(&["get", "tsumugi/k", "--print-value-only"]);
        assert_eq!(said, "2");
        default.write(Write::Clear).await.unwrap();
    });
}
