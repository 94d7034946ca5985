//! The Rust face: an application is a function that makes a [`Router`], and a [`Plugin`] of which every worker has its own value.
//! Knows no listener, no command line and no Ruby. Rule: nothing here is `Send` or shared between workers, so an author needs neither
//! locks nor atomics; a request's future is dropped when its client goes, and what it holds is released by that.
//!
//! ```
//! use tsumugi_app::{Json, Path, Plugin, Result, Router, State, Worker, get, trial};
//! use std::cell::Cell;
//!
//! struct App { served: Cell<u64> }
//!
//! impl Plugin for App {
//!     async fn start(_: &Worker) -> Result<App> {
//!         Ok(App { served: Cell::new(0) })
//!     }
//! }
//!
//! async fn greet(app: State<App>, Path(name): Path<String>) -> Json<(String, u64)> {
//!     app.served.set(app.served.get() + 1);
//!     Json((format!("hello {name}"), app.served.get()))
//! }
//!
//! fn routes() -> Router<App> {
//!     Router::new().route("/greet/{name}", get(greet))
//! }
//!
//! trial::run(routes, async |client| {
//!     assert_eq!(client.get("/greet/Ada").await.text(), r#"["hello Ada",1]"#);
//! });
//! ```

#![forbid(unsafe_code)]

mod context;
pub mod db;
mod error;
mod extract;
mod feed;
mod handler;
mod kv;
mod layer;
mod ledger;
mod limits;
mod lineage;
mod loaded;
mod plugin;
mod program;
mod response;
mod router;
mod session;
mod streaming;
mod timers;
pub mod trial;
mod unfit;
mod websocket;

pub use context::Context;
pub use db::{Db, Migration, Table, Tx};
pub use error::{Error, Result, story};
pub use extract::{
    BodyStream, Cookies, Extension, Extract, Form, FromHeader, Header, Headers, Multipart, Path,
    Query, State, Upload,
};
pub use feed::{Csv, JsonRows, NdJson};
pub use handler::{Handler, Local, Methods, any, delete, get, head, options, patch, post, put};
pub use kv::Kv;
pub use layer::{Next, Verdict};
pub use limits::Limits;
pub use loaded::{Loaded, Settings};
pub use plugin::{Named, Plugin, Worker, alone};
pub use program::Program;
pub use response::{Answer, Html, IntoResponse, Json, Redirect, Response};
pub use router::{Mount, Mounted, RouteLine, Router};
pub use session::{Session, Sessions};
pub use streaming::{Event, Events, Output, Sse, Streamed};
pub use timers::{On, Ticked};
pub use tsumugi_http::cookie::SameSite;
pub use tsumugi_http::secret::Secret;
pub use tsumugi_http::session::{Forms, Transport};
pub use tsumugi_http::websocket::{Close, Message, WebSocket};
pub use tsumugi_http::{Request, Response as HttpResponse};
pub use tsumugi_server::{Mode, Shown};
pub use websocket::{Accepted, WebSocketUpgrade};
