//! What stands before an application, from options: TLS, access log, admin pages. Starts nothing of the application.
//! A file or an address that cannot be used is reported before the server is bound.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use crate::acme::{AcmeOptions, AcmePlan};
use crate::dashboard::DashboardSettings;
use crate::failure::{with_tls_options, wrong_usage};
use crate::front::{Front, MetricsRegistry, Mode};
use crate::handover::{GivenSockets, SocketRole};
use crate::listen::Listen;
use crate::port::CertificatePresence;
use crate::traces::{CollectorSettings, TraceDestination, TraceExporter, ratio, sampling};
use anyhow::{Context as _, Result};
use clap::error::ErrorKind;
use serde_json::{Value, json};
use tsumugi_http::access_log::{AccessLog, LineForm, LogTarget};
use tsumugi_http::admin::AdminServer;
use tsumugi_http::{AdminToken, ServerTls, TrustedProxies, TrustedProxy, admin};
use tsumugi_trace::{TraceSettings, Tracer};
use tsumugi_worker::{FileOwner, ListenAddress, ListeningSocket, LogFormat, remove_stale_socket};

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
    #[command(flatten)]
    acme: AcmeOptions,
    /// A proxy or balancer in front of this server: a network (10.0.0.0/8), an address, loopback, or unix for those that connect through UNIX
    /// sockets; may be repeated. What it says of its clients is believed, and of nobody else. After commas the header fields that it sets itself
    /// whatever its client has sent: for, proto, host, port (of X-Forwarded-; for and proto unless others are named), or forwarded (RFC 7239)
    #[arg(long, value_name = "PEER[,FIELD]")]
    trust_proxy: Vec<TrustedProxy>,
    /// Write a JSON line for every request to this file, or to standard output with `-`. Opened again on SIGHUP. With --dev alone a short
    /// line for people is written to standard output, or this one with TSUMUGI_LOG_FORMAT=json
    #[arg(long, value_name = "PATH|-")]
    access_log: Option<PathBuf>,
    /// Where to answer /healthz, /ready, /metrics (Prometheus) and /dashboard/, in plain HTTP and apart from the workers. Keep it private: the
    /// dashboard is shown on loopback addresses and UNIX sockets; elsewhere only with --admin-token-file
    #[arg(long, value_name = "ADDR")]
    admin: Option<Listen>,
    /// The token that the dashboard asks for on every address but UNIX sockets: the text of this file, at least 16 characters
    #[arg(long, value_name = "FILE", requires = "admin")]
    admin_token_file: Option<PathBuf>,
    /// Which part of the requests that come without a trace are traced, from 0 to 1; of others their caller decides. By default
    /// OTEL_TRACES_SAMPLER_ARG, else 1 where OTEL_EXPORTER_OTLP_ENDPOINT names a collector, else a few each second for the dashboard
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    trace_sample: Option<f64>,
}

/// What a developer sees of requests beside the log: lines of the same form.
fn development_lines() -> LineForm {
    match LogFormat::of_process() {
        LogFormat::Text => LineForm::Text,
        LogFormat::Json => LineForm::Json,
    }
}

impl FrontOptions {
    /// What is asked for of an authority of ACME, if anything is.
    pub(crate) fn acme(&self) -> Result<Option<AcmePlan>> {
        let plan = self.acme.plan(&|name| std::env::var(name).ok())?;
        if plan.is_some() && self.tls_cert.is_some() {
            return Err(wrong_usage(
                ErrorKind::ArgumentConflict,
                "TSUMUGI_ACME and --tls-cert exclude each other: clear the variable, or leave the option out",
            ));
        }
        Ok(plan)
    }

    /// Whether there is a certificate to come.
    pub(crate) fn certificate(&self, acme: Option<&AcmePlan>) -> CertificatePresence {
        match self.tls_cert.is_some() || acme.is_some() {
            true => CertificatePresence::Given,
            false => CertificatePresence::Missing,
        }
    }

    /// The proxies that are trusted.
    pub fn proxies(&self) -> TrustedProxies {
        TrustedProxies::new(self.trust_proxy.clone())
    }

