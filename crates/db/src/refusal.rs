//! How both faces answer a request that ends with an error of the database which is not the application's fault. Which errors are so, the error says.
//! Rule: the text for the client has no word of the database's.

/// The response to a request that is not the application's fault. What the database says itself is not in it: it has names of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A client's value is not one that the database takes.
    Value,
    /// No connection became free in time, or too many wait for one; nothing was run.
    Busy,
}

impl Refusal {
    /// The status of HTTP.
    pub fn status(self) -> u16 {
        match self {
            Refusal::Value => 422,
            Refusal::Busy => 503,
        }
    }

    /// The text for the client.
    pub fn text(self) -> &'static str {
        match self {
            Refusal::Value => "a value is not one that the database takes",
            Refusal::Busy => "the database is busy; try again later",
        }
    }
}
