//! Every bound of this crate, by name. Rule: a queue, a message or a wait that has no bound here does not exist.

use std::time::Duration;

/// Shortest time that a lease is taken for. Below it a busy machine alone would lose leases.
pub const LEASE_TTL_MIN: Duration = Duration::from_millis(200);
/// Longest time that a lease is taken for: so long nobody goes on for one that died.
pub const LEASE_TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest name of a lease or a channel.
pub const CLUSTER_NAME_BYTES_MAX: usize = 128;
/// Most leases that are held at once within one process without a database.
pub const PROCESS_LEASES_MAX: usize = 100_000;
/// Longest message of a channel. PostgreSQL takes less than 8,000 bytes, of which the channel's name needs some.
pub const CHANNEL_MESSAGE_BYTES_MAX: usize = 7_800;
/// Messages that wait for a subscriber that does not read them. One more, and it is told that it has missed some.
pub const CHANNEL_MESSAGES_MAX: usize = 1_024;
/// Most messages of a channel that are kept.
pub const CHANNEL_KEEP_MAX: i64 = 1_000_000;
/// Kept messages that a follower reads at once.
pub const FOLLOW_BATCH_MAX: usize = 256;
/// Channels that have subscribers, of one engine.
pub const CHANNELS_MAX: usize = 10_000;
/// Shortest period of a timer that runs on one of all processes.
pub const CLUSTER_PERIOD_MIN: Duration = Duration::from_secs(1);
/// How long a release may take before it is left to the end of the lease.
pub(crate) const RELEASE_MAX: Duration = Duration::from_secs(2);
/// Longest time of the lease of a timer's tick, which is half of a period otherwise.
pub(crate) const TICK_TTL_MAX: Duration = Duration::from_secs(30);
/// How soon a lock that another one has is asked for again, at first; the pause doubles.
pub(crate) const LOCK_POLL_MIN: Duration = Duration::from_millis(20);
/// How soon it is at the latest.
pub(crate) const LOCK_POLL_MAX: Duration = Duration::from_millis(500);
/// Longest pause before an engine that failed is asked again.
pub(crate) const ENGINE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How soon a listener, or a follower of what is kept, that the server refused tries again.
pub(crate) const LISTEN_PAUSE: Duration = Duration::from_secs(1);
/// How long nothing may come on the connection that carries messages before it is asked whether it still does, and then before it counts as lost.
pub(crate) const LISTEN_SILENCE: Duration = Duration::from_secs(15);
/// Pauses between attempts to give back a lease whose caller has gone, the last of which is none. An attempt that finds the lease ends them;
/// after the last attempt the lease's own time does.
pub(crate) const ABANDON_PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::ZERO,
];
