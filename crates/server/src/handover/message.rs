//! What two processes say to each other when one takes over from the other, as bytes. Knows no socket.
//! Rule: a message that does not begin as one is refused at its first wrong byte, and nothing is kept for one that is longer than the limit.

use tsumugi_worker::FileOwner;

use crate::limits::{HANDOVER_MESSAGE_BYTES_MAX, HANDOVER_SOCKETS_EACH};

/// The first bytes of every message, in all versions.
const BEGINNING: [u8; 2] = *b"TH";

/// The version of what follows. Both sides speak the same one.
const VERSION: u8 = 1;

/// The beginning, the version, the kind, and the length of the rest in two bytes, the greater one first.
const HEAD_BYTES: usize = 6;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HandoverMessage {
    /// The successor asks for the sockets.
    Ask,
    /// Some sockets, which come with it.
    Sockets(Vec<SocketLabel>),
    /// No further sockets come.
    Complete,
    /// The successor serves: whoever served before drains.
    Serving,
    /// There will be no handover, for this reason.
    Refused(String),
    /// Whoever served before has let go of its stores, and opens none again.
    Released,
}

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketLabel {
    pub(super) role: SocketRole,
    pub(super) owner: FileOwner,
}

/// Which of the servers of a process has a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketRole {
    /// The application's: `--listen`.
    Application,
    /// The pages for operators: `--admin`.
    Admin,
    /// The key-value service beside an application: `--kv-listen`.
    KeyValue,
}

/// Why bytes are no message. The connection is of no further use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MessageError {
    #[error("what it says is no handover")]
    Beginning,
    #[error(
        "it speaks version {version} of the handover, and this program version {VERSION}: restart instead"
    )]
    Version { version: u8 },
    #[error("it sent a message of the unknown kind {kind}")]
    Kind { kind: u8 },
    #[error(
        "it sent a message of {length} bytes, at most {HANDOVER_MESSAGE_BYTES_MAX} (handover_message_bytes_max)"
    )]
    Length { length: usize },
    #[error("it sent a message whose content does not fit its kind")]
    Content,
}

const ASK: u8 = 1;
const SOCKETS: u8 = 2;
const COMPLETE: u8 = 3;
const SERVING: u8 = 4;
const REFUSED: u8 = 5;
const RELEASED: u8 = 6;

impl HandoverMessage {
    /// The message as it is sent. A reason that is too long is cut.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, content) = match self {
            HandoverMessage::Ask => (ASK, Vec::new()),
            HandoverMessage::Sockets(labels) => {
                let labels = labels.iter().flat_map(|label| label.bytes());
                (SOCKETS, labels.collect())
            }
            HandoverMessage::Complete => (COMPLETE, Vec::new()),
            HandoverMessage::Serving => (SERVING, Vec::new()),
            HandoverMessage::Released => (RELEASED, Vec::new()),
            HandoverMessage::Refused(reason) => {
                let end = reason.floor_char_boundary(HANDOVER_MESSAGE_BYTES_MAX);
                let reason = reason.get(..end).unwrap_or_default();
                (REFUSED, reason.as_bytes().to_vec())
            }
        };
        let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
        let mut bytes = BEGINNING.to_vec();
        bytes.extend([VERSION, kind]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(content);
        bytes
    }

    /// The first message of these bytes, and how many of them it takes; none as long as it is not whole.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<(HandoverMessage, usize)>, MessageError> {
        if bytes.iter().zip(BEGINNING).any(|(a, b)| *a != b) {
            return Err(MessageError::Beginning);
        }
        match bytes.get(2) {
            Some(&version) if version != VERSION => return Err(MessageError::Version { version }),
            _ => {}
        }
        match bytes.get(3) {
            Some(&kind) if !(ASK..=RELEASED).contains(&kind) => {
                return Err(MessageError::Kind { kind });
            }
            _ => {}
        }
        let Some(&[_, _, _, kind, high, low]) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > HANDOVER_MESSAGE_BYTES_MAX {
            return Err(MessageError::Length { length });
        }
        let end = HEAD_BYTES + length;
        let Some(content) = bytes.get(HEAD_BYTES..end) else {
            return Ok(None);
        };
        let message = match (kind, content) {
            (ASK, []) => HandoverMessage::Ask,
            (COMPLETE, []) => HandoverMessage::Complete,
            (SERVING, []) => HandoverMessage::Serving,
            (RELEASED, []) => HandoverMessage::Released,
            (SOCKETS, content) => HandoverMessage::Sockets(labels(content)?),
            (REFUSED, content) => {
                HandoverMessage::Refused(String::from_utf8_lossy(content).into_owned())
            }
            _ => return Err(MessageError::Content),
        };
        Ok(Some((message, end)))
    }
}

