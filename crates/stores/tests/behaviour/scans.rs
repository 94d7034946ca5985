//! Pages of records in the order of their keys.

use std::ops::Bound;

use tsumugi_kv::{KeyRange, Write};
use tsumugi_stores::{Capability, Store};

use crate::engines::each_able;

async fn keys(store: &Store, range: &KeyRange, limit: usize) -> String {
    let page = store.page(range, limit).await.unwrap();
    let keys = page.iter().map(|(key, _)| String::from_utf8_lossy(key));
    keys.collect::<Vec<_>>().join(" ")
}

#[test]
fn page_has_the_first_records_of_a_range_in_order() {
    each_able("pages", Capability::Scan, async |store, _| {
        for key in ["b", "a", "c", "ab", "ac", ""] {
            store.write(Write::set(key, key)).await.unwrap();
        }
        let all = KeyRange::all();
        assert_eq!(keys(store, &all, 100).await, " a ab ac b c");
        assert_eq!(keys(store, &all, 2).await, " a");
        assert_eq!(keys(store, &all.clone().reversed(), 2).await, "c b");
        assert_eq!(keys(store, &KeyRange::prefix("a"), 100).await, "a ab ac");
        let within = KeyRange {
            from: Bound::Excluded("a".into()),
            to: Bound::Included("b".into()),
            ..KeyRange::all()
        };
        assert_eq!(keys(store, &within, 100).await, "ab ac b");
        assert_eq!(keys(store, &within.clone().reversed(), 2).await, "b ac");
        assert_eq!(keys(store, &within.after("ab".into()), 100).await, "ac b");
        assert_eq!(keys(store, &KeyRange::prefix("x"), 100).await, "");
        assert_eq!(keys(store, &all, 0).await, "");
    });
}

#[test]
fn pages_that_follow_each_other_have_every_record_once() {
    each_able("many-pages", Capability::Scan, async |store, _| {
        let writes = (0..700).map(|at| Write::set(format!("{at:04}"), "x".repeat(100)));
        store.write(Write::Batch(writes.collect())).await.unwrap();
        let (mut range, mut seen) = (KeyRange::all(), 0);
        loop {
            let page = store.page(&range, 300).await.unwrap();
            let Some((last, _)) = page.last() else {
                break;
            };
            seen += page.len();
            range = range.after(last.clone());
        }
        assert_eq!(seen, 700);
        let backward = KeyRange::all().reversed();
        let page = store.page(&backward, 1_000).await.unwrap();
        assert_eq!(page[0].0, "0699");
        assert_eq!(store.count().await.unwrap(), 700);
    });
}

#[test]
fn page_of_large_values_is_cut_by_its_bytes() {
    each_able("large-pages", Capability::Scan, async |store, _| {
        let large = "x".repeat(900 * 1024);
        for at in 0..24 {
            let write = Write::set(format!("{at:02}"), large.clone());
            store.write(write).await.unwrap();
        }
        let (mut range, mut seen) = (KeyRange::all(), 0);
        loop {
            let page = store.page(&range, 1_000).await.unwrap();
            let Some((last, _)) = page.last() else {
                break;
            };
            seen += page.len();
            range = range.after(last.clone());
        }
        assert_eq!(seen, 24);
    });
}
