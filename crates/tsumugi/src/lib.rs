//! Applications in Rust on Tsumugi: one crate to depend on. Re-exports the crates below and starts a server with the options of
//! `tsumugi serve`; nothing else is here. Rule: without the feature `ruby` nothing of Ruby is built.
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

mod command;
mod maintain;
#[cfg(feature = "ruby")]
mod ruby;

pub use command::{Commands, main};
#[cfg(feature = "ruby")]
pub use ruby::Ruby;

pub use tsumugi_app as app;
pub use tsumugi_app::{migrations, trial};
pub use tsumugi_db as db;
pub use tsumugi_kv as kv;
pub use tsumugi_sql as sql;

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

    pub use bytes::Bytes;
    pub use http::StatusCode;
    pub use serde::{Deserialize, Serialize};
    pub use tokio::time::sleep;
    pub use tokio::{join, try_join};
    pub use tsumugi_app::{
        Accepted, BodyStream, Context, Cookies, Csv, Db, Error, Event, Extension, Form, FromHeader,
        Header, Headers, Html, IntoResponse, Json, JsonRows, Kv, Message, Methods, Migration, Mode,
        Multipart, NdJson, Next, On, Path, Plugin, Query, Redirect, Request, Response, Result,
        Router, Session, Sessions, Sse, State, Streamed, Table, Tx, WebSocket, WebSocketUpgrade,
        Worker, any, delete, get, head, options, patch, post, put,
    };
    pub use tsumugi_db::{Error as DbError, Options, Rows, TransactionOptions, values};
    pub use tsumugi_sql::{Aggregate, Conflict, asc, col, count, desc, raw, schema, value};

    #[cfg(feature = "ruby")]
    pub use crate::Ruby;
}
