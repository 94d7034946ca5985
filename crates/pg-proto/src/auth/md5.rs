//! The answer to an MD5 request (the manual's "AuthenticationMD5Password"). Not a recommendation.
//! Rule: what is sent is a hash of a hash, with the server's salt.

use md5::{Digest, Md5};

/// What to send as the password: `md5` and 32 hexadecimal digits.
pub fn md5_password(user: &str, password: &str, salt: [u8; 4]) -> String {
    let inner = hex(&[password.as_bytes(), user.as_bytes()]);
    format!("md5{}", hex(&[inner.as_bytes(), &salt]))
}

fn hex(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    for part in parts {
        hash.update(part);
    }
    let hash = hash.finalize();
    let digits = hash.iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}