impl SocketLabel {
    fn bytes(self) -> [u8; 2] {
        let role = match self.role {
            SocketRole::Application => 0,
            SocketRole::Admin => 1,
            SocketRole::KeyValue => 2,
        };
        let owner = match self.owner {
            FileOwner::Server => 0,
            FileOwner::Supervisor => 1,
        };
        [role, owner]
    }

    fn of_bytes(bytes: [u8; 2]) -> Option<SocketLabel> {
        let [role, owner] = bytes;
        Some(SocketLabel {
            role: match role {
                0 => SocketRole::Application,
                1 => SocketRole::Admin,
                2 => SocketRole::KeyValue,
                _ => return None,
            },
            owner: match owner {
                0 => FileOwner::Server,
                1 => FileOwner::Supervisor,
                _ => return None,
            },
        })
    }
}

fn labels(content: &[u8]) -> Result<Vec<SocketLabel>, MessageError> {
    let (pairs, rest) = content.as_chunks::<2>();
    if !rest.is_empty() || pairs.is_empty() || pairs.len() > HANDOVER_SOCKETS_EACH {
        return Err(MessageError::Content);
    }
    let labels = pairs.iter().map(|pair| SocketLabel::of_bytes(*pair));
    labels.collect::<Option<_>>().ok_or(MessageError::Content)
}

#[cfg(test)]
mod tests {
    use tsumugi_testkit::Dice;

    use super::*;

    fn all() -> Vec<HandoverMessage> {
        let label = |role, owner| SocketLabel { role, owner };
        let one = label(SocketRole::Application, FileOwner::Server);
        vec![
            HandoverMessage::Ask,
            HandoverMessage::Sockets(vec![
                one,
                label(SocketRole::Admin, FileOwner::Supervisor),
                label(SocketRole::KeyValue, FileOwner::Server),
            ]),
            HandoverMessage::Sockets(vec![one; HANDOVER_SOCKETS_EACH]),
            HandoverMessage::Complete,
            HandoverMessage::Serving,
            HandoverMessage::Released,
            HandoverMessage::Refused(String::new()),
            HandoverMessage::Refused("紡ぎ".to_owned()),
        ]
    }

    #[test]
    fn message_is_read_as_it_was_written_wherever_it_is_cut() {
        let text: Vec<u8> = all().iter().flat_map(HandoverMessage::encode).collect();
        for pieces in 1..text.len() {
            let (mut held, mut read) = (Vec::new(), Vec::new());
            for piece in text.chunks(pieces) {
                held.extend_from_slice(piece);
                while let Some((message, end)) = HandoverMessage::decode(&held).unwrap() {
                    read.push(message);
                    held.drain(..end);
                }
            }
            assert_eq!((read, held.len()), (all(), 0), "pieces of {pieces}");
        }
    }

    #[test]
    fn any_byte_at_any_place_is_a_message_or_refused_and_never_a_panic() {
        for message in all() {
            let text = message.encode();
            for place in 0..text.len() {
                for byte in 0..=u8::MAX {
                    let mut other = text.clone();
                    other[place] = byte;
                    match HandoverMessage::decode(&other) {
                        // Nothing is waited for that is longer than the limit.
                        Ok(None) => assert!((4..=5).contains(&place)),
                        Ok(Some((_, end))) => assert!(end <= other.len()),
                        Err(_) => {}
                    }
                }
            }
        }
    }

