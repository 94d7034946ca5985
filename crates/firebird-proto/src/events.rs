//! Events: names that a transaction posts when it commits, reported on a connection of their own with how often. Not the requests for them.
//! Source: protocol chapter "Events". Rule: the first report gives the counts to begin with, and is no event.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::error::{Misuse, Violation};
use crate::limits::{EVENT_BLOCK_BYTES_MAX, EVENT_NAME_BYTES_MAX, EVENT_NAMES_MAX};
use crate::op;
use crate::request::EventId;
use crate::wire::{ReadResult, Reader, Stop, complete};

const VERSION: u8 = 1;
const SOCKADDR_PORT: std::ops::Range<usize> = 2..4;

/// The port on which the server reports events, on the machine of the database: its answer to connect_request.
///
/// # Errors
/// [`Violation::Truncated`].
pub fn port(data: &[u8]) -> Result<u16, Violation> {
    match data.get(SOCKADDR_PORT) {
        Some(&[high, low]) if high | low != 0 => Ok(u16::from_be_bytes([high, low])),
        _ => Err(Violation::Truncated("address for events")),
    }
}

/// The names that are listened for, and how often each has been posted by what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    names: Vec<(String, u32)>,
    /// Whether the server has reported the counts to begin with.
    begun: bool,
}

/// How often a name was posted since it was last reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount<'a> {
    /// The name of the event.
    pub name: &'a str,
    /// At least 1.
    pub times: u32,
}

impl Events {
    /// Listens for `names`.
    ///
    /// # Errors
    /// [`Misuse::EventNames`] if there are none or too many, or one is empty or too long.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Misuse> {
        let names: Vec<_> = names.into_iter().map(|name| (name.into(), 0)).collect();
        let sound = |name: &String| (1..=EVENT_NAME_BYTES_MAX).contains(&name.len());
        if !(1..=EVENT_NAMES_MAX).contains(&names.len())
            || !names.iter().all(|(name, _)| sound(name))
        {
            return Err(Misuse::EventNames);
        }
        Ok(Self {
            names,
            begun: false,
        })
    }

    /// The block to ask with: the names with the counts that are known.
    pub fn block(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(VERSION);
        for (name, count) in &self.names {
            // `new` has seen to the length.
            out.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.put_slice(name.as_bytes());
            out.put_u32_le(*count);
        }
        out.freeze()
    }

    /// Keeps the counts that the server reported, and gives the names that have been posted since: none the first time. Ask again with
    /// [`Events::block`] afterwards. A name that is not listened for is passed over.
    ///
    /// # Errors
    /// A [`Violation`] if the block is not sound.
    pub fn record(&mut self, report: &EventReport) -> Result<Vec<EventCount<'_>>, Violation> {
        let mut times = vec![0; self.names.len()];
        for pair in pairs(&report.block)? {
            let (name, count) = pair?;
            let known = self.names.iter_mut().zip(&mut times);
            for ((_, before), times) in known.filter(|((known, _), _)| known.as_bytes() == name) {
                *times = count.wrapping_sub(*before);
                *before = count;
            }
        }
        let first = !std::mem::replace(&mut self.begun, true);
        let posted = self.names.iter().zip(times);
        Ok(posted
            .filter(|(_, times)| *times > 0 && !first)
            .map(|((name, _), times)| EventCount { name, times })
            .collect())
    }
}

/// The names and counts of a block.
fn pairs(block: &[u8]) -> Result<impl Iterator<Item = Result<(&[u8], u32), Violation>>, Violation> {
    const CUT: Violation = Violation::Truncated("block of events");
    let mut rest = match block.split_first() {
        Some((&VERSION, rest)) => rest,
        // The answer to a cancelled request has no names.
        None => block,
        Some(_) => return Err(CUT),
    };
    Ok(std::iter::from_fn(move || {
        let (length, after) = std::mem::take(&mut rest).split_first()?;
        let pair = after
            .split_at_checked((*length).into())
            .and_then(|(name, after)| Some((name, after.split_first_chunk::<4>()?)));
        let Some((name, (count, after))) = pair else {
            return Some(Err(CUT));
        };
        rest = after;
        Some(Ok((name, u32::from_le_bytes(*count))))
    }))
}

/// Counts that the server sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventReport {
    /// Which request it is about.
    pub id: EventId,
    /// The names and counts; empty when the request was cancelled.
    pub block: Bytes,
}

