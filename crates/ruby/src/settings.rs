//! How an application in Ruby is run, as its server or its test says it, and what it has of one that it is mounted in. Reads nothing by itself.
//! Rule: settings are one value for all workers of a process, cloned for each; what is shared stays on its worker.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use tsumugi_client::HttpStubs;
use tsumugi_cluster::Cluster;
use tsumugi_db::Database;
use tsumugi_http::secret::Secret;
use tsumugi_mail::TestMails;
use tsumugi_server::{DataAccess, Mode};

use crate::limits::Limits;
use crate::loaded_files::LoadedFiles;

/// How an application is run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The application file.
    pub app: PathBuf,
    /// `Tsumugi.data_dir`.
    pub data_dir: PathBuf,
    /// Development or production.
    pub mode: Mode,
    /// What the application may do with its stores.
    pub access: DataAccess,
    /// The limits of Ruby.
    pub limits: Limits,
    /// The limits of HTTP that handlers meet: bodies, parameters, streams.
    pub http: tsumugi_http::HttpLimits,
    /// What signs sessions and cookies; `None` takes it from the environment's `TSUMUGI_SECRET`.
    pub secret: Option<Secret>,
    /// A PEM file of the certificates that handlers' calls to other servers, mails and stores trust; `None` takes `SSL_CERT_FILE`, else
    /// the system's.
    pub certificates: Option<PathBuf>,
    /// Who answers handlers' calls to other servers.
    pub calls: tsumugi_client::CallMode,
    /// Variables that `ENV` has before those of the process's environment.
    pub environment: HashMap<String, String>,
    /// Whether a test runs it: `Tsumugi.test?`.
    pub in_test: bool,
    /// Where it is kept which files the application has loaded.
    pub loaded: LoadedFiles,
}

/// Databases that something else on this worker has opened, by name.
pub type SharedDatabases = Rc<[(Box<str>, Database)]>;

/// What an application has together with the one that it is mounted in, on one worker. The default is that of an application on its own.
#[derive(Clone, Debug, Default)]
pub struct SharedResources {
    /// What `DB.shared` finds.
    pub databases: SharedDatabases,
    /// The processes that locks, timers and channels are shared with, unless Ruby names its own by `cluster`.
    pub cluster: Cluster,
    /// What answers calls to other servers in tests.
    pub stubs: Rc<HttpStubs>,
    /// The mails of tests.
    pub mails: TestMails,
}
