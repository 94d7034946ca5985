//! How long the measuring program waits and how much it asks for. Not the limits of what it measures.

/// A server must answer within this.
pub const START_MS_MAX: u64 = 20_000;
/// A server must end within this after SIGTERM. Longer than its own drain.
pub const STOP_MS_MAX: u64 = 60_000;
/// Between two looks at a child.
pub const POLL_MS: u64 = 20;
/// How long a program whose connections break may take to end, until it counts as running.
pub const CRASH_MS_MAX: u64 = 500;
/// A client gives up on an answer after this.
pub const ANSWER_MS_MAX: u64 = 60_000;
/// Bytes of a response that the client reads at most.
pub const RESPONSE_BYTES_MAX: usize = 1 << 20;
/// Bytes of the line with the size of a chunk, with its end.
pub const SIZE_LINE_BYTES_MAX: usize = 32;
/// Descriptors beside the connections of a run.
pub const FILES_SPARE: u64 = 256;
/// Bytes of keys and values that one call of the load for key-value servers stores.
pub const STORE_BYTES_MAX: usize = 1024 * 1024;
/// Records of such a call.
pub const STORE_RECORDS_MAX: usize = 1_000;
/// Bytes of a key of that load.
pub const STORE_KEY_BYTES: usize = 8;
/// Connections opened to find one to each worker.
pub const FIGURES_ASKED_MAX: usize = 200;
/// Threads of the mixed load, a connection each.
pub const SOAK_CLIENTS: u64 = 24;
/// Rounds of parking; memory is compared between the second and the last.
pub const SOAK_PARKED_ROUNDS: usize = 5;
/// Between two reloads.
pub const RELOAD_MS: u64 = 2_000;
/// Looks at the memory of a server that has had its load, until it has given back what it will.
pub const SETTLING_LOOKS: usize = 8;
/// Between two of them.
pub const SETTLING_MS: u64 = 500;
/// What memory may grow by between two looks at a server that does the same all the time: pages are taken and given back in turns.
pub const GROWTH_PERCENT_MAX: u64 = 20;
/// Added to that.
pub const GROWTH_BYTES_MAX: u64 = 8 << 20;
/// The longest latency that is distinguished; longer ones count as this.
pub const LATENCY_NS_MAX: u64 = 120_000_000_000;
/// Significant digits of a latency.
pub const LATENCY_DIGITS: u8 = 3;
/// At the open pace, answers are waited for this long after the last request was due.
pub const DRAIN_MS_MAX: u64 = 10_000;
/// Requests of a load that may fail before it is given up.
pub const ERRORS_MAX: u64 = 1_000;
/// Events taken from the kernel at once.
pub const EVENTS_MAX: usize = 256;
/// Bytes read from a connection at once.
pub const READ_BYTES: usize = 64 << 10;
/// A thread of the load looks at the clock at least this often.
pub const TICK_MS: u16 = 50;
/// A tool that holds a throwaway server must tell of it within this.
pub const DATABASE_MS_MAX: u64 = 120_000;
/// Within this a tool reports that its server has ended by itself.
pub const ENDED_MS_MAX: u64 = 2_000;
/// Runs that are repeated, one after the other, because the database's server ended under them.
pub const REPEATS_MAX: usize = 3;
/// Between two pictures of a progress bar.
pub const PROGRESS_MS: u64 = 200;
/// Every load runs this long before it counts.
pub const WARM_UP_MS: u64 = 500;
/// So long our own load looks at the answers before wrk counts them.
pub const CHECKED_BEFORE_WRK_S: u64 = 1;
/// Connections of a load that a user asks for.
pub const CONNECTIONS_MAX: usize = 60_000;
/// Streams of a connection of HTTP/2 that a user asks for: servers allow about this many.
pub const STREAMS_MAX: usize = 100;
/// What a server may send on a stream, and on a connection, before it is asked for more.
pub const HTTP2_WINDOW_BYTES: u32 = 1 << 20;
/// Between two ends of all backends.
pub const KILL_MS: u64 = 6_000;
/// Requests that begin within so long after one of them may fail.
pub const BROKEN_MS_MAX: u64 = 3_000;
/// After the last of them, until nothing may fail any more.
pub const SETTLE_MS: u64 = 3_000;
/// Tasks that the mixed load of the demo adds: its table is read whole all the time.
pub const TASKS_KEPT_MAX: usize = 2_000;
/// Lines of a server's output that explain why its answers were wrong.
pub const LAST_WORDS_LINES: usize = 5;
/// Looks at what is left of a program's session, when it is ended.
pub const SWEEPS_MAX: usize = 10;
