//! The memory of one worker among two, from the outside: when it is full the other answers, and what was taken is given back to
//! the system. The binary has the allocator that servers have.

use std::time::Instant;

use crate::rig::{Client, PATIENCE, Site, pause};

/// Requests park until the gate opens, which all workers see.
const APP: &str = r##"
plugin(:kv) { KV.open "memory:gate" }
get("/worker") { worker.id.to_s }
get("/park") { text = "x" * 200_000; sleep 0.05 until kv.get("open"); text.bytesize.to_s }
get("/open") { kv.set("open", "1"); "open" }
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
        &[
            "--workers",
            "2",
            "--limit",
            "vm_bytes_max=134217728",
            "--limit",
            "request_ms_max=600000",
        ],
    );
    let [mut full, mut free] = connect(&site, PARKED + 1);
    full.truncate(PARKED + 1);
    let (mut control, mut other) = (full.pop().unwrap(), free.pop().unwrap());
    let before = site.resident_kib();
    for client in &mut full {
        client.send("GET", "/park", "", "");
    }
    let deadline = Instant::now() + PATIENCE;
    while !full.iter().any(Client::has_answer) {
        assert!(
            Instant::now() < deadline,
            "{PARKED} requests of 200 KB find room"
        );
        pause(10);
    }
    for _ in 0..50 {
        // What would begin beyond the room takes turns.
        assert!([200, 503].contains(&control.get("/worker").status));
        let reply = other.get("/worker");
        assert_eq!((reply.status, reply.text().as_str()), (200, "1"));
    }
    let taken = site.resident_kib().saturating_sub(before);
    assert!(taken > 64 << 10, "{PARKED} requests take {taken} KiB");
    assert_eq!(other.get("/open").text(), "open");
    let replies = full.iter_mut().map(|client| client.receive().status);
    let (served, refused): (Vec<u16>, Vec<u16>) = replies.partition(|status| *status == 200);
    assert!(served.len() > 100 && !refused.is_empty(), "{served:?}");
    assert!(refused.iter().all(|status| *status == 503), "{refused:?}");
    // The allocator gives back what was free for a second, when it has something to do.
    let deadline = Instant::now() + PATIENCE;
    loop {
        let kept = site.resident_kib().saturating_sub(before);
        if kept < taken / 4 {
            break;
        }
        assert!(Instant::now() < deadline, "{kept} of {taken} KiB are kept");
        for client in [&mut control, &mut other] {
            client.get("/worker");
        }
        pause(50);
    }
}
