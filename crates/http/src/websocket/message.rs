//! What the two ends of a WebSocket say: messages, and why they end. Plain data, with the words of tungstenite on the other side.
//! Rule: a code that may not be sent, and a reason that is too long, never reach the wire.

use bytes::Bytes;
use tokio_tungstenite::tungstenite;

use crate::{
    error::{Error, Result},
    limits::CLOSE_REASON_BYTES_MAX,
};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text in UTF-8.
    Text(String),
    /// Bytes.
    Binary(Bytes),
}

impl Message {
    /// Its bytes.
    pub(crate) fn length(&self) -> usize {
        match self {
            Message::Text(text) => text.len(),
            Message::Binary(bytes) => bytes.len(),
        }
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::Text(text)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::Text(text.to_owned())
    }
}

impl From<Bytes> for Message {
    fn from(bytes: Bytes) -> Message {
        Message::Binary(bytes)
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Message {
        Message::Binary(bytes.into())
    }
}

impl From<Message> for tungstenite::Message {
    fn from(message: Message) -> tungstenite::Message {
        match message {
            Message::Text(text) => tungstenite::Message::text(text),
            Message::Binary(bytes) => tungstenite::Message::Binary(bytes),
        }
    }
}

/// Why a WebSocket ends (RFC 6455 section 7.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// 1000 for a plain end, 1001 when one side goes away, 1005 when nothing was said, 3000 to 4999 for meanings of the application.
    pub code: u16,
    /// For people; at most 123 bytes.
    pub reason: String,
}

impl Close {
    pub(crate) const NORMAL: u16 = 1000;
    pub(crate) const GOING_AWAY: u16 = 1001;
    pub(crate) const PROTOCOL: u16 = 1002;
    /// Stands for a close without a code; never sent.
    pub(crate) const UNSAID: u16 = 1005;
    /// Stands for an end without a word; never sent.
    pub(crate) const GONE: u16 = 1006;
    pub(crate) const NO_TEXT: u16 = 1007;
    pub(crate) const POLICY: u16 = 1008;
    pub(crate) const TOO_LARGE: u16 = 1009;
    pub(crate) const FAILED: u16 = 1011;
    pub(crate) const TRY_AGAIN: u16 = 1013;

    pub(crate) fn new(code: u16, reason: impl Into<String>) -> Close {
        Close {
            code,
            reason: reason.into(),
        }
    }

    /// What may be sent: 1005, 1006 and 1015 stand for what was not.
    pub(crate) fn checked(code: u16, reason: &str) -> Result<Close> {
        if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
            return Err(Error::CloseFrame(
                "the code is one of 1000 to 1003, 1007 to 1014 and 3000 to 4999",
            ));
        }
        if reason.len() > CLOSE_REASON_BYTES_MAX {
            return Err(Error::CloseFrame("the reason has more than 123 bytes"));
        }
        Ok(Close::new(code, reason))
    }
}

impl From<&Error> for Close {
    /// The end of a WebSocket that broke a limit.
    fn from(error: &Error) -> Close {
        match error {
            Error::TooLarge { name, limit } => {
                Close::new(Close::TOO_LARGE, format!("{name} is {limit}"))
            }
            Error::Crowded { name, limit, .. } => {
                Close::new(Close::TRY_AGAIN, format!("{name} ({limit}) is full"))
            }
            _ => Close::new(Close::FAILED, "the handler failed"),
        }
    }
}

impl From<Close> for tungstenite::protocol::CloseFrame {
    fn from(close: Close) -> tungstenite::protocol::CloseFrame {
        tungstenite::protocol::CloseFrame {
            code: close.code.into(),
            reason: close.reason.into(),
        }
    }
}

impl From<Option<tungstenite::protocol::CloseFrame>> for Close {
    fn from(frame: Option<tungstenite::protocol::CloseFrame>) -> Close {
        match frame {
            Some(frame) => Close::new(frame.code.into(), frame.reason.as_str()),
            None => Close::new(Close::UNSAID, ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16, reason: &str, expected: &str) {
        let outcome = match Close::checked(code, reason) {
            Ok(close) => format!("{} {}", close.code, close.reason.len()),
            Err(error) => error.to_string(),
        };
        assert!(outcome.contains(expected), "{code}: {outcome}");
    }

    #[test]
    fn codes_and_reasons_that_may_be_sent() {
        check(1000, "", "1000 0");
        check(4999, &"x".repeat(CLOSE_REASON_BYTES_MAX), "4999 123");
        check(
            1000,
            &"x".repeat(CLOSE_REASON_BYTES_MAX + 1),
            "more than 123 bytes",
        );
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
            check(code, "", "the code is one of");
        }
    }
}
