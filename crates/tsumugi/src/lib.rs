//! Applications in Rust on Tsumugi: one crate to depend on. An application is a function that makes a [`Router`], and a [`Plugin`] of which every worker
//! has its own value; [`main`] serves it with the options of `tsumugi serve`. Rule: nothing here is `Send` or shared between workers, so an author needs
//! neither locks nor atomics; a request's future is dropped when its client goes, and what it holds is released by that.
//!
//! Nothing of this is built unless it is asked for. A database, a store, a line of cron, a collector or an option of ACME that was left out is refused by the
//! feature's name.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `acme` | certificates from an authority: the options `--acme…` |
//! | `brotli` | brotli, beside gzip, in what is compressed on the way |
//! | `cron` | jobs by lines of cron ([`Router::every_line`]); [`Router::every`] is there without |
//! | `disk` | stores in a folder ([`Kv::open`]); without, stores in memory |
//! | `firebird` | databases of Firebird, beside SQLite and PostgreSQL |
//! | `grpc` | stores and the cluster on etcd, stores on servers of Tkrzw-RPC; with `disk`, a folder that another process serves |
//! | `mail` | mails by SMTP: `Worker::mail`, and `trial::Client::mails` |
//! | `otlp` | traces sent to a collector of OpenTelemetry (`OTEL_EXPORTER_OTLP_…`); the dashboard has them without |
//! | `redis` | stores on Redis and Valkey, and channels of the cluster over them |
//! | `full` | all of the above |
//! | `ruby` | applications in Ruby beside Rust: `Ruby`, for [`Router::mount`]; needs no Ruby to build |
//!
//! ```no_run
//! use tsumugi::prelude::*;
//!
//! struct App { db: Db }
//!
//! impl Plugin for App {
//!     async fn start(worker: &Worker) -> Result<App> {
//!         Ok(App { db: Db::connect(&worker.env("DATABASE_URL")?, Options::default()).await? })
//!     }
//! }
//!
//! async fn count(app: State<App>) -> Result<Json<u64>> {
//!     app.db.table("users").count().await.map(Json)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     tsumugi::main(|| Router::<App>::new().route("/users/count", get(count)))
//! }
//! ```

#![forbid(unsafe_code)]

mod app_instance;
pub mod builder;
mod command;
mod context;
mod csrf;
mod deserialize_error;
mod error;
mod error_location;
mod extract;
mod feed;
mod handler;
mod http_call;
mod invalid;
mod job;
mod job_worker;
mod layer;
mod ledger;
mod limits;
mod lineage;
mod maintain;
mod plugin;
mod program;
mod response;
mod router;
#[cfg(feature = "ruby")]
mod ruby;
mod session;
mod settings;
mod span;
mod store;
mod stream_response;
mod streaming;
mod timers;
pub mod trial;
mod trial_environment;
mod websocket;

pub use app_instance::AppInstance;
pub use builder::{Db, Migration, Reads, Table, Tx};
pub use command::{Commands, main};
pub use context::Context;
pub use error::{Error, Result, story};
pub use extract::{
    AppFiles, BaseUrl, BodyStream, ClientIp, Cookies, Extension, Extract, FieldMessages, Form,
    FromHeader, Header, Headers, LastEventId, Multipart, Path, Query, State, Trailers, Upload,
    Valid, ValidQuery, Validate, WebSocketResponse, WebSocketUpgrade,
};
pub use feed::{Csv, JsonRows, NdJson};
pub use handler::{Handler, Methods, any, delete, get, head, options, patch, post, put};
pub use http_call::{Http, HttpCall, HttpReply};
pub use layer::{Next, Verdict};
pub use limits::Limits;
pub use plugin::{Plugin, SharedDatabase, Worker, alone};
pub use program::Program;
pub use response::{Answer, Html, IntoResponse, Json, Redirect, Response};
pub use router::{Mount, MountedApp, Router};
#[cfg(feature = "ruby")]
pub use ruby::{Ruby, RubyLimits};
pub use session::{Session, Sessions};
pub use settings::Settings;
pub use span::span;
pub use store::Kv;
pub use stream_response::{Event, Events, Sse, StreamResponse};
pub use streaming::Output;
pub use timers::{On, TickOutcome};
pub use tsumugi_http::cookie::SameSite;
pub use tsumugi_http::secret::Secret;
pub use tsumugi_http::session::{Forms, Transport};
pub use tsumugi_http::websocket::{Close, Message, WebSocket};
pub use tsumugi_http::{AppFileError, CachePolicy, HttpResponse, Request};
pub use tsumugi_server::commands::RouteLine;
pub use tsumugi_server::openapi;
pub use tsumugi_server::{AdminView, Mode};
pub use tsumugi_trace::TraceId;
pub use tsumugi_worker::LocalTask;

pub use invalid::Invalid;
pub use job::{Job, Jobs, LineOptions, PushOptions};
pub use tsumugi_client::{CallMode, StubOutcome, StubReply, StubbedCall};
pub use tsumugi_cluster as cluster;
pub use tsumugi_db as db;
pub use tsumugi_jobs as jobs;
pub use tsumugi_kv as kv;
#[cfg(feature = "mail")]
pub use tsumugi_mail::{Attachment, Mail};
pub use tsumugi_shapes as shapes;
pub use tsumugi_sql as sql;
pub use tsumugi_stores as stores;

pub use {bytes, http, serde, serde_json, tokio};

/// The guide, whose code is compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct Guide;

/// What most applications need: `use tsumugi::prelude::*`.
pub mod prelude {
    pub use std::cell::{Cell, RefCell};
    pub use std::rc::Rc;
    pub use std::time::Duration;

    pub use crate::{
        AppFiles, BodyStream, Context, Cookies, Csv, Db, Error, Event, Extension, FieldMessages,
        Form, FromHeader, Header, Headers, Html, IntoResponse, Json, JsonRows, Kv, LastEventId,
        Message, Methods, Migration, Mode, Multipart, NdJson, Next, On, Path, Plugin, Query,
        Redirect, Request, Response, Result, Router, Session, Sessions, Sse, State, StreamResponse,
        Table, Trailers, Tx, Valid, ValidQuery, Validate, WebSocket, WebSocketResponse,
        WebSocketUpgrade, Worker, any, delete, get, head, options, patch, post, put,
    };
    pub use bytes::Bytes;
    pub use http::StatusCode;
    pub use serde::{Deserialize, Serialize};
    pub use tokio::time::sleep;
    pub use tokio::{join, try_join};
    pub use tsumugi_cluster::{ChannelEvent, Cluster, FollowEvent, KeptChannel, LockWait};
    pub use tsumugi_db::{Error as DbError, Options, Rows, TransactionOptions, values};
    pub use tsumugi_sql::{Aggregate, Conflict, asc, col, count, desc, raw, schema, value};

    #[cfg(feature = "ruby")]
    pub use crate::Ruby;
}
