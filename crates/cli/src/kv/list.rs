//! `tsumugi kv list`: records in the order of their keys, for eyes and scripts. Keeps a page of them at a time.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::atomic::Ordering;

use anyhow::Result;
use bytes::Bytes;

use super::cursor::{RecordCursor, RecordOrder, RecordParts, RecordRange};
use super::escape;
use super::interrupt::report_on_interrupt;
use super::outlet::{BatchOutcome, RecordBatch, RecordOutlet};
use super::record::{self, RecordFormat};
use super::remote::Remote;
use crate::progress::{self, Extent};

/// `list`
#[derive(clap::Args)]
pub struct List {
    /// Only keys that begin so
    #[arg(long, value_name = "TEXT")]
    prefix: Option<OsString>,
    /// From this key on
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// To before this key
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// From the last to the first
    #[arg(long)]
    backward: bool,
    /// At most so many records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print keys alone
    #[arg(long)]
    keys: bool,
    /// --prefix, --from and --to are text with escapes
    #[arg(long, short)]
    escaped: bool,
    #[command(flatten)]
    remote: Remote,
}

impl List {
    /// Prints the records.
    pub async fn run(self) -> Result<()> {
        let bytes = |argument: Option<OsString>| -> Result<Option<Bytes>> {
            let bytes = argument.map(OsString::into_vec);
            let read = |bytes: Vec<u8>| match self.escaped {
                true => escape::read(&bytes),
                false => Ok(bytes),
            };
            Ok(bytes.map(read).transpose()?.map(Bytes::from))
        };
        let mut range = RecordRange {
            from: bytes(self.from)?,
            to: bytes(self.to)?,
            order: match self.backward {
                true => RecordOrder::Backward,
                false => RecordOrder::Forward,
            },
        };
        if let Some(prefix) = bytes(self.prefix)? {
            range = range.within(&prefix);
        }
        let wanted = match self.keys {
            true => RecordParts::Keys,
            false => RecordParts::Records,
        };
        let most = self.limit.unwrap_or(u64::MAX);
        let client = self.remote.client()?;
        let cursor = RecordCursor::open(&client, range, wanted).await?;
        let output = RecordOutlet::standard()?;
        let written = output.written();
        report_on_interrupt(move || {
            let records = written.load(Ordering::Relaxed);
            format!("{records} records were printed, not all")
        });
        print(cursor, wanted, most, output).await
    }
}

async fn print(
    mut cursor: RecordCursor,
    wanted: RecordParts,
    mut most: u64,
    output: RecordOutlet,
) -> Result<()> {
    let bar = progress::bar(Extent::Unknown, "list");
    loop {
        let page = cursor
            .page(usize::try_from(most).unwrap_or(usize::MAX))
            .await?;
        if page.is_empty() {
            break;
        }
        let mut bytes = Vec::new();
        for (key, value) in &page {
            match wanted {
                RecordParts::Records => record::put(RecordFormat::Tsv, key, value, &mut bytes),
                RecordParts::Keys => {
                    escape::put(key, &mut bytes);
                    bytes.push(b'\n');
                }
            }
        }
        let records = page.len() as u64;
        most -= records;
        if output.take(RecordBatch { bytes, records }).await == BatchOutcome::No {
            break;
        }
        bar.inc(records);
    }
    bar.finish_and_clear();
    output.close()
}
