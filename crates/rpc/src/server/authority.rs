//! Makes the authority that clients of UNIX sockets name one that HTTP/2 takes, in the bytes as they come in. Knows no call.
//! Rule: no byte is added or taken away, and what is no authority is left as it is.
//!
//! gRPC's C core and grpc-java name the path of the socket, which the library for HTTP/2 refuses. Nothing of ours asks for the authority, so the
//! letters of its value are replaced. Only the shape of a header block (RFC 7541, 6) is followed: the lengths of its strings, not their
//! letters. A value written without Huffman's code keeps its length; one with it becomes shorter, so that the table of the server
//! evicts later than the client's, which then names no entry that it has not.

/// The first bytes of a connection (RFC 9113, 3.4).
const PREFACE_BYTES: usize = 24;
const FRAME_HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 8;
const PRIORITY: u8 = 32;
const PRIORITY_BYTES: usize = 5;
/// Where the static table has the name.
const NAME_INDEX: usize = 1;
const NAME: &[u8] = b":authority";
/// The name in Huffman's code.
const NAME_CODED: [u8; 8] = [0xb8, 0x3b, 0x53, 0x39, 0xec, 0x32, 0x7d, 0x7f];
/// A letter that any authority may hold.
const LETTER: u8 = b'u';
/// Says that a string is in Huffman's code.
const CODED: u8 = 0x80;
/// More bytes of one number are more than any header block has.
const NUMBER_BYTES_MAX: u32 = 4;

/// Where in the frames of a connection the next byte is.
#[derive(Clone, Copy, Debug)]
enum Frame {
    /// So many bytes that are passed over.
    Passed(usize),
    Head {
        seen: usize,
        bytes: [u8; FRAME_HEAD_BYTES],
    },
    /// The length of the padding, then so many other bytes before the block.
    Padding {
        length: usize,
        before: usize,
    },
    Before {
        before: usize,
        block: usize,
        padding: usize,
    },
    Block {
        block: usize,
        padding: usize,
    },
}

/// Where in a header block the next byte is. It goes on in the next frame of the block.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// A field begins.
    Field,
    Number(Number),
    /// The head of a string.
    Length(Text),
    /// So many bytes of a string.
    Text(Text, usize),
}

#[derive(Clone, Copy, Debug)]
struct Number {
    of: Of,
    value: usize,
    bytes: u32,
}

/// What a number is.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// An index or a size: nothing follows.
    Field,
    /// The index of a name, whose value follows.
    Name,
    /// The length of a string.
    Length(Text),
}

/// What a string is.
#[derive(Clone, Copy, Debug)]
enum Text {
    Name {
        is_coded: bool,
        /// Letters of the authority's name so far; `None` when it is another name.
        same: Option<usize>,
    },
    Value {
        is_authority: bool,
    },
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Mask {
    frame: Frame,
    part: Part,
    /// Something was seen that is no header block: the rest is not looked at.
    is_lost: bool,
}

impl Default for Mask {
    fn default() -> Mask {
        Mask {
            frame: Frame::Passed(PREFACE_BYTES),
            part: Part::Field,
            is_lost: false,
        }
    }
}

impl Mask {
    /// Changes what came in next.
    pub(crate) fn apply(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() && !self.is_lost {
            let taken = self.step(bytes);
            bytes = bytes.get_mut(taken..).unwrap_or_default();
        }
    }

    /// Takes some bytes, one at least.
    fn step(&mut self, bytes: &mut [u8]) -> usize {
        let here = bytes.len();
        match self.frame {
            Frame::Passed(left) => {
                let taken = here.min(left);
                self.frame = after(left - taken);
                taken
            }
            Frame::Head { seen, bytes: head } => {
                self.head(seen, head, bytes);
                1
            }
            Frame::Padding { length, before } => {
                let padding = usize::from(bytes.first().copied().unwrap_or_default());
                match (length - 1).checked_sub(before + padding) {
                    Some(block) => self.begin(before, block, padding),
                    None => self.is_lost = true,
                }
                1
            }
            Frame::Before {
                before,
                block,
                padding,
            } => {
                let taken = here.min(before);
                self.begin(before - taken, block, padding);
                taken
            }
            Frame::Block { block, padding } => {
                let taken = here.min(block);
                for byte in bytes.iter_mut().take(taken) {
                    self.field(byte);
                }
                self.begin(0, block - taken, padding);
                taken
            }
        }
    }

