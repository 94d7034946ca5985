//! The limits of starting, handing over and ending, and of timers. Those of serving are in the crates that serve.

/// How long lines that are queued for the standard streams may take to be written at the end, in milliseconds.
pub const LAST_LINES_MS_MAX: u64 = 1_000;

/// How often a change of a session in a store is tried while other requests change the same session.
pub const SESSION_TRIES_MAX: usize = 64;

/// Worker threads of one server.
pub const WORKERS_MAX: usize = 1_024;

/// Bytes of one event in the log: what a client sent may be part of it. A longer one loses its middle.
pub const LOG_EVENT_BYTES_MAX: usize = 16 << 10;

/// The shortest period of a timer, in seconds: what the clock of the event loop tells apart.
pub const TIMER_SECONDS_MIN: f64 = 0.001;

/// The longest period of a timer, in seconds: beyond it the clock would overflow.
pub const TIMER_SECONDS_MAX: f64 = 1e9;

/// When clients whose streams of events the server has ended come back, in milliseconds: not all of them at once.
pub const RECONNECT_MS_MIN: u64 = 100;
/// See [`RECONNECT_MS_MIN`].
pub const RECONNECT_MS_MAX: u64 = 1_100;

/// Bytes of one message between two processes of which one takes over from the other, without its head.
pub const HANDOVER_MESSAGE_BYTES_MAX: usize = 1_024;

/// Sockets that come with one such message. Linux takes 253.
pub const HANDOVER_SOCKETS_EACH: usize = 64;

/// Sockets that one process hands over to another.
pub const HANDOVER_SOCKETS_MAX: usize = 8_192;

/// How long such a message may take, in milliseconds, but for the one that says that the successor serves: that one has as long as its
/// application takes to load.
pub const HANDOVER_MS_MAX: u64 = 10_000;

/// How long a process that asks is kept waiting, in milliseconds, by one that has not got the stores of the process before it yet. Less than
/// [`HANDOVER_MS_MAX`], as it is to be answered.
pub const HANDOVER_TURN_MS_MAX: u64 = 8_000;

/// How much longer than `handover_store_ms` a process waits for the stores of the one before it, in milliseconds: what has been submitted is
/// written first.
pub const HANDOVER_STORE_REST_MS: u64 = 2_000;

/// How much longer than its idle connections a process that was replaced keeps its application, in milliseconds: what they sent at the last
/// moment has arrived by then.
pub const LAST_REQUEST_REST_MS: u64 = 50;

/// The limits of a server as a whole, which an operator may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Longest time that a process keeps its stores on disk once another one serves in place of it, in milliseconds. They are let go of
    /// earlier when its last request has ended; a request that runs longer gets an error from then on where it uses one.
    pub handover_store_ms: u64,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            handover_store_ms: 5_000,
        }
    }
}

/// Bytes of the body of an action of the dashboard.
pub const DASHBOARD_BODY_BYTES_MAX: usize = 64 << 10;

/// Parameters in a query of the dashboard.
pub const DASHBOARD_QUERY_PARAMETERS_MAX: usize = 32;

/// Wrong tokens within a minute, after which none is compared for the rest of it.
pub const DASHBOARD_LOGIN_FAILURES_MAX: usize = 10;

/// How long a browser that has shown the token need not show it again, in seconds.
pub const DASHBOARD_SESSION_SECONDS: u64 = 12 * 3_600;

/// Characters of a path, a statement or a frame on the dashboard. The rest is left out.
pub const DASHBOARD_TEXT_CHARACTERS_MAX: usize = 200;

/// Characters of an error's message on the dashboard.
pub const DASHBOARD_MESSAGE_CHARACTERS_MAX: usize = 1_000;

/// Frames of an error on the dashboard, the innermost ones.
pub const DASHBOARD_FRAMES_MAX: usize = 50;

/// Places of errors that the dashboard shows, and that each worker keeps: the latest.
pub const DASHBOARD_ERRORS_MAX: usize = 100;

/// Routes whose figures each worker keeps for the dashboard. The others are counted together.
pub const DASHBOARD_ROUTES_MAX: usize = 256;

/// Requests under way that the dashboard shows: the oldest.
pub const DASHBOARD_REQUESTS_MAX: usize = 500;

/// Traces that the dashboard shows: the latest.
pub const DASHBOARD_TRACES_MAX: usize = 200;

/// Spans of one trace that the dashboard shows.
pub const DASHBOARD_SPANS_MAX: usize = 2_000;

