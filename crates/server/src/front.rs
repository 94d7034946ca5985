//! What stands before the application on every worker: TLS, access log, figures. Knows no Ruby.
//! Made once for the process and given to each worker's service; the default has none of it and costs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tsumugi_http::access_log::AccessLog;
use tsumugi_http::secret::{Secret, SecretError, Signer};
use tsumugi_http::{HttpMetrics, ServerTls, TrustedProxies};
use tsumugi_worker::Handle;

use crate::acme::CertificateSupply;
use crate::dashboard::{
    DashboardSettings, ErrorSink, QuestionReceiver, QuestionSender, RouteCounts, RouteFigures,
    questions,
};
use crate::databases::Databases;
use crate::jobs::JobSamples;
use crate::port::{PortMode, PortPrologue};
use crate::stores::Stores;
use crate::traces::TraceExporter;

/// How much a response to an error shows, and whether secrets may be made up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// `--dev`: errors are shown with all that is known of them.
    Development,
    /// Errors are logged and nothing of them is shown.
    #[default]
    Production,
}

impl Mode {
    /// The folder of data in development, where mails are written that no server takes; `None` in production.
    #[must_use]
    pub fn development_data(self, data: &Path) -> Option<&Path> {
        (self == Mode::Development).then_some(data)
    }

    /// What signs sessions and cookies: the secret that is given, else that of the environment, else (in development) one that is made up
    /// and the same for all of this process.
    pub fn signer(self, given: Option<&Secret>) -> Result<Signer, SecretError> {
        let secret = match (given, Secret::from_environment(), self) {
            (Some(given), _, _) => given.clone(),
            (None, Some(secret), _) => secret,
            (None, None, Mode::Development) => Secret::of_this_process()?,
            (None, None, Mode::Production) => return Err(SecretError::Missing),
        };
        Signer::new(&secret)
    }
}

/// What surrounds an application. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// The certificate of listeners that speak TLS.
    pub tls: Option<ServerTls>,
    /// What supplies that certificate, where it comes by ACME.
    pub acme: Option<CertificateSupply>,
    /// What each listener speaks, by its place in the configuration; those beyond have [`PortMode::Certificate`].
    pub ports: Arc<[PortMode]>,
    /// What balancers send first on each listener, by its place; on those beyond nothing.
    pub prologues: Arc<[PortPrologue]>,
    /// Proxies whose word about their clients counts.
    pub proxies: TrustedProxies,
    /// A line for every request.
    pub access_log: Option<AccessLog>,
    /// Figures of every worker.
    pub registry: Option<MetricsRegistry>,
    /// What is under way, and the traces of it.
    pub tracer: Option<tsumugi_trace::Tracer>,
    /// What sends traces to a collector.
    pub exporter: Option<TraceExporter>,
    /// What the dashboard shows of this server, and what it asks for.
    pub dashboard: DashboardSettings,
}

/// The figures of all workers, for the admin pages. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct MetricsRegistry(Arc<Mutex<Vec<Arc<Column>>>>);

/// What one worker shows. Written by that worker, read by the admin thread.
#[derive(Debug)]
pub(crate) struct Column {
    pub worker: usize,
    pub routes: Arc<RouteFigures>,
    pub errors: Arc<ErrorSink>,
    /// Where the dashboard asks what only the worker can answer.
    questions: QuestionSender,
    asked: Mutex<Option<QuestionReceiver>>,
    pub figures: HttpMetrics,
    pub loaded: AtomicBool,
    /// Whether there is a VM.
    pub vm: AtomicBool,
    pub vm_bytes: AtomicU64,
    pub vm_objects: AtomicU64,
    pub requests: AtomicU64,
    /// Bytes of request bodies in memory.
    pub bodies_bytes: AtomicU64,
    /// Requests refused because their bodies found no room.
    pub bodies_refused: AtomicU64,
    pub databases: Databases,
    pub stores: Stores,
    pub jobs: JobSamples,
}

impl Front {
    /// What this listener speaks.
    pub(crate) fn mode(&self, listener: usize) -> &PortMode {
        self.ports.get(listener).unwrap_or(&PortMode::Certificate)
    }

    /// What comes first on this listener.
    pub(crate) fn prologue(&self, listener: usize) -> PortPrologue {
        self.prologues.get(listener).copied().unwrap_or_default()
    }
}

impl MetricsRegistry {
    /// A column for one more worker.
    pub(crate) fn column(&self, worker: usize) -> Arc<Column> {
        tsumugi_db::keep_statements();
        let column = Arc::new(Column::new(worker));
        let mut columns = self.columns();
        columns.push(Arc::clone(&column));
        columns.sort_by_key(|column| column.worker);
        column
    }

    pub(crate) fn columns(&self) -> MutexGuard<'_, Vec<Arc<Column>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether requests are welcome; if not, why not.
    pub(crate) fn ready(&self, handle: &Handle) -> Result<(), String> {
        if handle.is_ending() {
            return Err("draining: send no new requests to this process".to_owned());
        }
        let workers = handle.snapshot().workers.len();
        let columns = self.columns();
        let loaded = columns.iter().filter(|column| column.loaded.load(Relaxed));
        match loaded.count() {
            loaded if loaded == workers => Ok(()),
            loaded => Err(format!(
                "the application is loaded on {loaded} of {workers} workers"
            )),
        }
    }

    /// What all workers have counted of each route.
    pub(crate) fn routes(&self) -> BTreeMap<String, RouteCounts> {
        let columns = self.columns().clone();
        let mut routes: BTreeMap<String, RouteCounts> = BTreeMap::new();
        for column in columns {
            column.routes.each(|name, add| match routes.get_mut(name) {
                Some(counts) => add(counts),
                None => add(routes.entry(name.to_owned()).or_default()),
            });
        }
        routes
    }

    /// The errors of each worker.
    pub(crate) fn errors(&self) -> Vec<Arc<ErrorSink>> {
        let columns = self.columns();
        columns
            .iter()
            .map(|column| Arc::clone(&column.errors))
            .collect()
    }

    /// Whether the application keeps jobs.
    pub(crate) fn has_jobs(&self) -> bool {
        self.columns().iter().any(|column| column.jobs.exist())
    }

    /// Where each worker is asked.
    pub(crate) fn questions(&self) -> Vec<QuestionSender> {
        let columns = self.columns();
        columns
            .iter()
            .map(|column| column.questions.clone())
            .collect()
    }
}

impl Column {
    fn new(worker: usize) -> Column {
        let (questions, asked) = questions(worker);
        Column {
            worker,
            routes: Arc::default(),
            errors: Arc::default(),
            questions,
            asked: Mutex::new(Some(asked)),
            figures: HttpMetrics::default(),
            loaded: AtomicBool::default(),
            vm: AtomicBool::default(),
            vm_bytes: AtomicU64::default(),
            vm_objects: AtomicU64::default(),
            requests: AtomicU64::default(),
            bodies_bytes: AtomicU64::default(),
            bodies_refused: AtomicU64::default(),
            databases: Databases::default(),
            stores: Stores::default(),
            jobs: JobSamples::default(),
        }
    }

    /// What the worker is asked; once.
    pub(crate) fn asked(&self) -> Option<QuestionReceiver> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }
}
