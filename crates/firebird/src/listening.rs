//! What a connection knows of its events: whether there is a listener, and the channel of events, a second connection. Reads nothing.
//! Rule: the channel is kept from one listener to the next.

use std::cell::{Cell, RefCell};

use bytes::BytesMut;
use tokio::net::TcpStream;

/// What a connection knows of its events.
#[derive(Default)]
pub(crate) struct Listening {
    /// There is a listener.
    pub(crate) busy: Cell<bool>,
    /// The channel, while there is no listener.
    pub(crate) channel: RefCell<Option<EventChannel>>,
    /// The number of the last listener, by which its requests are told from those of listeners before it.
    pub(crate) last: Cell<u32>,
}

/// The second connection, on which the server reports events.
pub(crate) struct EventChannel {
    pub(crate) stream: TcpStream,
    pub(crate) input: BytesMut,
}
