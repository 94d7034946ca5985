//! What a connection takes when it has warmed up: memory for each statement, memory for a reader who is slow. A process of its
//! own, because its allocator counts. Rule: bounds are generous; they tell a buffer for each statement from none.

use std::cell::Cell;
use std::rc::Rc;

use tsumugi_pg::{Config, Connection, Connector, Environment};
use tsumugi_testkit::postgres::{Server, User};

/// A runtime like a worker's, and a connection on it.
fn with_connection(
    test: impl FnOnce(&dyn Fn(std::pin::Pin<Box<dyn Future<Output = ()>>>), Connection),
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    let db = local.block_on(&runtime, async {
        let environment = Environment::empty().with_user("postgres");
        let config = Config::parse(&Server::shared().url(User::TRUST), &environment).unwrap();
        Connection::open(&Connector::new(config)).await.unwrap()
    });
    test(&|future| local.block_on(&runtime, future), db);
}

async fn read(db: &Connection, number: i32) {
    let rows = db
        .query("select $1::int4, 'a text'", &(number,))
        .await
        .unwrap();
    let row = rows.first().unwrap().unwrap();
    assert_eq!(row.value::<i32>(0).unwrap(), number);
}

#[test]
fn statement_allocates_no_buffer_once_its_connection_is_warm() {
    with_connection(|run, db| {
        let warm = db.clone();
        run(Box::pin(async move {
            for number in 0..3000 {
                read(&warm, number).await;
            }
        }));
        const STATEMENTS: u64 = 5000;
        let counted = allocation_counter::measure(|| {
            run(Box::pin(async move {
                for number in 0..STATEMENTS {
                    read(&db, i32::try_from(number).unwrap()).await;
                }
            }));
        });
        let (count, bytes) = (
            counted.count_total as f64 / STATEMENTS as f64,
            counted.bytes_total as f64 / STATEMENTS as f64,
        );
        println!("{count:.3} allocations and {bytes:.1} bytes for each statement");
        assert!(count < 1.0, "{count}");
        assert!(bytes < 200.0, "{bytes}");
    });
}

#[test]
fn million_rows_for_a_slow_reader_take_little_memory_and_leave_others_their_turns() {
    with_connection(|run, db| {
        let turns = Rc::new(Cell::new(0_u64));
        let counter = Rc::clone(&turns);
        let counted = allocation_counter::measure(|| {
            run(Box::pin(async move {
                let ticking = tokio::task::spawn_local(async move {
                    loop {
                        counter.set(counter.get() + 1);
                        tokio::task::yield_now().await;
                    }
                });
                let mut rows = db
                    .stream(
                        "select n, 'some words' from generate_series(1, 1000000) n",
                        &(),
                    )
                    .await
                    .unwrap();
                let mut sum = 0;
                while let Some(batch) = rows.next().await.unwrap() {
                    for row in batch.iter() {
                        sum += i64::from(row.unwrap().value::<i32>(0).unwrap());
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                assert_eq!(sum, 500_000_500_000);
                ticking.abort();
            }));
        });
        println!("{} bytes at most, {} turns", counted.bytes_max, turns.get());
        assert!(counted.bytes_max < 8 * 1024 * 1024, "{}", counted.bytes_max);
        assert!(turns.get() > 1000, "{}", turns.get());
    });
}

#[test]
fn copy_for_a_slow_reader_takes_little_memory() {
    with_connection(|run, db| {
        let counted = allocation_counter::measure(|| {
            run(Box::pin(async move {
                let mut copy = db
                    .copy_out("copy (select repeat('x', 200000000)) to stdout")
                    .await
                    .unwrap();
                let mut bytes = 0;
                while let Some(piece) = copy.next().await.unwrap() {
                    bytes += piece.len();
                    if bytes % 7 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                assert_eq!(bytes, 200_000_001);
            }));
        });
        println!("{} bytes at most", counted.bytes_max);
        assert!(
            counted.bytes_max < 16 * 1024 * 1024,
            "{}",
            counted.bytes_max
        );
    });
}

#[test]
fn copy_data_wait_for_room_in_the_buffer() {
    with_connection(|run, db| {
        let counted = allocation_counter::measure(|| {
            run(Box::pin(async move {
                db.script("create temp table t(word text)").await.unwrap();
                let mut copy = db.copy_in("copy t from stdin").await.unwrap();
                let line = [&vec![b'x'; 99_999][..], b"\n"].concat();
                for _ in 0..500 {
                    copy.send(&line).await.unwrap();
                }
                assert_eq!(copy.finish().await.unwrap(), 500);
            }));
        });
        println!("{} bytes at most", counted.bytes_max);
        assert!(
            counted.bytes_max < 16 * 1024 * 1024,
            "{}",
            counted.bytes_max
        );
    });
}

#[test]
fn memory_for_something_large_is_given_back() {
    with_connection(|run, db| {
        let warm = db.clone();
        run(Box::pin(async move { read(&warm, 1).await }));
        let counted = allocation_counter::measure(|| {
            run(Box::pin(async move {
                let large = "x".repeat(30_000_000);
                let rows = db.query("select $1::text", &(&*large,)).await.unwrap();
                assert_eq!(
                    rows.first().unwrap().unwrap().value::<&str>(0).unwrap(),
                    large
                );
                drop(rows);
                read(&db, 2).await;
                read(&db, 3).await;
                // Its memory outlives what is counted.
                std::mem::forget(db);
            }));
        });
        println!(
            "{} of {} bytes kept",
            counted.bytes_current, counted.bytes_max
        );
        assert!(counted.bytes_max > 60_000_000);
        assert!(
            counted.bytes_current < 1_000_000,
            "{}",
            counted.bytes_current
        );
    });
}
