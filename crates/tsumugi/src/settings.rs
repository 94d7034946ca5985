//! How an application in Rust is run, as its server or its test says it. Reads nothing by itself.
//! Rule: one value for all workers of a process, cloned for each.

use std::collections::HashMap;
use std::path::PathBuf;

use tsumugi_http::secret::Secret;
use tsumugi_server::{DataAccess, Mode};

use crate::limits::Limits;

/// How an application is run. Write `..Settings::default()` behind what you set: a release may add a setting.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where its data lives.
    pub data_dir: PathBuf,
    /// Where its own files are, which [`Worker::read_file`](crate::Worker::read_file) reads; empty for the folder that the process was started in.
    pub folder: PathBuf,
    /// Development or production.
    pub mode: Mode,
    /// What the application may do with its stores.
    pub access: DataAccess,
    /// What signs sessions; none takes it from the environment's `TSUMUGI_SECRET`.
    pub secret: Option<Secret>,
    /// Variables that [`Worker::env`](crate::Worker::env) looks for before those of the process's environment.
    pub environment: HashMap<String, String>,
    /// A PEM file of the certificates that calls to other servers ([`Worker::http`](crate::Worker::http)), mails and stores trust; none takes
    /// `SSL_CERT_FILE`, else the system's.
    pub certificates: Option<PathBuf>,
    /// Who answers calls to other servers.
    pub calls: tsumugi_client::CallMode,
    /// Whether a test runs it, which [`trial`](crate::trial) says: [`Worker::is_test`](crate::Worker::is_test).
    pub in_test: bool,
    /// The limits of handlers.
    pub limits: Limits,
    /// The limits of HTTP that handlers meet: bodies, parameters, streams.
    pub http: tsumugi_http::HttpLimits,
}
