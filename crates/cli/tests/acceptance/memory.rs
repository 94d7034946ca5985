//! The memory of one worker among two, from the outside: when it is full the other answers, and what was taken is given back to
//! the system. The binary has the allocator that servers have.

use std::time::{Duration, Instant};

use crate::rig::{Client, Site, pause};

/// Requests park until the gate opens, which all workers see.
const APP: &str = r##"
plugin(:kv) { KV.open "memory:gate" }
get("/worker") { worker.to_s }
get("/park") { text = "x" * 200_000; sleep 0.05 until kv.get("open"); text.bytesize.to_s }
get("/open") { kv.set("open", "1"); "open" }
get("/bytes") { Tsumugi.vm_bytes.to_s }
"##;

/// Connections, so many of each worker.
fn connect(site: &Site, count: usize) -> [Vec<Client>; 2] {
    let mut of_workers = [Vec::new(), Vec::new()];
    while of_workers.iter().any(|clients| clients.len() < count) {
        let mut client = site.connect();
        let worker: usize = client.get("/worker").text().parse().unwrap();
        of_workers[worker].push(client);
        let open: usize = of_workers.iter().map(Vec::len).sum();
        assert!(
            open < 20 * count,
            "a worker gets none of {open} connections"
        );
    }
    of_workers
}

#[test]
fn a_worker_whose_memory_is_full_refuses_while_the_other_answers_and_all_is_given_back() {
    const PARKED: usize = 900;
    let site = Site::start_with(
        APP,
        &["--workers", "2", "--limit", "vm_bytes_max=134217728"],
    );
    let [mut full, mut free] = connect(&site, PARKED + 1);
    let before = site.resident_kib();
    let (mut control, mut other) = (full.pop().unwrap(), free.pop().unwrap());
    for client in &mut full[..PARKED] {
        client.send("GET", "/park", "", "");
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while control.get("/worker").status != 503 {
        assert!(
            Instant::now() < deadline,
            "900 requests of 200 KB find room"
        );
        pause(10);
    }
    for _ in 0..50 {
        assert_eq!(control.get("/worker").status, 503);
        let reply = other.get("/worker");
        assert_eq!((reply.status, reply.text().as_str()), (200, "1"));
    }
    let filled = site.resident_kib();
    eprintln!("{before} {filled}");
    assert_eq!(other.get("/open").text(), "open");
    let replies = full[..PARKED]
        .iter_mut()
        .map(|client| client.receive().status);
    let served = replies.filter(|status| *status == 200).count();
    eprintln!("served {served}");
    for _ in 0..40 {
        pause(250);
        for _ in 0..20 {
            control.get("/worker");
        }
        eprintln!("{} {}", site.resident_kib(), control.get("/bytes").text());
    }
}
