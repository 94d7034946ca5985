//! A throwaway nginx or HAProxy with a configuration of the test's own, in front of a server that it does not know.
//! Rule: it runs in the foreground as one process, on free ports, and ends with its value.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::process::listens;
use crate::{ServerProcess, free_port, log_of, programs};

/// From its start to its listening. Generous: a busy machine must not fail a test.
const START_S_MAX: u64 = 60;

/// Ports that were free may be taken by others before they are used.
const START_TRIES_MAX: usize = 5;

/// A running proxy.
pub struct FrontProxy {
    folder: PathBuf,
    addresses: Vec<SocketAddr>,
    process: ServerProcess,
}

impl FrontProxy {
    /// nginx with what `servers` writes within `http { }` for so many addresses of 127.0.0.1.
    #[must_use]
    pub fn nginx(count: usize, servers: impl Fn(&[SocketAddr]) -> String) -> FrontProxy {
        let configuration = |folder: &Path, addresses: &[SocketAddr]| {
            let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let paths =
                paths.map(|name| format!("{name}_temp_path {}/{name};\n", folder.display()));
            format!(
                "daemon off;\nmaster_process off;\npid {}/pid;\nerror_log stderr;\nevents {{ }}\nhttp {{\naccess_log off;\n{}{}\n}}\n",
                folder.display(),
                paths.concat(),
                servers(addresses)
            )
        };
        let command = |folder: &Path, file: &Path| {
            let mut command = Command::new(programs::find("nginx", "nginx"));
            command
                .arg("-p")
                .arg(folder)
                .args(["-e", "stderr", "-c"])
                .arg(file);
            command
        };
        FrontProxy::start(count, &configuration, &command)
    }

    /// HAProxy with the sections that `sections` writes for so many addresses of 127.0.0.1.
    #[must_use]
    pub fn haproxy(count: usize, sections: impl Fn(&[SocketAddr]) -> String) -> FrontProxy {
        let configuration = |_: &Path, addresses: &[SocketAddr]| {
            let sections = sections(addresses);
            format!(
                "global\n  log stderr format raw daemon notice\ndefaults\n  log global\n  timeout connect 60s\n  timeout client 60s\n  timeout server 60s\n{sections}"
            )
        };
        let command = |_: &Path, file: &Path| {
            let mut command = Command::new(programs::find("haproxy", "haproxy"));
            command.args(["-db", "-f"]).arg(file);
            command
        };
        FrontProxy::start(count, &configuration, &command)
    }

    fn start(
        count: usize,
        configuration: &dyn Fn(&Path, &[SocketAddr]) -> String,
        command: &dyn Fn(&Path, &Path) -> Command,
    ) -> FrontProxy {
        let mut log = String::new();
        for _ in 0..START_TRIES_MAX {
            let folder = tempfile::Builder::new()
                .prefix("tsumugi-front-proxy-")
                .tempdir()
                .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
                .keep();
            let ports = std::iter::repeat_with(free_port).take(count);
            let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            let addresses: Vec<_> = ports.map(at).collect();
            let mut proxy = FrontProxy {
                process: ServerProcess::over(&folder, "KILL"),
                folder,
                addresses,
            };
            let file = proxy.folder.join("configuration");
            std::fs::write(&file, configuration(&proxy.folder, &proxy.addresses))
                .expect("the directory is ours");
            let mut command = command(&proxy.folder, &file);
            command.env_clear();
            let addresses = proxy.addresses.clone();
            let wait = |child: &mut Child| {
                addresses
                    .iter()
                    .all(|address| listens(child, *address, START_S_MAX))
            };
            let log_path = proxy.folder.join("log");
            if proxy.process.start(command, &log_path, wait, |went| *went) {
                return proxy;
            }
            log = proxy.log();
        }
        panic!("the proxy did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries:\n{log}");
    }

    /// Where it listens, in the order in which its configuration got them.
    #[must_use]
    pub fn address(&self, place: usize) -> String {
        self.addresses[place].to_string()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log(&self) -> String {
        log_of([self.folder.join("log").as_path()])
    }
}

impl Drop for FrontProxy {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}
