//! Every limit of this crate (sizes, counts, timeouts of connections and half-closed ones), by name, with its default and its unit.
//! Knows numbers, not behaviour.
//! A limit that refuses a request is named in the text of the refusal, so that the reader knows what to raise.

use std::{ops::RangeInclusive, time::Duration};

/// What one worker accepts from its clients. Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Most header fields a request may have; one more is answered with 431. Any value but 100 makes HTTP/1 requests
    /// allocate once more each, because hyper then parses into the heap.
    pub headers_max: usize,
    /// Most bytes of request line and header fields together; more is answered with 431.
    pub header_bytes_max: usize,
    /// Longest time from the first byte of a request (or from the accept, for the first one) to the end of its header
    /// fields. The connection is closed after it.
    pub header_timeout_ms: u64,
    /// Longest time from the accept to the end of the TLS handshake.
    pub tls_handshake_ms: u64,
    /// Longest time from the accept to the end of the PROXY header, on listeners that ask for one.
    pub proxy_header_ms: u64,
    /// Most bytes of a PROXY header of version 2; version 1 has at most 107.
    pub proxy_header_bytes_max: usize,
    /// Most addresses in the fields in which trusted proxies name their clients; a request with one more is answered with 413.
    pub forwarded_hops_max: usize,
    /// Longest time a connection may stay open between two requests.
    pub keep_alive_ms: u64,
    /// Longest time a client may take no byte of a response that waits for it. The connection is closed after it.
    pub send_timeout_ms: u64,
    /// Longest time that a client on HTTP/1 which has closed its sending side waits for the next bytes of its answer: from here it looks
    /// like one that has gone. After it the connection is closed and the handler is dropped; 0 drops it at once.
    pub half_close_ms: u64,
    /// Longest time, after the server has closed its side early, to read and discard what the client still sends, so
    /// that the client can read the answer.
    pub linger_ms: u64,
    /// Most bytes discarded in that time.
    pub linger_bytes_max: usize,
    /// Most bytes in the body of a request, unless the reader asks for another bound; more is answered with 413.
    pub body_bytes_max: u64,
    /// Most bytes of request bodies in memory on one worker, of all requests that are not yet answered; one that needs more is answered
    /// with 503.
    pub bodies_bytes_max: u64,
    /// Longest time between two pieces of a request body; after it the reader gets an error that means 408.
    pub body_timeout_ms: u64,
    /// Most bytes that a connection buffers in each direction on HTTP/1, and of answers for each stream on HTTP/2. At least 8,192.
    pub connection_buffer_bytes_max: usize,
    /// Most bytes of bodies that one HTTP/2 connection has sent and no handler has read, in all of its streams: its window, and that of each
    /// stream, since hyper gives all streams of a connection the same. An upload gets no more of it in the time of a round trip, so less
    /// makes uploads from afar slower: 64 KiB are 640 KB a second over 100 ms. At least 65,535, with which every connection begins.
    pub connection_window_bytes_max: u32,
    /// Most bytes of whole responses in memory on one worker that their clients have not taken; one for which there is no room is answered with
    /// 503. One of up to 64 KiB is not counted.
    pub answers_bytes_max: u64,
    /// Most bytes queued in a streamed response before its sender waits for the client.
    pub stream_buffer_bytes_max: usize,
    /// Most requests at a time on one HTTP/2 connection.
    pub streams_max: u32,
    /// Most pairs in a query string, a form or a cookie header.
    pub parameters_max: usize,
    /// Most parts in a multipart body.
    pub parts_max: usize,
    /// Most bytes in the header fields of one part.
    pub part_header_bytes_max: usize,
    /// Most bytes in a part that is no file.
    pub field_bytes_max: u64,
    /// Most bytes of one uploaded file that are kept in memory; a larger file is written to disk.
    pub upload_memory_max: usize,
    /// Most bytes in a multipart body.
    pub upload_bytes_max: u64,
    /// Most bytes of uploaded files on disk on one worker, of all requests that have not dropped them; one that needs more is answered
    /// with 503.
    pub uploads_bytes_max: u64,
    /// Most bytes in a message of a WebSocket's client; after one more the WebSocket is closed with 1009.
    pub websocket_message_bytes_max: usize,
    /// Most bytes of messages on one worker that its WebSockets have not read to the end, that no handler has taken, or that slow clients
    /// have not taken. One for which there is no room ends its WebSocket, with 1013 or, when it is longer than the limit itself, 1009.
    /// What fits the buffers of each WebSocket (8,192 bytes in each direction) is not counted.
    pub websockets_bytes_max: u64,
    /// Longest time in which nothing comes from a WebSocket's client, which is sent a ping after half of it; and from the first byte of
    /// a message to its last. Does not run while a message of the client waits for the handler, since nothing more is read then.
    pub websocket_idle_ms: u64,
    /// Longest time that a handler has to end, and a client to say that it has closed, once a WebSocket is over.
    pub websocket_close_ms: u64,
    /// Longest time that an idle connection on HTTP/1 may take for one more request, which is its last, once another process serves in place
    /// of this one: a request that is on its way is answered.
    pub handover_idle_ms: u64,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            headers_max: HYPER_HEADERS_MAX,
            header_bytes_max: 32 * 1024,
            header_timeout_ms: 10_000,
            tls_handshake_ms: 10_000,
            proxy_header_ms: 5_000,
            proxy_header_bytes_max: 2 * 1024,
            forwarded_hops_max: 64,
            keep_alive_ms: 75_000,
            send_timeout_ms: 60_000,
            half_close_ms: 2_000,
            linger_ms: 1_000,
            linger_bytes_max: 1024 * 1024,
            body_bytes_max: 16 * 1024 * 1024,
            bodies_bytes_max: 128 * 1024 * 1024,
            body_timeout_ms: 15_000,
            connection_buffer_bytes_max: 32 * 1024,
            connection_window_bytes_max: 1024 * 1024,
            answers_bytes_max: 1024 * 1024 * 1024,
            stream_buffer_bytes_max: 64 * 1024,
            streams_max: 128,
            parameters_max: 1_000,
            parts_max: 256,
            part_header_bytes_max: 8 * 1024,
            field_bytes_max: 1024 * 1024,
            upload_memory_max: 256 * 1024,
            upload_bytes_max: 64 * 1024 * 1024,
            uploads_bytes_max: 4 * 1024 * 1024 * 1024,
            websocket_message_bytes_max: 1024 * 1024,
            websockets_bytes_max: 64 * 1024 * 1024,
            websocket_idle_ms: 60_000,
            websocket_close_ms: 5_000,
            handover_idle_ms: 500,
        }
    }
}

