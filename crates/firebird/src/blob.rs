//! Blobs, read and written piece by piece: neither side ever holds a whole one. Knows no row.
//! Rule: a blob that was opened is closed, and one that was not finished is forgotten, however its user goes.

use std::cell::Cell;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::blob::{Reading, segments};
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::handle::{Blob, Transaction as Handle};
use tsumugi_firebird_proto::parameters::{BlobParameters, BlobStorage};
use tsumugi_firebird_proto::values::CharacterSet;

use crate::connection::{Connection, Effect, Responses, TransactionEpoch};
use crate::error::{Error, Result};
use crate::limits::{BLOB_PIECE_BYTES, BLOB_PIECES_AHEAD};
use crate::reading::InUse;
use crate::transaction::Transaction;

/// Bytes of one answer.
const READ_BYTES: u16 = u16::MAX;

/// Bytes of the first. Most blobs are smaller, and for more the server maps memory for each blob, and unmaps it when the blob is
/// closed.
const FIRST_READ_BYTES: u16 = 16 * 1024;

/// A blob being read.
pub struct BlobReader {
    asked: Responses,
    open: Open,
    state: State,
    pieces: VecDeque<Bytes>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A request for more is on its way.
    Asked,
    /// Nothing is left.
    Ended,
}

/// A blob that is open on the server. Dropped, it is closed; one that was being written is forgotten.
struct Open {
    used: InUse,
    handle: Blob,
    epoch: TransactionEpoch,
    /// It was closed, or the end of its transaction closes it.
    is_left: bool,
}

impl Open {
    /// The server's handle, which may be another blob's once its transaction has ended.
    fn handle(&self) -> Result<Blob> {
        match self.used.connection().0.driver.is_open(self.epoch) {
            true => Ok(self.handle),
            false => Err(Error::BlobClosed),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let connection = self.used.connection();
        if self.is_left || !connection.is_alive() {
            return;
        }
        if let Ok(handle) = self.handle() {
            connection.send_unawaited(|writer| {
                writer.ask_unawaited(Expect::Response, |requests| requests.cancel_blob(handle))
            });
        }
    }
}

impl Connection {
    /// Opens the blob with this id, which a row had. `stored_as` is the id of the character set of a text that the server shall make
    /// UTF-8 of, as [`Column::character_set`](tsumugi_firebird_proto::Column::character_set) says; without it the bytes come as they are.
    ///
    /// # Errors
    /// [`Error::Server`] when there is no such blob any more; [`Error::Lost`].
    pub fn blob(&self, id: u64, stored_as: Option<u8>) -> LocalBoxFuture<'_, Result<BlobReader>> {
        async move {
            // From here on the transaction does not end.
            let _used = InUse::of(self);
            let transaction = self.automatic().await?;
            self.blob_within(transaction, id, stored_as).await
        }
        .boxed_local()
    }

    pub(crate) async fn blob_within(
        &self,
        transaction: Handle,
        id: u64,
        stored_as: Option<u8>,
    ) -> Result<BlobReader> {
        let used = InUse::of(self);
        self.room().await;
        let epoch = self.0.driver.epoch(transaction);
        let mut parameters = BlobParameters::new(BlobStorage::Segments);
        if let Some(set) = stored_as.filter(|set| is_converted(*set)) {
            parameters.transliterate(set, CharacterSet::UTF8.id());
        }
        let parameters = parameters.finish();
        let mut asked = self.ask(|writer| {
            // Where it cannot be opened nothing is read: not another reader's blob.
            writer.guard_last()?;
            writer.ask_to(Effect::OpensBlob(epoch), Expect::Response, |requests| {
                requests.open_blob(transaction, id, &parameters)
            })?;
            writer.ask(Expect::Response, |requests| {
                requests.read_segments(Blob::LAST, FIRST_READ_BYTES)
            })
        })?;
        let opened = asked.response().await;
        if opened.is_err() {
            // So that the caller does not count as one that has left.
            let _ = asked.next().await;
        }
        let handle = Blob(opened?.object);
        let open = Open {
            used,
            handle,
            epoch,
            is_left: false,
        };
        Ok(BlobReader {
            asked,
            open,
            state: State::Asked,
            pieces: VecDeque::new(),
        })
    }
}

/// Whether the bytes of such a text are not UTF-8 already, or none at all.
fn is_converted(set: u8) -> bool {
    CharacterSet::by_id(set)
        .is_some_and(|set| set.has_text() && set != CharacterSet::NONE && set != CharacterSet::UTF8)
}

