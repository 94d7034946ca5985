//! In which form the events of the log are written, which who makes events for others asks. Writes nothing.
//! Rule: set once, before the first event.

use std::sync::OnceLock;

/// The form of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A line for people, its fields behind the message as `name=value`.
    #[default]
    Text,
    /// A JSON object on one line.
    Json,
}

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

impl LogFormat {
    /// The field of an event that has others, as the text of a JSON object: names of fields that are not known when a program is compiled.
    pub const FIELDS: &'static str = "fields.json";

    /// That of this process.
    pub fn of_process() -> LogFormat {
        FORMAT.get().copied().unwrap_or_default()
    }

    /// Makes it that of this process, unless one has been set.
    pub fn set(self) {
        // The first one stays: events in it may be written already.
        let _ = FORMAT.set(self);
    }
}
