//! What stands before an application, from options: TLS, access log, admin pages. Starts nothing of the application.
//! A file or an address that cannot be used is reported before the server is bound.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::front::{AdminPages, Front, MetricsRegistry, Mode};
use crate::listen::Listen;
use anyhow::{Context as _, Result};
use tsumugi_http::access_log::{AccessLog, LogTarget};
use tsumugi_http::{ServerTls, admin};
use tsumugi_worker::{Handle, ListenAddress, remove_stale_socket};

/// Options about what stands before the application.
#[derive(clap::Args)]
pub struct FrontOptions {
    /// Speak TLS on every IP address of --listen, or only on those that say tls when one does (UNIX sockets stay plain): the
    /// certificate and its chain, in PEM. Read again on SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM (PKCS#8, SEC1 or PKCS#1)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Write a JSON line for every request to this file, or to standard output with `-` (the default with --dev).
    /// Opened again on SIGHUP
    #[arg(long, value_name = "PATH|-")]
    access_log: Option<PathBuf>,
    /// Where to answer /healthz, /ready and /metrics (Prometheus), in plain HTTP and apart from the workers. Keep it private
    #[arg(long, value_name = "ADDR")]
    admin: Option<Listen>,
}

impl FrontOptions {
    /// The certificate, if one is given.
    pub fn certificate(&self) -> Option<&Path> {
        self.tls_cert.as_deref()
    }

    /// Opens what the options ask for.
    pub fn open(&self, mode: Mode) -> Result<Front> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                let tls = ServerTls::new(certificate.clone(), key.clone())?;
                // Each worker reads the files for itself; this is for the message.
                tls.read()?;
                Some(tls)
            }
            _ => None,
        };
        let log = match (&self.access_log, mode) {
            (Some(path), _) => Some(path.clone()),
            (None, Mode::Development) => Some(PathBuf::from("-")),
            (None, Mode::Production) => None,
        };
        let access_log = match log {
            Some(path) => {
                let log = AccessLog::start(LogTarget::from(path.clone()));
                Some(log.with_context(|| format!("cannot open the access log {}", path.display()))?)
            }
            None => None,
        };
        Ok(Front {
            tls,
            ports: Arc::default(),
            access_log,
            registry: self.admin.is_some().then(MetricsRegistry::default),
        })
    }

    /// Starts the admin pages, if they are wanted.
    pub fn start_admin(&self, handle: Handle, front: &Front) -> Result<()> {
        match &self.admin {
            Some(addresses) => start_pages(addresses, Arc::new(AdminPages::new(handle, front))),
            None => Ok(()),
        }
    }
}

/// Starts admin pages on each address of `--admin`.
pub fn start_pages(addresses: &Listen, pages: Arc<dyn admin::AdminSource>) -> Result<()> {
    for address in addresses.all() {
        let listener =
            bind(address).with_context(|| format!("cannot listen on {address} for --admin"))?;
        admin::start(listener, Arc::clone(&pages))?;
    }
    Ok(())
}

/// Binds the admin address and says where, since port 0 is the system's choice.
fn bind(address: &ListenAddress) -> Result<admin::AdminListener> {
    Ok(match address {
        ListenAddress::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            tracing::info!("admin pages on http://{}", listener.local_addr()?);
            admin::AdminListener::Tcp(listener)
        }
        ListenAddress::Unix(path) => {
            remove_stale_socket(path)?;
            let listener = UnixListener::bind(path)?;
            tracing::info!("admin pages on {address}");
            admin::AdminListener::Unix(listener)
        }
    })
}