impl BlobReader {
    /// The next piece, 64 KiB at most; none after the last. A character may begin in one piece and end in the next. Dropping the
    /// future loses nothing.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Lost`]; [`Error::BlobClosed`] when its transaction has ended.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Ok(Some(piece));
            }
            if self.state == State::Ended {
                return Ok(None);
            }
            let response = self.asked.response().await;
            let response = response.inspect_err(|_| self.state = State::Ended)?;
            let reading = Reading::of(&response).map_err(Error::Protocol)?;
            for piece in segments(response.data) {
                self.pieces.push_back(piece.map_err(Error::Protocol)?);
            }
            self.pieces.retain(|piece| !piece.is_empty());
            if reading == Reading::End {
                self.state = State::Ended;
            } else {
                let handle = self.open.handle();
                let handle = handle.inspect_err(|_| {
                    self.state = State::Ended;
                    self.pieces.clear();
                })?;
                self.asked.more(|writer| {
                    writer.ask(Expect::Response, |requests| {
                        requests.read_segments(handle, READ_BYTES)
                    })
                })?;
            }
        }
    }

    /// Lets go of it without closing it, which costs the server an answer: the end of its transaction closes it.
    pub fn leave_open(mut self) {
        self.open.is_left = true;
    }

    /// All that is left, `bytes_max` at most.
    ///
    /// # Errors
    /// As [`BlobReader::next`]; [`Error::TooLarge`].
    pub async fn read(&mut self, bytes_max: usize) -> Result<Bytes> {
        self.read_within(&BlobBudget::new(bytes_max)).await
    }

    /// The same, of what several readers may read together.
    ///
    /// # Errors
    /// As there.
    pub fn read_within<'a>(
        &'a mut self,
        budget: &'a BlobBudget,
    ) -> LocalBoxFuture<'a, Result<Bytes>> {
        async move {
            let mut whole = BytesMut::new();
            while let Some(piece) = self.next().await? {
                budget.take(piece.len())?;
                if whole.is_empty() && self.state == State::Ended && self.pieces.is_empty() {
                    return Ok(piece);
                }
                whole.extend_from_slice(&piece);
            }
            Ok(whole.freeze())
        }
        .boxed_local()
    }
}

/// How many bytes readers of several blobs may read together.
#[derive(Debug)]
pub struct BlobBudget {
    bytes_max: usize,
    left: Cell<usize>,
}

impl BlobBudget {
    /// Of so many bytes.
    pub fn new(bytes_max: usize) -> BlobBudget {
        BlobBudget {
            bytes_max,
            left: Cell::new(bytes_max),
        }
    }

    fn take(&self, bytes: usize) -> Result<()> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.ok_or(Error::TooLarge {
            reply_bytes_max: self.bytes_max,
        })?);
        Ok(())
    }
}

/// A blob being written.
pub struct BlobWriter {
    asked: Responses,
    open: Open,
    id: u64,
    /// Pieces whose answers have not come.
    ahead: usize,
}

impl Transaction {
    /// Opens a blob as [`Connection::blob`] does, also one that this transaction has written.
    ///
    /// # Errors
    /// As there.
    pub fn blob(&self, id: u64, stored_as: Option<u8>) -> LocalBoxFuture<'_, Result<BlobReader>> {
        let connection = self.connection();
        connection
            .blob_within(self.handle(), id, stored_as)
            .boxed_local()
    }

    /// Begins to write a blob. It belongs to this transaction until a row of a table has it.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Lost`].
    pub fn create_blob(&self, storage: BlobStorage) -> LocalBoxFuture<'_, Result<BlobWriter>> {
        self.connection()
            .create_blob_within(self.handle(), storage)
            .boxed_local()
    }
}

impl Connection {
    pub(crate) async fn create_blob_within(
        &self,
        transaction: Handle,
        storage: BlobStorage,
    ) -> Result<BlobWriter> {
        let used = InUse::of(self);
        self.room().await;
        let epoch = self.0.driver.epoch(transaction);
        let parameters = BlobParameters::new(storage).finish();
        let mut asked = self.ask(|writer| {
            writer.ask_to(Effect::OpensBlob(epoch), Expect::Response, |requests| {
                requests.create_blob(transaction, &parameters)
            })
        })?;
        let created = asked.response().await?;
        let open = Open {
            used,
            handle: Blob(created.object),
            epoch,
            is_left: false,
        };
        Ok(BlobWriter {
            asked,
            open,
            id: created.quad,
            ahead: 0,
        })
    }
}

impl BlobWriter {
    /// Appends bytes. Returns when they are on their way and not too many answers are awaited.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Lost`]; [`Error::BlobClosed`] when its transaction has ended. The blob is of no use after one.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        for piece in bytes.chunks(BLOB_PIECE_BYTES) {
            while self.ahead >= BLOB_PIECES_AHEAD {
                self.answered().await?;
            }
            self.open.used.connection().room().await;
            let handle = self.open.handle()?;
            self.asked.more(|writer| {
                writer.ask(Expect::Response, |requests| {
                    requests.put_segment(handle, piece)
                })
            })?;
            self.ahead += 1;
        }
        Ok(())
    }

    async fn answered(&mut self) -> Result<()> {
        let answer = self.asked.response().await;
        self.ahead -= 1;
        answer.map(drop)
    }

    /// Ends the blob, and gives the id to put into a row.
    ///
    /// # Errors
    /// As [`BlobWriter::write`].
    pub fn finish(mut self) -> LocalBoxFuture<'static, Result<u64>> {
        async move {
            while self.ahead > 0 {
                self.answered().await?;
            }
            let handle = self.open.handle()?;
            self.asked.more(|writer| {
                writer.ask(Expect::Response, |requests| requests.close_blob(handle))
            })?;
            self.open.is_left = true;
            self.asked.response().await?;
            Ok(self.id)
        }
        .boxed_local()
    }
}
