//! Rows of a database as responses: whole as JSON, or fetched while they are sent. Builds no value of a row.
//! Rule: the query runs before the response begins, so that what is wrong with it is an error of the handler.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use tsumugi_db::{Format, RowFeed, Rows};
use tsumugi_worker::LocalTask;

use crate::builder::Feed;
use crate::error::Result;
use crate::response::{Answer, Response};
use crate::streaming::Output;

/// Rows as CSV with a header, sent while they are fetched.
#[derive(Clone, Debug)]
pub struct Csv(pub Feed);

/// Rows as an array of JSON objects, sent while they are fetched.
#[derive(Clone, Debug)]
pub struct JsonRows(pub Feed);

/// Rows as lines of JSON objects, sent while they are fetched.
#[derive(Clone, Debug)]
pub struct NdJson(pub Feed);

impl Answer for Csv {
    async fn answer(self) -> Result<Response> {
        stream_response(self.0, Format::Csv).await
    }
}

impl Answer for JsonRows {
    async fn answer(self) -> Result<Response> {
        stream_response(self.0, Format::Json).await
    }
}

impl Answer for NdJson {
    async fn answer(self) -> Result<Response> {
        stream_response(self.0, Format::NdJson).await
    }
}

/// An array of JSON objects.
impl Answer for Rows {
    async fn answer(self) -> Result<Response> {
        let mut out = Vec::new();
        self.write_json(&mut out)?;
        let json = HeaderValue::from_static(Format::Json.content_type());
        Ok(Response::new(StatusCode::OK, Bytes::from(out)).with(CONTENT_TYPE, json))
    }
}

async fn stream_response(feed: Feed, format: Format) -> Result<Response> {
    let rows = RowFeed::of_stream(feed.open().await?, format);
    let producer = move |output| -> LocalTask<Result<()>> { Box::pin(send(rows, output)) };
    Ok(Response::produced(
        format.content_type(),
        Box::new(producer),
    ))
}

async fn send(mut rows: RowFeed, mut output: Output) -> Result<()> {
    while let Some(piece) = rows.next().await? {
        output.write(piece).await?;
    }
    output.finish();
    Ok(())
}
