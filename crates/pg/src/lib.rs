//! The PostgreSQL driver: where the server is, how a connection is made, statements on it. Sockets and TLS around a protocol crate.
//! Everything stays on one thread of a tokio runtime; nothing here blocks it. Passwords are in no error and in no `Debug`.

#![forbid(unsafe_code)]