    /// Opens what the options ask for.
    pub(crate) fn open(&self, mode: Mode, acme: Option<&AcmePlan>) -> Result<Front> {
        let acme = acme.map(AcmePlan::open).transpose()?;
        let tls = match (&self.tls_cert, &self.tls_key, &acme) {
            (_, _, Some(supply)) => Some(supply.tls()?),
            (Some(certificate), Some(key), None) => {
                let options = [("--tls-cert", &**certificate), ("--tls-key", key)];
                let tls = ServerTls::new(certificate.clone(), key.clone());
                // Each worker reads the files for itself; this is for the message.
                let tls = tls.and_then(|tls| tls.read().map(|_| tls));
                Some(tls.map_err(|error| with_tls_options(error, &options))?)
            }
            _ => None,
        };
        let log = match (&self.access_log, mode) {
            (Some(path), _) => Some((path.clone(), LineForm::Json)),
            (None, Mode::Development) => Some((PathBuf::from("-"), development_lines())),
            (None, Mode::Production) => None,
        };
        let access_log = match log {
            Some((path, form)) => {
                let log = AccessLog::start(LogTarget::from(path.clone()), form);
                Some(log.with_context(|| format!("cannot open the access log {}", path.display()))?)
            }
            None => None,
        };
        let (tracer, exporter) = self.tracing()?;
        Ok(Front {
            tls,
            acme,
            ports: Arc::default(),
            prologues: Arc::default(),
            proxies: self.proxies(),
            access_log,
            registry: self.admin.is_some().then(MetricsRegistry::default),
            tracer,
            exporter,
            dashboard: DashboardSettings {
                token: self.token()?,
                ..DashboardSettings::default()
            },
        })
    }

    /// What is recorded of requests, for the dashboard and for the collector that the environment names.
    fn tracing(&self) -> Result<(Option<Tracer>, Option<TraceExporter>)> {
        let collector = CollectorSettings::from_environment()?;
        let destination = match collector {
            Some(_) => TraceDestination::Collector,
            None => TraceDestination::Dashboard,
        };
        let sampling = sampling(self.trace_sample, destination)?;
        if self.admin.is_none() && collector.is_none() {
            return Ok((None, None));
        }
        let tracer = Tracer::new(TraceSettings {
            sampling,
            watches: self.admin.is_some(),
            keeps: self.admin.is_some(),
            sends: collector.is_some(),
        });
        let exporter = collector.map(|collector| TraceExporter::start(&tracer, collector));
        Ok((Some(tracer), exporter.transpose()?))
    }

    /// What the dashboard asks for.
    fn token(&self) -> Result<Option<AdminToken>> {
        let Some(path) = &self.admin_token_file else {
            return Ok(None);
        };
        let problem = || {
            format!(
                "cannot use the file {} of --admin-token-file",
                path.display()
            )
        };
        let text = std::fs::read_to_string(path).with_context(problem)?;
        AdminToken::new(&text).with_context(problem).map(Some)
    }

    /// What the dashboard shows of these options.
    pub(crate) fn describe(&self) -> Vec<(&'static str, Value)> {
        let shown = |path: &PathBuf| path.display().to_string();
        let admin = self.admin.iter().flat_map(Listen::all);
        vec![
            ("tls_cert", json!(self.tls_cert.as_ref().map(shown))),
            ("access_log", json!(self.access_log.as_ref().map(shown))),
            ("admin", admin.map(ListenAddress::to_string).collect()),
            (
                "admin_token_file",
                json!(self.admin_token_file.as_ref().map(shown)),
            ),
        ]
    }

    /// Warns where nobody can open the dashboard.
    fn warn_of_closed_dashboard(&self, addresses: &Listen) {
        let is_open = |address: &ListenAddress| match address {
            ListenAddress::Tcp(address) => !address.ip().is_loopback(),
            ListenAddress::Unix(_) => false,
        };
        if self.admin_token_file.is_none()
            && let Some(address) = addresses.all().iter().find(|address| is_open(address))
        {
            tracing::info!(
                "no dashboard on {address}, which others can reach: it needs --admin-token-file there (the other pages are served)"
            );
        }
    }

