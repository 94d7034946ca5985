//! A second server on the sockets of a first one: whoever connects is served by one of them, and the first one goes on when the second
//! does not come to serve.

mod support;

use std::future::pending;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use support::{Client, PATIENCE, Running, Script, config, run, start, until};
use tsumugi_worker::{
    BoundServer, BoxError, Config, Connection, Current, Exit, Handle, ListenAddress, ServerPhase,
    WorkerHandle, WorkerService,
};

/// A server on one TCP and one UNIX address.
fn first(workers: usize, path: &Path) -> Running {
    let unix = format!("unix:{}", path.display());
    start(config(workers, &["127.0.0.1:0", &unix]), &Script::plain())
}

fn taking_over(first: &Running, workers: usize) -> Config {
    Config {
        listen: first.addresses.clone(),
        ..config(workers, &[])
    }
}

fn client(address: &ListenAddress) -> io::Result<Client> {
    match address {
        ListenAddress::Tcp(address) => Client::tcp(*address),
        ListenAddress::Unix(path) => Client::unix(path),
    }
}

#[test]
fn clients_that_connect_all_the_time_are_served_across_handovers() {
    for (before, after) in [(1, 1), (3, 1), (1, 3), (2, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let old = first(before, &path);
        let addresses = old.addresses.clone();
        let (over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
        let ask = |address: &ListenAddress| {
            while !over.load(Ordering::Relaxed) {
                client(address).unwrap().ask("who");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            let clients = addresses.iter().chain(&addresses);
            let clients: Vec<_> = clients
                .map(|address| scope.spawn(move || ask(address)))
                .collect();
            let asked_more = || {
                let seen = asked.load(Ordering::Relaxed);
                until(|| asked.load(Ordering::Relaxed) > seen + 50);
            };
            asked_more();
            let (sockets, loan) = old.handle.lend_sockets().unwrap();
            let server = BoundServer::bind_with(taking_over(&old, after), sockets).unwrap();
            let new = run(server, &Script::plain());
            asked_more();
            old.handle.hand_over();
            assert_eq!(old.join().unwrap(), Exit::Drained);
            drop(loan);
            assert!(path.exists(), "the file is the successor's");
            asked_more();
            // A further one, from the one that took over.
            let (sockets, _loan) = new.handle.lend_sockets().unwrap();
            let server = BoundServer::bind_with(taking_over(&new, before), sockets).unwrap();
            let third = run(server, &Script::plain());
            new.handle.hand_over();
            assert_eq!(new.join().unwrap(), Exit::Drained);
            asked_more();
            over.store(true, Ordering::Relaxed);
            for client in clients {
                client.join().unwrap();
            }
            assert_eq!(third.drain(), Exit::Drained);
        });
        assert!(!path.exists(), "the last one removes the file");
        assert!(client(&addresses[0]).is_err());
    }
}

#[test]
fn successor_that_does_not_come_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let old = first(2, &path);
    {
        let (sockets, _loan) = old.handle.lend_sockets().unwrap();
        drop(BoundServer::bind_with(taking_over(&old, 2), sockets).unwrap());
    }
    for address in &old.addresses {
        client(address).unwrap().ask("who");
    }
    let addresses = old.addresses.clone();
    assert_eq!(old.drain(), Exit::Drained);
    for address in &addresses {
        assert!(client(address).is_err());
    }
}

#[test]
fn server_that_ends_while_its_sockets_are_lent_leaves_the_file_to_the_successor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let old = first(2, &path);
    let (sockets, loan) = old.handle.lend_sockets().unwrap();
    let server = BoundServer::bind_with(taking_over(&old, 2), sockets).unwrap();
    let addresses = old.addresses.clone();
    assert_eq!(old.drain(), Exit::Drained);
    // Connected before anybody accepts.
    let mut waiting: Vec<Client> = addresses.iter().map(|one| client(one).unwrap()).collect();
    waiting.iter_mut().for_each(|client| client.send("who"));
    let new = run(server, &Script::plain());
    for mut client in waiting {
        client.answer();
    }
    drop(loan);
    assert_eq!(new.drain(), Exit::Drained);
    assert!(!path.exists());
}

/// Keeps every connection, as one whose client never answers is kept.
struct HoldingService(WorkerHandle);

impl WorkerService for HoldingService {
    type App = ();

    async fn load(&self) -> Result<Rc<()>, BoxError> {
        Ok(Rc::new(()))
    }

    async fn serve(&self, connection: Connection, _: Current<()>) {
        pending::<()>().await;
        drop(connection);
    }

