//! WebSocket (RFC 6455) on connections of HTTP/1.1: the handshake, and a conversation in messages. Frames are tungstenite's business.
//! Over HTTP/2 (RFC 8441) nothing is offered, so browsers open a connection of HTTP/1.1 for it.
//! Rule: a client that sends too much, too slowly or nothing, and one that does not read, is closed by a limit with a name.

mod client;
mod conversation;
mod frame_gate;
mod handshake;
mod message;

pub use client::WebSocketClient;
pub use conversation::{WebSocket, converse};
pub use handshake::{PageOrigins, WEBSOCKET_WISH, WebSocketOffer, WebSocketTerms};
pub use message::{Close, Message};
