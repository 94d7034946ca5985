//! A throwaway HAProxy in front of several processes of an application. It knows no application but its `/ready`.
//! Rule: a request goes to another process only if nothing of it has been sent; the balancer ends with its value.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::listens;
use crate::{ServerProcess, free_port, log_of, programs};

/// From its start to its listening. Generous: a busy machine must not fail a test.
const START_S_MAX: u64 = 60;

/// Ports that were free may be taken by others before they are used.
const START_TRIES_MAX: usize = 5;

/// A running balancer.
pub struct Balancer {
    folder: PathBuf,
    address: SocketAddr,
    process: Mutex<ServerProcess>,
}

impl Balancer {
    /// On a free port of 127.0.0.1, in front of servers, each of which is asked at its own `--admin` address whether it is ready.
    #[must_use]
    pub fn start(servers: &[SocketAddr], admins: &[SocketAddr]) -> Balancer {
        for _ in 0..START_TRIES_MAX {
            let at = SocketAddr::from(([127, 0, 0, 1], free_port()));
            if let Ok(balancer) = Balancer::listen(at, servers, admins) {
                return balancer;
            }
        }
        panic!("haproxy did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries");
    }

    /// At an address of one's choice.
    ///
    /// # Errors
    /// What it has logged when it does not start, as when the address is taken.
    pub fn listen(
        at: SocketAddr,
        servers: &[SocketAddr],
        admins: &[SocketAddr],
    ) -> Result<Balancer, String> {
        // HAProxy shares an address with another HAProxy, and neither says so.
        let free = TcpListener::bind(at);
        drop(free.map_err(|error| format!("cannot listen on {at}: {error}"))?);
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-haproxy-")
            .tempdir()
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        let process = ServerProcess::over(&folder, "KILL");
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, configuration(at, servers, admins)).expect("the directory is ours");
        let balancer = Balancer {
            folder,
            address: at,
            process: Mutex::new(process),
        };
        balancer.run(&file)?;
        Ok(balancer)
    }

    fn run(&self, file: &Path) -> Result<(), String> {
        let mut command = Command::new(programs::find("haproxy", "haproxy"));
        // In the foreground, as one process: what is ended is all of it.
        command.env_clear().args(["-db", "-f"]).arg(file);
        let address = self.address;
        let wait = |child: &mut Child| listens(child, address, START_S_MAX);
        let went = self
            .process()
            .start(command, &self.log_path(), wait, |went| *went);
        went.then_some(()).ok_or_else(|| self.log())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a browser has it, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log(&self) -> String {
        log_of([self.log_path().as_path()])
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// A server is out after two looks that fail, half a second apart, and its connections are closed then: one that is stopped in its tracks would
/// keep them open.
fn configuration(at: SocketAddr, servers: &[SocketAddr], admins: &[SocketAddr]) -> String {
    assert_eq!(servers.len(), admins.len(), "each server has its --admin");
    let mut text = format!(
        "global
  maxconn 4000
  log stderr format raw daemon notice
defaults
  mode http
  log global
  timeout connect 1s
  timeout check 1s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  timeout queue 5s
  option redispatch 1
  retries 3
  retry-on conn-failure
frontend web
  bind {at}
  option forwardfor
  default_backend servers
backend servers
  balance roundrobin
  option httpchk GET /ready
  http-check expect status 200
  default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
"
    );
    for (number, (server, admin)) in servers.iter().zip(admins).enumerate() {
        let (host, port) = (admin.ip(), admin.port());
        let _ = writeln!(text, "  server s{number} {server} addr {host} port {port}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_another_balancer_is_refused() {
        let server = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let first = Balancer::start(&[server], &[server]);
        let refused = Balancer::listen(first.address(), &[server], &[server]);
        let reason = refused.err().expect("the address is taken");
        assert!(reason.contains("cannot listen on"), "{reason}");
    }

    #[test]
    fn configuration_looks_at_the_admin_of_each_server() {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let text = configuration(
            address(1),
            &[address(2), address(3)],
            &[address(4), address(5)],
        );
        assert!(text.contains("  bind 127.0.0.1:1\n"));
        assert!(text.contains("  server s0 127.0.0.1:2 addr 127.0.0.1 port 4\n"));
        assert!(text.contains("  server s1 127.0.0.1:3 addr 127.0.0.1 port 5\n"));
    }
}
