//! What an application owns on each worker, and the worker as its author sees it. The framework knows none of a plugin's fields.
//! Rule: a plugin is made, used and stopped on one thread.

#[cfg(feature = "mail")]
mod mail;

use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;
use tsumugi_client::{CallMode, HttpClient, HttpStubs};
use tsumugi_cluster::Cluster;
use tsumugi_db::Database;
use tsumugi_http::secret::Secret;
use tsumugi_http::{OnWorker, read_app_file};
use tsumugi_server::{Mode, environment_variable};
use tsumugi_shapes::MessageCatalog;
use tsumugi_stores::StoreOpener;
use tsumugi_worker::LocalTask;

use crate::builder::Db;
use crate::error::{Error, Result};
use crate::http_call::Http;
use crate::job::Jobs;
use crate::lineage::{self, ComputationFuture};
use crate::settings::Settings;

/// The value that every worker makes for itself before its first request: connections, caches, counters. `Rc` and `Cell` are fine.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no plugin",
    note = "write `impl Plugin for {Self}` with `async fn start(worker: &Worker) -> Result<Self>`"
)]
pub trait Plugin: Sized + 'static {
    /// Makes the value for this worker; may wait. An error keeps the server from starting, or the old application in place.
    fn start(worker: &Worker) -> impl Future<Output = Result<Self>>;

    /// Called after the last request, the last stream and the last tick have ended. Dropping the value follows.
    fn stop(&self) -> impl Future<Output = ()> {
        async {}
    }
}

/// Nothing, for applications that need nothing.
impl Plugin for () {
    async fn start(_: &Worker) -> Result<()> {
        Ok(())
    }
}

/// The worker that a plugin lives on. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Worker(Rc<Parts>);

#[derive(Debug)]
struct Parts {
    inner: tsumugi_worker::WorkerHandle,
    settings: Rc<Settings>,
    stores: StoreOpener,
    /// For applications that are mounted.
    shared: RefCell<Vec<SharedDatabase>>,
    cluster: RefCell<Cluster>,
    jobs: RefCell<Option<Jobs>>,
    messages: RefCell<Rc<MessageCatalog>>,
    http: OnceCell<Rc<HttpClient>>,
    #[cfg(feature = "mail")]
    mailer: OnceCell<Rc<tsumugi_mail::Mailer>>,
    /// The mails of tests.
    #[cfg(feature = "mail")]
    mails: tsumugi_mail::TestMails,
    /// What answers calls to other servers in tests.
    stubs: Rc<HttpStubs>,
}

/// A database that mounted applications can use, with its name.
pub type SharedDatabase = (Box<str>, Database);

impl Worker {
    pub(crate) fn new(inner: tsumugi_worker::WorkerHandle, settings: Rc<Settings>) -> Worker {
        let access = settings.access.stores(&settings.data_dir);
        let certificates = settings.certificates.clone();
        let stores = StoreOpener::new(inner.pool().clone(), access, certificates);
        Worker(Rc::new(Parts {
            inner,
            settings,
            stores,
            shared: RefCell::default(),
            cluster: RefCell::default(),
            jobs: RefCell::default(),
            messages: RefCell::default(),
            http: OnceCell::new(),
            #[cfg(feature = "mail")]
            mailer: OnceCell::new(),
            #[cfg(feature = "mail")]
            mails: tsumugi_mail::TestMails::default(),
            stubs: HttpStubs::new(),
        }))
    }

    /// Keeps the jobs of [`Router::job`](crate::Router::job) in a database, and has this worker run them: `worker.use_jobs(Jobs::over(&db))`. For
    /// [`Plugin::start`].
    pub fn use_jobs(&self, jobs: Jobs) {
        self.0.jobs.replace(Some(jobs));
    }

    /// The jobs of [`Worker::use_jobs`].
    pub fn jobs(&self) -> Option<Jobs> {
        self.0.jobs.borrow().clone()
    }

    /// Has messages of [`Valid`](crate::Valid) in these words. For [`Plugin::start`].
    pub fn use_messages(&self, catalog: MessageCatalog) {
        self.0.messages.replace(Rc::new(catalog));
    }

    /// The words of messages.
    pub fn messages(&self) -> Rc<MessageCatalog> {
        Rc::clone(&self.0.messages.borrow())
    }

    /// Lets applications that are mounted have this database, under a name: in Ruby `DB.shared(:name)`. For [`Plugin::start`], after
    /// which they are loaded. Another database of the same name is replaced.
    pub fn share(&self, name: &str, database: &Db) {
        let mut shared = self.0.shared.borrow_mut();
        shared.retain(|(known, _)| **known != *name);
        shared.push((name.into(), Database::clone(database)));
    }

    /// The databases that are shared.
    pub fn shared(&self) -> Rc<[SharedDatabase]> {
        self.0.shared.borrow().iter().cloned().collect()
    }

