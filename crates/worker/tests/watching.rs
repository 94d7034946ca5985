//! The watchdog and the worker's own services, on a worker without a server.

mod support;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::{Script, config, start};
use tsumugi_worker::{Exit, Observer, Sample, WorkerHandle, WorkerLimits, alone};

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

    /// How often the turn was reported as stalled.
    fn reports(&self, turn: u64) -> usize {
        self.stalled()
            .iter()
            .filter(|sample| sample.turn == turn)
            .count()
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

fn limits() -> WorkerLimits {
    WorkerLimits {
        stall_ms: 50,
        turn_cpu_ms_max: 100,
        ..WorkerLimits::default()
    }
}

fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Blocks one turn until it was reported as stalled and some samples longer. Its number.
async fn stall(worker: &WorkerHandle, record: &Arc<Record>) -> u64 {
    let (own, record) = (worker.clone(), Arc::clone(record));
    let turn = worker.spawn(async move {
        let turn = own.turn_number();
        support::until(|| record.reports(turn) > 0);
        thread::park_timeout(Duration::from_millis(150));
        turn
    });
    turn.await.unwrap()
}

#[test]
fn a_long_turn_is_reported_once_and_by_its_number() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        let turn = stall(&worker, &record).await;
        let samples: Vec<_> = record
            .stalled()
            .into_iter()
            .filter(|sample| sample.turn == turn)
            .collect();
        assert_eq!(samples.len(), 1, "{samples:?}");
        assert_eq!(samples[0].worker, 0);
        assert!(samples[0].elapsed >= Duration::from_millis(50));
        // Blocked, not busy: this is a stall and no use of CPU.
        assert!(record.overran().iter().all(|sample| sample.turn != turn));
    })
    .unwrap();
}

/// A turn of 300 ms that is ready all the time and has a thirteenth of a core.
#[cfg(target_os = "linux")]
#[test]
fn a_turn_that_waits_for_a_core_is_no_stall() {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::time::{ClockId, clock_gettime};
    let this = nix::unistd::Pid::from_raw(0);
    let used = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        let _turn = worker.turn();
        let allowed = sched_getaffinity(this).unwrap();
        let core = (0..CpuSet::count()).find(|core| allowed.is_set(*core).unwrap());
        let mut one = CpuSet::new();
        one.set(core.unwrap()).unwrap();
        sched_setaffinity(this, &one).unwrap();
        let start = Instant::now();
        let spin = move || while start.elapsed() < Duration::from_millis(300) {};
        let others: Vec<_> = (0..12).map(|_| thread::spawn(spin)).collect();
        let before = used();
        spin();
        let cpu = used() - before;
        let turn = worker.turn_number();
        assert!(
            cpu < Duration::from_millis(50),
            "{cpu:?}: this shows nothing"
        );
        assert_eq!(record.reports(turn), 0, "{:?}", record.stalled());
        others.into_iter().for_each(|other| other.join().unwrap());
    })
    .unwrap();
}

#[test]
fn every_long_turn_is_reported() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        for _ in 0..3 {
            let turn = stall(&worker, &record).await;
            assert_eq!(record.reports(turn), 1);
        }
        assert_eq!(
            worker.snapshot().workers[0].stalled,
            record.stalled().len() as u64
        );
    })
    .unwrap();
}

#[test]
fn a_turn_that_uses_too_much_cpu_is_reported_until_it_ends() {
    let record = Arc::new(Record::default());
    let seen = Arc::clone(&record);
    alone(limits(), async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        let task = worker.clone();
        let turn = worker.spawn(async move {
            let start = Instant::now();
            while seen.overran().len() < 3 {
                assert!(start.elapsed() < support::PATIENCE, "never reported");
                spin(Duration::from_millis(1));
            }
            task.turn_number()
        });
        let turn = turn.await.unwrap();
        let reported = record.overran().len();
        worker.sleep(Duration::from_millis(50)).await;
        // One report may have been on its way when the turn ended.
        assert!(record.overran().len() <= reported + 1);
        assert!(
            record
                .overran()
                .iter()
                .all(|sample| sample.turn == turn && sample.cpu > Duration::from_millis(100))
        );
        assert_eq!(record.reports(turn), 1);
    })
    .unwrap();
}

#[test]
fn task_that_sleeps_is_not_reported_as_stalled() {
    let record = Arc::new(Record::default());
    let limits = WorkerLimits {
        stall_ms: 300,
        ..limits()
    };
    alone(limits, async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        let sleeper = worker.clone();
        worker
            .spawn(async move { sleeper.sleep(Duration::from_millis(800)).await })
            .await
            .unwrap();
    })
    .unwrap();
    assert_eq!(record.stalled(), []);
}

#[test]
fn poll_inside_an_open_turn_counts_to_that_turn() {
    let record = Arc::new(Record::default());
    alone(limits(), async |worker: WorkerHandle| {
        let _watch = worker.watch(record.clone());
        let _turn = worker.turn();
        // A poll inside a turn, as a nested executor does, belongs to the outer one.
        let turn = worker.turn_number();
        worker.watched(async {}).await;
        assert_eq!(worker.turn_number(), turn);
        support::until(|| record.reports(turn) == 1);
    })
    .unwrap();
}

#[test]
fn several_observers_are_called_until_they_are_dropped() {
    let (first, second) = (Arc::new(Record::default()), Arc::new(Record::default()));
    alone(limits(), async |worker: WorkerHandle| {
        let watch = worker.watch(first.clone());
        let _watch = worker.watch(second.clone());
        let both = stall(&worker, &second).await;
        drop(watch);
        let one = stall(&worker, &second).await;
        assert_eq!((first.reports(both), first.reports(one)), (1, 0));
        assert_eq!((second.reports(both), second.reports(one)), (1, 1));
    })
    .unwrap();
}

#[test]
fn connections_are_watched_and_other_workers_are_not_blamed() {
    let mut config = config(2, &["127.0.0.1:0"]);
    config.limits = WorkerLimits {
        stall_ms: 100,
        ..limits()
    };
    let server = start(config, &Script::plain());
    let mut clients = [server.connect(), server.connect()];
    let worker = clients[0].ask("who").0;
    clients[0].ask("spin 800");
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
    alone(limits(), async |worker: WorkerHandle| {
        let start = Instant::now();
        // One after the other they would take two minutes.
        let tasks: Vec<_> = (0..240)
            .map(|_| {
                let sleeper = worker.clone();
                worker.spawn(async move { sleeper.sleep(Duration::from_millis(500)).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(500));
        assert!(start.elapsed() < Duration::from_secs(60));
    })
    .unwrap();
}

#[test]
fn offloaded_work_does_not_hold_the_worker() {
    alone(limits(), async |worker: WorkerHandle| {
        let (release, released) = std::sync::mpsc::channel();
        let job = worker.offload(move || released.recv().unwrap());
        // Reached only because the worker goes on while the job is blocked.
        worker.sleep(Duration::from_millis(20)).await;
        release.send(42).unwrap();
        assert_eq!(job.await.unwrap(), 42);
    })
    .unwrap();
}
