//! What tests of several crates share: throwaway servers of PostgreSQL, Firebird and Redis, clusters of etcd and of PostgreSQL under Patroni, a balancer, their
//! processes and a guard that ends them, free ports, proxies that cut connections and networks, a command beside a server, and how the time of work grows. For tests only; knows no driver.
//! What fails here panics and says what to do, because a test has no better answer.

#![forbid(unsafe_code)]
#![cfg(unix)]

pub mod acme;
mod certificates;
mod cut_proxy;
pub mod demo;
mod dice;
pub mod etcd;
pub mod firebird;
mod front_proxy;
mod gate_proxy;
pub mod growth;
mod guard;
pub mod haproxy;
mod http_status;
mod limits;
mod log_buffer;
pub mod openapi;
mod patience;
pub mod patroni;
pub mod poll;
pub mod postgres;
mod process;
mod process_tree;
mod programs;
pub mod redis;
pub mod smtp;
mod tls_server;
pub mod websocket;
mod wrapped_command;

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, PoisonError};

pub use self::certificates::{ServerCertificate, server_certificate};
pub use self::cut_proxy::{Cut, CutProxy, ServerSide};
pub use self::dice::Dice;
pub use self::front_proxy::FrontProxy;
pub use self::gate_proxy::{ClientGates, GateProxy, NetworkGate};
pub use self::guard::Guard;
pub use self::http_status::http_status;
pub use self::log_buffer::LogBuffer;
pub use self::patience::{RunningTick, any_length, any_length_of};
pub use self::process::{ServerProcess, crash, freeze, is_frozen, log_of, thaw};
pub use self::tls_server::{TlsStream, tls_server, tls_server_that_answers};
pub use self::wrapped_command::{ProgramRequest, read_arguments, run_beside};

/// A port of 127.0.0.1 that is free at this moment, and is answered once in this process. It is none of those that the system gives by itself to
/// whoever connects or listens anywhere: those would be taken while a server that had one is stopped. Another process may choose it, too, by chance.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let ports = limits::PORTS_FIRST..own_ports_end();
    for _ in 0..limits::PORT_LOOKS_MAX {
        // Another number each time and in each process.
        let chance = RandomState::new().hash_one(std::process::id());
        let port = match u16::try_from(chance % u64::from(u16::MAX)) {
            Ok(offset) if !ports.is_empty() => {
                let length = ports.end - ports.start;
                ports.start + offset % length
            }
            _ => 0,
        };
        let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) else {
            continue;
        };
        let port = listener.local_addr().expect("it is bound").port();
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if given.insert(port) {
            return port;
        }
    }
    panic!(
        "no port of 127.0.0.1 is free after PORT_LOOKS_MAX ({}) looks",
        limits::PORT_LOOKS_MAX
    );
}

/// The first of the ports that the system gives by itself; where that is not known, there are no others.
fn own_ports_end() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let first = range.ok().and_then(|range| {
        let first = range.split_whitespace().next()?;
        first.parse().ok()
    });
    first.unwrap_or(limits::PORTS_FIRST)
}

/// Waits a moment between two looks at something that is awaited.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's thread serves no request"
)]
pub fn pause() {
    std::thread::sleep(limits::LOOK_AGAIN);
}

/// `target`, which cargo marks as a cache, above the running test program; else the directory for temporary files.
pub fn build_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program
        .ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").is_file())
        .map_or_else(std::env::temp_dir, Path::to_path_buf)
}

/// What a program printed; a failure is a panic with what it said.
pub fn printed(program: &Path, output: Output) -> String {
    assert!(
        output.status.success(),
        "{} failed ({}):\n{}{}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

/// The names of fields in what `{:?}` shows of a struct of numbers.
pub fn field_names(shown: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let fields = shown
        .split([' ', '{', ','])
        .filter_map(|word| word.strip_suffix(':'));
    fields.filter(|name| name.chars().all(is_name)).collect()
}