    fn head(&mut self, seen: usize, mut head: [u8; FRAME_HEAD_BYTES], bytes: &[u8]) {
        if let (Some(slot), Some(byte)) = (head.get_mut(seen), bytes.first()) {
            *slot = *byte;
        }
        if seen + 1 < FRAME_HEAD_BYTES {
            let (seen, bytes) = (seen + 1, head);
            self.frame = Frame::Head { seen, bytes };
            return;
        }
        let [a, b, c, kind, flags, ..] = head;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let before = match (kind, flags & PRIORITY) {
            (HEADERS, PRIORITY) => PRIORITY_BYTES,
            _ => 0,
        };
        match kind {
            HEADERS if flags & PADDED != 0 && length > 0 => {
                self.part = Part::Field;
                self.frame = Frame::Padding { length, before };
            }
            HEADERS => {
                self.part = Part::Field;
                match length.checked_sub(before) {
                    Some(block) => self.begin(before, block, 0),
                    None => self.is_lost = true,
                }
            }
            CONTINUATION => self.begin(0, length, 0),
            _ => self.frame = after(length),
        }
    }

    fn begin(&mut self, before: usize, block: usize, padding: usize) {
        self.frame = match (before, block) {
            (0, 0) => after(padding),
            (0, _) => Frame::Block { block, padding },
            _ => Frame::Before {
                before,
                block,
                padding,
            },
        };
    }

    /// One byte of a header block.
    fn field(&mut self, byte: &mut u8) {
        self.part = match self.part {
            Part::Field => match *byte {
                // An index; a literal to be indexed; a size of the table; the other literals (RFC 7541, 6.1 to 6.3).
                first if first & 0x80 != 0 => self.number(Of::Field, first, 7),
                first if first & 0x40 != 0 => self.number(Of::Name, first, 6),
                first if first & 0x20 != 0 => self.number(Of::Field, first, 5),
                first => self.number(Of::Name, first, 4),
            },
            Part::Number(Number { of, value, bytes }) => {
                let value = value + (usize::from(*byte & 0x7f) << (7 * bytes));
                match *byte & 0x80 {
                    0 => self.counted(of, value),
                    _ if bytes + 1 >= NUMBER_BYTES_MAX => {
                        self.is_lost = true;
                        Part::Field
                    }
                    _ => Part::Number(Number {
                        of,
                        value,
                        bytes: bytes + 1,
                    }),
                }
            }
            Part::Length(mut text) => {
                match &mut text {
                    Text::Name { is_coded, .. } => *is_coded = *byte & CODED != 0,
                    Text::Value { is_authority: true } => *byte &= !CODED,
                    Text::Value { .. } => {}
                }
                let length = *byte & !CODED;
                self.number(Of::Length(text), length, 7)
            }
            Part::Text(text, left) => {
                let text = text.read(byte);
                match (left, text) {
                    (2.., _) => Part::Text(text, left - 1),
                    (_, text) => text.ended(),
                }
            }
        };
    }

    /// The first byte of a number that has so many bits of it (RFC 7541, 5.1).
    fn number(&mut self, of: Of, first: u8, bits: u32) -> Part {
        let most = (1 << bits) - 1;
        let value = usize::from(first & most);
        match value == usize::from(most) {
            true => Part::Number(Number {
                of,
                value,
                bytes: 0,
            }),
            false => self.counted(of, value),
        }
    }

    fn counted(&mut self, of: Of, value: usize) -> Part {
        match (of, value) {
            (Of::Field, _) => Part::Field,
            (Of::Name, 0) => Part::Length(Text::Name {
                is_coded: false,
                same: Some(0),
            }),
            (Of::Name, index) => Part::Length(Text::Value {
                is_authority: index == NAME_INDEX,
            }),
            (Of::Length(text), 0) => text.ended(),
            (Of::Length(text), length) => Part::Text(text, length),
        }
    }
}

impl Text {
    /// One byte of it.
    fn read(self, byte: &mut u8) -> Text {
        match self {
            Text::Name { is_coded, same } => {
                let name = if is_coded { &NAME_CODED[..] } else { NAME };
                let fits = |at: &usize| name.get(*at) == Some(byte);
                let same = same.filter(fits).map(|at| at + 1);
                Text::Name { is_coded, same }
            }
            Text::Value { is_authority } => {
                if is_authority {
                    *byte = LETTER;
                }
                self
            }
        }
    }

