//! How often something is looked at again. How long a server may take is its own crate's.
//! Rule: units are in the type.

use std::time::Duration;

/// Between two looks at something that is awaited.
pub const LOOK_AGAIN: Duration = Duration::from_millis(10);
