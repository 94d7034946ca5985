//! The profiles of the public suite HttpArena that are measured here: their names, and what each needs of a server. Measures nothing.
//! Source: the suite's documents of its test profiles. Not here: HTTP/3, gRPC, gateways and several profiles at once.

/// A profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Two numbers of the query, and one of the body, added.
    Baseline,
    /// Sixteen requests at once on each connection.
    Pipelined,
    /// The baseline, ten requests a connection.
    LimitedConn,
    /// Items of a dataset with a computed field, as JSON.
    Json,
    /// The same, compressed for each request.
    JsonComp,
    /// The same over TLS.
    JsonTls,
    /// Bodies up to 20 MiB, counted.
    Upload,
    /// Twenty files.
    Static,
    /// A query by a range of prices.
    AsyncDb,
    /// Reads with a cache of 200 ms, writes, pages.
    Crud,
    /// The baseline over HTTP/2 within TLS.
    BaselineH2,
    /// The files over HTTP/2 within TLS.
    StaticH2,
    /// The baseline over HTTP/2 without TLS.
    BaselineH2c,
    /// The items over HTTP/2 without TLS.
    JsonH2c,
    /// Messages of a WebSocket, sent back.
    EchoWs,
}

impl Profile {
    /// All of them, in the order of the suite.
    pub const ALL: [Profile; 15] = [
        Profile::Baseline,
        Profile::Pipelined,
        Profile::LimitedConn,
        Profile::Json,
        Profile::JsonComp,
        Profile::JsonTls,
        Profile::Upload,
        Profile::Static,
        Profile::AsyncDb,
        Profile::Crud,
        Profile::BaselineH2,
        Profile::StaticH2,
        Profile::BaselineH2c,
        Profile::JsonH2c,
        Profile::EchoWs,
    ];

    /// The suite's own name.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Baseline => "baseline",
            Profile::Pipelined => "pipelined",
            Profile::LimitedConn => "limited-conn",
            Profile::Json => "json",
            Profile::JsonComp => "json-comp",
            Profile::JsonTls => "json-tls",
            Profile::Upload => "upload",
            Profile::Static => "static",
            Profile::AsyncDb => "async-db",
            Profile::Crud => "crud",
            Profile::BaselineH2 => "baseline-h2",
            Profile::StaticH2 => "static-h2",
            Profile::BaselineH2c => "baseline-h2c",
            Profile::JsonH2c => "json-h2c",
            Profile::EchoWs => "echo-ws",
        }
    }

    /// Whether it asks the database.
    pub fn needs_database(self) -> bool {
        matches!(self, Profile::AsyncDb | Profile::Crud)
    }
}
