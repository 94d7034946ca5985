//! The name that a user logs in by. Knows no password.
//! Rule: as in SQL, a name is in capitals unless it is quoted.

use std::borrow::Cow;

/// The name as the server knows it: in capitals, or what stands between double quotes, with `""` for a quote in it.
pub fn login_name(user: &str) -> Cow<'_, str> {
    let quoted = user
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
        None if user.bytes().any(|byte| byte.is_ascii_lowercase()) => {
            Cow::Owned(user.to_ascii_uppercase())
        }
        None => Cow::Borrowed(user),
    }
}
