//! `tsumugi kv list`: records in the order of their keys, for eyes and scripts. Keeps a page of them at a time.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::atomic::Ordering;

use anyhow::Result;
use bytes::Bytes;

use super::cursor::{Cursor, Order, Range, Wanted};
use super::outlet::{Outlet, Piece, Taken};
use super::record::{self, Format};
use super::remote::Remote;
use super::{escape, interrupt};
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
        let mut range = Range {
            from: bytes(self.from)?,
            to: bytes(self.to)?,
            order: match self.backward {
                true => Order::Backward,
                false => Order::Forward,
            },
        };
        if let Some(prefix) = bytes(self.prefix)? {
            range = range.within(&prefix);
        }
        let wanted = match self.keys {
            true => Wanted::Keys,
            false => Wanted::Records,
        };
        let most = self.limit.unwrap_or(u64::MAX);
        let client = self.remote.client()?;
        let cursor = Cursor::open(&client, range, wanted).await?;
        let output = Outlet::standard()?;
        let written = output.written();
        interrupt::tell(move || {
            let records = written.load(Ordering::Relaxed);
            format!("{records} records were printed, not all")
        });
        print(cursor, wanted, most, output).await
    }
}

async fn print(mut cursor: Cursor, wanted: Wanted, mut most: u64, output: Outlet) -> Result<()> {
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
                Wanted::Records => record::put(Format::Tsv, key, value, &mut bytes),
                Wanted::Keys => {
                    escape::put(key, &mut bytes);
                    bytes.push(b'\n');
                }
            }
        }
        let records = page.len() as u64;
        most -= records;
        if output.take(Piece { bytes, records }).await == Taken::No {
            break;
        }
        bar.inc(records);
    }
    bar.finish_and_clear();
    output.close()
}