/// The number of header fields that hyper parses on the stack.
pub(crate) const HYPER_HEADERS_MAX: usize = 100;

/// The smallest connection buffer that hyper accepts.
pub(crate) const HYPER_BUFFER_BYTES_MIN: usize = 8 * 1024;

/// Header fields of one message that an application makes: a response, or a request of its client.
pub const HEADER_FIELDS_MAX: usize = 1_000;

/// Fields behind the body of a message.
pub(crate) const TRAILER_FIELDS_MAX: usize = 64;

/// Bytes of their names and values together.
pub(crate) const TRAILER_BYTES_MAX: usize = 8 * 1024;

/// Most segments in the pattern of a route. It also bounds the depth of a search.
pub const SEGMENTS_MAX: usize = 64;

/// The windows that HTTP/2 allows a receiver that is told of them when the connection begins (RFC 9113 sections 6.5.2 and 6.9.2).
pub(crate) const HTTP2_WINDOW_BYTES: RangeInclusive<u32> = 65_535..=i32::MAX as u32;

/// Bytes read first from a connection to tell HTTP/2 from HTTP/1.
pub(crate) const SNIFF_BYTES_MAX: usize = 1024;

/// Largest write that is copied, to leave together with others. A larger one leaves at once.
pub(crate) const POSTPONED_BYTES_MAX: usize = 4 * 1024;

/// Bytes of all connections of a worker that wait to leave together.
pub(crate) const OUTBOX_BYTES_MAX: usize = 64 * 1024;

/// How long answers wait for others, besides the one task that runs.
pub(crate) const OUTBOX_WAIT_MAX: Duration = Duration::from_micros(250);

/// Bytes of an uploaded file that go to disk in one write.
pub(crate) const SPOOL_WRITE_BYTES: usize = 64 * 1024;

/// Longest boundary of a multipart body (RFC 2046 section 5.1.1).
pub(crate) const BOUNDARY_BYTES_MAX: usize = 70;

/// Bytes of a PROXY header of version 1, its end of line included: what its specification has as the worst case.
pub(crate) const PROXY_LINE_BYTES_MAX: usize = 107;

/// Longest `x-request-id` of a client that is taken over.
pub(crate) const REQUEST_ID_BYTES_MAX: usize = 128;

/// Lines of one worker that wait to be written to the access log; one more is dropped and counted.
pub(crate) const ACCESS_LOG_LINES_MAX: usize = 16_384;

/// Most bytes of a path in a line of the access log; the rest is cut off.
pub(crate) const ACCESS_LOG_PATH_BYTES_MAX: usize = 2 * 1024;

/// How long a line of the access log waits at most before it is written, in milliseconds.
pub(crate) const ACCESS_LOG_WAIT_MS: u64 = 50;

/// Bytes of the access log that are gathered for one write.
pub(crate) const ACCESS_LOG_WRITE_BYTES: usize = 64 * 1024;

/// Bytes of the token that the dashboard asks for. Fewer could be guessed.
pub(crate) const ADMIN_TOKEN_BYTES_MIN: usize = 16;

/// See [`ADMIN_TOKEN_BYTES_MIN`]. More fit into no header that a client would send.
pub(crate) const ADMIN_TOKEN_BYTES_MAX: usize = 1_024;

