//! What the builder costs in Rust: rows by their key, with SQL as it stands and with the builder, turn by turn, and the builder's SQL alone.
//! Not a test: `make bench-builder` runs it beside the same in Ruby. Rule: both ways read the same rows, and what was read is added up.
//!
//! `builder URL TURNS` prints a line of JSON: the queries of each way, the seconds that each took, and the sum of what was read.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tsumugi::Db;
use tsumugi::builder::from_row;
use tsumugi_db::{Options, values};
use tsumugi_sql::col;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SQL: &str = "select * from world where id = ? limit 1";
/// Keys of the table.
const WORLDS: u32 = 10_000;
/// Queries of one way before it is the other's turn.
const KEYS: usize = 50;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, turns] = arguments.as_slice() else {
        eprintln!("usage: builder URL TURNS");
        return ExitCode::FAILURE;
    };
    match run(url, turns) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("builder: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(url: &str, turns: &str) -> Outcome<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let cost = LocalSet::new().block_on(&runtime, cost(url, turns.parse()?))?;
    println!("{cost}");
    Ok(())
}

async fn cost(url: &str, turns: usize) -> Outcome<serde_json::Value> {
    let mut options = Options::default();
    options.pool = 1;
    let db = Db::connect(url, options).await?;
    let (mut raw, mut built, mut alone) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let (mut reading, mut building, mut written) = (0, 0, 0);
    let mut all = keys();
    for turn in 0..turns {
        let keys: Vec<i64> = all.by_ref().take(KEYS).collect();
        // Who comes first finds the caches as the other left them.
        for way in [turn % 2, (turn + 1) % 2] {
            let begun = Instant::now();
            if way == 0 {
                for key in &keys {
                    reading += read(&db, *key).await?;
                }
                raw += begun.elapsed();
            } else {
                for key in &keys {
                    building += build(&db, *key).await?;
                }
                built += begun.elapsed();
            }
        }
        let begun = Instant::now();
        for key in &keys {
            let rows = db.table("world").filter(col("id").eq(*key));
            written += rows.query().to_first(db.dialect())?.sql.len();
        }
        alone += begun.elapsed();
    }
    if reading != building || written == 0 {
        return Err(format!("they read {reading} and {building}").into());
    }
    Ok(serde_json::json!({
        "queries": turns * KEYS,
        "raw": raw.as_secs_f64(),
        "built": built.as_secs_f64(),
        "alone": alone.as_secs_f64(),
        "sum": reading,
    }))
}

async fn read(db: &Db, key: i64) -> Outcome<i64> {
    let rows = db.query(SQL, values![key]).await?;
    let row = rows.first().ok_or("no such row")?;
    let (_, number): (i64, i64) = from_row(row)?;
    Ok(number)
}

async fn build(db: &Db, key: i64) -> Outcome<i64> {
    let rows = db.table("world").filter(col("id").eq(key));
    let (_, number): (i64, i64) = rows.first().await?.ok_or("no such row")?;
    Ok(number)
}

/// The same in every program: a linear congruence from 1.
fn keys() -> impl Iterator<Item = i64> {
    let mut state = 1_u32;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i64::from((state >> 8) % WORLDS + 1)
    })
}
