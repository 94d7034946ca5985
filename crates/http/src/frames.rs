//! Where frames of HTTP/2 begin in the bytes that leave, and whether they are of a stream. Reads headers of frames, nothing in them.
//! Rule: answers to PING and SETTINGS, and what else is of the connection, are no sign of a stream.

use std::io::IoSlice;

/// Bytes of a frame's header (RFC 9113 section 4.1).
const HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// A place among frames.
#[derive(Debug, Default)]
pub(crate) struct FrameScanner {
    /// Bytes of the next header that have passed.
    header: usize,
    /// What its first four said: the length of what follows, and the type.
    length: usize,
    kind: u8,
    /// Bytes to the end of the frame.
    left: usize,
}

impl FrameScanner {
    /// Goes on by so many bytes of these, and says whether some of them were of a stream's frames.
    pub(crate) fn advance(&mut self, slices: &[IoSlice<'_>], bytes: usize) -> bool {
        let (mut bytes, mut moved) = (bytes, false);
        for slice in slices {
            let passed = slice.get(..bytes.min(slice.len())).unwrap_or_default();
            bytes -= passed.len();
            moved |= self.pass(passed);
        }
        moved
    }

    fn pass(&mut self, mut bytes: &[u8]) -> bool {
        let mut moved = false;
        while !bytes.is_empty() {
            if self.left > 0 {
                let payload = self.left.min(bytes.len());
                self.left -= payload;
                bytes = bytes.get(payload..).unwrap_or_default();
                moved |= self.is_of_stream();
                continue;
            }
            let Some((byte, rest)) = bytes.split_first() else {
                break;
            };
            bytes = rest;
            match self.header {
                0 => self.length = usize::from(*byte),
                1 | 2 => self.length = self.length << 8 | usize::from(*byte),
                3 => self.kind = *byte,
                _ => {}
            }
            self.header += 1;
            if self.header == HEADER_BYTES {
                (self.header, self.left) = (0, self.length);
                moved |= self.is_of_stream();
            }
        }
        moved
    }

    fn is_of_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS | CONTINUATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: usize) -> Vec<u8> {
        let mut frame = vec![0, (length >> 8) as u8, length as u8, kind, 0, 0, 0, 0, 1];
        frame.resize(HEADER_BYTES + length, kind);
        frame
    }

    #[test]
    fn frames_of_streams_are_recognized_in_pieces_of_any_size() {
        const PING: u8 = 6;
        let sent: [(u8, usize); 6] = [
            (4, 18),
            (PING, 8),
            (HEADERS, 300),
            (PING, 8),
            (DATA, 70),
            (4, 0),
        ];
        for piece in 1..40 {
            let mut frames = FrameScanner::default();
            for (kind, length) in sent {
                let bytes = frame(kind, length);
                let mut moved = false;
                for part in bytes.chunks(piece) {
                    moved |= frames.advance(&[IoSlice::new(part)], part.len());
                }
                assert_eq!(
                    moved,
                    kind == DATA || kind == HEADERS,
                    "{kind} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn bytes_that_were_not_taken_do_not_count() {
        let mut frames = FrameScanner::default();
        let (ping, data) = (frame(6, 8), frame(DATA, 5));
        let slices = [IoSlice::new(&ping), IoSlice::new(&data)];
        assert!(!frames.advance(&slices, ping.len()));
        assert!(frames.advance(&[IoSlice::new(&data)], data.len()));
    }
}
