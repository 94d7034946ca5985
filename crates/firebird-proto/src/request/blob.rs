//! Requests about blobs: create, open, read, write, close. What is read is cut by `blob`.
//! Rule: a piece is at most as long as 16 bits say.

use bytes::BufMut;

use crate::error::Misuse;
use crate::handle::{Blob, Transaction};
use crate::limits::SEGMENT_BYTES_MAX;
use crate::op;
use crate::wire::{put_cstring, sendable};

use super::Requests;

impl Requests<'_> {
    /// op_create_blob2. Answered by a response with the handle, and the new blob's id as its quad.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn create_blob(
        &mut self,
        transaction: Transaction,
        parameters: &[u8],
    ) -> Result<(), Misuse> {
        sendable(parameters, "parameter block")?;
        self.words([op::CREATE_BLOB2]);
        put_cstring(self.out, parameters);
        self.words([transaction.0, 0, 0]);
        Ok(())
    }

    /// op_open_blob2: opens the blob with this id for reading. Answered by a response with the handle.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn open_blob(
        &mut self,
        transaction: Transaction,
        id: u64,
        parameters: &[u8],
    ) -> Result<(), Misuse> {
        sendable(parameters, "parameter block")?;
        self.words([op::OPEN_BLOB2]);
        put_cstring(self.out, parameters);
        self.words([transaction.0]);
        self.out.put_u64(id);
        Ok(())
    }

    /// op_get_segment: as many segments as fit in `bytes_max`, each with its length before it. Answered by a response: the data are
    /// [`crate::blob::segments`], the object says what is left.
    pub fn read_segments(&mut self, blob: Blob, bytes_max: u16) {
        self.words([op::GET_SEGMENT, blob.0, bytes_max.into(), 0]);
    }

    /// op_put_segment: appends one segment. Answered by a response.
    ///
    /// # Errors
    /// [`Misuse::SegmentLength`]; nothing was written.
    pub fn put_segment(&mut self, blob: Blob, segment: &[u8]) -> Result<(), Misuse> {
        let length = segment_length(segment)?;
        self.words([op::PUT_SEGMENT, blob.0, length.into()]);
        put_cstring(self.out, segment);
        Ok(())
    }

    /// op_close_blob: a blob that was written exists from now on. Answered by a response.
    pub fn close_blob(&mut self, blob: Blob) {
        self.words([op::CLOSE_BLOB, blob.0]);
    }

    /// op_cancel_blob: a blob that was being written is forgotten. Answered by a response.
    pub fn cancel_blob(&mut self, blob: Blob) {
        self.words([op::CANCEL_BLOB, blob.0]);
    }
}

fn segment_length(segment: &[u8]) -> Result<u16, Misuse> {
    u16::try_from(segment.len())
        .ok()
        .filter(|length| usize::from(*length) <= SEGMENT_BYTES_MAX)
        .ok_or(Misuse::SegmentLength {
            length: segment.len(),
        })
}
