//! The options that every server takes, and what they make: a bound server with what stands before its application. Loads nothing.
//! Rule: the options of a program that serves by itself are those of `tsumugi serve`, but for the application file.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::admin_pages::AdminPages;
use crate::dashboard::ServerDescription;
use crate::{Front, Mode, Program, Service};
use anyhow::{Context as _, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use tsumugi_http::admin::AdminSource;
use tsumugi_http::{AlpnProtocol, HttpProtocol, ServerTls};
use tsumugi_worker::{
    BoundServer, Config, Handle, ListenAddress, Scheduling, ServerPhase, Signals, WorkerHandle,
};

use crate::acme::{AcmePlan, CertificateSupply};
use crate::bind::{BoundPages, FrontOptions};
use crate::handover::{
    AbandonedFiles, GivenSockets, Handover, HandoverOffer, HandoverPart, HandoverParts, SocketRole,
};
use crate::limit::{Limit, LimitSet, Limits};
use crate::limits::{DRAIN_DELAY_SECONDS_MAX, LAST_LINES_MS_MAX, WORKERS_MAX};
use crate::log::streams_apart;
use crate::port::{self, Port, PortMode};
use crate::supervisor::{Replacement, Supervisor};

/// Options of a server.
#[derive(clap::Args)]
pub struct Options<T: LimitSet> {
    /// Where to listen: 127.0.0.1:8080, [::1]:8080, localhost:8080, unix:/path, or fd:NAME for a socket of that name that systemd passes
    /// (one that is passed for an address is taken without it, too); may be repeated. Options follow after commas:
    /// `tls` (TLS here and on others that say it, no longer on every IP address), `alpn=h2` or `alpn=http/1.1` (only this protocol within TLS;
    /// may be repeated, best first), `h2c` (HTTP/2 without TLS and nothing else), `redirect` (no TLS: clients are sent to https, at port 443 or
    #[cfg_attr(
        feature = "acme",
        doc = " as in `redirect=8443`; challenges of --acme are answered),"
    )]
    #[cfg_attr(not(feature = "acme"), doc = " as in `redirect=8443`),")]
    /// `proxy` (a balancer of --trust-proxy says with the PROXY protocol who connects, before anything else)
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
    /// Take over from the process that has a UNIX socket here: it serves until this one does, and then drains. The same is offered to the
    /// next process. Only processes of one user do so
    #[arg(long, value_name = "PATH")]
    handover: Option<PathBuf>,
    /// How many seconds to serve on after SIGTERM while /ready of --admin says that this process is to be left alone
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = drain_delay)]
    drain_delay: Duration,
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

