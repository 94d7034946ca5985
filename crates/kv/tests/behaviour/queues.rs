//! Named queues: each gives its own records, in the order in which they were pushed. Waiting is in here too.

use std::future::pending;

use bytes::Bytes;
use tsumugi_kv::limits::QUEUE_NAME_BYTES_MAX;
use tsumugi_kv::{KeyRange, KvDatabase, Write, WriteResult, queue_prefix};

use crate::engines::each_engine;
use crate::words::{answer, check, expiring, set};

fn push(queue: &'static str, value: impl Into<Bytes>) -> Write {
    Write::Push {
        queue: queue.into(),
        value: value.into(),
    }
}

fn pop(queue: &'static str) -> Write {
    Write::Pop {
        queue: queue.into(),
    }
}

/// What is popped, without its key.
fn popped(kv: &KvDatabase, queue: &'static str) -> String {
    let popped = answer(kv, pop(queue));
    popped
        .split_once('=')
        .map_or(popped.clone(), |(_, value)| value.to_owned())
}

#[test]
fn each_queue_gives_its_own_records_in_the_order_of_pushing() {
    each_engine(|kv, _| {
        check(kv, set("a", "not in a queue"), "Done");
        check(kv, set("queue:mail", "nor this"), "Done");
        for (queue, value) in [
            ("mail", "1"),
            ("mail:", "x"),
            ("", "e"),
            ("mail", "2"),
            ("m", "y"),
            ("mail", "3"),
        ] {
            let pushed = answer(kv, push(queue, value));
            assert!(pushed.starts_with("Pushed"), "{pushed}");
        }
        assert_eq!(kv.count().unwrap(), 8);
        for (queue, expected) in [
            ("mail", "1"),
            ("m", "y"),
            ("m", "Missing"),
            ("mail", "2"),
            ("", "e"),
            ("", "Missing"),
            ("mail:", "x"),
            ("mail", "3"),
            ("mail", "Missing"),
            ("none", "Missing"),
        ] {
            assert_eq!(popped(kv, queue), expected, "{queue}");
        }
        assert_eq!(kv.count().unwrap(), 2);
        // Without a name the first record of all is taken, whoever stored it.
        assert!(answer(kv, push("mail", "4")).starts_with("Pushed"));
        check(kv, Write::PopFirst, "Popped a=not in a queue");
        assert!(answer(kv, Write::PopFirst).ends_with("=4"));
        check(kv, Write::PopFirst, "Popped queue:mail=nor this");
        check(kv, Write::PopFirst, "Missing");
    });
}

#[test]
fn pushed_record_is_behind_the_last_whatever_the_clock_says() {
    each_engine(|kv, _| {
        let key = |place: u64| -> Bytes {
            let prefix = String::from_utf8(queue_prefix(b"q").to_vec()).unwrap();
            format!("{prefix}{place:016x}").into()
        };
        check(kv, Write::set(key(u64::MAX - 1), "first"), "Done");
        let pushed = kv.submit_wait(push("q", "second")).unwrap();
        assert!(matches!(pushed, WriteResult::Pushed { key: at } if at == key(u64::MAX)));
        let refused = answer(kv, push("q", "third"));
        assert!(refused.contains("the last place is taken"), "{refused}");
        assert_eq!(popped(kv, "q"), "first");
        assert_eq!(popped(kv, "q"), "second");
        assert!(answer(kv, push("q", "fourth")).starts_with("Pushed"));
        assert_eq!(popped(kv, "q"), "fourth");
    });
}