/// Requests, jobs and ticks that are sent to a collector at a time.
#[cfg(feature = "otlp")]
pub const TRACES_BATCH_MAX: usize = 256;

/// How often it is looked whether there are traces to be sent, in milliseconds.
#[cfg(feature = "otlp")]
pub const TRACES_EVERY_MS: u64 = 500;

/// How long nothing is sent to a collector that has not taken something, in milliseconds.
#[cfg(feature = "otlp")]
pub const COLLECTOR_REST_MS: u64 = 1_000;

/// How long a collector may take to answer, in milliseconds, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says less.
#[cfg(feature = "otlp")]
pub const COLLECTOR_MS_MAX: u64 = 10_000;

/// Bytes of a collector's answer.
#[cfg(feature = "otlp")]
pub const COLLECTOR_ANSWER_BYTES_MAX: usize = 64 << 10;

/// Pairs of `OTEL_RESOURCE_ATTRIBUTES`.
#[cfg(feature = "otlp")]
pub const RESOURCE_ATTRIBUTES_MAX: usize = 64;

/// Points of a chart on the dashboard.
pub const DASHBOARD_POINTS: usize = 60;

/// Statements that the dashboard shows.
pub const DASHBOARD_STATEMENTS_MAX: usize = 200;

/// Pools of databases that the dashboard shows.
pub const DASHBOARD_POOLS_MAX: usize = 500;

/// Key-value stores that the dashboard shows.
pub const DASHBOARD_STORES_MAX: usize = 100;

/// How long the server of a store may take to say something of itself, in milliseconds.
pub const DASHBOARD_ENGINE_MS_MAX: u64 = 500;

/// Records of a page of the dashboard.
pub const DASHBOARD_RECORDS_MAX: usize = 50;

/// Bytes of a key on the dashboard.
pub const DASHBOARD_KEY_BYTES_MAX: usize = 200;

/// Bytes of a value on the dashboard.
pub const DASHBOARD_VALUE_BYTES_MAX: usize = 256;

/// Pages that end with a key which is not shown, of which it is remembered where the next one begins.
pub const DASHBOARD_CURSORS_MAX: usize = 64;

/// Timers that the dashboard shows.
pub const DASHBOARD_TIMERS_MAX: usize = 500;

/// Channels that the dashboard shows.
pub const DASHBOARD_CHANNELS_MAX: usize = 500;

/// Dead jobs that the dashboard shows.
pub const DASHBOARD_DEAD_JOBS_MAX: usize = 100;

/// Questions of the dashboard that wait for one worker.
pub const DASHBOARD_QUESTIONS_MAX: usize = 8;

/// How long the dashboard waits for the answer of a worker, of all together, in milliseconds.
pub const DASHBOARD_ANSWER_MS_MAX: u64 = 5_000;

/// How long a worker may take to answer before the next one is asked the same, in milliseconds.
pub const DASHBOARD_NEXT_WORKER_MS: u64 = 1_000;

/// How long a worker may take nothing that it is sent before the dashboard says so, in milliseconds.
pub const DASHBOARD_SILENCE_MS: u64 = 1_000;

/// Sockets that a supervisor passes to a process.
pub const PASSED_SOCKETS_MAX: usize = 1_024;

/// The longest `--drain-delay`, in seconds.
pub const DRAIN_DELAY_SECONDS_MAX: f64 = 3_600.0;

/// Folders below TMPDIR that killed processes have left which one start of the same kind removes at most: a run of tests, an executable of `tsumugi build`.
pub const TEMPORARY_FOLDERS_STALE_MAX: usize = 64;

/// Parameters of one route that `routes --openapi` describes; more are left out.
pub const OPENAPI_PARAMETERS_MAX: usize = 200;

/// Fields of one body that `routes --openapi` describes, unless they are those of a shape; more are left out.
pub const OPENAPI_FIELDS_MAX: usize = 1_000;

/// Lines of source that an error page shows before and after the one that raised.
pub const PAGE_SOURCE_LINES_AROUND: usize = 4;

/// Lines of source before and after the line that raised, in an error as text.
pub const TEXT_SOURCE_LINES_AROUND: usize = 2;

/// Lines below one heading of an answer in text.
pub const TEXT_PART_LINES_MAX: usize = 8;

/// Routes that a developer is told of where a path has none.
pub const ROUTES_NEAR_MAX: usize = 5;

/// Bytes of one segment of a path that are compared with routes for a 404 of `--dev`.
pub const SEGMENT_COMPARED_BYTES_MAX: usize = 100;