    /// What is refused of these bytes, which are given one after the other.
    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let refused =
            (0..=bytes.len()).find_map(|end| HandoverMessage::decode(&bytes[..end]).err());
        let refused = refused.map_or_else(String::new, |error| error.to_string());
        assert!(refused.contains(expected), "{refused}");
        assert!(!expected.is_empty() || refused.is_empty(), "{refused}");
    }

    #[test]
    fn first_wrong_byte_is_refused() {
        check(b"G", "no handover");
        check(b"TL", "no handover");
        check(b"TH\x02", "speaks version 2");
        check(b"TH\x01\x00", "unknown kind 0");
        check(b"TH\x01\x07", "unknown kind 7");
        check(b"TH\x01\x05\xff\xff", "65535 bytes");
        check(b"TH\x01\x01\x00\x01x", "does not fit");
        check(b"TH\x01\x02\x00\x00", "does not fit");
        check(b"TH\x01\x02\x00\x01\x00", "does not fit");
        check(b"TH\x01\x02\x00\x02\x03\x00", "does not fit");
        check(b"TH\x01\x02\x00\x02\x00\x02", "does not fit");
        check(b"TH\x01\x05\x00\x02ab", "");
    }

    #[test]
    fn message_of_as_many_bytes_as_there_may_be_is_read_and_one_byte_more_is_refused() {
        let message = |length: usize| {
            let mut bytes = b"TH\x01\x05".to_vec();
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            bytes.resize(HEAD_BYTES + length, b'x');
            bytes
        };
        let longest = message(HANDOVER_MESSAGE_BYTES_MAX);
        let read = HandoverMessage::decode(&longest).unwrap();
        assert!(matches!(read, Some((_, end)) if end == longest.len()));
        let length = HANDOVER_MESSAGE_BYTES_MAX + 1;
        let refused = HandoverMessage::decode(&message(length));
        assert_eq!(refused, Err(MessageError::Length { length }));
    }

    /// What becomes of these bytes when one comes after the other: what is decided of some of them stays so.
    #[track_caller]
    fn check_byte_by_byte(bytes: &[u8]) {
        let mut decided = None;
        for end in 0..=bytes.len() {
            let decoded = HandoverMessage::decode(&bytes[..end]);
            match (&decided, &decoded) {
                (None, Ok(None)) => assert!(end < HEAD_BYTES + HANDOVER_MESSAGE_BYTES_MAX),
                (None, _) => decided = Some(decoded),
                (Some(before), _) => assert_eq!(before, &decoded, "{bytes:?} up to {end}"),
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_are_decided_once_and_for_all() {
        let dice = Dice::new(22);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = Vec::new();
            for _ in 0..dice.below(4) {
                bytes.extend(dice.pick(&all()).encode());
            }
            for _ in 0..dice.below(4) {
                match (dice.below(3), bytes.len()) {
                    (0, 1..) => bytes.truncate(dice.place(bytes.len())),
                    (1, 1..) => {
                        let place = dice.place(bytes.len());
                        bytes[place] = dice.byte();
                    }
                    _ => bytes.push(dice.byte()),
                }
            }
            check_byte_by_byte(&bytes);
        }
    }

    #[test]
    fn long_reason_is_cut_between_characters() {
        let reason = "あ".repeat(HANDOVER_MESSAGE_BYTES_MAX);
        let text = HandoverMessage::Refused(reason).encode();
        assert!(text.len() <= HEAD_BYTES + HANDOVER_MESSAGE_BYTES_MAX);
        let decoded = HandoverMessage::decode(&text).unwrap();
        assert!(
            matches!(decoded, Some((HandoverMessage::Refused(cut), _)) if !cut.contains('\u{fffd}'))
        );
    }

    #[test]
    fn more_sockets_than_one_message_may_have_are_refused() {
        let content = vec![0; 2 * HANDOVER_SOCKETS_EACH + 2];
        assert_eq!(labels(&content), Err(MessageError::Content));
    }
}
