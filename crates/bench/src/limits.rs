//! How long the measuring program waits and how much it asks for. Not the limits of what it measures.

/// A server must answer within this.
pub const START_MS_MAX: u64 = 20_000;
/// A server must end within this after SIGTERM. Longer than its own drain.
pub const STOP_MS_MAX: u64 = 60_000;
/// Between two looks at a child.
pub const POLL_MS: u64 = 20;
/// A client gives up on an answer after this.
pub const ANSWER_MS_MAX: u64 = 60_000;
/// Bytes of a response that the client reads at most.
pub const RESPONSE_BYTES_MAX: usize = 1 << 20;
/// Descriptors beside the connections of a run.
pub const FILES_SPARE: u64 = 256;
/// Connections opened to find one to each worker.
pub const FIGURES_ASKED_MAX: usize = 200;
/// Threads of the mixed load, a connection each.
pub const SOAK_CLIENTS: u64 = 24;
/// Rounds of parking; memory is compared between the second and the last.
pub const SOAK_PARKED_ROUNDS: usize = 5;
/// Between two reloads.
pub const RELOAD_MS: u64 = 2_000;
/// What memory may grow by between two looks at a server that does the same all the time: pages are taken and given back in turns.
pub const GROWTH_PERCENT_MAX: u64 = 20;
/// Added to that.
pub const GROWTH_BYTES_MAX: u64 = 8 << 20;
