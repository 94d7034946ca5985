//! Listening, balancing and limits, over real sockets. What happens to applications is tested elsewhere.

mod support;

use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex};
use std::{fs, thread};

use support::{Client, Running, Script, config, start, until};
use tsumugi_worker::{BoundServer, Error, Exit, ListenAddress, Pinning};

/// How many of the clients each worker serves.
fn spread(clients: &mut [Client], workers: usize) -> Vec<usize> {
    let mut counts = vec![0; workers];
    for client in clients {
        counts[client.ask("who").0] += 1;
    }
    counts
}

fn check_one_after_another(workers: usize, expected: &[usize]) {
    let server = start(config(workers, &["127.0.0.1:0"]), &Script::plain());
    let mut clients: Vec<_> = (0..10)
        .map(|_| {
            let mut client = server.connect();
            client.ask("who");
            client
        })
        .collect();
    let mut counts = spread(&mut clients, workers);
    counts.sort_unstable();
    assert_eq!(counts, expected);
    assert_eq!(server.drain(), Exit::Drained);
}

fn check_at_once(workers: usize, expected: &[usize]) {
    let server = start(config(workers, &["127.0.0.1:0"]), &Script::plain());
    server.connect().ask("who");
    until(|| {
        server
            .handle
            .snapshot()
            .workers
            .iter()
            .all(|worker| worker.open == 0)
    });
    let barrier = Arc::new(Barrier::new(10));
    let threads: Vec<_> = (0..10)
        .map(|_| {
            let (address, barrier) = (server.tcp(), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                Client::tcp(address).unwrap()
            })
        })
        .collect();
    let mut clients: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let mut counts = spread(&mut clients, workers);
    counts.sort_unstable();
    assert_eq!(counts, expected);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn ten_connections_one_after_another_are_five_for_each_of_two_workers() {
    check_one_after_another(2, &[5, 5]);
}

#[test]
fn ten_connections_at_once_are_five_for_each_of_two_workers() {
    for _ in 0..5 {
        check_at_once(2, &[5, 5]);
    }
}

#[test]
fn four_workers_differ_by_at_most_one_connection() {
    check_one_after_another(4, &[2, 2, 3, 3]);
    check_at_once(4, &[2, 2, 3, 3]);
}

#[test]
fn connections_that_ended_no_longer_count() {
    let server = start(config(2, &["127.0.0.1:0"]), &Script::plain());
    let mut clients: Vec<_> = (0..6).map(|_| server.connect()).collect();
    assert_eq!(spread(&mut clients, 2), [3, 3]);
    let mut left: Vec<_> = clients
        .into_iter()
        .filter_map(|mut client| (client.ask("who").0 == 1).then_some(client))
        .collect();
    until(|| server.handle.snapshot().workers[0].open == 0);
    left.extend((0..3).map(|_| server.connect()));
    assert_eq!(spread(&mut left, 2), [3, 3]);
    drop(left);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_unix_socket_is_shared_evenly_and_removed_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let server = start(
        config(2, &[&format!("unix:{}", path.display())]),
        &Script::plain(),
    );
    let mut clients: Vec<_> = (0..10).map(|_| Client::unix(&path).unwrap()).collect();
    assert_eq!(spread(&mut clients, 2), [5, 5]);
    assert_eq!(server.drain(), Exit::Drained);
    assert!(!path.exists());
}

#[test]
fn the_socket_of_a_dead_server_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = start(
        config(1, &[&format!("unix:{}", path.display())]),
        &Script::plain(),
    );
    assert_eq!(Client::unix(&path).unwrap().ask("who"), (0, 1));
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn the_socket_of_a_live_server_is_refused_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let address = format!("unix:{}", path.display());
    let server = start(config(1, &[&address]), &Script::plain());
    let error = BoundServer::bind(config(1, &[&address])).unwrap_err();
    assert!(matches!(error, Error::SocketInUse { .. }));
    assert!(error.to_string().contains("already listens on"), "{error}");
    assert_eq!(Client::unix(&path).unwrap().ask("who"), (0, 1));
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    fs::write(&path, "text").unwrap();
    let error = BoundServer::bind(config(1, &[&format!("unix:{}", path.display())])).unwrap_err();
    assert!(matches!(error, Error::NotASocket { .. }));
    assert_eq!(fs::read_to_string(&path).unwrap(), "text");
}

#[test]
fn a_successors_socket_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let server = start(
        config(1, &[&format!("unix:{}", path.display())]),
        &Script::plain(),
    );
    fs::remove_file(&path).unwrap();
    let successor = UnixListener::bind(&path).unwrap();
    assert_eq!(server.drain(), Exit::Drained);
    assert!(path.exists());
    drop(successor);
}

#[test]
fn ipv6_and_ipv4_share_a_port_and_every_address_is_served() {
    let v4 = start(config(2, &["127.0.0.1:0"]), &Script::plain());
    let port = v4.tcp().port();
    let v6 = start(config(2, &[&format!("[::1]:{port}")]), &Script::plain());
    assert_eq!(
        v6.addresses,
        [format!("[::1]:{port}").parse::<ListenAddress>().unwrap()]
    );
    assert_eq!(v6.connect().ask("who").1, 1);
    assert_eq!(v4.connect().ask("who").1, 1);
    assert_eq!((v4.drain(), v6.drain()), (Exit::Drained, Exit::Drained));
}

