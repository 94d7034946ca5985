//! `tsumugi kv import` and `export`: all records between a file and a database, in either format. Says how far it got.
//! Files are read and written by a thread of their own, so that a slow one does not keep the connection from being looked after.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use indicatif::ProgressBar;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tsumugi_rpc::client::Duplex;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{SetRequest, StreamRequest, StreamResponse};
use tsumugi_rpc::{Client, TkrzwCode};

use super::cursor::{RecordCursor, RecordParts, RecordRange};
use super::interrupt::report_on_interrupt;
use super::outlet::{BatchOutcome, RecordBatch, RecordOutlet};
use super::record::{self, RecordFormat};
use super::remote::Remote;
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_RECORDS_MAX, IMPORT_OWED_MAX, PAGE_RECORDS_MAX, PIECES_WAITING_MAX,
};
use crate::progress::{self, Extent};

/// `export`
#[derive(clap::Args)]
pub struct Export {
    /// The file, which must not exist; - is standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// How records are written
    #[arg(long, value_enum, default_value_t = RecordFormat::Tsv)]
    format: RecordFormat,
    #[command(flatten)]
    remote: Remote,
}

impl Export {
    /// Writes every record.
    pub async fn run(self) -> Result<()> {
        let client = self.remote.client()?;
        let count = client.count().await?;
        let mut cursor =
            RecordCursor::open(&client, RecordRange::all(), RecordParts::Records).await?;
        let output = match is_standard(&self.file) {
            true => RecordOutlet::standard()?,
            false => RecordOutlet::file(&self.file)?,
        };
        let (written, part) = (output.written(), output.part());
        report_on_interrupt(move || {
            let records = written.load(Ordering::Relaxed);
            let place = part.map_or_else(
                || "standard output".to_owned(),
                |part| part.display().to_string(),
            );
            format!("{records} of {count} records are in {place}, the last of them perhaps in part")
        });
        let bar = progress::bar(Extent::Records(count), "export");
        let mut exported = 0_u64;
        loop {
            let page = cursor.page(PAGE_RECORDS_MAX).await?;
            if page.is_empty() {
                break;
            }
            let mut bytes = Vec::new();
            for (key, value) in &page {
                record::put(self.format, key, value, &mut bytes);
            }
            let records = page.len() as u64;
            if output.take(RecordBatch { bytes, records }).await == BatchOutcome::No {
                break;
            }
            exported += records;
            bar.set_position(exported);
        }
        bar.finish_and_clear();
        output.close()?;
        say(&format!("exported {exported} records"))
    }
}

/// `import`
#[derive(clap::Args)]
pub struct Import {
    /// The file; - is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// How records are written
    #[arg(long, value_enum, default_value_t = RecordFormat::Tsv)]
    format: RecordFormat,
    /// Leave records that are there as they are
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    remote: Remote,
}

/// How far an import is.
#[derive(Default)]
struct ImportProgress {
    /// Records that the server has stored, or left as they were with `--keep`.
    answered: AtomicU64,
    /// Those of them that were left.
    kept: AtomicU64,
    /// Records that were sent.
    sent: AtomicU64,
}

impl ImportProgress {
    fn statement(&self) -> String {
        let answered = self.answered.load(Ordering::Relaxed);
        let kept = self.kept.load(Ordering::Relaxed);
        let more = self.sent.load(Ordering::Relaxed).saturating_sub(answered);
        let stored = answered - kept.min(answered);
        let kept = match kept {
            0 => String::new(),
            kept => format!(", {kept} were there and left as they were"),
        };
        format!(
            "the first {answered} records are done ({stored} stored{kept}), {more} more may be; importing again does no harm"
        )
    }
}

impl Import {
    /// Stores every record of the file.
    pub async fn run(self) -> Result<()> {
        let client = self.remote.client()?;
        let (source, bytes): (Box<dyn Read + Send>, _) = if is_standard(&self.file) {
            (Box::new(io::stdin()), None)
        } else {
            let open = || -> io::Result<_> {
                let file = File::open(&self.file)?;
                let length = file.metadata()?.len();
                Ok((file, length))
            };
            let (file, length) =
                open().with_context(|| format!("cannot read {}", self.file.display()))?;
            (Box::new(file), Some(length))
        };
        let extent = bytes.map_or(Extent::Unknown, Extent::Bytes);
        let bar = progress::bar(extent, "import");
        let read = bytes.is_some().then(|| bar.clone());
        let (batches, waiting) = channel(PIECES_WAITING_MAX);
        let format = self.format;
        std::thread::Builder::new()
            .name("kv-input".to_owned())
            .spawn(move || read_all(format, source, &batches, read.as_ref()))
            .context("cannot start a thread for the input")?;
        let reached = Arc::new(ImportProgress::default());
        let progress = Arc::clone(&reached);
        report_on_interrupt(move || progress.statement());
        let so_far = bytes.is_none().then(|| bar.clone());
        let stored = self
            .store(&client, waiting, &reached, so_far.as_ref())
            .await;
        bar.finish_and_clear();
        stored.with_context(|| format!("the import has stopped: {}", reached.statement()))?;
        let kept = reached.kept.load(Ordering::Relaxed);
        let stored = reached.answered.load(Ordering::Relaxed) - kept;
        match self.keep {
            true => say(&format!(
                "imported {stored} records, left {kept} as they were"
            )),
            false => say(&format!("imported {stored} records")),
        }
    }

