//! Where `list` and `export` write: standard output or a file, by a thread of its own, so that a slow reader does not keep the
//! connection from being looked after. A file has its name when it is complete; until then it is `NAME.part`.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, bail};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::limits::PIECES_WAITING_MAX;

/// Some whole records as they are written.
pub struct RecordBatch {
    /// How they are written.
    pub bytes: Vec<u8>,
    /// How many they are.
    pub records: u64,
}

/// What takes pieces.
pub struct RecordOutlet {
    pieces: Sender<RecordBatch>,
    thread: JoinHandle<io::Result<()>>,
    written: Arc<AtomicU64>,
    file: Option<PartFile>,
}

struct PartFile {
    part: PathBuf,
    name: PathBuf,
}

/// How a piece was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOutcome {
    /// It will be written.
    Yes,
    /// The reader has gone, or it cannot be written; [`RecordOutlet::close`] returns which.
    No,
}

impl RecordOutlet {
    /// Standard output.
    pub fn standard() -> Result<RecordOutlet> {
        RecordOutlet::start(io::stdout(), None)
    }

    /// A file that is not there yet.
    pub fn file(name: &Path) -> Result<RecordOutlet> {
        refuse_existing(name)?;
        let mut part = name.to_owned().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let file =
            File::create(&part).with_context(|| format!("cannot create {}", part.display()))?;
        let name = name.to_owned();
        RecordOutlet::start(file, Some(PartFile { part, name }))
    }

    fn start(output: impl Write + Send + 'static, file: Option<PartFile>) -> Result<RecordOutlet> {
        let (pieces, waiting) = channel(PIECES_WAITING_MAX);
        let written = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&written);
        let thread = std::thread::Builder::new()
            .name("kv-output".to_owned())
            .spawn(move || write(output, waiting, &count))
            .context("cannot start a thread for the output")?;
        Ok(RecordOutlet {
            pieces,
            thread,
            written,
            file,
        })
    }

    /// Records that have been written so far, which are reported after Ctrl-C.
    pub fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Where what was written is, while it is not complete.
    pub fn part(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.part.clone())
    }

    /// Takes a piece, as soon as there is room.
    pub async fn take(&self, piece: RecordBatch) -> BatchOutcome {
        match self.pieces.send(piece).await {
            Ok(()) => BatchOutcome::Yes,
            Err(_) => BatchOutcome::No,
        }
    }

    /// Writes what was taken, and gives a file its name.
    pub fn close(self) -> Result<()> {
        drop(self.pieces);
        let written = self.thread.join();
        let written = written.unwrap_or_else(|_| Err(io::Error::other("its thread has ended")));
        let Some(PartFile { part, name }) = self.file else {
            return match written {
                // Who reads no more, as `head` does, has had enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written.context("cannot write to standard output"),
            };
        };
        written.with_context(|| format!("cannot write to {}", part.display()))?;
        let sync = || File::open(&part)?.sync_all();
        sync().with_context(|| format!("cannot write {} to the disk", part.display()))?;
        // Looked for again, because what was written took its time.
        refuse_existing(&name)?;
        std::fs::rename(&part, &name)
            .with_context(|| format!("cannot rename {} to {}", part.display(), name.display()))?;
        let parent = name
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let sync = || File::open(parent.unwrap_or(Path::new(".")))?.sync_all();
        sync().with_context(|| format!("cannot write the name of {} to the disk", name.display()))
    }
}

fn refuse_existing(name: &Path) -> Result<()> {
    if name.exists() {
        bail!(
            "{} exists; remove it or choose another name",
            name.display()
        );
    }
    Ok(())
}

fn write(
    mut output: impl Write,
    mut pieces: Receiver<RecordBatch>,
    written: &AtomicU64,
) -> io::Result<()> {
    while let Some(piece) = pieces.blocking_recv() {
        output.write_all(&piece.bytes)?;
        output.flush()?;
        written.fetch_add(piece.records, Ordering::Relaxed);
    }
    Ok(())
}
