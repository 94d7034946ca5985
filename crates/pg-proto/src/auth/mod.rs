//! Authentication by password: MD5 and SCRAM. Knows no messages: [`crate::startup`] carries the bytes.
//! Rule: a secret is in no `Debug` and no error, and randomness is an argument.

mod md5;
mod scram;

pub use md5::md5_password;
pub use scram::{Binding, NONCE_BYTES, Scram};

#[cfg(test)]
mod tests;
