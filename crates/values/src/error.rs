//! What can go wrong with one value. Where it stood is for the caller to add. Rule: no message shows the value.

/// `FromStr` by a function that returns an `Option`.
macro_rules! from_text {
    ($value:ident $what:literal $parse:expr) => {
        impl std::str::FromStr for $value {
            type Err = $crate::ValueError;

            fn from_str(text: &str) -> Result<Self, $crate::ValueError> {
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(text).ok_or($crate::ValueError::Invalid { what: $what })
            }
        }
    };
}

pub(crate) use from_text;

/// Why a text is no value, or a value has no place in another type. Exhaustive: the protocols pass each of them on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The text is none of these values.
    #[error("the text is no {what}")]
    Invalid {
        /// What was being read.
        what: &'static str,
    },
    /// The value is right, but the Rust type cannot represent it.
    #[error("the value is out of range for {rust}")]
    OutOfRange {
        /// What was asked for.
        rust: &'static str,
    },
}
