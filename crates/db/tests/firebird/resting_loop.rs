//! A loop that runs for each call alone, as that of a program which blocks: between two calls nothing is polled, and no timer fires.
//! `TSUMUGI_RESTING_LOOP_CALLS` says how many calls are made.

use std::time::{Duration, Instant};

use tsumugi_db::{Database, Options};
use tsumugi_testkit::Dice;
use tsumugi_testkit::firebird::Server;

/// Above what a call may take on a crowded machine.
const CALL_MAX: Duration = Duration::from_secs(30);

#[test]
fn calls_of_a_loop_that_rests_between_them_are_all_answered() {
    let calls = std::env::var("TSUMUGI_RESTING_LOOP_CALLS").ok();
    let calls: usize = calls.map_or(60, |calls| calls.parse().unwrap());
    let place = Server::shared().database();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let tasks = tokio::task::LocalSet::new();
    let dice = Dice::new(3);
    let mut single: Option<Database> = None;
    let mut slowest = Duration::ZERO;
    for number in 0..calls {
        let url = format!("{}?statement_cache=0", place.url());
        let begun = Instant::now();
        tasks.block_on(&runtime, async {
            let mut options = Options::default();
            options.pool = 1;
            let own = match single.take() {
                Some(database) => database,
                None => Database::connect(&url, options).await.unwrap(),
            };
            let sql = match dice.below(3) {
                0 => "select * from rdb$relations",
                1 => "select first 10 * from rdb$relations",
                _ => "select first 5 rdb$relation_name from rdb$relations",
            };
            let rows = own.query(sql, []).await.unwrap();
            assert!(rows.len() >= 5);
            match dice.one_in(8) {
                true => own.close(),
                false => single = Some(own),
            }
        });
        slowest = slowest.max(begun.elapsed());
        assert!(begun.elapsed() < CALL_MAX, "call {number}: {slowest:?}");
        let rest_ms = if dice.one_in(20) { 300 } else { dice.below(5) };
        std::thread::park_timeout(Duration::from_millis(rest_ms));
    }
    println!("{calls} calls, the slowest took {slowest:?}");
}
