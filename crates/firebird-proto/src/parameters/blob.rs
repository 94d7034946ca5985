//! The blob parameter block: whether a blob is a stream or segments, and from which character set to which it goes.
//! Rule: without a block a blob is segments of bytes.

use bytes::Bytes;

use crate::clumplet::Clumplets;

const VERSION: u8 = 1;
const SUB_TYPE_TEXT: u8 = 1;

/// Tags, by their names in the server's interface.
mod tag {
    pub const SOURCE_TYPE: u8 = 1;
    pub const TARGET_TYPE: u8 = 2;
    pub const TYPE: u8 = 3;
    pub const SOURCE_CHARSET: u8 = 4;
    pub const TARGET_CHARSET: u8 = 5;
}

/// How a blob keeps what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlobStorage {
    /// In the pieces it was written in.
    #[default]
    Segments,
    /// As one run of bytes, in which one can seek.
    Stream,
}

/// A block being written.
#[derive(Debug, Clone)]
pub struct BlobParameters(Clumplets);

impl BlobParameters {
    /// For a blob to create or to open.
    pub fn new(storage: BlobStorage) -> Self {
        let mut block = Clumplets::versioned(VERSION);
        if storage == BlobStorage::Stream {
            block.byte(tag::TYPE, 1);
        }
        Self(block)
    }

    /// The server is to make text of the character set with id `target` out of text of `source`: the column's and the connection's when
    /// reading, the other way round when writing.
    pub fn transliterate(&mut self, source: u8, target: u8) -> &mut Self {
        self.0.byte(tag::SOURCE_TYPE, SUB_TYPE_TEXT);
        self.0.byte(tag::TARGET_TYPE, SUB_TYPE_TEXT);
        self.0.byte(tag::SOURCE_CHARSET, source);
        self.0.byte(tag::TARGET_CHARSET, target);
        self
    }

    /// The block.
    pub fn finish(self) -> Bytes {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_says_storage_and_character_sets() {
        let mut block = BlobParameters::new(BlobStorage::Stream);
        block.transliterate(52, 4);
        let expected = [1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 4, 1, 52, 5, 1, 4];
        assert_eq!(block.finish(), expected[..]);
        assert_eq!(BlobParameters::new(BlobStorage::Segments).finish(), [1][..]);
    }
}
