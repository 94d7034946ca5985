//! Records of a database in the order of their keys, page by page through one cursor. Prints nothing.
//! A page is bounded in records, and the next is smaller when the records are large, so that memory is bounded, too.

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use tsumugi_rpc::client::Duplex;
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::{IterateRequest, IterateResponse};
use tsumugi_rpc::{Client, TkrzwCode};

use crate::limits::{PAGE_BYTES_AIM, PAGE_RECORDS_MAX, PAGE_RECORDS_MIN};

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOrder {
    /// From the first key on.
    Forward,
    /// From the last key back.
    Backward,
}

/// Which records.
#[derive(Clone, Debug)]
pub struct RecordRange {
    /// The first key.
    pub from: Option<Bytes>,
    /// The key that is beyond the last.
    pub to: Option<Bytes>,
    /// In which order they come.
    pub order: RecordOrder,
}

/// What of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordParts {
    /// The keys; values are empty.
    Keys,
    /// Keys and values.
    Records,
}

impl RecordRange {
    /// All records.
    pub fn all() -> RecordRange {
        RecordRange {
            from: None,
            to: None,
            order: RecordOrder::Forward,
        }
    }

    /// Less of it: only keys that begin so.
    #[must_use]
    pub fn within(self, prefix: &[u8]) -> RecordRange {
        let begin = Bytes::copy_from_slice(prefix);
        let from = Some(self.from.map_or(begin.clone(), |from| from.max(begin)));
        let to = match (self.to, beyond(prefix)) {
            (Some(to), Some(end)) => Some(to.min(end)),
            (to, end) => to.or(end),
        };
        RecordRange { from, to, ..self }
    }

    fn holds(&self, key: &Bytes) -> bool {
        self.from.as_ref().is_none_or(|from| key >= from)
            && self.to.as_ref().is_none_or(|to| key < to)
    }
}

/// The first key after all that begin so; `None` when there is none.
fn beyond(prefix: &[u8]) -> Option<Bytes> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end.into());
        }
    }
    None
}

/// A place in the order.
pub struct RecordCursor {
    stream: Duplex<IterateRequest, IterateResponse>,
    request: IterateRequest,
    range: RecordRange,
    page: usize,
    is_at_end: bool,
}

impl RecordCursor {
    /// A cursor before the first record.
    pub async fn open(
        client: &Client,
        range: RecordRange,
        wanted: RecordParts,
    ) -> Result<RecordCursor> {
        // Backwards, each record takes two requests.
        let stream = client.iterate(2 * PAGE_RECORDS_MAX + 1).await?;
        let request = IterateRequest {
            dbm_index: client.index(),
            omit_value: wanted == RecordParts::Keys,
            ..IterateRequest::default()
        };
        let mut cursor = RecordCursor {
            stream,
            request,
            range,
            page: PAGE_RECORDS_MIN,
            is_at_end: false,
        };
        cursor.go_to_start().await?;
        Ok(cursor)
    }

    async fn go_to_start(&mut self) -> Result<()> {
        let (key, operation, else_operation) = match self.range.order {
            RecordOrder::Forward => (&self.range.from, OpType::OpJump, OpType::OpFirst),
            RecordOrder::Backward => (&self.range.to, OpType::OpJumpLower, OpType::OpLast),
        };
        let operation = if key.is_some() {
            operation
        } else {
            else_operation
        };
        let request = IterateRequest {
            operation: operation as i32,
            key: key.clone().unwrap_or_default(),
            ..self.request.clone()
        };
        self.stream.send(&request).await?;
        self.answer().await.map(drop)
    }

    async fn ask(&mut self, operation: OpType) -> Result<()> {
        self.request.operation = operation as i32;
        Ok(self.stream.send(&self.request).await?)
    }

    /// The next answer; `None` when there is no record where the cursor is.
    async fn answer(&mut self) -> Result<Option<(Bytes, Bytes)>> {
        let answer = self.stream.receive().await?;
        let answer = answer.context("the server has ended the call; try again")?;
        let status = answer.status.unwrap_or_default();
        match TkrzwCode::of(status.code) {
            TkrzwCode::Success => Ok(Some((answer.key, answer.value))),
            TkrzwCode::NotFound => Ok(None),
            code => bail!("the database answered {code}: {}", status.message),
        }
    }

    /// The next records, at most so many; none at the end.
    pub async fn page(&mut self, most: usize) -> Result<Vec<(Bytes, Bytes)>> {
        let count = if self.is_at_end {
            0
        } else {
            self.page.min(most)
        };
        for _ in 0..count {
            match self.range.order {
                RecordOrder::Forward => self.ask(OpType::OpStep).await?,
                RecordOrder::Backward => {
                    self.ask(OpType::OpGet).await?;
                    self.ask(OpType::OpPrevious).await?;
                }
            }
        }
        let (mut records, mut bytes) = (Vec::with_capacity(count), 0);
        for _ in 0..count {
            let record = self.answer().await?;
            if self.range.order == RecordOrder::Backward {
                self.answer().await?;
            }
            match record {
                Some((key, value)) if self.range.holds(&key) => {
                    bytes += key.len() + value.len();
                    records.push((key, value));
                }
                _ => self.is_at_end = true,
            }
        }
        self.page = if bytes > PAGE_BYTES_AIM {
            (self.page / 2).max(1)
        } else {
            (self.page * 2).min(PAGE_RECORDS_MAX)
        };
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &[u8], from: &str, expected: (&[u8], Option<&[u8]>)) {
        let range = RecordRange {
            from: (!from.is_empty()).then(|| Bytes::copy_from_slice(from.as_bytes())),
            ..RecordRange::all()
        };
        let range = range.within(prefix);
        assert_eq!(
            (range.from.as_deref(), range.to.as_deref()),
            (Some(expected.0), expected.1)
        );
    }

    #[test]
    fn prefix_and_start_key_bound_the_range() {
        check(b"ab", "", (b"ab", Some(b"ac")));
        check(b"a\xff\xff", "", (b"a\xff\xff", Some(b"b")));
        check(b"\xff", "", (b"\xff", None));
        check(b"", "", (b"", None));
        check(b"ab", "abc", (b"abc", Some(b"ac")));
        check(b"ab", "aa", (b"ab", Some(b"ac")));
    }
}