/// The next report in `input`, to which the caller appends what it reads from the connection for events; `None` if it is not all there.
///
/// # Errors
/// A [`Violation`] if this is no event: close the connection.
pub fn next_report(input: &mut BytesMut) -> Result<Option<EventReport>, Violation> {
    while input.starts_with(&op::DUMMY.to_be_bytes()) {
        input.advance(4);
    }
    let mut reader = Reader::new(input);
    let mut missing = 0;
    let Some((id, block)) = complete(read(&mut reader), &mut missing)? else {
        return Ok(None);
    };
    let block = Bytes::copy_from_slice(block);
    let length = reader.position();
    input.advance(length);
    Ok(Some(EventReport { id, block }))
}

fn read<'a>(reader: &mut Reader<'a>) -> ReadResult<(EventId, &'a [u8])> {
    let op = reader.u32()?;
    if op != op::EVENT {
        return Err(Stop::Wrong(Violation::unexpected(op, "an event")));
    }
    let _database = reader.u32()?;
    let block = reader.cstring(EVENT_BLOCK_BYTES_MAX, "a block of events")?;
    let _callback = reader.u64()?;
    Ok((EventId(reader.u32()?), block))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(pairs: &[(&str, u32)]) -> Bytes {
        let mut out = vec![1];
        for (name, count) in pairs {
            out.push(u8::try_from(name.len()).unwrap());
            out.extend(name.as_bytes());
            out.extend(count.to_le_bytes());
        }
        out.into()
    }

    fn check(events: &mut Events, counts: &[(&str, u32)], expected: &[(&str, u32)]) {
        let report = EventReport {
            id: EventId(1),
            block: block(counts),
        };
        let found = events.record(&report).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|posted| (posted.name, posted.times))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn first_counts_report_no_event() {
        let mut events = Events::new(["a", "bc"]).unwrap();
        assert_eq!(events.block(), block(&[("a", 0), ("bc", 0)]));
        check(&mut events, &[("a", 1), ("bc", 8)], &[]);
        assert_eq!(events.block(), block(&[("a", 1), ("bc", 8)]));
        check(&mut events, &[("a", 1), ("bc", 10)], &[("bc", 2)]);
        check(&mut events, &[("a", 4), ("bc", 11)], &[("a", 3), ("bc", 1)]);
    }

    #[test]
    fn cancelled_request_reports_no_event() {
        let mut events = Events::new(["a"]).unwrap();
        check(&mut events, &[("a", 5)], &[]);
        let report = EventReport {
            id: EventId(1),
            block: Bytes::new(),
        };
        assert_eq!(events.record(&report), Ok(vec![]));
        check(&mut events, &[("a", 6), ("other", 9)], &[("a", 1)]);
    }

    #[test]
    fn event_names_beyond_their_limits_are_refused() {
        for names in [
            vec![],
            vec![String::new()],
            vec!["x".repeat(256)],
            vec!["x".to_owned(); EVENT_NAMES_MAX + 1],
        ] {
            assert_eq!(Events::new(names), Err(Misuse::EventNames));
        }
    }

    #[test]
    fn block_that_is_cut_is_refused() {
        let whole = block(&[("a", 1), ("b", 2)]);
        for at in 2..whole.len() {
            let report = EventReport {
                id: EventId(1),
                block: whole.slice(..at),
            };
            // Between two pairs nothing is missing.
            assert_eq!(Events::new(["a"]).unwrap().record(&report).is_ok(), at == 7);
        }
    }

    #[test]
    fn event_is_taken_when_it_is_all_there() {
        let packet = b"\0\0\0\x47\0\0\0\x34\0\0\0\0\0\0\0\x03abc\0\0\0\0\0\0\0\0\0\0\0\0\x07";
        let mut input = BytesMut::new();
        for byte in &packet[..packet.len() - 1] {
            input.put_u8(*byte);
            assert_eq!(next_report(&mut input), Ok(None));
        }
        input.put_u8(7);
        let expected = EventReport {
            id: EventId(7),
            block: Bytes::from_static(b"abc"),
        };
        assert_eq!(next_report(&mut input), Ok(Some(expected)));
        assert!(input.is_empty());
        assert!(next_report(&mut BytesMut::from(&[0; 4][..])).is_err());
    }

    #[test]
    fn port_is_read_from_the_address() {
        assert_eq!(port(b"\x02\0\x0b\xf3\0\0\0\0"), Ok(3059));
        assert!(port(b"\x02\0\0\0").is_err());
        assert!(port(b"\x02\0\x0b").is_err());
    }
}