    /// What follows it.
    fn ended(self) -> Part {
        match self {
            Text::Name { is_coded, same } => {
                let length = if is_coded {
                    NAME_CODED.len()
                } else {
                    NAME.len()
                };
                Part::Length(Text::Value {
                    is_authority: same == Some(length),
                })
            }
            Text::Value { .. } => Part::Field,
        }
    }
}

/// The frame behind so many bytes of this one.
fn after(left: usize) -> Frame {
    match left {
        0 => Frame::Head {
            seen: 0,
            bytes: [0; FRAME_HEAD_BYTES],
        },
        left => Frame::Passed(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
        [&[a, b, c, kind, flags, 0, 0, 0, 1], payload].concat()
    }

    fn text(is_coded: u8, text: &[u8]) -> Vec<u8> {
        [&[text.len() as u8 | is_coded], text].concat()
    }

    /// What becomes of these frames, whole and byte by byte.
    fn check(frames: &[Vec<u8>], expected: &[Vec<u8>]) {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let settings = frame(4, 0, &[1; 12]);
        let all = |frames: &[Vec<u8>]| {
            [&[preface.clone(), settings.clone()], frames]
                .concat()
                .concat()
        };
        let expected = all(expected);
        for size in [1, 2, 7, 1_000] {
            let (mut bytes, mut mask) = (all(frames), Mask::default());
            for piece in bytes.chunks_mut(size) {
                mask.apply(piece);
            }
            assert_eq!(bytes, expected, "in pieces of {size}");
        }
    }

    fn block(name: &[u8], value: Vec<u8>) -> Vec<u8> {
        // Before it an index and a size of the table, after it another literal.
        let other = [&[0x04][..], &text(0, b"/kv.sock")].concat();
        [&[0x83, 0x3f, 0xe1, 0x1f], name, &value, &other].concat()
    }

    #[test]
    fn an_authority_is_replaced_however_it_is_written() {
        let path = b"%2Frun%2Fkv.sock";
        let letters = [LETTER; 16];
        let names = [
            vec![0x41],
            vec![0x01],
            vec![0x11],
            [&[0x40][..], &text(0, NAME)].concat(),
            [&[0x00][..], &text(CODED, &NAME_CODED)].concat(),
        ];
        for name in &names {
            let expected = block(name, text(0, &letters));
            for coded in [0, CODED] {
                let block = block(name, text(coded, path));
                check(&[frame(1, 4, &block)], &[frame(1, 4, &expected)]);
                let (one, two) = block.split_at(9);
                let (first, second) = expected.split_at(9);
                check(
                    &[frame(1, 0, one), frame(9, 4, two)],
                    &[frame(1, 0, first), frame(9, 4, second)],
                );
                let padded = |block: &[u8]| [&[3, 0, 0, 0, 0, 16], block, &[0; 3]].concat();
                check(
                    &[frame(1, 0x2c, &padded(&block))],
                    &[frame(1, 0x2c, &padded(&expected))],
                );
            }
        }
        // A value whose length takes more than one byte.
        let long = |letter: u8| [&[0x41, 0x7f, 73][..], &[letter; 200]].concat();
        check(&[frame(1, 4, &long(b'%'))], &[frame(1, 4, &long(LETTER))]);
    }

    #[test]
    fn everything_else_is_left_as_it_is() {
        for name in [
            vec![0x44],
            [&[0x40][..], &text(0, b":authoritz")].concat(),
            [&[0x40][..], &text(0, b":authority2")].concat(),
            [&[0x40][..], &text(0, b":a")].concat(),
        ] {
            let block = frame(1, 4, &block(&name, text(CODED, b"%2Frun")));
            check(std::slice::from_ref(&block), std::slice::from_ref(&block));
        }
        let data = frame(0, 0, &block(&[0x41], text(0, b"%2Frun")));
        check(&[data.clone(), data.clone()], &[data.clone(), data]);
    }

    #[test]
    fn bytes_that_are_no_frames_do_no_harm() {
        let dice = tsumugi_testkit::Dice::new(1);
        for _ in 0..2_000 {
            let mut mask = Mask::default();
            let mut bytes: Vec<u8> = (0..200).map(|_| dice.byte() & dice.byte()).collect();
            // Headers, at least at first.
            bytes[24..28].copy_from_slice(&[0, 0, 100, 1]);
            let length = bytes.len();
            mask.apply(&mut bytes);
            assert_eq!(bytes.len(), length);
        }
    }
}
