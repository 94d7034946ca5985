//! What may be a name and what a message. Sends nothing. Rule: what is refused is refused by the name of its limit.

use crate::error::{Error, Result};
use crate::limits::{CHANNEL_MESSAGE_BYTES_MAX, CLUSTER_NAME_BYTES_MAX};

/// Refuses what cannot be a message.
pub(crate) fn check_message(message: &str) -> Result<()> {
    if message.len() > CHANNEL_MESSAGE_BYTES_MAX {
        return Err(Error::TooLarge {
            what: "the message",
            given: message.len(),
            limit: "CHANNEL_MESSAGE_BYTES_MAX",
            max: CHANNEL_MESSAGE_BYTES_MAX,
        });
    }
    if message.contains('\0') {
        return Err(Error::Usage("a message is a text without NUL".to_owned()));
    }
    Ok(())
}

/// Refuses a name that cannot be one of a lease or a channel.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<()> {
    if name.len() > CLUSTER_NAME_BYTES_MAX {
        return Err(Error::TooLarge {
            what,
            given: name.len(),
            limit: "CLUSTER_NAME_BYTES_MAX",
            max: CLUSTER_NAME_BYTES_MAX,
        });
    }
    if name.is_empty() || name.contains(char::is_control) {
        return Err(Error::Usage(format!(
            "{what} has at least one character and no control characters"
        )));
    }
    Ok(())
}
