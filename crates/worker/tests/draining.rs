//! The end of a server: what finishes, what is refused, and how long it may take.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use support::{Client, PATIENCE, Script, config, start, until};
use tsumugi_worker::Exit;

#[test]
fn running_requests_finish_and_new_connections_are_refused() {
    let script = Script::plain();
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    let address = server.tcp();
    let (mut running, mut idle) = (server.connect(), server.connect());
    idle.ask("who");
    running.send("sleep 400");
    until(|| {
        server
            .handle
            .snapshot()
            .workers
            .iter()
            .map(|worker| worker.open)
            .sum::<usize>()
            == 2
    });
    std::thread::park_timeout(Duration::from_millis(50));
    server.handle.drain();
    assert!(idle.ended());
    until(|| Client::tcp(address).is_err());
    let (worker, app) = running.answer();
    assert!(worker < 2 && app == 1);
    assert!(running.ended());
    assert_eq!(server.join().unwrap(), Exit::Drained);
    assert_eq!(script.retired(), [(0, 1), (1, 1)]);
}

#[test]
fn unfinished_connection_is_dropped_and_the_exit_says_so() {
    let mut config = config(2, &["127.0.0.1:0"]);
    config.limits.drain_ms_max = 200;
    let server = start(config, &Script::plain());
    let mut stubborn = server.connect();
    stubborn.send("stubborn");
    server.connect().ask("who");
    let asked = Instant::now();
    let exit = server.drain();
    assert_eq!(exit, Exit::Forced { connections: 1 });
    assert_eq!(exit.code(), 1);
    assert!(asked.elapsed() >= Duration::from_millis(200));
    assert!(asked.elapsed() < PATIENCE);
    assert!(stubborn.ended());
}

#[test]
fn a_turn_that_does_not_end_cannot_hold_the_server() {
    let mut config = config(1, &["127.0.0.1:0"]);
    config.limits.drain_ms_max = 100;
    let server = start(config, &Script::plain());
    let mut client = server.connect();
    client.ask("who");
    client.send("block 120000");
    std::thread::park_timeout(Duration::from_millis(50));
    let asked = Instant::now();
    assert_eq!(server.drain(), Exit::Forced { connections: 1 });
    assert!(asked.elapsed() < PATIENCE);
}

#[test]
fn an_abort_ends_at_once() {
    let server = start(config(2, &["127.0.0.1:0"]), &Script::plain());
    let mut stubborn = server.connect();
    stubborn.send("stubborn");
    server.connect().ask("who");
    server.handle.drain();
    server.handle.drain();
    std::thread::park_timeout(Duration::from_millis(100));
    let asked = Instant::now();
    server.handle.abort();
    let exit = server.join().unwrap();
    assert_eq!((exit, exit.code()), (Exit::Aborted, 1));
    assert!(asked.elapsed() < PATIENCE);
}

#[test]
fn connections_in_the_backlog_of_a_busy_worker_are_served_before_it_closes() {
    let server = start(config(1, &["127.0.0.1:0"]), &Script::plain());
    let mut busy = server.connect();
    busy.ask("who");
    busy.send("spin 400");
    std::thread::park_timeout(Duration::from_millis(100));
    let mut waiting: Vec<_> = (0..3).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|client| client.send("who"));
    server.handle.drain();
    assert_eq!(busy.answer(), (0, 1));
    for mut client in waiting {
        assert_eq!(client.answer(), (0, 1));
        assert!(client.ended());
    }
    assert_eq!(server.join().unwrap(), Exit::Drained);
}

#[test]
fn a_drain_before_the_server_runs_ends_it_when_it_does() {
    let server = tsumugi_worker::BoundServer::bind(config(2, &["127.0.0.1:0"])).unwrap();
    server.handle().drain();
    let script = Script::plain();
    assert_eq!(
        server.run(move |worker| script.service(worker)).unwrap(),
        Exit::Drained
    );
}

#[test]
fn offloaded_jobs_finish_before_the_server_has_drained() {
    let done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&done);
    let script = Script::plain();
    let server = tsumugi_worker::BoundServer::bind(config(1, &["127.0.0.1:0"])).unwrap();
    let handle = server.handle();
    let exit = server.run(move |worker| {
        let flag = Arc::clone(&flag);
        drop(worker.offload(move || {
            std::thread::park_timeout(Duration::from_millis(200));
            flag.store(true, Ordering::Release);
        }));
        handle.drain();
        script.service(worker)
    });
    assert_eq!(exit.unwrap(), Exit::Drained);
    assert!(done.load(Ordering::Acquire));
}
