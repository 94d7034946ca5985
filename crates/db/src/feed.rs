//! Rows as one text: a body of CSV, of JSON or of NDJSON, batch by batch. Knows no driver and no body.
//! Rule: what all calls append together is one whole text, also when there is no row.

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::error::Result;
use crate::row_stream::RowStream;
use crate::rows::{Columns, Rows};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header and a line for each row.
    Csv,
    /// An array of objects.
    Json,
    /// A line with an object for each row.
    NdJson,
}

impl Format {
    /// The media type, as `content-type` has it.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv; charset=utf-8",
            Format::Json => "application/json",
            Format::NdJson => "application/x-ndjson",
        }
    }
}

/// The text of rows, piece by piece.
#[derive(Debug)]
pub struct RowFeed {
    source: RowSource,
    encoder: RowEncoder,
    has_ended: bool,
}

#[derive(Debug)]
enum RowSource {
    /// They are fetched while the text is read.
    Stream(Box<RowStream>),
    /// They are all there.
    Whole(Rows),
}

impl RowFeed {
    /// Of rows that are fetched while the text is read: a piece for each batch.
    pub fn of_stream(rows: RowStream, format: Format) -> RowFeed {
        RowFeed::new(RowSource::Stream(Box::new(rows)), format)
    }

    /// Of rows that are there: one piece, which the limit of a result bounds.
    pub fn of_rows(rows: Rows, format: Format) -> RowFeed {
        RowFeed::new(RowSource::Whole(rows), format)
    }

    fn new(source: RowSource, format: Format) -> RowFeed {
        RowFeed {
            source,
            encoder: RowEncoder::new(format),
            has_ended: false,
        }
    }

    /// The next piece; none after the last.
    ///
    /// # Errors
    /// As [`RowStream::next`] and [`Rows::write_json`]. What was read before is not the whole text then.
    #[expect(
        clippy::should_implement_trait,
        reason = "what comes next is waited for"
    )]
    pub fn next(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>>> {
        async move {
            let mut out = Vec::new();
            while out.is_empty() && !self.has_ended {
                match &mut self.source {
                    RowSource::Stream(rows) => {
                        let batch = rows.next().await?;
                        self.has_ended = batch.is_none();
                        self.encoder
                            .write(rows.columns(), batch.as_ref(), &mut out)?;
                    }
                    RowSource::Whole(rows) => {
                        self.has_ended = true;
                        if !rows.is_empty() {
                            self.encoder.write(rows.columns(), Some(rows), &mut out)?;
                        }
                        self.encoder.write(rows.columns(), None, &mut out)?;
                    }
                }
            }
            Ok(Some(out).filter(|out| !out.is_empty()))
        }
        .boxed_local()
    }
}

/// Writes the batches of one stream.
#[derive(Debug)]
pub struct RowEncoder {
    format: Format,
    place: FeedPosition,
}

/// Whether something was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedPosition {
    First,
    Later,
}

impl RowEncoder {
    /// Writes in this format.
    pub fn new(format: Format) -> RowEncoder {
        RowEncoder {
            format,
            place: FeedPosition::First,
        }
    }

    /// Appends a batch, or what ends the text when there is none.
    ///
    /// # Errors
    /// As [`Rows::write_json`].
    pub fn write(
        &mut self,
        columns: &Columns,
        batch: Option<&Rows>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let place = std::mem::replace(&mut self.place, FeedPosition::Later);
        if self.format == Format::Csv && place == FeedPosition::First {
            columns.write_csv(out);
        }
        match (batch, self.format) {
            (Some(batch), Format::Csv) => batch.write_csv(out)?,
            (Some(batch), Format::NdJson) => batch.write_ndjson(out)?,
            (Some(batch), Format::Json) => {
                // The array's brackets go around all batches; between two there is a comma in their place.
                let start = out.len();
                batch.write_json(out)?;
                out[start] = if place == FeedPosition::First {
                    b'['
                } else {
                    b','
                };
                out.pop();
            }
            (None, Format::Json) if place == FeedPosition::First => out.extend_from_slice(b"[]"),
            (None, Format::Json) => out.push(b']'),
            (None, _) => {}
        }
        Ok(())
    }
}
