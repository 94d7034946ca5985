//! A real server for mail: aiosmtpd, Debian's, with TLS and a user whose password is asked. Not for what a server does wrong.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::process::listens;
use crate::{ServerCertificate, ServerProcess, free_port, log_of, server_certificate};

/// From its start to its listening. Generous: a busy machine must not fail a test.
const START_S_MAX: u64 = 60;

/// Ports that were free may be taken by others before they are used.
const START_TRIES_MAX: usize = 5;

/// Debian's Python: that of the user need not have Debian's packages.
const PYTHON: &str = "/usr/bin/python3";

/// Its only user, and the password as a URL has it.
const USER: &str = "user";
const PASSWORD: &str = "p%3Aw%40d";

const PROGRAM: &str = r#"
import asyncio, os, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult

folder, certificate, key, mode, port = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)

class Handler:
    count = 0

    async def handle_DATA(self, server, session, envelope):
        head = f"envelope: {envelope.mail_from} {' '.join(envelope.rcpt_tos)}\r\n".encode()
        path = os.path.join(folder, f"{Handler.count:04}")
        Handler.count += 1
        with open(path + ".part", "wb") as file:
            file.write(head + envelope.content)
        os.rename(path + ".part", path + ".mail")
        return "250 taken"

def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"user", b"p:w@d"), handled=False)

def factory():
    by_command = mode == "starttls"
    return SMTP(Handler(), hostname="localhost", tls_context=context if by_command else None, require_starttls=by_command,
                auth_require_tls=by_command, auth_required=True, authenticator=authenticate)

async def main():
    tls = context if mode == "tls" else None
    server = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", int(port), ssl=tls)
    await server.serve_forever()

asyncio.run(main())
"#;

/// How a connection is made private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AioSmtpdTls {
    /// From the first byte.
    Implicit,
    /// By STARTTLS, without which it takes nothing.
    StartTls,
}

/// A running server.
pub struct AioSmtpd {
    folder: PathBuf,
    tls: AioSmtpdTls,
    port: u16,
    certificate: ServerCertificate,
    process: ServerProcess,
}

impl AioSmtpd {
    /// On a free port of 127.0.0.1.
    #[must_use]
    pub fn start(tls: AioSmtpdTls) -> AioSmtpd {
        let installed = Command::new(PYTHON)
            .args(["-c", "import aiosmtpd"])
            .output();
        assert!(
            installed.is_ok_and(|output| output.status.success()),
            "\n\n*** aiosmtpd is missing: run `make setup PROFILE=test`; it installs python3-aiosmtpd ***\n\n"
        );
        let mut log = String::new();
        for _ in 0..START_TRIES_MAX {
            let folder = tempfile::Builder::new()
                .prefix("tsumugi-aiosmtpd-")
                .tempdir()
                .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
                .keep();
            let mut server = AioSmtpd {
                process: ServerProcess::over(&folder, "KILL"),
                certificate: server_certificate(&folder),
                tls,
                port: free_port(),
                folder,
            };
            if server.run() {
                return server;
            }
            log = server.log();
        }
        panic!("aiosmtpd did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries:\n{log}");
    }

    fn run(&mut self) -> bool {
        let mut command = Command::new(PYTHON);
        let mode = match self.tls {
            AioSmtpdTls::Implicit => "tls",
            AioSmtpdTls::StartTls => "starttls",
        };
        command
            .env_clear()
            .args(["-c", PROGRAM])
            .args([
                &self.folder,
                &self.certificate.server,
                &self.certificate.key,
            ])
            .args([mode, &self.port.to_string()]);
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let wait = |child: &mut Child| listens(child, address, START_S_MAX);
        let log = self.folder.join("log");
        self.process.start(command, &log, wait, |went| *went)
    }

    /// `smtp://…` or `smtps://…` with the user and this password, or the right one.
    #[must_use]
    pub fn url(&self, password: Option<&str>) -> String {
        let (scheme, option) = match self.tls {
            AioSmtpdTls::Implicit => ("smtps", ""),
            AioSmtpdTls::StartTls => ("smtp", "?tls=starttls"),
        };
        let password = password.unwrap_or(PASSWORD);
        format!(
            "{scheme}://{USER}:{password}@localhost:{}{option}",
            self.port
        )
    }

    /// The authority that signed its certificate, in PEM.
    #[must_use]
    pub fn authority(&self) -> &Path {
        &self.certificate.authority
    }

    /// The mails that it has taken: a line `envelope: FROM TO…`, then each as it came.
    #[must_use]
    pub fn mails(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.folder).expect("the directory is ours");
        let paths = files.flatten().map(|entry| entry.path());
        let mut paths: Vec<_> = paths
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "mail")
            })
            .collect();
        paths.sort();
        let read = |path: &PathBuf| {
            String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
        };
        paths.iter().map(read).collect()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log(&self) -> String {
        log_of([self.folder.join("log").as_path()])
    }
}

impl Drop for AioSmtpd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}
