//! Limits and times of certificates by ACME, all built in.

use std::time::Duration;

/// Names of one certificate: what Let's Encrypt takes.
pub const ACME_NAMES_MAX: usize = 100;

/// Bytes of a name (RFC 1035).
pub(crate) const NAME_BYTES_MAX: usize = 253;

/// Bytes of one part of a name.
pub(crate) const LABEL_BYTES_MAX: usize = 63;

/// Bytes of a challenge's token, which is the name of a file.
pub(crate) const TOKEN_BYTES_MAX: usize = 255;

/// Bytes of one answer of the directory, a chain of certificates among them.
pub(crate) const ACME_ANSWER_BYTES_MAX: usize = 1 << 20;

/// Bytes of a file in the cache.
pub(crate) const ACME_FILE_BYTES_MAX: u64 = 1 << 20;

/// How long all addresses of the directory together may take until one answers.
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(15);

/// How long one answer of the directory is waited for, connecting included.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(30);

/// How long the directory may take to look at the challenges, and to issue.
pub(crate) const POLL_MAX: Duration = Duration::from_secs(120);

/// How long a whole order may take.
pub(crate) const ORDER_MAX: Duration = Duration::from_secs(600);

/// How often the cache is looked at for what another process has put there, and the clock for what is due.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The first pause after a try that cost the authority nothing, as where the directory cannot be reached; it doubles.
pub(crate) const UNREACHED_REST: Duration = Duration::from_secs(10);

/// The longest of those pauses.
pub(crate) const UNREACHED_REST_MAX: Duration = Duration::from_secs(600);

/// The first pause after a refusal; it doubles. At Let's Encrypt a name may fail five times within an hour, which one process keeps to.
pub(crate) const REFUSED_REST: Duration = Duration::from_secs(120);

/// The longest of those pauses.
pub(crate) const REFUSED_REST_MAX: Duration = Duration::from_secs(6 * 3_600);

/// Orders of one process are at least this far apart where they succeed: with a clock that is wrong every certificate looks due.
pub(crate) const SUCCESS_REST_MAX: Duration = Duration::from_secs(3_600);