/// Connections to the admin listener at a time; one more is closed at once.
pub(crate) const ADMIN_CONNECTIONS_MAX: usize = 64;

/// How long a connection to the admin pages is open for its first request although they are stopped, in milliseconds.
pub(crate) const ADMIN_FIRST_MS_MAX: u64 = 200;

/// How long admin pages that are under way may take once they are stopped, in milliseconds.
pub(crate) const ADMIN_LAST_MS_MAX: u64 = 1_000;

/// Responses of up to so many bytes do not count as those that wait for their clients.
pub(crate) const ANSWER_UNCOUNTED_BYTES_MAX: usize = 64 * 1024;

/// Bodies with fewer bytes are not compressed: the head would weigh more than is saved.
pub(crate) const COMPRESSED_BYTES_MIN: usize = 1024;

/// Most bytes that are compressed on the worker; more is done off it.
pub(crate) const COMPRESSED_IN_PLACE_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a stream that are compressed at a time.
pub(crate) const COMPRESSED_TURN_BYTES: usize = 16 * 1024;

/// Streams of one worker that are compressed at a time; one more is sent as it is.
pub(crate) const COMPRESSED_STREAMS_MAX: usize = 256;

/// Bytes of a file that are read at a time.
pub(crate) const FILE_CHUNK_BYTES: usize = 64 * 1024;

/// Most bytes of a file that is kept in memory.
pub(crate) const FILE_CACHED_BYTES_MAX: usize = FILE_CHUNK_BYTES;

/// Most bytes of the files that one worker keeps in memory, names included.
pub(crate) const FILES_CACHED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a file in memory is taken to be the one on disk, in milliseconds.
pub(crate) const FILE_FRESH_MS: u64 = 500;

/// Most bytes of a file that an application reads whole from its own folder.
pub(crate) const APP_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Such files that a process reads at once; others wait. Together they take 128 MiB until their readers have them.
pub(crate) const APP_FILES_READ_MAX: usize = 8;

/// Longest path of a file below its folder, decoded.
pub(crate) const FILE_PATH_BYTES_MAX: usize = 1024;

/// Most bytes of a claimed body length for which memory is reserved before they have come.
pub(crate) const BODY_RESERVED_BYTES_MAX: u64 = 256 * 1024;

/// Most bytes of an unread body for which the connection goes on: they have probably come with the header.
pub(crate) const BODY_SKIPPED_BYTES_MAX: u64 = 4 * 1024;

/// Fewer bytes could be guessed.
pub(crate) const SECRET_BYTES_MIN: usize = 32;

/// Secrets in `TSUMUGI_SECRET`: each costs an HMAC for every forged cookie.
pub(crate) const SECRETS_MAX: usize = 8;

/// Bytes of a cookie with its name and attributes that every browser keeps (RFC 6265 section 6.1).
pub const COOKIE_BYTES_MAX: usize = 4_096;

/// Random bytes of a session's id when a store keeps the session.
pub(crate) const SESSION_ID_BYTES: usize = 32;

/// Random bytes in a session's token for forms.
pub(crate) const CSRF_BYTES: usize = 32;

/// Bytes that are read from a WebSocket at a time; its buffer grows for a longer message. As many wait to be sent without being counted.
pub(crate) const WEBSOCKET_READ_BYTES: usize = 8 * 1024;

/// Bytes that a WebSocket's client of the same process lets wait in each direction.
pub(crate) const TRIAL_SOCKET_BYTES: usize = 64 * 1024;

/// Bytes that the buffers of a WebSocket have after a long message, without counting.
pub(crate) const WEBSOCKET_KEPT_BYTES: u64 = 64 * 1024;

/// Bytes of larger buffers that the WebSockets of a worker keep for their next messages; what finds no room there is given back when the
/// message has gone.
pub(crate) const WEBSOCKETS_KEPT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a ping or a pong of a client before what it carries (RFC 6455 section 5.2).
pub(crate) const WEBSOCKET_CONTROL_HEAD_BYTES: usize = 6;

/// Pongs that wait until a WebSocket's client takes them; with one more waiting nothing more of it is read.
pub(crate) const WEBSOCKET_PONGS_MAX: usize = 16;

/// Most bytes of the reason in a WebSocket's close (RFC 6455 section 5.5).
pub(crate) const CLOSE_REASON_BYTES_MAX: usize = 123;

/// Header maps kept for each thread. One circulates for each request that is being handled; more are rarely needed at once.
pub(crate) const SPARE_MAPS_MAX: usize = 16;

/// A header map that grew past this many fields is not worth its memory.
pub(crate) const SPARE_FIELDS_MAX: usize = 64;

/// Most digits of an integer in JSON, as of `String#to_i`: the time to compute a number grows with the square of its digits, and a
/// body may hold thousands of such numbers.
pub(crate) const JSON_DIGITS_MAX: usize = 4_096;