#[test]
fn record_put_before_those_that_were_popped_is_popped_next() {
    each_engine(|kv, _| {
        let batch =
            |values: [&'static str; 3]| Write::Batch(values.map(|value| push("q", value)).to_vec());
        for values in [["1", "2", "3"], ["4", "5", "6"]] {
            kv.submit_wait(batch(values)).unwrap();
        }
        assert_eq!(popped(kv, "q"), "1");
        assert_eq!(popped(kv, "q"), "2");
        check(kv, set("queue:1:q:0", "by hand"), "Done");
        let each = answer(kv, Write::Batch(vec![pop("q"), push("q", "7"), pop("q")]));
        assert!(
            each.contains("=by hand, Pushed") && each.ends_with("=3"),
            "{each}"
        );
        check(kv, Write::Clear, "Done");
        assert_eq!(popped(kv, "q"), "Missing");
        let each = answer(
            kv,
            Write::Batch(vec![push("q", "8"), Write::Clear, pop("q")]),
        );
        assert!(each.ends_with("Done, Missing"), "{each}");
    });
}

#[test]
fn expired_record_of_a_queue_is_passed_over() {
    each_engine(|kv, clock| {
        check(kv, expiring("queue:1:q:0", "expires", 1), "Done");
        assert!(answer(kv, push("q", "stays")).starts_with("Pushed"));
        clock.advance(std::time::Duration::from_secs(1));
        assert_eq!(popped(kv, "q"), "stays");
        assert_eq!(popped(kv, "q"), "Missing");
    });
}

#[test]
fn longest_name_is_taken_and_a_byte_more_is_refused() {
    each_engine(|kv, _| {
        let push = |bytes: usize| Write::Push {
            queue: vec![b'q'; bytes].into(),
            value: "v".into(),
        };
        assert!(answer(kv, push(QUEUE_NAME_BYTES_MAX)).starts_with("Pushed"));
        let pop = |bytes: usize| Write::Pop {
            queue: vec![b'q'; bytes].into(),
        };
        for write in [
            push(QUEUE_NAME_BYTES_MAX + 1),
            pop(QUEUE_NAME_BYTES_MAX + 1),
        ] {
            let refused = answer(kv, write);
            assert!(refused.contains("QUEUE_NAME_BYTES_MAX"), "{refused}");
        }
        assert!(answer(kv, pop(QUEUE_NAME_BYTES_MAX)).ends_with("=v"));
    });
}

#[test]
fn popping_of_a_queue_does_not_slow_down_with_what_was_popped() {
    each_engine(|kv, _| {
        let numbers = 0..20_000_u32;
        let pushes = numbers.clone().map(|n| push("q", n.to_be_bytes().to_vec()));
        kv.submit_wait(Write::Batch(pushes.collect())).unwrap();
        for n in numbers.clone().take(200) {
            let taken = kv.submit_wait(pop("q")).unwrap();
            assert!(
                matches!(taken, WriteResult::Popped { value, .. } if value == n.to_be_bytes()[..])
            );
        }
        let pops = vec![pop("q"); 19_801];
        let WriteResult::Each(each) = kv.submit_wait(Write::Batch(pops)).unwrap() else {
            panic!("a batch answers for each");
        };
        let taken = |n: u32| {
            let one = &each[n as usize - 200];
            matches!(one, Ok(WriteResult::Popped { value, .. }) if *value == n.to_be_bytes()[..])
        };
        assert!(numbers.skip(200).all(taken));
        assert!(matches!(each[19_800], Ok(WriteResult::Missing)));
        assert!(kv.page(&KeyRange::all(), 1).unwrap().is_empty());
    });
}

#[test]
fn caller_that_waits_for_a_queue_is_woken_by_a_push_to_it() {
    each_engine(|kv, _| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut waiting = Box::pin(kv.pop_until(Some("q".into()), pending()));
            for (queue, is_awaited) in [("other", false), ("q", true)] {
                let before = tokio::select! {
                    biased;
                    early = &mut waiting => panic!("{early:?}"),
                    pushed = kv.submit(push(queue, "v")) => pushed.unwrap(),
                };
                let WriteResult::Pushed { key } = before else {
                    panic!("a push answers its key");
                };
                kv.notify_pushed(&key);
                if is_awaited {
                    let popped = waiting.as_mut().await.unwrap();
                    assert!(matches!(popped, WriteResult::Popped { key: at, .. } if at == key));
                }
            }
            let over = kv.pop_until(Some("q".into()), async {}).await.unwrap();
            assert!(matches!(over, WriteResult::Missing));
        });
    });
}