    /// Binds the addresses of the admin pages, if they are wanted. Those that are given already are taken.
    pub fn bind_admin(&self, given: &mut GivenSockets) -> Result<Option<BoundPages>> {
        let Some(addresses) = &self.admin else {
            return Ok(None);
        };
        self.warn_of_closed_dashboard(addresses);
        let given = given.take(SocketRole::Admin, addresses.all());
        BoundPages::bind(addresses, given).map(Some)
    }
}

/// Starts admin pages on each address of `--admin`. Those that are given already are taken.
pub fn start_pages(
    addresses: &Listen,
    given: &mut GivenSockets,
    pages: &Arc<dyn admin::AdminSource>,
) -> Result<()> {
    let given = given.take(SocketRole::Admin, addresses.all());
    BoundPages::bind(addresses, given)?.start(pages)?;
    Ok(())
}

/// Addresses of admin pages that nobody answers yet.
pub struct BoundPages {
    listeners: Vec<admin::AdminListener>,
    sockets: Vec<ListeningSocket>,
}

/// The admin pages of a running server.
pub struct AdminPorts {
    servers: Vec<AdminServer>,
    sockets: Vec<ListeningSocket>,
}

impl BoundPages {
    fn bind(addresses: &Listen, mut given: Vec<ListeningSocket>) -> Result<BoundPages> {
        let mut bound = BoundPages {
            listeners: Vec::new(),
            sockets: Vec::new(),
        };
        for address in addresses.all() {
            let place = given.iter().position(|socket| socket.address() == address);
            let socket = match place {
                Some(place) => {
                    tracing::info!("admin pages on {address}");
                    Ok(given.swap_remove(place))
                }
                None => bind(address),
            };
            let socket = socket.context("--admin")?;
            bound.sockets.push(socket.try_clone()?);
            bound.listeners.push(match address {
                ListenAddress::Tcp(_) => admin::AdminListener::Tcp(OwnedFd::from(socket).into()),
                ListenAddress::Unix(_) => admin::AdminListener::Unix(OwnedFd::from(socket).into()),
            });
        }
        Ok(bound)
    }

    /// Answers there with these pages.
    pub fn start(self, pages: &Arc<dyn admin::AdminSource>) -> io::Result<AdminPorts> {
        let listeners = self.listeners.into_iter();
        let servers = listeners.map(|listener| admin::start(listener, Arc::clone(pages)));
        Ok(AdminPorts {
            servers: servers.collect::<io::Result<_>>()?,
            sockets: self.sockets,
        })
    }
}

impl AdminPorts {
    /// The sockets, for a process that may take over.
    pub(crate) fn lend(&self) -> io::Result<Vec<ListeningSocket>> {
        self.sockets
            .iter()
            .map(ListeningSocket::try_clone)
            .collect()
    }

    /// Whether the last page has been answered since they were stopped.
    pub(crate) fn are_finished(&self) -> bool {
        self.servers.iter().all(AdminServer::is_finished)
    }

    /// Leaves the addresses to the process that has taken over.
    pub(crate) fn stop(&mut self) {
        self.sockets.clear();
        self.servers.iter().for_each(AdminServer::stop);
    }
}

/// Binds the admin address and says where, since port 0 is the system's choice.
fn bind(address: &ListenAddress) -> Result<ListeningSocket> {
    let refused = |source| tsumugi_worker::Error::Listen {
        address: address.clone(),
        source,
    };
    let socket = match address {
        ListenAddress::Tcp(socket) => {
            let listener = TcpListener::bind(socket).map_err(refused)?;
            tracing::info!("admin pages on http://{}", listener.local_addr()?);
            OwnedFd::from(listener)
        }
        ListenAddress::Unix(path) => {
            remove_stale_socket(path)?;
            let listener = UnixListener::bind(path).map_err(refused)?;
            tracing::info!("admin pages on {address}");
            listener.into()
        }
    };
    Ok(ListeningSocket::adopt(socket, FileOwner::Server)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_address_that_another_program_has_is_refused_with_what_to_do() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap();
        let Err(error) = BoundPages::bind(&address.to_string().parse().unwrap(), Vec::new()) else {
            panic!("{address} is another program's");
        };
        let text = crate::story(error.as_ref());
        let expected = format!("--admin: cannot listen on {address} (");
        assert!(text.starts_with(&expected), "{text}");
        assert!(text.ends_with("or choose another address"), "{text}");
    }
}
