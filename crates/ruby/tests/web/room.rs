//! A worker whose application keeps what the VM has, beside streams that never end: what would make room is let in, and garbage refuses nobody.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::rig::Rig;

const APP: &str = r#"
KEPT = []
get("/now") { "now" }
get("/bytes") { Tsumugi.vm_bytes.to_s }
get("/keep") { 5.times { KEPT << "x" * 100_000 }; "kept" }
get("/keep-small") { KEPT << Array.new(20_000) { [1] }; GC.start; Tsumugi.vm_bytes.to_s }
get("/drop") { KEPT.clear; "dropped" }
get("/work") { Array.new(300) { "x" * 1_000 }.size.to_s }
get("/nap") { sleep 3; "napped" }
get("/events") { events { |out| loop { out.event("tick"); sleep 0.1 } } }
"#;

fn begin(rig: &Rig, path: &str, headers: &str) -> TcpStream {
    let mut stream = rig.connect();
    let head = format!("GET {path} HTTP/1.1\r\nhost: example.org\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// A stream of events whose beginning has arrived.
fn events(rig: &Rig) -> TcpStream {
    let mut stream = begin(rig, "/events", "");
    let mut begun = [0; 64];
    let length = stream.read(&mut begun).unwrap();
    assert!(
        begun[..length].starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&begun[..length])
    );
    stream
}

/// Requests that keep more and more, until one is not answered.
fn fill(rig: &Rig) {
    let filled = (0..100).any(|_| rig.get("/keep").status != 200);
    assert!(filled, "the VM has no end");
}

#[test]
fn request_that_frees_memory_runs_beside_an_endless_stream() {
    let rig = Rig::with(APP, |settings| settings.limits.vm_bytes_max = 16_000_000);
    let streams: Vec<TcpStream> = (0..3).map(|_| events(&rig)).collect();
    fill(&rig);
    for _ in 0..20 {
        assert_eq!(rig.get("/now").text(), "now");
    }
    assert_eq!(rig.get("/drop").text(), "dropped");
    assert_eq!(rig.get("/keep").text(), "kept");
    drop(streams);
}

#[test]
fn request_beyond_the_memory_runs_alone_and_one_more_each_second() {
    let rig = Rig::with(APP, |settings| settings.limits.vm_bytes_max = 16_000_000);
    let stream = events(&rig);
    fill(&rig);
    let naps: Vec<TcpStream> = (0..40)
        .map(|_| begin(&rig, "/nap", "connection: close\r\n"))
        .collect();
    let served = naps.into_iter().map(|mut nap| {
        let mut answer = Vec::new();
        nap.read_to_end(&mut answer).unwrap();
        answer.starts_with(b"HTTP/1.1 200")
    });
    let served = served.filter(|&served| served).count();
    assert!((1..=3).contains(&served), "{served} of 40");
    assert_eq!(rig.get("/drop").text(), "dropped");
    drop(stream);
}

#[test]
fn streams_beyond_the_room_are_requests_that_run() {
    let rig = Rig::with(APP, |settings| settings.limits.vm_bytes_max = 16_000_000);
    let first = events(&rig);
    fill(&rig);
    let mut beyond: Vec<TcpStream> = (0..40).map(|_| begin(&rig, "/events", "")).collect();
    let served = beyond.iter_mut().map(|stream| {
        let mut begun = [0; 64];
        let length = stream.read(&mut begun).unwrap();
        begun[..length].starts_with(b"HTTP/1.1 200")
    });
    let served = served.filter(|&served| served).count();
    assert!((1..=3).contains(&served), "{served} of 40");
    drop((first, beyond));
}

#[test]
fn requests_that_leave_garbage_are_not_refused_for_it() {
    let max = 48_000_000;
    let rig = Rig::with(APP, |settings| settings.limits.vm_bytes_max = max);
    let loaded: usize = rig.get("/bytes").text().parse().unwrap();
    let used_max = max - (max - loaded) / 8;
    // What is kept leaves less than a collection's worth below what is let in.
    let keep = || rig.get("/keep-small").text().parse::<usize>().unwrap();
    let kept = std::iter::repeat_with(keep).find(|&bytes| bytes > used_max - (4 << 20));
    assert!(kept < Some(used_max), "{kept:?} of {used_max}");
    let stream = events(&rig);
    let refused = (0..600).filter(|_| rig.get("/work").status != 200);
    assert_eq!(refused.count(), 0, "of 600");
    drop(stream);
}
