//! What only databases in memory do: keep to their capacity, by eviction or refusal, and share themselves by name.

use bytes::Bytes;
use tsumugi_kv::limits::{CAPACITY_BYTES_MIN, RECORD_OVERHEAD_BYTES};
use tsumugi_kv::{
    ChangeEvent, Desired, Error, Expected, KeyRange, KvDatabase, Spec, Write, WriteResult,
};

fn open(spec: &str) -> KvDatabase {
    KvDatabase::open(&spec.parse::<Spec>().unwrap()).unwrap()
}

/// A record of 1,000 bytes in all.
fn record(number: u64) -> Write {
    let value = vec![b'v'; 1_000 - 8 - RECORD_OVERHEAD_BYTES as usize];
    Write::set(number.to_be_bytes().to_vec(), value)
}

#[test]
fn a_full_database_refuses_what_needs_room() {
    let kv = open("#capacity=65536");
    for number in 0..65 {
        kv.submit_wait(record(number)).unwrap();
    }
    assert_eq!(kv.file_size().unwrap(), 65_000);
    let error = kv.submit_wait(record(65)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Full {
                capacity: CAPACITY_BYTES_MIN
            }
        ),
        "{error}"
    );
    assert_eq!(kv.count().unwrap(), 65);
    // 536 bytes are left, to the byte.
    let rest = 536 - RECORD_OVERHEAD_BYTES as usize - 1;
    assert!(kv.submit_wait(Write::set("k", vec![0; rest + 1])).is_err());
    kv.submit_wait(Write::set("k", vec![0; rest])).unwrap();
    assert_eq!(kv.file_size().unwrap(), CAPACITY_BYTES_MIN);
    kv.submit_wait(record(0)).expect("the same size fits");
    kv.submit_wait(Write::remove("k")).unwrap();
    kv.submit_wait(Write::set("l", vec![0; rest])).unwrap();
}

#[test]
fn an_exchange_that_does_not_fit_changes_nothing() {
    let kv = open("#capacity=65536");
    let desired = (0..66_u64).map(|number| {
        let value = vec![b'v'; 1_000 - 8 - RECORD_OVERHEAD_BYTES as usize];
        let key = Bytes::copy_from_slice(&number.to_be_bytes());
        (key, Desired::Put(value.into(), None))
    });
    let write = Write::CompareExchangeMulti {
        expected: vec![("a".into(), Expected::Absent)],
        desired: desired.collect(),
    };
    assert!(matches!(kv.submit_wait(write), Err(Error::Full { .. })));
    assert_eq!((kv.count().unwrap(), kv.file_size().unwrap()), (0, 0));
}

#[test]
fn a_cache_gives_up_what_was_not_used_for_the_longest_time() {
    let kv = open("#capacity=65536,when_full=evict");
    for number in 0..65 {
        kv.submit_wait(record(number)).unwrap();
    }
    assert!(kv.get(&0_u64.to_be_bytes()).unwrap().is_some());
    let mut watch = kv.watch("").unwrap();
    kv.submit_wait(record(65)).unwrap();
    kv.submit_wait(record(66)).unwrap();
    let evicted = |number: u64| ChangeEvent::Evicted(Bytes::copy_from_slice(&number.to_be_bytes()));
    let changes: Vec<ChangeEvent> = std::iter::from_fn(|| watch.try_next()).collect();
    assert!(
        changes.contains(&evicted(1)) && changes.contains(&evicted(2)),
        "{changes:?}"
    );
    assert_eq!((kv.count().unwrap(), kv.metrics().evicted), (65, 2));
    assert!(kv.get(&0_u64.to_be_bytes()).unwrap().is_some());
}

#[test]
fn a_cache_stays_within_its_capacity_and_keeps_what_is_new() {
    for capacity in ["64k", "17m"] {
        let kv = open(&format!("#capacity={capacity},when_full=evict"));
        for number in 0..40_000 {
            kv.submit_wait(record(number)).unwrap();
            assert!(kv.file_size().unwrap() <= kv.spec().capacity);
        }
        assert!(kv.get(&39_999_u64.to_be_bytes()).unwrap().is_some());
        let full = kv.spec().capacity / 1_000;
        assert!(kv.count().unwrap() >= full - 1, "{capacity}");
        let too_large = Write::set("k", vec![0; kv.spec().capacity as usize]);
        assert!(matches!(
            kv.submit_wait(too_large),
            Err(Error::Full { .. } | Error::ValueTooLong { .. })
        ));
        let large = Write::set("k", vec![0; kv.spec().capacity as usize - 1_000]);
        assert!(matches!(kv.submit_wait(large), Ok(WriteResult::Done)));
        assert!(kv.get(b"k").unwrap().is_some(), "{capacity}");
    }
}

#[test]
fn a_name_is_shared_and_none_is_private() {
    let [one, same] = ["shared-name.tkmb", "shared-name.tkmb"].map(open);
    one.submit_wait(Write::set("a", "1")).unwrap();
    assert_eq!(same.get(b"a").unwrap().unwrap(), "1");
    let other = "shared-name.tkmb#capacity=2m".parse::<Spec>().unwrap();
    let error = KvDatabase::open(&other).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("with other settings: shared-name.tkmb#durability=memory"),
        "{error}"
    );
    drop((one, same));
    assert_eq!(open("shared-name.tkmb").get(b"a").unwrap(), None);
    let [one, other] = ["", ""].map(open);
    one.submit_wait(Write::set("a", "1")).unwrap();
    assert_eq!(other.count().unwrap(), 0);
    assert_ne!(one.flights(), other.flights());
}

#[test]
fn threads_see_each_write_once() {
    let kv = open("");
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let kv = &kv;
            scope.spawn(move || {
                for number in 0..2_000_u64 {
                    let add = Write::Increment {
                        key: "n".into(),
                        by: 1,
                        initial: 0,
                    };
                    kv.submit_wait(add).unwrap();
                    kv.submit_wait(record(thread * 10_000 + number)).unwrap();
                    if number % 100 == 0 {
                        let page = kv.page(&KeyRange::all(), 1_000).unwrap();
                        assert!(page.is_sorted());
                    }
                }
            });
        }
    });
    assert_eq!(kv.count().unwrap(), 16_001);
    assert_eq!(kv.get(b"n").unwrap().unwrap(), 16_000_u64.to_be_bytes()[..]);
    assert_eq!(
        kv.file_size().unwrap(),
        16_000_000 + 1 + 8 + RECORD_OVERHEAD_BYTES
    );
}
