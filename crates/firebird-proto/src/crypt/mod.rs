//! What lies between packets and the socket: ciphers, and compression before them. Knows no packet.
//! Rule: each direction has one state, and every byte passes it once, in the order of the stream.

mod cipher;
mod keys;
mod zlib;

#[cfg(test)]
mod tests;

pub use self::cipher::{Cipher, Encryption, Keystream};
pub use self::keys::ServerKeys;
pub use self::zlib::{Deflate, Inflate};
