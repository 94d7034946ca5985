//! Every bound of this crate, by name. All are built in.

/// Failures of one request that are reported; the next one is reported as "more".
pub const SHAPE_FAILURES_MAX: usize = 100;

/// How deep a shape may be nested.
pub const SHAPE_DEPTH_MAX: usize = 16;

/// Fields of a shape, those of nested ones included.
pub const SHAPE_FIELDS_MAX: usize = 1_000;

/// Items of a list whose rule names no length.
pub const SHAPE_ITEMS_MAX: usize = 1_000;

/// Values among which a field may choose.
pub const SHAPE_CHOICES_MAX: usize = 1_000;

/// Choices that a message names.
pub const SHAPE_CHOICES_SHOWN_MAX: usize = 20;

/// Bytes of a text that a regular expression with look-around or backreferences is looked for in. The time may grow with the square of it.
pub const SHAPE_HARD_PATTERN_BYTES_MAX: usize = 4_096;

/// Texts of one request, of `SHAPE_HARD_PATTERN_BYTES_MAX` each, that such expressions are looked for in. Of shorter ones so many more as the squares of their
/// lengths are smaller.
pub const SHAPE_HARD_PATTERN_TEXTS_MAX: usize = 16;

/// Steps back that a regular expression may take for one text before it counts as one that is hard to decide.
pub const SHAPE_PATTERN_STEPS_MAX: usize = 10_000;

/// Texts of one request that are hard to decide and for which an expression may take as many steps as it is allowed. Those beyond do not fit.
pub const SHAPE_PATTERN_TRIALS_MAX: usize = 5;

/// Bytes of a text for each of which it counts as one more among `SHAPE_PATTERN_TRIALS_MAX`.
pub const SHAPE_TRIAL_BYTES: usize = 1_024;

/// Languages that messages may be in.
pub const SHAPE_LANGUAGES_MAX: usize = 100;

/// Languages of one `Accept-Language` that are looked at.
pub const ACCEPT_LANGUAGES_MAX: usize = 20;

/// Bytes of an email address (RFC 5321, 4.5.3.1.3, without the brackets).
pub const EMAIL_BYTES_MAX: usize = 254;

/// Bytes of a URL.
pub const URL_BYTES_MAX: usize = 2_048;
