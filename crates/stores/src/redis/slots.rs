//! Which of a cluster's 16,384 slots a key is in, and which node has each slot. Asks no server.
//! Rule: what a server said of the slots is checked before it is used: a slot beyond the last one is no slot.

use redis::Value;

use crate::limits::REDIS_NODES_MAX;

/// Slots of every cluster.
pub(super) const SLOTS: u16 = 16_384;

/// The slot of a key: of the part between its first `{` and the `}` after it when there is something in between, else of all of it.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    crc16(hashed_part(key)) % SLOTS
}

fn hashed_part(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else {
        return key;
    };
    let behind = key.get(open + 1..).unwrap_or_default();
    match behind.iter().position(|byte| *byte == b'}') {
        Some(length @ 1..) => behind.get(..length).unwrap_or(key),
        _ => key,
    }
}

/// CRC16 of XMODEM: polynomial 0x1021, from 0, the highest bit first.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

/// A node's host and port.
pub(super) type Address = (String, u16);

/// The masters of a cluster, and the slots of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotMap {
    masters: Vec<Address>,
    /// First and last slot, and the place of their master.
    ranges: Vec<(u16, u16, usize)>,
    /// Slots that a node said have moved since.
    moved: Vec<(u16, usize)>,
}

impl SlotMap {
    /// The answer to `CLUSTER SLOTS` of the node at `asked`, whose address stands where the answer has none.
    /// None when it is no such answer, or names no master.
    pub(super) fn read(answer: &Value, asked: &Address) -> Option<SlotMap> {
        let Value::Array(rows) = answer else {
            return None;
        };
        let mut map = SlotMap::default();
        for row in rows {
            let Value::Array(row) = row else {
                return None;
            };
            let [first, last, master, ..] = row.as_slice() else {
                return None;
            };
            let (first, last) = (slot(first)?, slot(last)?);
            let master = map.place(address(master, asked)?);
            map.ranges.push((first, last, master));
        }
        let has_room = (1..=REDIS_NODES_MAX).contains(&map.masters.len());
        has_room.then_some(map)
    }

    /// The master of a slot; none while nobody has it.
    pub(super) fn master(&self, slot: u16) -> Option<&Address> {
        let moved = self.moved.iter().rev().find(|(at, _)| *at == slot);
        let place = moved.map(|(_, place)| *place).or_else(|| {
            let has = |(first, last, _): &&(u16, u16, usize)| (*first..=*last).contains(&slot);
            self.ranges.iter().find(has).map(|(_, _, place)| *place)
        });
        self.masters.get(place?)
    }

    /// All masters.
    pub(super) fn masters(&self) -> &[Address] {
        &self.masters
    }

    /// A node said that this one has the slot now.
    pub(super) fn moved(&mut self, slot: u16, to: Address) {
        let place = self.place(to);
        self.moved.retain(|(at, _)| *at != slot);
        self.moved.push((slot, place));
    }

    fn place(&mut self, address: Address) -> usize {
        match self.masters.iter().position(|known| *known == address) {
            Some(place) => place,
            None => {
                self.masters.push(address);
                self.masters.len() - 1
            }
        }
    }
}

fn slot(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok().filter(|slot| *slot < SLOTS),
        _ => None,
    }
}

/// `[host, port, …]`; no host, or an empty one, is that of the node that was asked.
fn address(value: &Value, asked: &Address) -> Option<Address> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [host, Value::Int(port), ..] = parts.as_slice() else {
        return None;
    };
    let host = match host {
        Value::Nil => "",
        Value::BulkString(host) => str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host.as_str(),
        _ => return None,
    };
    let host = match host {
        "" | "?" => asked.0.clone(),
        host => host.to_owned(),
    };
    Some((host, u16::try_from(*port).ok()?))
}

/// `SLOT HOST:PORT`, as `MOVED` and `ASK` say where a key is; a missing host is that of the node that said so.
pub(super) fn redirection(detail: &str, asked: &Address) -> Option<(u16, Address)> {
    let (slot, to) = detail.split_once(' ')?;
    let (host, port) = to.trim().rsplit_once(':')?;
    let host = match host {
        "" => asked.0.clone(),
        host => host.to_owned(),
    };
    let slot = slot.parse().ok().filter(|slot| *slot < SLOTS)?;
    Some((slot, (host, port.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Address {
        ("here".to_owned(), 7000)
    }

    #[test]
    fn slot_is_of_the_tag_or_else_of_the_whole_key() {
        // The reference's own vector.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user}.a"), slot_of(b"{user}.b"));
        assert_eq!(slot_of(b"{user}.a"), slot_of(b"user"));
        assert_eq!(hashed_part(b"a{}b"), b"a{}b");
        assert_eq!(hashed_part(b"a{b"), b"a{b");
        assert_eq!(hashed_part(b"a{{b}c"), b"{b");
        assert_eq!(slot_of(b""), 0);
    }

    fn node(host: Value, port: i64) -> Value {
        Value::Array(vec![host, Value::Int(port)])
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn map_names_the_master_of_each_slot_and_learns_moves() {
        let row = |first, last, node| Value::Array(vec![Value::Int(first), Value::Int(last), node]);
        let answer = Value::Array(vec![
            row(0, 8_000, node(text("a"), 1)),
            row(8_001, 16_000, node(Value::Nil, 2)),
        ]);
        let mut map = SlotMap::read(&answer, &asked()).unwrap();
        assert_eq!(map.master(8_000), Some(&("a".to_owned(), 1)));
        assert_eq!(map.master(8_001), Some(&("here".to_owned(), 2)));
        assert_eq!(map.master(16_001), None);
        map.moved(3, ("c".to_owned(), 3));
        map.moved(3, ("a".to_owned(), 1));
        map.moved(4, ("c".to_owned(), 3));
        assert_eq!(map.master(3), Some(&("a".to_owned(), 1)));
        assert_eq!(map.master(4), Some(&("c".to_owned(), 3)));
        assert_eq!(map.masters().len(), 3);
    }

    #[test]
    fn answer_that_is_no_map_is_refused() {
        let row = |last| Value::Array(vec![Value::Int(0), Value::Int(last), node(text("a"), 1)]);
        for answer in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![Value::Nil]),
            Value::Array(vec![row(16_384)]),
            Value::Array(vec![row(-1)]),
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(1)])]),
        ] {
            assert_eq!(SlotMap::read(&answer, &asked()), None, "{answer:?}");
        }
    }

    #[test]
    fn redirection_names_slot_and_node() {
        let check = |detail, expected: Option<(u16, &str, u16)>| {
            let expected = expected.map(|(slot, host, port)| (slot, (host.to_owned(), port)));
            assert_eq!(redirection(detail, &asked()), expected, "{detail}");
        };
        check("3999 127.0.0.1:6381", Some((3_999, "127.0.0.1", 6_381)));
        check("3999 :6381", Some((3_999, "here", 6_381)));
        check("3999 ::1:6381", Some((3_999, "::1", 6_381)));
        check("16384 a:1", None);
        check("x a:1", None);
        check("1 a:x", None);
        check("1", None);
    }
}
