//! The hash that servers before Firebird 3.0 knew a password by. It protects nothing: it can be replayed as the password.
//! Rule: made as crypt(3) makes it with the salt that all Firebird servers share.

use super::des;

/// Bytes of a password that count.
const PASSWORD_BYTES: usize = 8;

/// What is sent for a password: the eleven characters that crypt(3) gives after the salt.
pub fn legacy_hash(password: &str) -> String {
    let mut key = [0; PASSWORD_BYTES];
    for (to, from) in key.iter_mut().zip(password.bytes()) {
        *to = from << 1;
    }
    des::crypt(key, SALT)
}

/// `9z`, six bits for each of the characters, the first one's lowest.
const SALT: u32 = 11 | 63 << 6;
