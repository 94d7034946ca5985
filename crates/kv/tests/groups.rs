//! Writes that wait together and are small, of records that are large: a commit ends with the record that takes it past its size.

#![cfg(feature = "disk")]

use tsumugi_kv::limits::{EXCHANGE_BYTES_MAX, GROUP_BYTES_MAX};
use tsumugi_kv::{
    Desired, Durability, Expected, KvDatabase, RekeySource, SetMode, Spec, Write, WriteResult,
};

/// Bytes of one value, and how many records have one.
const VALUE: usize = 4 << 20;
const RECORDS: usize = 24;

/// Submits a write for each record at once and waits for all; gives how many commits that took, at most one for each.
fn commits(write: impl Fn(usize) -> Write) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    for number in 0..RECORDS {
        let set = Write::set(format!("old-{number}"), vec![number as u8; VALUE]);
        kv.submit_wait(set).unwrap();
    }
    let before = kv.metrics().commits;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let pending: Vec<_> = (0..RECORDS)
            .map(|number| kv.submit(write(number)))
            .collect();
        for written in pending {
            written.await.unwrap();
        }
    });
    assert_eq!(kv.count().unwrap(), RECORDS as u64 * 2);
    for number in 0..RECORDS {
        let value = kv.get(format!("new-{number}").as_bytes()).unwrap().unwrap();
        assert!(value.starts_with(&vec![number as u8; VALUE]), "{number}");
    }
    usize::try_from(kv.metrics().commits - before).unwrap()
}

#[test]
fn records_that_are_copied_by_small_writes_end_a_commit_by_their_size() {
    let copied = commits(|number| Write::Rekey {
        old: format!("old-{number}").into(),
        new: format!("new-{number}").into(),
        mode: SetMode::Overwrite,
        source: RekeySource::Copy,
    });
    // Each copy is a record that was read and one that is written.
    let least = RECORDS * VALUE * 2 / (GROUP_BYTES_MAX + VALUE * 2);
    assert!(
        (least..=RECORDS).contains(&copied),
        "{copied} commits, {least} at least"
    );
}

#[test]
fn write_that_fails_in_a_group_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    kv.submit_wait(Write::set("text", vec![7; VALUE])).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let appended = |key: &'static str| Write::Append {
            key: key.into(),
            value: "x".into(),
            delimiter: "".into(),
        };
        let count = |key: &'static str| Write::Increment {
            key: key.into(),
            by: 1,
            initial: 0,
        };
        let mut pending = Vec::new();
        for _ in 0..20 {
            pending.push((kv.submit(appended("text")), true));
            pending.push((kv.submit(count("text")), false));
        }
        for (written, is_done) in pending {
            let written = written.await;
            assert_eq!(
                matches!(written, Ok(WriteResult::Done)),
                is_done,
                "{written:?}"
            );
        }
    });
    assert_eq!(kv.get(b"text").unwrap().unwrap().len(), VALUE + 20);
}

#[test]
fn small_appends_to_one_large_record_share_a_commit() {
    const APPENDS: usize = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    kv.submit_wait(Write::set("text", vec![7; VALUE])).unwrap();
    let before = kv.metrics().commits;
    let pending: Vec<_> = (0..APPENDS)
        .map(|_| {
            kv.submit(Write::Append {
                key: "text".into(),
                value: "x".into(),
                delimiter: "".into(),
            })
        })
        .collect();
    for written in pending {
        written.wait().unwrap();
    }
    // The record is held once, however many writes add to it.
    let taken = kv.metrics().commits - before;
    assert!(taken < APPENDS as u64 / 20, "{taken} commits");
    assert_eq!(kv.get(b"text").unwrap().unwrap().len(), VALUE + APPENDS);
}

#[test]
fn records_that_one_batch_adds_to_end_a_commit_by_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    let key = |number: usize| format!("record-{number}");
    for number in 0..RECORDS {
        kv.submit_wait(Write::set(key(number), vec![7; VALUE]))
            .unwrap();
    }
    let before = kv.metrics().commits;
    let appends = (0..RECORDS).map(|number| Write::Append {
        key: key(number).into(),
        value: "x".into(),
        delimiter: "".into(),
    });
    let missing = Write::remove("none");
    let batch = appends.chain([missing, Write::set("last", "1")]);
    let written = kv.submit_wait(Write::Batch(batch.collect())).unwrap();
    let WriteResult::Each(each) = written else {
        panic!("{written:?}")
    };
    // Few bytes came, but a commit holds no more than a group's.
    let taken = usize::try_from(kv.metrics().commits - before).unwrap();
    let least = RECORDS * VALUE / (GROUP_BYTES_MAX + VALUE);
    assert!(taken >= least, "{taken} commits, {least} at least");
    let done = |written: &tsumugi_kv::Result<WriteResult>| matches!(written, Ok(WriteResult::Done));
    assert_eq!(each.len(), RECORDS + 2);
    assert!(each[..RECORDS].iter().all(done) && done(&each[RECORDS + 1]));
    assert!(matches!(each[RECORDS], Ok(WriteResult::Missing)));
    for number in 0..RECORDS {
        let value = kv.get(key(number).as_bytes()).unwrap().unwrap();
        assert_eq!(value.len(), VALUE + 1, "{number}");
    }
}

#[test]
fn exchange_of_more_bytes_than_its_limit_is_refused() {
    const TOO_MANY: usize = EXCHANGE_BYTES_MAX / VALUE + 1;
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::disk(folder.path().join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    let key = |number: usize| format!("record-{number}");
    for number in 0..TOO_MANY {
        kv.submit_wait(Write::set(key(number), vec![7; VALUE]))
            .unwrap();
    }
    let exchange = |records: usize| {
        let expected = (0..records).map(|number| (key(number).into(), Expected::Any));
        kv.submit_wait(Write::CompareExchangeMulti {
            expected: expected.collect(),
            desired: vec![("seen".into(), Desired::Put("1".into(), None))],
        })
    };
    let refused = exchange(TOO_MANY).unwrap_err().to_string();
    assert!(refused.contains("EXCHANGE_BYTES_MAX"), "{refused}");
    assert_eq!(kv.get(b"seen").unwrap(), None);
    exchange(RECORDS).unwrap();
    assert_eq!(kv.get(b"seen").unwrap().unwrap(), "1");
}
