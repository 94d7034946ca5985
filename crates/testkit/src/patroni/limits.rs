//! How long a cluster may take, how often its start is tried, and Patroni's own times. Generous: a busy machine must not fail a test.

/// For a cluster to be whole: initdb, two base backups, a standby that is synchronous.
pub const START_S_MAX: u64 = 180;

/// Ports that were free may be taken by others before they are used.
pub const START_TRIES_MAX: usize = 3;

/// How long the leader's key outlives its holder, unless another time is asked for. Patroni wants `loop_wait` and twice `retry_timeout` in it, and its
/// loop takes a while where many tests run.
pub const TTL_S: u32 = 8;

/// Between two looks of Patroni at its cluster.
pub const LOOP_WAIT_S: u32 = 1;

/// For etcd to answer, after which a primary steps down. Patroni gives each of three servers a third of it, and a second at least.
pub const RETRY_TIMEOUT_S: u32 = 3;

/// The shortest time that Patroni takes for the leader's key.
pub const TTL_S_MIN: u32 = LOOP_WAIT_S + 2 * RETRY_TIMEOUT_S;

const _: () = assert!(TTL_S_MIN <= TTL_S);

/// After which a primary gives up a standby that is silent, and a standby its primary: until then commits wait for a synchronous one.
pub const REPLICATION_SILENCE_MS: u32 = 4_000;
