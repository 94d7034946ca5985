//! Every limit of this crate, by name, with its default and its unit. Knows numbers, not behaviour.
//! A limit that refuses a call is named in the text of the refusal, so that the reader knows what to raise.

/// What one worker accepts from its clients. Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct RpcLimits {
    /// Largest message of a client, and of an answer.
    pub message_bytes_max: usize,
    /// Bytes of messages that one worker holds at a time, over all connections: those that are coming and those of calls that wait for
    /// their answers. As many again may lie unread in the windows of connections, and 65,535 for each connection for which nothing is left.
    pub inbound_bytes_max: usize,
    /// Bytes of answers that wait on one worker for slow clients. Beyond it, answers larger than 64 KiB are refused.
    pub outbound_bytes_max: usize,
    /// Longest time between two pieces of one message, and, beside a second for each 64 KiB of it, for all waits of one; after it the call
    /// fails.
    pub message_timeout_ms: u64,
    /// Most calls at a time on one connection.
    pub streams_max: u32,
    /// Most bytes in the metadata of a call.
    pub header_bytes_max: u32,
    /// Longest time from the accept to the end of the TLS handshake.
    pub tls_handshake_ms: u64,
    /// Longest time from the accept to the first bytes of HTTP/2.
    pub preface_ms: u64,
    /// How often a silent client is asked whether it is there.
    pub keep_alive_ms: u64,
    /// Longest time for its answer; the connection is closed after it.
    pub keep_alive_answer_ms: u64,
    /// Longest time that a client with answers waiting may take none of them. The connection is closed after it.
    pub send_timeout_ms: u64,
    /// Microseconds that a worker whose clients call in quick succession stays awake for the next call, at most [`AWAKE_US_MAX`]; 0 sleeps
    /// at once.
    pub awake_us: u64,
    /// Longest time that a call may wait for a notice (`retry_wait`); a longer wish is cut.
    pub retry_wait_ms_max: u64,
    /// Writes of one stream that are under way at a time; further messages wait.
    pub stream_writes_max: usize,
    /// Bytes of keys and values in those writes.
    pub stream_bytes_max: usize,
    /// Watches of all clients of the server. Each holds at most [`WATCH_CHANGES_MAX`](tsumugi_kv::limits::WATCH_CHANGES_MAX) changes that its client has
    /// not taken.
    pub watches_max: usize,
    /// Watches of one connection. Each is one of `streams_max` calls, and other calls need some, too.
    pub connection_watches_max: usize,
    /// How often a watch says that it goes on when there is nothing to report.
    pub watch_alive_ms: u64,
    /// Calls of one engine that are under way at a time on one worker; further ones are refused. Those that wait for a record are among them.
    pub engine_calls_max: usize,
}

impl Default for RpcLimits {
    fn default() -> RpcLimits {
        RpcLimits {
            message_bytes_max: MESSAGE_BYTES_DEFAULT,
            inbound_bytes_max: 512 * 1024 * 1024,
            outbound_bytes_max: 512 * 1024 * 1024,
            message_timeout_ms: 30_000,
            streams_max: 1_024,
            header_bytes_max: 16 * 1024,
            tls_handshake_ms: 10_000,
            preface_ms: 10_000,
            keep_alive_ms: 60_000,
            keep_alive_answer_ms: 20_000,
            send_timeout_ms: 60_000,
            awake_us: 200,
            retry_wait_ms_max: 24 * 60 * 60 * 1_000,
            stream_writes_max: 256,
            stream_bytes_max: 1024 * 1024,
            watches_max: 4_096,
            connection_watches_max: 512,
            watch_alive_ms: 15_000,
            engine_calls_max: 16_384,
        }
    }
}

/// A value of 64 MiB, the longest key, and what surrounds them. `tsumugi kv` raises it where a database takes larger values.
pub const MESSAGE_BYTES_DEFAULT: usize = 64 * 1024 * 1024 + 128 * 1024;

/// The largest `awake_us`: beyond it a worker would be awake for clients that call now and then.
pub const AWAKE_US_MAX: u64 = 2_000;

/// The window in which a worker stays awake is `awake_us` once more for each so many bytes of the last call and its answer: a client that
/// copies them needs that time before it calls again.
pub const AWAKE_BYTES: usize = 16 * 1024;

/// Most entries of one repeated field in a client's message: as many writes as a batch may have. An empty entry is two bytes on the
/// wire and up to 72 in memory.
#[cfg(feature = "service")]
pub const MESSAGE_ENTRIES_MAX: usize = tsumugi_kv::limits::BATCH_WRITES_MAX;

