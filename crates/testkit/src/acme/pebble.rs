//! A throwaway pebble, Debian's: an authority whose accounts and certificates end with it. It really connects to the ports that a test leads it to.
//! Rule: it listens on free ports of loopback, asks no DNS but its own, and ends with its value.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nix::sys::signal::Signal;

use super::late_port::LatePort;
use super::loopback_names::LoopbackNames;
use crate::process::listens;
use crate::{ServerCertificate, ServerProcess, free_port, log_of, programs, server_certificate};

/// From its start to its listening. Generous: a busy machine must not fail a test.
const START_S_MAX: u64 = 60;

/// Ports that were free may be taken by others before they are used.
const START_TRIES_MAX: usize = 5;

/// How it behaves.
#[derive(Clone, Copy, Debug)]
pub struct PebbleSettings {
    /// How long its certificates are valid, in seconds.
    pub validity_seconds: u64,
    /// Of a hundred nonces that are right, how many it refuses at random, as real authorities do now and then.
    pub nonces_refused: u8,
    /// A name for which it refuses every order.
    pub refused_name: &'static str,
}

impl Default for PebbleSettings {
    fn default() -> PebbleSettings {
        PebbleSettings {
            validity_seconds: 90 * 86_400,
            nonces_refused: 0,
            refused_name: "refused.example",
        }
    }
}

/// A running authority.
pub struct Pebble {
    folder: PathBuf,
    settings: PebbleSettings,
    certificate: ServerCertificate,
    names: LoopbackNames,
    directory: LatePort,
    http: LatePort,
    tls: LatePort,
    process: ServerProcess,
    port: u16,
    management: u16,
}

impl Pebble {
    /// Where who asks its directory waits until [`Pebble::open`].
    #[must_use]
    pub fn start(settings: PebbleSettings) -> Pebble {
        let folder = tempfile::Builder::new()
            .prefix("tsumugi-pebble-")
            .tempdir()
            .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
            .keep();
        Pebble {
            process: ServerProcess::over(&folder, "KILL"),
            certificate: server_certificate(&folder),
            names: LoopbackNames::start(),
            directory: LatePort::open(),
            http: LatePort::open(),
            tls: LatePort::open(),
            settings,
            port: 0,
            management: 0,
            folder,
        }
    }

    /// Lets it begin: it looks for challenges at these ports of 127.0.0.1, and answers who waits.
    pub fn open(&mut self, http: u16, tls: u16) {
        self.begin();
        self.lead_to(http, tls);
    }

    /// Has who asks its directory wait until [`Pebble::lead_to`].
    pub fn hold(&self) {
        self.directory.hold();
    }

    /// From now on it looks for challenges at other ports, and answers who waits.
    pub fn lead_to(&self, http: u16, tls: u16) {
        self.http.lead_to(http);
        self.tls.lead_to(tls);
        self.directory.lead_to(self.port);
    }

    /// Ends it with all that it knows, and begins another one at the same address, where who asks waits until [`Pebble::lead_to`].
    pub fn replace(&mut self) {
        self.hold();
        let log = self.folder.join("log");
        self.process
            .end(Signal::SIGKILL, || log_of([log.as_path()]));
        self.begin();
    }

    fn begin(&mut self) {
        for _ in 0..START_TRIES_MAX {
            let (port, management) = (free_port(), free_port());
            if self.run(port, management) {
                (self.port, self.management) = (port, management);
                return;
            }
        }
        let log = self.log();
        panic!("pebble did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries:\n{log}");
    }

    fn run(&mut self, port: u16, management: u16) -> bool {
        let configuration = self.folder.join("configuration.json");
        let text = format!(
            r#"{{"pebble":{{"listenAddress":"127.0.0.1:{port}","managementListenAddress":"127.0.0.1:{management}",
"certificate":"{}","privateKey":"{}","httpPort":{},"tlsPort":{},"ocspResponderURL":"","externalAccountBindingRequired":false,
"domainBlocklist":["{}"],"certificateValidityPeriod":{}}}}}"#,
            self.certificate.server.display(),
            self.certificate.key.display(),
            self.http.port(),
            self.tls.port(),
            self.settings.refused_name,
            self.settings.validity_seconds,
        );
        std::fs::write(&configuration, text).expect("the directory is ours");
        let mut command = Command::new(programs::find("pebble", "pebble"));
        command
            .env_clear()
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_AUTHZREUSE", "0")
            .env(
                "PEBBLE_WFE_NONCEREJECT",
                self.settings.nonces_refused.to_string(),
            )
            .arg("-config")
            .arg(&configuration)
            .args(["-dnsserver", &self.names.address()]);
        let addresses = [port, management].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let wait = |child: &mut Child| {
            addresses
                .iter()
                .all(|address| listens(child, *address, START_S_MAX))
        };
        let log = self.folder.join("log");
        self.process.start(command, &log, wait, |went| *went)
    }

    /// The URL of its directory.
    #[must_use]
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.directory.port())
    }

    /// The authority that signed the certificate of its directory, in PEM.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.certificate.authority
    }

    /// Where the root of what it issues is, by TLS: `GET /roots/0`. Another one after each start.
    #[must_use]
    pub fn management(&self) -> String {
        format!("127.0.0.1:{}", self.management)
    }

    /// The whole of its log.
    #[must_use]
    pub fn whole_log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log(&self) -> String {
        log_of([self.folder.join("log").as_path()])
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}
