//! The databases a test of behaviour runs over. No tests in here. Rule: every engine is in the list, under a clock that stands still.

use std::time::Duration;

use tsumugi_kv::{Clock, KvDatabase, Spec};

/// Runs a test over a new database of every kind, each with a clock of its own.
pub fn each_engine(test: impl Fn(&KvDatabase, &Clock)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let specs = [
        "#value_max=5m".to_owned(),
        "#capacity=12m,value_max=5m".to_owned(),
        "#when_full=evict,value_max=5m".to_owned(),
        format!("{path}/process#value_max=5m"),
        format!("{path}/disk#durability=disk,value_max=5m"),
    ];
    let is_built_in = |spec: &String| cfg!(feature = "disk") || spec.starts_with('#');
    for spec in specs.into_iter().filter(is_built_in) {
        let clock = Clock::manual(Duration::from_secs(1_000_000));
        let spec: Spec = spec.parse().unwrap();
        println!("over {spec}");
        let kv = KvDatabase::open_with(&spec, clock.clone()).unwrap();
        test(&kv, &clock);
    }
}