/// Slowest that a message may come: beside `message_timeout_ms` it has a second for each of so many bytes.
pub const MESSAGE_BYTES_PER_SECOND_MIN: usize = 64 * 1024;

/// Answers up to this size are not refused when those that wait are more than `outbound_bytes_max`, but counted.
pub const SMALL_MESSAGE_BYTES: usize = 64 * 1024;

/// Memory that is taken for the rest of a message before it comes, at most: as much as the client may send without asking.
pub const RESERVED_AHEAD_BYTES: usize = STREAM_WINDOW_BYTES as usize;

/// And at most this many times what has come, so that claims alone take none.
pub const RESERVED_AHEAD_FACTOR: usize = 64;

/// Longest frame that a client may send. One connection has memory for one of them as soon as it begins.
pub const FRAME_BYTES_MAX: u32 = 64 * 1024;

/// Bytes of one connection that are read in one turn of the worker, so that calls use them before they leave the processor's cache.
pub const READ_TURN_BYTES: usize = 256 * 1024;

/// Bytes that a client may send on one call before the server has taken them.
pub const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;

/// Most bytes that a client may send on one connection before the server has taken them.
pub const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// Fewest: those with which HTTP/2 begins a connection (RFC 9113 section 6.9.2).
pub const CONNECTION_WINDOW_BYTES_MIN: u32 = 65_535;

/// A new connection may send ahead one part in so many of what is left of `inbound_bytes_max` for all of them.
pub const CONNECTION_WINDOW_PARTS: usize = 64;

/// Bytes that a connection keeps for each call that is being answered.
pub const SEND_BUFFER_BYTES: usize = 256 * 1024;

/// Calls that a client may open and take back before the connection is closed.
pub const RESET_STREAMS_MAX: usize = 1_024;

/// Calls of one connection that are begun in one turn of the worker, so that others get their turn.
pub const CALLS_PER_TURN: usize = 64;

/// Messages of one stream that are handled in one turn of the worker, so that others get their turn.
pub const STREAM_MESSAGES_PER_TURN: usize = 512;

/// Least `watch_alive_ms`: what is less is this.
pub const WATCH_ALIVE_MS_MIN: u64 = 100;

/// Tokens in a token file.
pub const TOKENS_MAX: usize = 64;

/// Bytes of a token file.
pub const TOKEN_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Fewest bytes of a token.
pub const TOKEN_BYTES_MIN: usize = 16;

/// Most bytes of a name or value in the parameters of Synchronize and Rebuild.
pub const PARAMETER_BYTES_MAX: usize = 4 * 1024;

/// How often a call with `retry_wait` looks for what came without a notice, in milliseconds; also when its time is over.
pub const RETRY_LOOK_MS: u64 = 5_000;

/// How often such a call looks again where the records are an engine's, whose other users give no notices here; it also sees within this time that
/// the server ends. In milliseconds.
pub const ENGINE_LOOK_MS: u64 = 1_000;

/// Changes between the watch of an engine and the stream to its client. Others wait within the bounds of the engine's watch.
pub const ENGINE_CHANGES_MAX: usize = 16;

/// What a client bears with. Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct ClientLimits {
    /// Longest time to connect, all attempts together.
    pub connect_ms_max: u64,
    /// Longest time from a call to its answer; `retry_wait` comes on top.
    pub call_ms_max: u64,
    /// Largest answer.
    pub message_bytes_max: usize,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connect_ms_max: 2_000,
            call_ms_max: 30_000,
            message_bytes_max: MESSAGE_BYTES_DEFAULT,
        }
    }
}

/// Rest of a client after the first attempt to connect that failed; each further one doubles it.
pub const RECONNECT_MS_MIN: u64 = 50;

/// Longest rest between two attempts to connect.
pub const RECONNECT_MS_MAX: u64 = 5_000;

/// A watch is taken for lost when nothing has come for so many times `alive_ms` of its server.
pub const WATCH_SILENCE_FACTOR: u32 = 3;

/// Longest `alive_ms` that a client believes.
pub const WATCH_ALIVE_MS_MAX: u64 = 10 * 60 * 1_000;

/// Shortest silence after which a watch is taken for lost.
pub const WATCH_SILENCE_MS_MIN: u64 = 1_000;

/// Records of one call, when a client splits many among calls.
pub const CALL_RECORDS_MAX: usize = 1_000;

/// Bytes of keys and values of one call, when a client splits many records among calls. One record may be larger.
pub const CALL_BYTES_MAX: usize = 1024 * 1024;

/// Calls of one client that are under way at a time for many records.
pub const CALLS_MAX: usize = 8;

/// Bytes of requests that a client gathers in a stream before it sends them.
pub const GATHERED_BYTES_MAX: usize = 32 * 1024;
