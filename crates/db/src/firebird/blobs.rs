//! The contents of blobs, which a row only names: they are read before the row is given to a caller.
//! Rule: [`BLOBS_AHEAD`] blobs are read at the same time, and together they are no larger than a result may be.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tsumugi_firebird::{BlobBudget, BlobReader, Error, Reply, Result, Transaction};
use tsumugi_firebird_proto::{Row, TextRules, Value};

use crate::limits::BLOBS_AHEAD;

/// A CHAR keeps the spaces that fill it up; a text without a character set is UTF-8, or bytes.
pub(super) const RULES: TextRules = TextRules {
    none: None,
    padding: tsumugi_firebird_proto::values::Padding::Keep,
};

/// The blobs that a row names, by their ids, each with the character set that a text in it is stored in.
pub(super) fn blobs_of(row: Row<'_>) -> impl Iterator<Item = (u64, Option<u8>)> {
    row.fields().filter_map(|field| match field.value(RULES) {
        Value::Blob(id) if id != 0 => Some((id, field.column.character_set())),
        _ => None,
    })
}

/// Contents by id.
#[derive(Default)]
pub(crate) struct Blobs {
    contents: HashMap<u64, Bytes>,
    pub(super) bytes: usize,
}

impl Blobs {
    pub(super) fn content(&self, id: u64) -> &[u8] {
        self.contents.get(&id).map_or(&[], |content| content)
    }
}

/// Where blobs can be opened that rows name.
pub(super) enum Source<'a> {
    /// Rows of a statement outside a transaction.
    Reply(&'a Reply),
    /// Rows of a statement in this one.
    Transaction(&'a Transaction),
    /// The last rows of one that ends with them, and closes its blobs then.
    Ending(&'a Transaction),
}

impl Source<'_> {
    async fn open(&self, id: u64, stored_as: Option<u8>) -> Result<BlobReader> {
        match self {
            Source::Reply(reply) => reply.blob(id, stored_as).await,
            Source::Transaction(transaction) | Source::Ending(transaction) => {
                transaction.blob(id, stored_as).await
            }
        }
    }

    async fn content(&self, id: u64, stored_as: Option<u8>, budget: &BlobBudget) -> Result<Bytes> {
        let mut reader = self.open(id, stored_as).await?;
        let content = reader.read_within(budget).await?;
        if matches!(self, Source::Ending(_)) {
            reader.leave_open();
        }
        Ok(content)
    }

    /// The contents of all blobs that these rows name, of `bytes_max` at most.
    pub(super) async fn read<'a>(
        &self,
        rows: impl Iterator<Item = Row<'a>>,
        bytes_max: usize,
    ) -> Result<Arc<Blobs>> {
        let named: HashMap<u64, Option<u8>> = rows.flat_map(blobs_of).collect();
        let budget = BlobBudget::new(bytes_max);
        let mut blobs = Blobs::default();
        let mut reading = stream::iter(named)
            .map(async |(id, stored_as)| {
                Ok::<_, Error>((id, self.content(id, stored_as, &budget).await?))
            })
            .buffer_unordered(BLOBS_AHEAD);
        while let Some(read) = reading.next().await {
            let (id, content) = read?;
            blobs.bytes += content.len();
            blobs.contents.insert(id, content);
        }
        drop(reading);
        Ok(Arc::new(blobs))
    }
}
