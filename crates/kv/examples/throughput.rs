//! How many calls a database answers in process: both engines, 1 thread and more, 8-byte keys and values, one line of JSON each.
//! Arguments: records (1,000,000), threads (2), seconds for each figure (2). Not a comparison; `tsumugi bench kv` makes those.
//! Rule: keys are spread over all records, so that no figure is one of a warm cache alone.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tsumugi_kv::{Durability, KeyRange, KvDatabase, Pending, Spec, Write};

/// Calls between two looks at the clock.
const CALLS: u64 = 64;
/// Writes in flight where several are.
const WINDOW: usize = 64;

struct Settings {
    records: u64,
    threads: u64,
    time: Duration,
}

fn argument(at: usize, default: u64) -> u64 {
    let text = std::env::args().nth(at);
    text.map_or(default, |text| text.parse().expect("arguments are numbers"))
}

/// A place among the records that looks random and is the same each time.
fn key(number: u64, records: u64) -> [u8; 8] {
    (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % records).to_be_bytes()
}

fn measure(name: &str, settings: &Settings, threads: u64, call: impl Fn(u64) + Sync) {
    let stop = AtomicBool::new(false);
    let calls = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (stop, calls, call) = (&stop, &calls, &call);
            scope.spawn(move || {
                let mut number = thread << 40;
                while !stop.load(Relaxed) {
                    for _ in 0..CALLS {
                        call(number);
                        number += 1;
                    }
                    calls.fetch_add(CALLS, Relaxed);
                }
            });
        }
        std::thread::park_timeout(settings.time);
        stop.store(true, Relaxed);
    });
    let rate = calls.load(Relaxed) as f64 / began.elapsed().as_secs_f64();
    println!("{{\"name\":\"{name}\",\"threads\":{threads},\"per_second\":{rate:.0}}}");
}

fn run(engine: &str, kv: &KvDatabase, settings: &Settings) {
    let records = settings.records;
    let began = Instant::now();
    let all: Vec<u64> = (0..records).collect();
    for numbers in all.chunks(1_000) {
        let writes = numbers
            .iter()
            .map(|number| Write::set(number.to_be_bytes().to_vec(), number.to_le_bytes().to_vec()));
        kv.submit_wait(Write::Batch(writes.collect()))
            .expect("a batch is written");
    }
    let rate = records as f64 / began.elapsed().as_secs_f64();
    println!("{{\"name\":\"{engine} load\",\"threads\":1,\"per_second\":{rate:.0}}}");
    for threads in [1, settings.threads] {
        measure(&format!("{engine} get"), settings, threads, |number| {
            let value = kv.get(&key(number, records)).expect("a read succeeds");
            assert!(value.is_some());
        });
        measure(&format!("{engine} set"), settings, threads, |number| {
            let key = Bytes::copy_from_slice(&key(number, records));
            kv.submit_wait(Write::set(key.clone(), key))
                .expect("a write succeeds");
        });
        measure(
            &format!("{engine} set, {WINDOW} in flight"),
            settings,
            threads,
            |number| {
                let pending: Vec<Pending> = (0..WINDOW as u64)
                    .map(|n| {
                        let key = Bytes::copy_from_slice(&key(number * WINDOW as u64 + n, records));
                        kv.submit(Write::set(key.clone(), key))
                    })
                    .collect();
                for pending in pending {
                    pending.wait().expect("a write succeeds");
                }
            },
        );
        measure(
            &format!("{engine} page of 100"),
            settings,
            threads,
            |number| {
                let range = KeyRange::all().after(Bytes::copy_from_slice(&key(number, records)));
                kv.page(&range, 100).expect("a read succeeds");
            },
        );
    }
    println!("{engine}: {:?}", kv.metrics());
}

fn main() {
    let settings = Settings {
        records: argument(1, 1_000_000),
        threads: argument(2, 2),
        time: Duration::from_secs(argument(3, 2)),
    };
    let memory = "#capacity=4g".parse::<Spec>().expect("a specification");
    run(
        "memory",
        &KvDatabase::open(&memory).expect("a database"),
        &settings,
    );
    let evicting = "#capacity=4g,when_full=evict"
        .parse::<Spec>()
        .expect("a specification");
    run(
        "memory, evicting",
        &KvDatabase::open(&evicting).expect("a database"),
        &settings,
    );
    let folder = std::env::temp_dir().join(format!("tsumugi-kv-throughput-{}", std::process::id()));
    for durability in [Durability::Process, Durability::Disk] {
        on_disk(&folder, durability, &settings);
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

fn on_disk(folder: &Path, durability: Durability, settings: &Settings) {
    let spec = Spec::disk(folder.join(durability.to_string()), durability);
    let kv = KvDatabase::open(&spec).expect("a database");
    run(&format!("disk, {durability}"), &kv, settings);
    kv.close();
}