fn drain_delay(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    seconds
        .filter(|seconds: &f64| (0.0..=DRAIN_DELAY_SECONDS_MAX).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected seconds from 0 to {DRAIN_DELAY_SECONDS_MAX}"))
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
    drain_delay: Duration,
    handover: Option<Handover>,
    given: GivenSockets,
    parts: HandoverParts,
}

impl<T: LimitSet> Options<T> {
    /// Opens and binds what the options ask for, and puts the standard streams behind their queues.
    pub fn prepare(self) -> Result<PreparedServer<T>> {
        streams_apart()?;
        let (mode, mut described) = (self.mode(), self.describe());
        let proxies = self.front.proxies();
        let acme = self.front.acme()?;
        let certificate = self.front.certificate(acme.as_ref());
        let ports = port::settle(self.listen, certificate, &proxies)?;
        let acme = acme.map(|plan| plan.settle(&ports)).transpose()?;
        let mut config = Config {
            listen: ports.addresses,
            scheduling: self.scheduling,
            signals: Signals::Handle,
            drain_delay: self.drain_delay,
            ..Config::default()
        };
        if let Some(workers) = self.workers {
            config.workers = workers;
        }
        std::fs::create_dir_all(&self.data)
            .with_context(|| format!("cannot make the folder {}", self.data.display()))?;
        let mut front = self.front.open(mode, acme.as_ref())?;
        described.extend(acme.iter().flat_map(AcmePlan::describe));
        front.ports = ports.modes.into();
        front.prologues = ports.prologues.into();
        let limits = Limit::settle(&self.limits, config.limits)?;
        described.push(("workers", json!(config.workers.get())));
        front.dashboard.description = Arc::new(ServerDescription {
            options: described,
            limits: Limit::shown(&limits),
            ..ServerDescription::default()
        });
        config.limits = limits.worker;
        let workers = config.workers;
        // Last of all: whatever is wrong with this program is reported before another one is asked for anything.
        let (handover, mut given) = match &self.handover {
            Some(path) => {
                let (handover, given) = Handover::begin(path, &limits.server)?;
                (Some(handover), given)
            }
            None => (None, GivenSockets::default()),
        };
        given.add_passed()?;
        let own = given.take(SocketRole::Application, &config.listen);
        let server = BoundServer::bind_with(config, own)?;
        let parts = HandoverParts::default();
        parts.add(HandoverPart::Workers(
            SocketRole::Application,
            server.handle(),
        ));
        Ok(PreparedServer {
            data_dir: self.data,
            mode,
            limits,
            server,
            workers,
            front,
            options: self.front,
            drain_delay: self.drain_delay,
            handover,
            given,
            parts,
        })
    }

    /// Development or production.
    pub fn mode(&self) -> Mode {
        match self.dev {
            true => Mode::Development,
            false => Mode::Production,
        }
    }

    /// What the dashboard shows of these options.
    fn describe(&self) -> Vec<(&'static str, Value)> {
        let mut options = vec![
            (
                "scheduling",
                json!(format!("{:?}", self.scheduling).to_lowercase()),
            ),
            ("data", json!(self.data.display().to_string())),
            ("dev", json!(self.dev)),
            (
                "handover",
                json!(
                    self.handover
                        .as_ref()
                        .map(|path| path.display().to_string())
                ),
            ),
            ("drain_delay_seconds", json!(self.drain_delay.as_secs_f64())),
        ];
        options.extend(self.front.describe());
        options
    }
}

impl<T> PreparedServer<T> {
    /// Controls the server once it runs.
    pub fn handle(&self) -> Handle {
        self.server.handle()
    }

    /// Adds the version of something that this program consists of, and what is switched on in it, for the dashboard.
    pub fn describe(&mut self, versions: &[(&'static str, &str)], features: &[&'static str]) {
        let description = Arc::make_mut(&mut self.front.dashboard.description);
        let versions = versions
            .iter()
            .map(|(name, version)| (*name, (*version).to_owned()));
        description.versions.extend(versions);
        description.features.extend(features);
    }

    /// Whether another process serves until this one has loaded its application.
    pub fn has_predecessor(&self) -> bool {
        has_predecessor(self.handover.as_ref())
    }

    /// How many workers serve.
    pub fn workers(&self) -> NonZeroUsize {
        self.workers
    }

    /// How long the server goes on after it was asked to drain.
    pub fn drain_delay(&self) -> Duration {
        self.drain_delay
    }

    /// Listening sockets that were given to this process, for a server beside this one.
    pub fn given(&mut self) -> &mut GivenSockets {
        &mut self.given
    }

    /// Hands over a server beside this one together with it.
    pub fn hand_over_with(&self, role: SocketRole, beside: Handle) {
        self.parts.add(HandoverPart::Workers(role, beside));
    }

    /// What TLS listeners of the application show, if there are any.
    pub fn tls(&self) -> Option<ServerTls> {
        self.front.tls.clone()
    }

    /// Serves what `make` makes on each worker, until a signal or until another process has taken over. The exit code is 0 where all was
    /// drained, and in any case where another process has taken over.
    pub fn run<P, F>(self, make: F) -> Result<ExitCode>
    where
        P: Program,
        F: Fn(&WorkerHandle) -> P + Send + Sync + 'static,
    {
        let mut listeners = Vec::new();
        for (listener, address) in self.server.addresses().iter().enumerate() {
            let plural = if self.workers.get() == 1 { "" } else { "s" };
            let url = url(address, &self.front, listener);
            let restriction = restriction(self.front.mode(listener));
            tracing::info!(
                "listening on {url} with {} worker{plural}{restriction}",
                self.workers,
            );
            listeners.push(format!("{url}{restriction}"));
        }
        let Self {
            limits,
            mut server,
            mut front,
            options,
            handover,
            mut given,
            parts,
            ..
        } = self;
        Arc::make_mut(&mut front.dashboard.description).listeners = listeners;
        let admin = options.bind_admin(&mut given)?;
        let abandoned = given.close();
        let pages: Arc<dyn AdminSource> = Arc::new(AdminPages::new(server.handle(), &front));
        let ended = parts.clone();
        let start = Start {
            admin: admin.map(|admin| (admin, pages)),
            handover,
            parts,
            abandoned,
            acme: front.acme.clone(),
        };
        start.follow(&mut server)?;
        let access_log = front.access_log.clone();
        let exporter = front.exporter.clone();
        let http = limits.http;
        let handle = server.handle();
        let exit = server
            .run(move |worker| Service::new(worker, http.clone(), make(worker), front.clone()));
        let code = match exit {
            Ok(exit) => exit.code_of(&handle),
            // The service goes on in the other process, from which a supervisor that starts this one again would take it.
            Err(error) if handle.is_handed_over() => {
                tracing::error!("after another process has taken over: {error}");
                0
            }
            Err(error) => return Err(error.into()),
        };
        if handle.is_handed_over() {
            ended.finish_pages();
        }
        if let Some(exporter) = exporter {
            exporter.close(Duration::from_millis(LAST_LINES_MS_MAX));
        }
        if let Some(log) = access_log {
            log.close(Duration::from_millis(LAST_LINES_MS_MAX));
        }
        Ok(ExitCode::from(code))
    }
}

fn has_predecessor(handover: Option<&Handover>) -> bool {
    handover.is_some_and(Handover::has_predecessor)
}

/// What is done once all workers serve for the first time.
struct Start {
    admin: Option<(BoundPages, Arc<dyn AdminSource>)>,
    handover: Option<Handover>,
    parts: HandoverParts,
    abandoned: AbandonedFiles,
    acme: Option<CertificateSupply>,
}

impl Start {
    /// Does what is to be done once `server` serves, and tells the supervisor what it does.
    fn follow(mut self, server: &mut BoundServer) -> std::io::Result<()> {
        let mut replacement = Replacement::Yes;
        if !self.has_predecessor() {
            replacement = Replacement::No;
            // Until it serves, `/ready` says so.
            self.answer_pages()?;
        }
        let supervisor = Supervisor::of_environment();
        let handle = server.handle();
        let acme = self.acme.clone();
        let mut start = Some(self);
        // The offer lasts as long as the server runs.
        let mut offer = None;
        server.on_phase(move |phase| {
            if let (ServerPhase::Loaded, Some(start)) = (phase, &start) {
                start.loaded();
            }
            if phase == ServerPhase::Serving
                && let Some(start) = start.take()
            {
                offer = start.complete();
            }
            let _ = &offer;
            if let (ServerPhase::Ending, Some(acme)) = (phase, &acme) {
                acme.close();
            }
            // Whoever took over speaks for the service.
            if let (Some(supervisor), false) = (&supervisor, handle.is_handed_over()) {
                supervisor.tell(phase, replacement);
            }
        });
        Ok(())
    }

    fn has_predecessor(&self) -> bool {
        has_predecessor(self.handover.as_ref())
    }

    fn answer_pages(&mut self) -> std::io::Result<()> {
        if let Some((admin, pages)) = self.admin.take() {
            self.parts.add(HandoverPart::Admin(admin.start(&pages)?));
        }
        Ok(())
    }

    /// The first requests come.
    fn loaded(&self) {
        if let Some(handover) = &self.handover {
            handover.loaded();
        }
    }

    /// Takes the place of the process that served before, if there is one, and offers its own to the next.
    fn complete(mut self) -> Option<HandoverOffer> {
        if let Err(error) = self.answer_pages() {
            tracing::error!(%error, "the admin pages cannot be served");
        }
        // Not before: an authority is to find this server.
        if let Some(acme) = self.acme.take() {
            acme.start();
        }
        let offer = self.handover?.complete(self.parts);
        self.abandoned.remove();
        offer
    }
}

/// An address as it can be opened.
fn url(address: &ListenAddress, front: &Front, listener: usize) -> String {
    let has_tls = match front.mode(listener) {
        PortMode::Certificate => front.tls.is_some(),
        PortMode::Plain(_) | PortMode::Redirect(_) => false,
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
        PortMode::Redirect(_) => return ", redirects to https",
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
