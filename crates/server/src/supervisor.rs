//! What a supervisor such as systemd passes to this process, and what it wants to be told: `LISTEN_FDS` and `NOTIFY_SOCKET`.
//! Supervises nothing. Rule: what was meant for another process is left alone, and without a supervisor nothing happens.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use listenfd::ListenFd;
use nix::time::{ClockId, clock_gettime};
use tsumugi_worker::{BoundServer, FileOwner, ListenAddress, ListeningSocket, ServerPhase};

use crate::limits::PASSED_SOCKETS_MAX;

/// A listening socket that a supervisor has bound, with the name that it has there.
struct PassedSocket {
    name: String,
    socket: ListeningSocket,
}

/// What was passed to this process, or why it cannot be used. Read once: descriptors have one owner.
static PASSED: LazyLock<Mutex<Result<Vec<PassedSocket>, String>>> = LazyLock::new(|| {
    let passed = read_passed().map_err(|error| format!("{error:#}"));
    Mutex::new(passed)
});

/// The addresses of the sockets of this name.
///
/// # Errors
/// When what was passed cannot be used.
pub(crate) fn addresses_of(name: &str) -> Result<Vec<ListenAddress>, String> {
    let passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    let passed = passed.as_ref().map_err(String::clone)?;
    let named = passed.iter().filter(|socket| socket.name == name);
    let mut addresses: Vec<ListenAddress> = named
        .map(|passed| passed.socket.address().clone())
        .collect();
    addresses.dedup();
    Ok(addresses)
}

/// All sockets that were passed and not taken yet.
///
/// # Errors
/// When what was passed cannot be used.
pub(crate) fn take_passed() -> Result<Vec<ListeningSocket>> {
    let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *passed {
        Ok(passed) => Ok(passed.drain(..).map(|passed| passed.socket).collect()),
        Err(error) => anyhow::bail!("{error}"),
    }
}

fn read_passed() -> Result<Vec<PassedSocket>> {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let count = variable("LISTEN_FDS");
    // They stay in the environment of what such a process starts.
    if count.is_empty() || variable("LISTEN_PID") != process::id().to_string() {
        return Ok(Vec::new());
    }
    let number: usize = count
        .parse()
        .with_context(|| format!("LISTEN_FDS={count} is no number of sockets"))?;
    ensure!(
        number <= PASSED_SOCKETS_MAX,
        "LISTEN_FDS={count}: at most {PASSED_SOCKETS_MAX} sockets (passed_sockets_max)"
    );
    let names = variable("LISTEN_FDNAMES");
    let mut names = names.split(':');
    let mut descriptors = ListenFd::from_env();
    let mut passed = Vec::with_capacity(number);
    for place in 0..number {
        let name = names.next().unwrap_or_default().to_owned();
        let socket = take(&mut descriptors, place)
            .and_then(|socket| ListeningSocket::adopt(socket, FileOwner::Supervisor))
            .with_context(|| {
                format!("what was passed as number {place} of LISTEN_FDS ({name}) cannot be used")
            })?;
        passed.push(PassedSocket { name, socket });
    }
    Ok(passed)
}

fn take(descriptors: &mut ListenFd, place: usize) -> io::Result<OwnedFd> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "it is not there");
    // What is no socket of IP is left where it was.
    if let Ok(listener) = descriptors.take_tcp_listener(place) {
        return listener.map(OwnedFd::from).ok_or_else(missing);
    }
    let listener = descriptors.take_unix_listener(place)?;
    listener.map(OwnedFd::from).ok_or_else(missing)
}

/// A supervisor that wants to know what this process does.
pub(crate) struct Supervisor {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Supervisor {
    /// That of the environment, if there is one.
    pub(crate) fn of_environment() -> Option<Supervisor> {
        let name = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty())?;
        let open = || {
            let address = address(name.as_bytes())?;
            let socket = UnixDatagram::unbound()?;
            socket.set_nonblocking(true)?;
            Ok::<_, io::Error>(Supervisor { socket, address })
        };
        let opened = open();
        if let Err(error) = &opened {
            tracing::warn!("NOTIFY_SOCKET cannot be used: {error}");
        }
        opened.ok()
    }

    /// Says what the server begins to do, and after a replacement which process is the main one.
    pub(crate) fn tell(&self, phase: ServerPhase, replacement: Replacement) {
        let text = match (phase, replacement) {
            (ServerPhase::Loaded, _) => return,
            (ServerPhase::Serving, Replacement::No) => "READY=1\nSTATUS=serving".to_owned(),
            (ServerPhase::Serving, Replacement::Yes) => {
                format!("MAINPID={}\nREADY=1\nSTATUS=serving", process::id())
            }
            (ServerPhase::Reloading, _) => {
                format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us())
            }
            (ServerPhase::Ending, _) => "STOPPING=1\nSTATUS=draining".to_owned(),
        };
        if let Err(error) = self.socket.send_to_addr(text.as_bytes(), &self.address) {
            tracing::debug!(%error, "the supervisor could not be told");
        }
    }
}

/// Tells the supervisor, if there is one, what this server does. For servers that take over from nobody.
pub fn report_to_supervisor(server: &mut BoundServer) {
    if let Some(supervisor) = Supervisor::of_environment() {
        server.on_phase(move |phase| supervisor.tell(phase, Replacement::No));
    }
}

/// Whether this process replaces another one of the same service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacement {
    No,
    Yes,
}

/// A path, or a name in the system's own space after an `@`.
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    match name {
        [b'/', ..] => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)),
        [b'@', name @ ..] => abstract_address(name),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "it is neither a path nor a name after @",
        )),
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The clock that systemd compares a reload with.
fn monotonic_us() -> i64 {
    // By the C library: valgrind ends a process that looks for the kernel's own table of clocks.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_is_told_in_the_words_of_the_protocol() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let told = UnixDatagram::bind(&path).unwrap();
        let supervisor = Supervisor {
            socket: UnixDatagram::unbound().unwrap(),
            address: address(path.as_os_str().as_bytes()).unwrap(),
        };
        let check = |phase, replacement, expected: &str| {
            supervisor.tell(phase, replacement);
            let mut text = [0; 256];
            let length = told.recv(&mut text).unwrap();
            let text = String::from_utf8_lossy(&text[..length]).into_owned();
            assert!(text.starts_with(expected), "{text}");
        };
        let pid = process::id();
        check(ServerPhase::Serving, Replacement::No, "READY=1\n");
        check(
            ServerPhase::Serving,
            Replacement::Yes,
            &format!("MAINPID={pid}\nREADY=1\n"),
        );
        check(
            ServerPhase::Reloading,
            Replacement::No,
            "RELOADING=1\nMONOTONIC_USEC=",
        );
        check(ServerPhase::Ending, Replacement::No, "STOPPING=1\n");
        drop(told);
        // Nobody listens any more, which is none of the server's business.
        supervisor.tell(ServerPhase::Serving, Replacement::No);
    }

    #[test]
    fn address_is_a_path_or_a_name_after_an_at_sign() {
        assert!(address(b"/run/notify").is_ok());
        assert!(address(b"@/org/notify").is_ok());
        for other in [&b"vsock:2:1"[..], b"notify", b""] {
            assert!(address(other).is_err());
        }
    }
}
