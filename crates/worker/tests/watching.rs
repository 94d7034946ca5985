//! The watchdog and the worker's own services, on a worker without a server.

mod support;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::{Script, config, start};
use tsumugi_worker::{Exit, Limits, Observer, Sample, Worker, alone};

#[derive(Default)]
struct Record {
    stalled: Mutex<Vec<Sample>>,
    overran: Mutex<Vec<Sample>>,
}

impl Record {
    fn stalled(&self) -> Vec<Sample> {
        self.stalled.lock().unwrap().clone()
    }

    fn overran(&self) -> Vec<Sample> {
        self.overran.lock().unwrap().clone()
    }
}

impl Observer for Record {
    fn stalled(&self, sample: &Sample) {
        self.stalled.lock().unwrap().push(*sample);
    }

    fn overran(&self, sample: &Sample) {
        self.overran.lock().unwrap().push(*sample);
    }
}

fn limits() -> Limits {
    Limits {
        stall_ms: 50,
        turn_cpu_ms_max: 100,
        ..Limits::default()
    }
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Spins until this thread's turn was reported as overrun, as an interrupted interpreter would.
fn spin_until_overrun(record: &Record) {
    let start = Instant::now();
    while record.overran().is_empty() {
        assert!(start.elapsed() < support::PATIENCE, "never reported");
        spin(Duration::from_millis(1));
    }
}

#[test]
fn a_long_turn_is_reported_once_and_by_its_number() {
    let record = Arc::new(Record::default());
    let number = alone(limits(), async |worker: Worker| {
        let _watch = worker.watch(record.clone());
        let task = worker.clone();
        let turn = worker.spawn(async move {
            // Blocked, not busy: this is a stall and no use of CPU.
            thread::park_timeout(Duration::from_millis(300));
            task.turn_number()
        });
        turn.await.unwrap()
    });
    let stalled = record.stalled();
    assert_eq!(stalled.len(), 1, "{stalled:?}");
    assert_eq!((stalled[0].worker, stalled[0].turn), (0, number.unwrap()));
    assert!(stalled[0].elapsed >= Duration::from_millis(50));
    assert_eq!(record.overran(), []);
}

#[test]
fn every_long_turn_is_reported() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: Worker| {
        let _watch = worker.watch(record.clone());
        for _ in 0..3 {
            worker
                .spawn(async { thread::park_timeout(Duration::from_millis(150)) })
                .await
                .unwrap();
        }
        assert_eq!(worker.snapshot().workers[0].stalled, 3);
    })
    .unwrap();
    assert_eq!(record.stalled().len(), 3);
}

#[test]
fn a_turn_that_uses_too_much_cpu_is_reported_until_it_ends() {
    let record = Arc::new(Record::default());
    let seen = Arc::clone(&record);
    alone(limits(), async |worker: Worker| {
        let _watch = worker.watch(record.clone());
        worker
            .spawn(async move {
                spin_until_overrun(&seen);
                let start = Instant::now();
                while seen.overran().len() < 3 {
                    assert!(start.elapsed() < support::PATIENCE);
                    spin(Duration::from_millis(1));
                }
            })
            .await
            .unwrap();
        let reported = record.overran().len();
        worker.sleep(Duration::from_millis(50)).await;
        // One report may have been on its way when the turn ended.
        assert!(record.overran().len() <= reported + 1);
    })
    .unwrap();
    assert!(
        record
            .overran()
            .iter()
            .all(|sample| sample.cpu > Duration::from_millis(100))
    );
    assert_eq!(record.stalled().len(), 1);
}

#[test]
fn waiting_is_no_turn() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: Worker| {
        let _watch = worker.watch(record.clone());
        let sleeper = worker.clone();
        worker
            .spawn(async move { sleeper.sleep(Duration::from_millis(300)).await })
            .await
            .unwrap();
    })
    .unwrap();
    assert_eq!(record.stalled(), []);
}

#[test]
fn polls_outside_tasks_are_seen_through_a_turn() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: Worker| {
        let _watch = worker.watch(record.clone());
        // A poll inside a turn, as a nested executor does, belongs to the outer one.
        let _turn = worker.turn();
        worker.watched(async {}).await;
        thread::park_timeout(Duration::from_millis(200));
    })
    .unwrap();
    assert_eq!(record.stalled().len(), 1);
}

#[test]
fn several_observers_are_told_until_they_leave() {
    let (first, second) = (Arc::new(Record::default()), Arc::new(Record::default()));
    alone(limits(), async |worker: Worker| {
        let stall = || worker.spawn(async { thread::park_timeout(Duration::from_millis(150)) });
        let watch = worker.watch(first.clone());
        let _watch = worker.watch(second.clone());
        stall().await.unwrap();
        drop(watch);
        stall().await.unwrap();
    })
    .unwrap();
    assert_eq!((first.stalled().len(), second.stalled().len()), (1, 2));
}

#[test]
fn connections_are_watched_and_other_workers_are_not_blamed() {
    let mut config = config(2, &["127.0.0.1:0"]);
    config.limits = limits();
    let server = start(config, &Script::plain());
    let mut clients = [server.connect(), server.connect()];
    let worker = clients[0].ask("who").0;
    clients[0].ask("spin 200");
    let snapshot = server.handle.snapshot();
    assert_eq!(
        (
            snapshot.workers[worker].stalled,
            snapshot.workers[1 - worker].stalled
        ),
        (1, 0)
    );
    drop(clients);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn sleeps_overlap_and_are_never_short() {
    alone(limits(), async |worker: Worker| {
        let start = Instant::now();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let sleeper = worker.clone();
                worker.spawn(async move { sleeper.sleep(Duration::from_millis(200)).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert!(start.elapsed() < Duration::from_secs(3));
    })
    .unwrap();
}

#[test]
fn offloaded_work_does_not_hold_the_worker() {
    alone(limits(), async |worker: Worker| {
        let job = worker.offload(|| {
            thread::park_timeout(Duration::from_millis(300));
            42
        });
        let start = Instant::now();
        worker.sleep(Duration::from_millis(1)).await;
        assert!(start.elapsed() < Duration::from_millis(250));
        assert_eq!(job.await.unwrap(), 42);
    })
    .unwrap();
}
