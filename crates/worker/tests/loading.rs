//! Start and reload: which application answers, and what becomes of the others.

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use support::{Script, config, start, until, wait};
use tsumugi_worker::{Error, Exit};

/// Holds loads until it is opened.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn pass(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(open, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

#[test]
fn connections_that_arrive_during_the_load_are_served_after_it() {
    let gate = Gate::default();
    let held = gate.clone();
    let script = Script::new(move |worker, _| {
        if worker == 1 {
            held.pass();
        }
        Ok(())
    });
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.send("who"));
    until(|| script.loaded.lock().unwrap().len() == 1);
    std::thread::park_timeout(Duration::from_millis(50));
    assert!(
        server
            .handle
            .snapshot()
            .workers
            .iter()
            .all(|worker| worker.accepted == 0)
    );
    gate.open();
    let mut workers: Vec<_> = clients.iter_mut().map(|client| client.answer().0).collect();
    workers.sort_unstable();
    assert_eq!(workers, [0, 0, 1, 1]);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_failed_load_at_start_is_the_servers_error_and_nothing_was_accepted() {
    let script = Script::new(|worker, _| match worker {
        0 => Ok(()),
        _ => Err("app.rb:3: no such table".into()),
    });
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    let handle = server.handle.clone();
    let error = server.join().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the application did not load on worker 1: app.rb:3: no such table"
    );
    assert!(
        handle
            .snapshot()
            .workers
            .iter()
            .all(|worker| worker.accepted == 0)
    );
    assert_eq!(script.retired(), script.loaded.lock().unwrap().clone());
    assert!(matches!(wait(handle.reload()), Err(Error::Stopped)));
}

#[test]
fn a_panic_at_load_is_a_failed_load() {
    let script = Script::new(|_, _| std::panic::resume_unwind(Box::new("broken plugin")));
    let error = start(config(1, &["127.0.0.1:0"]), &script)
        .join()
        .unwrap_err();
    assert!(error.to_string().contains("broken plugin"), "{error}");
}

#[test]
fn a_load_that_never_ends_fails_by_its_limit() {
    let gate = Gate::default();
    let held = gate.clone();
    let mut config = config(1, &["127.0.0.1:0"]);
    config.limits.load_ms_max = 50;
    let server = start(
        config,
        &Script::new(move |_, _| {
            held.pass();
            Ok(())
        }),
    );
    let error = server.join().unwrap_err().to_string();
    assert!(error.contains("load_ms_max = 50"), "{error}");
    gate.open();
}

#[test]
fn a_panic_while_the_service_is_made_ends_the_server() {
    let server = tsumugi_worker::BoundServer::bind(config(2, &["127.0.0.1:0"])).unwrap();
    let script = Script::plain();
    let outcome = server.run(move |worker| {
        if worker.id() == 1 {
            std::panic::resume_unwind(Box::new("no service"));
        }
        script.service(worker)
    });
    assert!(matches!(outcome, Err(Error::WorkerLost { worker: 1 })));
}

#[test]
fn a_reload_takes_effect_on_open_connections_of_every_worker() {
    let script = Script::plain();
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    let mut clients = [server.connect(), server.connect()];
    assert_eq!(clients.each_mut().map(|client| client.ask("who").1), [1, 1]);
    server.reload().unwrap();
    assert_eq!(clients.each_mut().map(|client| client.ask("who").1), [2, 2]);
    until(|| script.retired() == [(0, 1), (1, 1)]);
    assert_eq!(server.drain(), Exit::Drained);
    assert_eq!(script.retired(), [(0, 1), (0, 2), (1, 1), (1, 2)]);
}

#[test]
fn a_request_that_runs_keeps_the_old_application_until_it_ends() {
    let script = Script::plain();
    let server = start(config(1, &["127.0.0.1:0"]), &script);
    let (mut slow, mut quick) = (server.connect(), server.connect());
    slow.send("sleep 3000");
    quick.ask("who");
    server.reload().unwrap();
    assert_eq!(quick.ask("who"), (0, 2));
    assert_eq!(script.retired(), []);
    assert_eq!(slow.answer(), (0, 1));
    until(|| script.retired() == [(0, 1)]);
    assert_eq!(slow.ask("who"), (0, 2));
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_reload_that_fails_on_one_worker_changes_none() {
    let healthy = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&healthy);
    let other_loads = AtomicBool::new(false);
    let script = Script::new(move |worker, number| match (worker, number) {
        (1, 2..) if !switch.load(Ordering::Acquire) => {
            until(|| other_loads.load(Ordering::Acquire));
            // Late enough for the other worker to have loaded.
            std::thread::park_timeout(Duration::from_millis(200));
            Err("app.rb:1: syntax error".into())
        }
        (0, 2) => {
            other_loads.store(true, Ordering::Release);
            Ok(())
        }
        _ => Ok(()),
    });
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    let mut clients = [server.connect(), server.connect()];
    let error = server.reload().unwrap_err().to_string();
    assert_eq!(
        error,
        "the application did not load on worker 1: app.rb:1: syntax error"
    );
    assert_eq!(clients.each_mut().map(|client| client.ask("who").1), [1, 1]);
    until(|| script.retired() == [(0, 2)]);
    healthy.store(true, Ordering::Release);
    server.reload().unwrap();
    assert_eq!(clients.each_mut().map(|client| client.ask("who").1), [3, 3]);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn reloads_requested_during_one_are_done_by_the_next() {
    let gate = Gate::default();
    let held = gate.clone();
    let loads = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&loads);
    let server = start(
        config(1, &["127.0.0.1:0"]),
        &Script::new(move |_, number| {
            counter.fetch_add(1, Ordering::AcqRel);
            if number == 2 {
                held.pass();
            }
            Ok(())
        }),
    );
    server.connect().ask("who");
    let first = server.handle.reload();
    until(|| loads.load(Ordering::Acquire) == 2);
    let later: Vec<_> = (0..5).map(|_| server.handle.reload()).collect();
    gate.open();
    wait(first).unwrap();
    for each in later {
        wait(each).unwrap();
    }
    assert_eq!(loads.load(Ordering::Acquire), 3);
    assert_eq!(server.connect().ask("who"), (0, 3));
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_drain_does_not_wait_for_a_load() {
    let gate = Gate::default();
    let held = gate.clone();
    let script = Script::new(move |_, number| {
        if number == 2 {
            held.pass();
        }
        Ok(())
    });
    let server = start(config(2, &["127.0.0.1:0"]), &script);
    server.connect().ask("who");
    let reload = server.handle.reload();
    std::thread::park_timeout(Duration::from_millis(50));
    server.handle.drain();
    assert!(matches!(wait(reload), Err(Error::Stopped)));
    gate.open();
    assert_eq!(server.join().unwrap(), Exit::Drained);
    // The held loads may still have come to their end before the workers heard of the drain.
    let mut loaded = script.loaded.lock().unwrap().clone();
    loaded.sort_unstable();
    assert_eq!(script.retired(), loaded);
}
