//! What every server of Tsumugi is around its application: the options of `tsumugi serve` and the start from them; on each worker TLS,
//! compression, access log, figures and the admin pages' contents. Knows no language of applications and no route.
//! Rule: what an option names and cannot be used is reported before anything is bound, and what is switched off costs a request one look.
//!
//! # Features
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `acme` | certificates from an authority: the options `--acme…`, their renewal and their figures | yes |
//! | `otlp` | traces sent to a collector of OpenTelemetry, over gRPC or HTTP | yes |

#![forbid(unsafe_code)]

#[cfg(feature = "acme")]
mod acme;
#[cfg(not(feature = "acme"))]
#[path = "without_acme.rs"]
mod acme;
mod admin_pages;
mod application;
mod bind;
pub mod commands;
mod dashboard;
mod data_access;
mod data_folder;
mod databases;
pub mod dispatch;
mod environment;
mod error_page;
mod event_length;
mod failure;
mod front;
mod handover;
mod jobs;
mod limit;
mod limits;
mod listen;
mod log;
mod log_json;
pub mod openapi;
mod options;
mod plain_port;
mod port;
mod service;
pub mod session;
mod stores;
mod supervisor;
pub mod table;
mod temporary_folder;
mod test_folder;
mod traces;
mod unix_time;

pub use acme::absent_option;
pub use admin_pages::AdminPages;
pub use application::{AdminView, Application, Program, VmFigures};
pub use bind::start_pages;
pub use dashboard::{
    AdminQuestion, DashboardSettings, ErrorReport, LimitRow, QuestionAnswer, QuestionError,
    ServerDescription, report_error,
};
pub use data_access::DataAccess;
pub use data_folder::DataFolder;
pub use environment::environment_variable;
pub use error_page::{ErrorPage, PagePart, SourceExcerpt};
pub use failure::{failure, print_usage, with_options, with_tls_options};
pub use front::{Front, MetricsRegistry, Mode};
pub use handover::{AbandonedFiles, GivenSockets, SocketRole};
pub use limit::{Limit, LimitError, LimitSet, Limits, Row, WORKER, assigned, row};
pub use limits::{
    DRAIN_DELAY_SECONDS_MAX, LAST_LINES_MS_MAX, SESSION_TRIES_MAX, ServerLimits, TIMER_SECONDS_MAX,
    TIMER_SECONDS_MIN, WORKERS_MAX,
};
pub use listen::Listen;
pub use log::{begin_log, end_log, hide_folder, story, streams_apart, without_hidden_folder};
pub use options::{Options, PreparedServer, workers};
pub use port::{PortError, PortMode, PortPrologue};
pub use service::Service;
pub use supervisor::report_to_supervisor;
pub use temporary_folder::{TemporaryFolder, without_temporary_name};
pub use test_folder::TestFolder;
pub use traces::TraceExporter;