    async fn store(
        &self,
        client: &Client,
        mut batches: Receiver<Result<Batch>>,
        reached: &ImportProgress,
        so_far: Option<&ProgressBar>,
    ) -> Result<()> {
        let mut stream = client.stream(IMPORT_OWED_MAX).await?;
        let mut broken = None;
        while let Some(batch) = batches.recv().await {
            let batch = match batch {
                Ok(batch) => batch,
                // What came before it is stored first.
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            };
            for (key, value) in batch {
                if stream.is_full() {
                    self.receive(&mut stream, reached).await?;
                }
                let request = SetRequest {
                    dbm_index: self.remote.index(),
                    key,
                    value,
                    overwrite: !self.keep,
                };
                let request = StreamRequest {
                    request_oneof: Some(RequestOneof::SetRequest(request)),
                    omit_response: false,
                };
                stream.send(&request).await?;
                reached.sent.fetch_add(1, Ordering::Relaxed);
            }
            // Nothing lies here while the file has no more for now.
            if batches.is_empty() {
                while stream.owed() > 0 {
                    self.receive(&mut stream, reached).await?;
                }
            }
            if let Some(bar) = so_far {
                bar.set_position(reached.answered.load(Ordering::Relaxed));
            }
        }
        while stream.owed() > 0 {
            self.receive(&mut stream, reached).await?;
        }
        stream.finish().await?;
        broken.map_or(Ok(()), Err)
    }

    async fn receive(
        &self,
        stream: &mut Duplex<StreamRequest, StreamResponse>,
        reached: &ImportProgress,
    ) -> Result<()> {
        let answer = stream.receive().await?;
        let answer = answer.context("the server has ended the call; try again")?;
        let Some(ResponseOneof::SetResponse(answer)) = answer.response_oneof else {
            bail!("the server answered something else than was asked");
        };
        let status = answer.status.unwrap_or_default();
        match TkrzwCode::of(status.code) {
            TkrzwCode::Success => {}
            TkrzwCode::Duplication if self.keep => {
                reached.kept.fetch_add(1, Ordering::Relaxed);
            }
            code => {
                let number = reached.answered.load(Ordering::Relaxed) + 1;
                let message = status.message;
                bail!("the database refused record {number} with {code}: {message}");
            }
        }
        reached.answered.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

type Batch = Vec<(Bytes, Bytes)>;

/// Reads to the end, to what is no record, or until the receiver has gone.
fn read_all(
    format: RecordFormat,
    source: Box<dyn Read + Send>,
    batches: &Sender<Result<Batch>>,
    bar: Option<&ProgressBar>,
) {
    let source: Box<dyn Read + Send> = match bar {
        Some(bar) => Box::new(bar.wrap_read(source)),
        None => source,
    };
    let mut source = BufReader::with_capacity(BATCH_BYTES_MAX, source);
    let (mut batch, mut bytes, mut number) = (Vec::new(), 0, 0_u64);
    loop {
        number += 1;
        let record = record::next(format, &mut source);
        let (record, end) = match record {
            Ok(Some(record)) => (Some(record), None),
            Ok(None) => (None, Some(Ok(Vec::new()))),
            Err(error) => {
                let error = anyhow::Error::new(error);
                (
                    None,
                    Some(Err(error.context(format!("cannot read record {number}")))),
                )
            }
        };
        if let Some((key, value)) = record {
            bytes += key.len() + value.len();
            batch.push((key, value));
        }
        let is_full = batch.len() >= BATCH_RECORDS_MAX || bytes >= BATCH_BYTES_MAX;
        // The next look at the source may wait for it.
        if (is_full || end.is_some() || source.buffer().is_empty()) && !batch.is_empty() {
            bytes = 0;
            if batches
                .blocking_send(Ok(std::mem::take(&mut batch)))
                .is_err()
            {
                return;
            }
        }
        if let Some(end) = end {
            // A receiver that has gone needs no more.
            let _ = batches.blocking_send(end);
            return;
        }
    }
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What was done, where it does not mix with records.
fn say(text: &str) -> Result<()> {
    use std::io::Write as _;
    // There is no reader when it cannot be written.
    let _ = writeln!(&tsumugi_worker::ERRORS, "{text}");
    Ok(())
}
