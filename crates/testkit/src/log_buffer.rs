//! A log in memory, for tests of what is logged.
//! Rule: all clones are the same log, so that a subscriber of `tracing` can have one and the test another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{Level, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::TestWriter;
use tracing_subscriber::fmt::writer::MakeWriterExt as _;

/// What has been written, as bytes.
#[derive(Clone, Debug, Default)]
pub struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    /// What would write lines of this level and of more severe ones here, once it is set.
    pub fn subscriber(&self, level: Level) -> impl Subscriber + Send + Sync + use<> {
        subscriber(level, self.clone())
    }

    /// Runs a test whose thread writes its log here, and no other thread. The lines go up to this level.
    pub fn of_thread(level: Level, test: impl FnOnce(&LogBuffer)) {
        let log = LogBuffer::default();
        tracing::subscriber::with_default(log.subscriber(level), || test(&log));
    }

    /// The log of all threads of the process, to be made once: a database that is embedded writes on threads of its own. The lines go up to this level; those up
    /// to INFO are also shown by a test that fails.
    ///
    /// # Panics
    /// When the process has a log already.
    pub fn of_process(level: Level) -> LogBuffer {
        let log = LogBuffer::default();
        let shown = TestWriter::new().with_max_level(Level::INFO.min(level));
        let all = subscriber(level, log.clone().and(shown));
        tracing::subscriber::set_global_default(all).expect("the process has no log yet");
        log
    }

    /// The log until now, which is empty then.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8(bytes).expect("a log of UTF-8")
    }
}

fn subscriber<W>(level: Level, writer: W) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(level)
        .with_writer(writer)
        .finish()
}

impl MakeWriter<'_> for LogBuffer {
    type Writer = LogBuffer;

    fn make_writer(&self) -> LogBuffer {
        self.clone()
    }
}

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