    /// Lets timers of [`On::OneInCluster`](crate::On::OneInCluster) find the other processes: `worker.use_cluster(Cluster::over(&db)?)`, or
    /// `worker.use_cluster(kv.cluster()?)` over a store in etcd, which needs the feature `grpc`. For [`Plugin::start`]; without it they are the
    /// timers of this process. Applications that are mounted have it too, unless they say another.
    pub fn use_cluster(&self, cluster: Cluster) {
        self.0.cluster.replace(cluster);
    }

    /// The processes that locks, timers and channels are shared with: those of [`Worker::use_cluster`], or else the workers of this one.
    pub fn cluster(&self) -> Cluster {
        self.0.cluster.borrow().clone()
    }

    /// Calls other servers, over connections that this worker keeps. In tests the stubs of the test's client answer.
    pub fn http(&self) -> Http {
        let make = || {
            let Settings {
                limits,
                certificates,
                calls,
                ..
            } = &*self.0.settings;
            let (limits, certificates) = (limits.client.clone(), certificates.clone());
            match calls {
                CallMode::Network => HttpClient::new(&self.0.inner, limits, certificates),
                CallMode::Stubbed => {
                    let stubs = Rc::clone(&self.0.stubs);
                    HttpClient::stubbed(&self.0.inner, limits, certificates, stubs)
                }
            }
        };
        Http::over(self.0.http.get_or_init(make))
    }

    /// What answers calls to other servers in tests.
    pub(crate) fn stubs(&self) -> &Rc<HttpStubs> {
        &self.0.stubs
    }

    /// The number of the worker, from 0.
    pub fn id(&self) -> usize {
        self.0.inner.id()
    }

    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.0.inner.count()
    }

    /// A variable of the environment.
    ///
    /// # Errors
    /// [`Error::Environment`] where it is not set, or is not UTF-8.
    pub fn env(&self, name: &str) -> Result<String> {
        let missing = || Error::Environment {
            name: name.to_owned(),
        };
        environment_variable(&self.0.settings.environment, name).ok_or_else(missing)
    }

    /// The folder for the application's data.
    pub fn data_dir(&self) -> &Path {
        &self.0.settings.data_dir
    }

    /// The bytes of a file of the application, by its path from the folder that the process was started in
    /// ([`Settings::folder`](crate::Settings::folder) where that says another), which no path leaves; at most 16 MiB (`app_file_bytes_max`). Read
    /// each time, off the worker.
    ///
    /// # Errors
    /// [`Error::File`] where there is no such file, it is too large, or the path leads out of the folder.
    pub async fn read_file(&self, path: &str) -> Result<Bytes> {
        let on_worker = OnWorker(self.0.inner.clone());
        let folder = self.0.settings.folder.clone();
        Ok(read_app_file(&on_worker, folder, path).await?)
    }

    /// Development or production.
    pub fn mode(&self) -> Mode {
        self.0.settings.mode
    }

    /// Whether a test runs the application: `Tsumugi.test?` in Ruby.
    pub fn is_test(&self) -> bool {
        self.0.settings.in_test
    }

    /// What signs sessions, when it is not the environment's.
    pub fn secret(&self) -> Option<&Secret> {
        self.0.settings.secret.as_ref()
    }

    /// The limits of HTTP that handlers meet.
    pub fn http_limits(&self) -> &tsumugi_http::HttpLimits {
        &self.0.settings.http
    }

    /// Runs blocking work on a thread of the process-wide pool: file I/O, hashing, a client that blocks.
    ///
    /// # Errors
    /// [`Error::Other`] where too much work waits already, the work panicked, or the server ends.
    pub async fn offload<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.0.inner.offload(work).await.map_err(Error::other)
    }

    /// Runs a future on this worker, beside requests. It is dropped when the worker ends.
    pub fn spawn<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        match lineage::for_spawned_task() {
            Some(computation) => self
                .0
                .inner
                .spawn(ComputationFuture::new(computation, future)),
            None => self.0.inner.spawn(future),
        }
    }

    /// The same for what begins seldom: a boxed edge.
    pub(crate) fn spawn_boxed(&self, future: LocalTask<()>) -> JoinHandle<()> {
        self.spawn(future)
    }

    /// Waits; other requests run meanwhile.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// The worker of the crate below, for what has no method here.
    pub fn inner(&self) -> &tsumugi_worker::WorkerHandle {
        &self.0.inner
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn stores(&self) -> &StoreOpener {
        &self.0.stores
    }
}

/// Runs this on a worker of its own, without an application: for what is done to a database before one starts.
///
/// # Errors
/// When there is no worker to be had.
pub fn alone<T>(
    settings: Settings,
    run: impl AsyncFnOnce(&Worker) -> T,
) -> Result<T, tsumugi_worker::Error> {
    tsumugi_worker::alone(tsumugi_worker::WorkerLimits::default(), async |worker| {
        run(&Worker::new(worker, Rc::new(settings))).await
    })
}