    async fn retire(&self, _: Rc<()>) {}

    async fn last_requests(&self) {
        self.0.sleep(Duration::from_millis(20)).await;
    }
}

/// A server with a connection that does not end.
fn holding() -> (
    Handle,
    thread::JoinHandle<tsumugi_worker::Result<Exit>>,
    Client,
) {
    let mut config = config(2, &["127.0.0.1:0"]);
    config.limits.drain_ms_max = 3_000;
    let server = BoundServer::bind(config).unwrap();
    let (handle, address) = (server.handle(), server.addresses()[0].clone());
    let thread = thread::spawn(move || server.run(|worker| HoldingService(worker.clone())));
    let client = client(&address).unwrap();
    let connections = |handle: &Handle| {
        let workers = handle.snapshot().workers;
        workers.iter().map(|worker| worker.open).sum::<usize>()
    };
    until(|| connections(&handle) == 1);
    until(|| handle.has_begun());
    (handle, thread, client)
}

#[test]
fn application_retires_before_the_last_connection_once_another_process_serves() {
    let (handle, server, _client) = holding();
    assert!(!handle.has_retired());
    handle.hand_over();
    until(|| handle.has_retired());
    assert!(!server.is_finished(), "answers may still be sent");
    let exit = server.join().unwrap().unwrap();
    assert_eq!(exit, Exit::Forced { connections: 1 });
    // Whoever starts what has failed would start the version that was replaced.
    assert_eq!((exit.code(), exit.code_of(&handle)), (1, 0));
}

#[test]
fn application_of_a_server_that_ends_retires_after_the_last_connection() {
    let (handle, server, client) = holding();
    handle.drain();
    thread::park_timeout(Duration::from_millis(100));
    assert!(!handle.has_retired());
    let exit = server.join().unwrap().unwrap();
    drop(client);
    assert_eq!((exit.code(), exit.code_of(&handle)), (1, 1));
}

#[test]
fn nothing_is_lent_once_a_drain_has_begun() {
    let old = start(config(1, &["127.0.0.1:0"]), &Script::plain());
    old.connect().ask("who");
    let handle = old.handle.clone();
    assert_eq!(handle.lend_sockets().unwrap().0.len(), 1);
    assert_eq!(old.drain(), Exit::Drained);
    assert!(handle.lend_sockets().unwrap().0.is_empty());
}

#[test]
fn everything_goes_on_for_the_drain_delay() {
    let mut config = config(1, &["127.0.0.1:0"]);
    config.drain_delay = Duration::from_millis(1_500);
    let server = start(config, &Script::plain());
    let mut idle = server.connect();
    idle.ask("who");
    let asked = Instant::now();
    server.handle.drain();
    assert!(server.handle.is_ending());
    while asked.elapsed() < Duration::from_millis(300) {
        server.connect().ask("who");
        idle.ask("who");
    }
    let address = server.tcp();
    assert_eq!(server.join().unwrap(), Exit::Drained);
    assert!(asked.elapsed() >= Duration::from_millis(1_500));
    assert!(Client::tcp(address).is_err());
}

#[test]
fn second_request_to_end_does_not_wait_for_the_drain_delay() {
    let mut config = config(1, &["127.0.0.1:0"]);
    config.drain_delay = PATIENCE * 2;
    let server = start(config, &Script::plain());
    server.connect().ask("who");
    server.handle.drain();
    thread::park_timeout(Duration::from_millis(20));
    server.handle.abort();
    assert_eq!(server.join().unwrap(), Exit::Aborted);
}

#[test]
fn phases_are_reported_in_their_order() {
    // Not by the number of a load: where one worker fails first, the other may not have begun its load.
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let script = Script::new(move |_, _| match broken.load(Ordering::Relaxed) {
        true => Err("this one does not load".into()),
        false => Ok(()),
    });
    let mut server = BoundServer::bind(config(2, &["127.0.0.1:0"])).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let phases = Arc::clone(&seen);
    server.on_phase(move |phase| phases.lock().unwrap().push(phase));
    let server = run(server, &script);
    server.connect().ask("who");
    is_broken.store(true, Ordering::Relaxed);
    assert!(server.reload().is_err());
    is_broken.store(false, Ordering::Relaxed);
    server.reload().unwrap();
    assert_eq!(server.drain(), Exit::Drained);
    let expected = [
        ServerPhase::Loaded,
        ServerPhase::Serving,
        ServerPhase::Reloading,
        ServerPhase::Serving,
        ServerPhase::Reloading,
        ServerPhase::Serving,
        ServerPhase::Ending,
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}
