//! Values that no database owns: exact numbers, dates, times of day, points in time, UUIDs, and JSON text. Pure: no connection, no clock.
//! How a database sends them is known where its protocol is. Rule: nothing is rounded, and the text of a value reads back as the value.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod date;
pub mod decimal;
mod error;
pub mod iso;
pub mod json;
pub mod limits;
mod time;
mod timestamp;
mod uuid;

pub use date::Date;
pub use error::ValueError;
pub use time::Time;
pub use timestamp::{Timestamp, TimestampTz};
pub use uuid::Uuid;