#[test]
fn a_connection_knows_its_listener_and_its_peer() {
    use std::rc::Rc;
    use tsumugi_worker::{BoxError, Connection, Current, Peer, WorkerService};

    struct Record(mpsc::Sender<(usize, Peer)>);
    impl WorkerService for Record {
        type App = ();
        async fn load(&self) -> Result<Rc<()>, BoxError> {
            Ok(Rc::new(()))
        }
        async fn serve(&self, connection: Connection, _: Current<()>) {
            self.0.send((connection.listener, connection.peer)).unwrap();
        }
        async fn retire(&self, _: Rc<()>) {}
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let server = BoundServer::bind(config(
        1,
        &["127.0.0.1:0", &format!("unix:{}", path.display())],
    ))
    .unwrap();
    let (ListenAddress::Tcp(address), handle) = (server.addresses()[0].clone(), server.handle())
    else {
        panic!()
    };
    let (sender, seen) = mpsc::channel();
    let sender = Mutex::new(sender);
    let thread = thread::spawn(move || server.run(move |_| Record(sender.lock().unwrap().clone())));
    let client = std::net::TcpStream::connect(address).unwrap();
    assert_eq!(
        seen.recv().unwrap(),
        (0, Peer::Tcp(client.local_addr().unwrap()))
    );
    let _client = Client::unix(&path).unwrap();
    assert_eq!(seen.recv().unwrap(), (1, Peer::Unix));
    handle.drain();
    assert_eq!(thread.join().unwrap().unwrap(), Exit::Drained);
}

#[test]
fn a_taken_port_is_an_error_that_names_it() {
    let server = BoundServer::bind(config(2, &["127.0.0.1:0"])).unwrap();
    let address = server.addresses()[0].to_string();
    let error = BoundServer::bind(config(1, &[&address]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&address) && error.contains("choose another address"),
        "{error}"
    );
    drop(server);
    drop(BoundServer::bind(config(1, &[&address])).unwrap());
    let twice = BoundServer::bind(config(1, &[&address, &address])).unwrap_err();
    assert!(matches!(twice, Error::Listen { .. }), "{twice}");
    assert!(matches!(
        BoundServer::bind(config(1, &[])),
        Err(Error::NoAddress)
    ));
}

#[test]
fn the_connection_after_the_limit_is_closed_and_a_freed_place_is_used() {
    let mut config = config(2, &["127.0.0.1:0"]);
    config.limits.connections_max = 2;
    let server = start(config, &Script::plain());
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    assert_eq!(spread(&mut clients, 2), [2, 2]);
    assert!(server.connect().ended());
    let refused = |server: &Running| {
        server
            .handle
            .snapshot()
            .workers
            .iter()
            .map(|worker| worker.refused)
            .sum::<u64>()
    };
    assert_eq!(refused(&server), 1);
    clients.pop();
    until(|| {
        server
            .handle
            .snapshot()
            .workers
            .iter()
            .any(|worker| worker.open < 2)
    });
    clients.push(server.connect());
    assert_eq!(spread(&mut clients, 2), [2, 2]);
    assert_eq!(refused(&server), 1);
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn a_panicking_connection_ends_alone_and_frees_its_place() {
    let mut config = config(1, &["127.0.0.1:0"]);
    config.limits.connections_max = 2;
    let server = start(config, &Script::plain());
    let mut other = server.connect();
    other.ask("who");
    for _ in 0..3 {
        let mut client = server.connect();
        client.send("panic");
        assert!(client.ended());
    }
    assert_eq!(other.ask("who"), (0, 1));
    assert_eq!(server.drain(), Exit::Drained);
}

#[test]
fn pinned_workers_serve() {
    let mut config = config(3, &["127.0.0.1:0"]);
    config.pinning = Pinning::Cores;
    let server = start(config, &Script::plain());
    let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    assert_eq!(spread(&mut clients, 3), [1, 1, 1]);
    assert_eq!(server.drain(), Exit::Drained);
}

#[cfg(target_os = "linux")]
#[test]
fn workers_run_as_batches_by_default_or_as_the_process_when_set() {
    use preempt_rt::sched::{Pid, Scheduler, get_scheduler};
    use tsumugi_worker::Scheduling;
    let own = get_scheduler(Pid::current_thread()).unwrap();
    let batches = match own {
        Scheduler::SCHED_NORMAL => Scheduler::SCHED_BATCH,
        kept => kept,
    };
    for (scheduling, policy) in [(Scheduling::Batches, batches), (Scheduling::Inherited, own)] {
        let mut config = config(1, &["127.0.0.1:0"]);
        config.scheduling = scheduling;
        let server = start(config, &Script::plain());
        assert_eq!(server.connect().ask("policy"), (0, policy as usize));
        assert_eq!(server.drain(), Exit::Drained);
    }
}

#[test]
fn snapshot_counts_accepted_and_served_connections_of_each_worker() {
    let server = start(config(2, &["127.0.0.1:0"]), &Script::plain());
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    spread(&mut clients, 2);
    let snapshot = server.handle.snapshot();
    assert_eq!(
        snapshot
            .workers
            .iter()
            .map(|worker| worker.open)
            .collect::<Vec<_>>(),
        [4, 4]
    );
    assert_eq!(
        snapshot
            .workers
            .iter()
            .map(|worker| worker.accepted)
            .sum::<u64>(),
        8
    );
    assert!(
        snapshot
            .workers
            .iter()
            .all(|worker| worker.turns > 0 && worker.handed_over <= worker.accepted)
    );
    assert_eq!(server.drain(), Exit::Drained);
}
