//! A database with far more records than its cache holds. LARGE_MIB sets how many MiB of keys and values of eight bytes (1,024 in
//! `make soak`, with a cache of half of them). Not a measurement.

#![cfg(feature = "disk")]

use tsumugi_kv::{Durability, KeyRange, KvDatabase, Spec, Write};

/// Bytes of a key and its value.
const RECORD_BYTES: u64 = 16;
const BATCH: u64 = 10_000;

/// Keys do not come in their order; each comes once, as the factor is odd.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

#[test]
fn database_larger_than_the_cache_is_complete() {
    let mib: u64 = std::env::var("LARGE_MIB").map_or(2, |mib| mib.parse().unwrap());
    let records = mib * 1024 * 1024 / RECORD_BYTES;
    let folder = tempfile::tempdir().unwrap();
    let mut spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    spec.cache = mib * 1024 * 1024 / 2;
    let kv = KvDatabase::open(&spec).unwrap();
    for first in (0..records).step_by(BATCH as usize) {
        let numbers = first..records.min(first + BATCH);
        let sets =
            numbers.map(|number| Write::set(key(number).to_vec(), number.to_be_bytes().to_vec()));
        kv.submit_wait(Write::Batch(sets.collect())).unwrap();
    }
    assert_eq!(kv.count().unwrap(), records);
    assert!(kv.close());
    let kv = KvDatabase::open(&spec).unwrap();
    assert_eq!(kv.count().unwrap(), records);
    for number in (0..records).step_by(997) {
        let value = kv.get(&key(number)).unwrap();
        assert_eq!(
            value.as_deref(),
            Some(&number.to_be_bytes()[..]),
            "{number}"
        );
    }
    let (mut found, mut range) = (0, KeyRange::all());
    let mut before = None;
    loop {
        let page = kv.page(&range, 10_000).unwrap();
        let Some((last, _)) = page.last() else { break };
        assert!(page.is_sorted() && before.as_ref().is_none_or(|before| *before < page[0].0));
        found += page.len() as u64;
        before = Some(last.clone());
        range = range.after(last.clone());
    }
    assert_eq!(found, records);
    println!("{records} records, {:?}", kv.metrics().cache);
}
