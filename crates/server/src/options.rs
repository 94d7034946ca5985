//! The options that every server takes, and what they make: a bound server with what stands before its application. Loads nothing.
//! Rule: the options of a program that serves by itself are those of `tsumugi serve`, but for the application file.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::{Front, Mode, Program, Service};
use anyhow::{Context as _, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tsumugi_http::{AlpnProtocol, HttpProtocol, ServerTls};
use tsumugi_worker::{
    BoundServer, Config, Handle, ListenAddress, Scheduling, Signals, WorkerHandle,
};

use crate::bind::FrontOptions;
use crate::limit::{Limit, LimitSet, Limits};
use crate::limits::{LAST_LINES_MS_MAX, WORKERS_MAX};
use crate::log::streams_apart;
use crate::port::{self, Port, PortMode};

/// Options of a server.
#[derive(clap::Args)]
pub struct Options<T: LimitSet> {
    /// Where to listen: 127.0.0.1:8080, [::1]:8080, localhost:8080 or unix:/path; may be repeated. Options follow after commas:
    /// `tls` (TLS here and on others that say it, no longer on every IP address), `alpn=h2` or `alpn=http/1.1` (only this protocol within TLS;
    /// may be repeated, best first), `h2c` (HTTP/2 without TLS and nothing else)
    #[arg(
        long = "listen",
        value_name = "ADDR[,OPTION]",
        default_value = "127.0.0.1:8080"
    )]
    listen: Vec<Port>,
    /// Worker threads; the number of cores by default
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<NonZeroUsize>,
    /// How workers share cores with other programs (Linux)
    #[arg(long, value_name = "HOW", default_value = "batches", value_parser = scheduling())]
    scheduling: Scheduling,
    /// Where the embedded databases of the application live
    #[arg(long = "data", value_name = "DIR", default_value = "data")]
    data: PathBuf,
    #[arg(long, help = T::DEV)]
    dev: bool,
    #[command(flatten)]
    front: FrontOptions,
    /// Another value for a limit, under the name that its error message gives it; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<Limit<T>>,
}

/// A number of workers.
pub fn workers(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &NonZeroUsize| number.get() <= WORKERS_MAX)
        .ok_or_else(|| format!("expected a whole number from 1 to {WORKERS_MAX}"))
}

fn scheduling() -> impl TypedValueParser<Value = Scheduling> {
    let batches = "A worker that becomes ready lets others finish their turn: best beside a database on the same machine";
    let names = PossibleValuesParser::new([
        PossibleValue::new("batches").help(batches),
        PossibleValue::new("inherited").help("As this program was started"),
    ]);
    names.map(|name| match name == "inherited" {
        true => Scheduling::Inherited,
        false => Scheduling::Batches,
    })
}

/// A server that is bound and serves nothing yet.
pub struct PreparedServer<T> {
    /// Where the application's data lives; the folder exists.
    pub data_dir: PathBuf,
    /// Development or production.
    pub mode: Mode,
    /// The limits, those that were given among them.
    pub limits: Limits<T>,
    server: BoundServer,
    workers: NonZeroUsize,
    front: Front,
    options: FrontOptions,
}

impl<T: LimitSet> Options<T> {
    /// Opens and binds what the options ask for, and puts the standard streams behind their queues.
    pub fn prepare(self) -> Result<PreparedServer<T>> {
        streams_apart()?;
        let (listen, ports) = port::settle(self.listen, self.front.certificate())?;
        let mut config = Config {
            listen,
            scheduling: self.scheduling,
            signals: Signals::Handle,
            ..Config::default()
        };
        if let Some(workers) = self.workers {
            config.workers = workers;
        }
        std::fs::create_dir_all(&self.data)
            .with_context(|| format!("cannot make the folder {}", self.data.display()))?;
        let mode = match self.dev {
            true => Mode::Development,
            false => Mode::Production,
        };
        let mut front = self.front.open(mode)?;
        front.ports = ports.into();
        let limits = Limit::settle(&self.limits, config.limits)?;
        config.limits = limits.worker;
        let workers = config.workers;
        Ok(PreparedServer {
            data_dir: self.data,
            mode,
            limits,
            server: BoundServer::bind(config)?,
            workers,
            front,
            options: self.front,
        })
    }
}

impl<T> PreparedServer<T> {
    /// Controls the server once it runs.
    pub fn handle(&self) -> Handle {
        self.server.handle()
    }

    /// How many workers serve.
    pub fn workers(&self) -> NonZeroUsize {
        self.workers
    }

    /// What TLS listeners of the application show, if there are any.
    pub fn tls(&self) -> Option<ServerTls> {
        self.front.tls.clone()
    }

    /// Serves what `make` makes on each worker, until a signal.
    pub fn run<P, F>(self, make: F) -> Result<ExitCode>
    where
        P: Program,
        F: Fn(&WorkerHandle) -> P + Send + Sync + 'static,
    {
        for (listener, address) in self.server.addresses().iter().enumerate() {
            let plural = if self.workers.get() == 1 { "" } else { "s" };
            tracing::info!(
                "listening on {} with {} worker{plural}{}",
                url(address, &self.front, listener),
                self.workers,
                restriction(self.front.mode(listener)),
            );
        }
        self.options
            .start_admin(self.server.handle(), &self.front)?;
        let access_log = self.front.access_log.clone();
        let (front, http) = (self.front, self.limits.http);
        let exit = self
            .server
            .run(move |worker| Service::new(worker, http.clone(), make(worker), front.clone()))?;
        if let Some(log) = access_log {
            log.close(Duration::from_millis(LAST_LINES_MS_MAX));
        }
        Ok(ExitCode::from(exit.code()))
    }
}

/// An address as it can be opened.
fn url(address: &ListenAddress, front: &Front, listener: usize) -> String {
    let has_tls = match front.mode(listener) {
        PortMode::Certificate => front.tls.is_some(),
        PortMode::Plain(_) => false,
        PortMode::Tls(_) => true,
    };
    match address {
        ListenAddress::Tcp(address) if has_tls => format!("https://{address}"),
        ListenAddress::Tcp(address) => format!("http://{address}"),
        ListenAddress::Unix(_) => address.to_string(),
    }
}

/// What the log says of an address that does not speak all of HTTP.
fn restriction(mode: &PortMode) -> &'static str {
    let protocols = match mode {
        PortMode::Plain(HttpProtocol::Http2) => return ", HTTP/2 only",
        PortMode::Tls(protocols) => protocols.as_slice(),
        PortMode::Plain(_) | PortMode::Certificate => &[],
    };
    let has = |protocol| protocols.contains(&protocol);
    match (has(AlpnProtocol::Http2), has(AlpnProtocol::Http1)) {
        (true, false) => ", HTTP/2 only",
        (false, true) => ", HTTP/1.1 only",
        _ => "",
    }
}
