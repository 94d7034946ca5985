//! The cluster itself: it starts whole, another member takes over where the primary is killed, stopped or cut off, and it leaves nothing behind.
//! Uses psql only. Rule: what a test of another crate relies on is shown here first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tsumugi_testkit::patroni::PatroniCluster;

const FAILOVER_MAX: Duration = Duration::from_secs(90);
const WHOLE_MAX: Duration = Duration::from_secs(120);

/// Writes a number through the cluster as a client would that knows the primary.
fn insert(cluster: &PatroniCluster, primary: usize, number: u32) {
    let sql = format!("insert into numbers values ({number})");
    cluster.psql(primary, "postgres", &sql);
}

fn numbers(cluster: &PatroniCluster, at: usize) -> String {
    let sql = "select string_agg(number::text, ' ' order by number) from numbers";
    cluster.psql(at, "postgres", sql)
}

#[test]
fn primary_that_is_killed_frozen_or_cut_off_is_replaced_and_comes_back() {
    let cluster = PatroniCluster::start();
    let first = cluster.wait_primary(FAILOVER_MAX);
    assert_ne!(cluster.synchronous(), None);
    let standbys =
        "select count(*), count(*) filter (where sync_state = 'sync') from pg_stat_replication";
    assert_eq!(cluster.psql(first, "postgres", standbys), "2|1");
    cluster.psql(first, "postgres", "create table numbers (number int)");
    insert(&cluster, first, 1);

    cluster.kill(first);
    assert!(!cluster.runs(first));
    let second = cluster.wait_other_primary(first, FAILOVER_MAX);
    insert(&cluster, second, 2);
    cluster.start_again(first);
    assert_eq!(cluster.wait_whole(WHOLE_MAX), second);
    let is_standby = "select pg_is_in_recovery()";
    assert_eq!(cluster.psql(first, "postgres", is_standby), "t");

    cluster.freeze(second);
    let third = cluster.wait_other_primary(second, FAILOVER_MAX);
    insert(&cluster, third, 3);
    cluster.thaw(second);
    assert_eq!(cluster.wait_whole(WHOLE_MAX), third);

    cluster.cut(third);
    let fourth = cluster.wait_other_primary(third, FAILOVER_MAX);
    insert(&cluster, fourth, 4);
    cluster.heal(third);
    assert_eq!(cluster.wait_whole(WHOLE_MAX), fourth);
    assert_eq!(numbers(&cluster, fourth), "1 2 3 4");

    let folders: Vec<PathBuf> = (0..3).map(|at| folder(&cluster, at)).collect();
    // One that is stopped in its tracks ends with the others.
    cluster.freeze(first);
    drop(cluster);
    for folder in folders {
        assert!(!folder.exists(), "{} is left", folder.display());
        assert_eq!(processes_of(&folder), 0, "{}", folder.display());
    }
}

fn folder(cluster: &PatroniCluster, at: usize) -> PathBuf {
    let data = cluster.psql(at, "postgres", "show data_directory");
    let folder = Path::new(&data).parent().unwrap();
    assert!(processes_of(folder) > 0);
    folder.to_owned()
}

/// Those that name the directory on their command lines.
fn processes_of(folder: &Path) -> usize {
    let name = folder.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let names_it = |line: &Vec<u8>| line.windows(name.len()).any(|window| window == name);
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(names_it)
        .count()
}
