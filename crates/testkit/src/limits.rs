//! How often something is looked at again, how long a server may take to stop, what is shown of its log, how fast time may grow. How long it may take to start is
//! its own crate's. Rule: units are in the type or the name.

use std::time::Duration;

/// Between two looks at something that is awaited.
pub const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The first port that servers of tests get, which have to be known before they are used.
pub const PORTS_FIRST: u16 = 20_000;

/// Ports that are tried until one is free.
pub const PORT_LOOKS_MAX: usize = 1_000;

/// For a server to stop. Generous: a busy machine must not fail a test.
pub const STOP_S_MAX: u64 = 60;

/// From the end of a server's connections to that of its process. A test that failed for another reason waits that long.
pub const END_SEEN_MAX: Duration = Duration::from_secs(1);

/// For a server to answer a question about its status. One that is stopped in its tracks does not.
pub const STATUS_ANSWER_MAX: Duration = Duration::from_secs(1);

/// Lines of a server's log that a failure shows.
pub const LOG_LINES_MAX: usize = 60;

/// How many times as long sixteen times as many bytes may take: in proportion it is 16, with a logarithm some 20.
pub const GROWTH_RATIO_MAX: u32 = 40;

/// CPU time for a mebibyte that is no finding, whatever less took: what is small has its bytes in the caches and no page faults. Time by
/// the square is found nevertheless with 16 MiB, from 7 ms for a mebibyte on.
pub const GROWTH_FLOOR: Duration = Duration::from_millis(100);

/// The variable of the environment that asks for 16 MiB too.
pub const GROWTH_LONG: &str = "TSUMUGI_GROWTH_LONG";
/// How often work waits for others that have to notice that they are over.
pub(crate) const YIELDS_MAX: usize = 100;
