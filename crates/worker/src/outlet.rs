//! Standard output and standard error as workers write to them: into a bounded queue that a thread of its own empties. Knows no format.
//! No thread waits for the reader of the stream: what finds the queue full is dropped and counted, and a later log line says how many lines that were.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::limits::{
    NOTICE_INTERVAL, OUTLET_BYTES_MAX, OUTLET_PIECES_MAX, OUTLET_REST, OUTLET_WRITE_BYTES,
};

/// Standard output.
pub static OUTPUT: Outlet = Outlet::new(Stream::Output);

/// Standard error.
pub static ERRORS: Outlet = Outlet::new(Stream::Errors);

/// A standard stream. Until [`Outlet::start`] it is written in place, as by a command that is no server.
#[derive(Debug)]
pub struct Outlet {
    stream: Stream,
    queue: OnceLock<Queue>,
}

#[derive(Clone, Copy, Debug)]
enum Stream {
    Output,
    Errors,
}

impl Outlet {
    const fn new(stream: Stream) -> Outlet {
        Outlet {
            stream,
            queue: OnceLock::new(),
        }
    }

    /// From now on, for the rest of the process, writes are queued for a thread. A second start does nothing.
    ///
    /// # Errors
    /// When the stream cannot be duplicated or no thread can be started.
    pub fn start(&self) -> io::Result<()> {
        if self.queue.get().is_some() {
            return Ok(());
        }
        // A duplicate, so that a write that waits holds no lock of the standard library.
        let (name, file) = match self.stream {
            Stream::Output => ("standard output", io::stdout().as_fd().try_clone_to_owned()),
            Stream::Errors => ("standard error", io::stderr().as_fd().try_clone_to_owned()),
        };
        self.begin(name, File::from(file?))
    }

    /// [`start`](Self::start), with a file in place of the stream.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start_to(&self, file: File) -> io::Result<()> {
        self.begin("the log file", file)
    }

    fn begin(&self, name: &'static str, file: File) -> io::Result<()> {
        let queue = Queue::start(name, file)?;
        // The faster caller has a thread; that of this queue ends with its sender.
        let _ = self.queue.set(queue);
        Ok(())
    }

    /// Writes bytes, as a rule whole lines; they are not mixed with those of another call. Never waits once started.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when they were dropped because the queue is full. Before the start, what writing gave.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match (self.queue.get(), self.stream) {
            (Some(queue), _) => queue.add(bytes),
            (None, Stream::Output) => in_place(io::stdout().lock(), bytes),
            (None, Stream::Errors) => in_place(io::stderr().lock(), bytes),
        }
    }

    /// Waits until everything that was queued is written, but not longer than `limit`. Blocks; not for workers.
    pub fn drain(&self, limit: Duration) {
        if let Some(queue) = self.queue.get() {
            queue.drain(limit);
        }
    }

    /// Lines that were not written: the queue was full, or the stream could not be written.
    pub fn dropped(&self) -> u64 {
        let queue = self.queue.get();
        queue.map_or(0, |queue| queue.counts.dropped.load(Ordering::Relaxed))
    }
}

/// Takes everything always: what is dropped is counted, and a caller could do no more about it.
impl Write for &Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = Outlet::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn in_place(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

#[derive(Debug)]
struct Queue {
    pieces: SyncSender<Box<[u8]>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Bytes that are queued or being written.
    bytes: AtomicUsize,
    /// Lines.
    dropped: AtomicU64,
}

impl Queue {
    fn start(name: &'static str, sink: impl Write + Send + 'static) -> io::Result<Queue> {
        let (pieces, queued) = sync_channel(OUTLET_PIECES_MAX);
        let counts = Arc::new(Counts::default());
        let writer = Writer {
            name,
            sink,
            counts: Arc::clone(&counts),
            failing: false,
            reported: 0,
            reported_at: None,
        };
        thread::Builder::new()
            .name("tsumugi-outlet".to_owned())
            .spawn(move || writer.run(&queued))?;
        Ok(Queue { pieces, counts })
    }

    fn add(&self, bytes: &[u8]) -> io::Result<()> {
        let before = self.counts.bytes.fetch_add(bytes.len(), Ordering::AcqRel);
        let fits = before + bytes.len() <= OUTLET_BYTES_MAX;
        if fits && self.pieces.try_send(bytes.into()).is_ok() {
            return Ok(());
        }
        self.counts.bytes.fetch_sub(bytes.len(), Ordering::AcqRel);
        self.counts.drop_lines(bytes);
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn drain(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.counts.bytes.load(Ordering::Acquire) > 0 && Instant::now() < end {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Counts {
    fn drop_lines(&self, bytes: &[u8]) {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count().max(1);
        self.dropped.fetch_add(lines as u64, Ordering::Relaxed);
    }
}

struct Writer<S> {
    name: &'static str,
    sink: S,
    counts: Arc<Counts>,
    /// The last write failed, which has been reported.
    failing: bool,
    /// Dropped lines that have been reported.
    reported: u64,
    reported_at: Option<Instant>,
}

impl<S: Write> Writer<S> {
    fn run(mut self, queued: &Receiver<Box<[u8]>>) {
        let mut gathered = Vec::new();
        while let Ok(first) = queued.recv() {
            gathered.extend_from_slice(&first);
            for piece in queued.try_iter() {
                gathered.extend_from_slice(&piece);
                if gathered.len() >= OUTLET_WRITE_BYTES {
                    self.write(&mut gathered);
                }
            }
            self.write(&mut gathered);
            self.tell();
            // Without a rest a worker would pay for waking this thread at every line.
            thread::park_timeout(OUTLET_REST);
        }
    }

    fn write(&mut self, gathered: &mut Vec<u8>) {
        match in_place(&mut self.sink, gathered) {
            Ok(()) => self.failing = false,
            Err(error) => {
                self.counts.drop_lines(gathered);
                // Lines about lines that cannot be written would be such lines themselves: once is enough.
                if !std::mem::replace(&mut self.failing, true) {
                    let name = self.name;
                    tracing::warn!(%error, "{name} cannot be written; lines are dropped until it can");
                }
            }
        }
        let written = std::mem::take(gathered).len();
        self.counts.bytes.fetch_sub(written, Ordering::AcqRel);
    }

    fn tell(&mut self) {
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        let lately = |reported: Instant| reported.elapsed() < NOTICE_INTERVAL;
        if dropped == self.reported || self.failing || self.reported_at.is_some_and(lately) {
            return;
        }
        let (lines, name) = (dropped - self.reported, self.name);
        self.reported = dropped;
        self.reported_at = Some(Instant::now());
        tracing::warn!("{lines} lines were dropped: {name} is not read");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Takes bytes only when it is allowed to: one write for each word.
    struct Slow {
        words: Mutex<Receiver<io::Result<()>>>,
        written: CapturedOutput,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let word = self.words.lock().unwrap().recv();
            word.unwrap_or(Ok(()))?;
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    type CapturedOutput = Arc<Mutex<Vec<u8>>>;

    fn slow() -> (Queue, Sender<io::Result<()>>, CapturedOutput) {
        let (word, words) = channel();
        let written = CapturedOutput::default();
        let sink = Slow {
            words: Mutex::new(words),
            written: Arc::clone(&written),
        };
        (Queue::start("the stream", sink).unwrap(), word, written)
    }

    fn dropped(queue: &Queue) -> u64 {
        queue.counts.dropped.load(Ordering::Relaxed)
    }

    #[test]
    fn pieces_are_written_in_order() {
        let (queue, word, written) = slow();
        drop(word);
        for number in 0..1_000 {
            queue.add(format!("{number}\n").as_bytes()).unwrap();
        }
        queue.drain(PATIENCE);
        let expected: String = (0..1_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(*written.lock().unwrap(), expected.as_bytes());
        assert_eq!(dropped(&queue), 0);
    }

    #[test]
    fn one_byte_more_than_the_limit_is_dropped_and_counted_in_lines() {
        let (queue, word, written) = slow();
        queue.add(&[b'x'; OUTLET_BYTES_MAX]).unwrap();
        assert!(queue.add(b"1\n2\n3\n").is_err());
        assert!(queue.add(b"").is_ok());
        assert!(queue.add(b"4").is_err());
        assert_eq!(dropped(&queue), 4);
        drop(word);
        queue.drain(PATIENCE);
        queue.add(b"y").unwrap();
        queue.drain(PATIENCE);
        assert_eq!(written.lock().unwrap().len(), OUTLET_BYTES_MAX + 1);
    }

    #[test]
    fn one_piece_more_than_the_limit_is_dropped() {
        let (queue, _word, _) = slow();
        // The writer holds what it has taken, which is no more than a write.
        let taken = OUTLET_WRITE_BYTES + 1;
        let added = (0..OUTLET_PIECES_MAX + taken + 1).filter(|_| queue.add(b"x").is_ok());
        let added = added.count();
        assert!((OUTLET_PIECES_MAX..=OUTLET_PIECES_MAX + taken).contains(&added));
        assert!(dropped(&queue) > 0);
    }

    #[test]
    fn a_drain_ends_at_its_limit_and_a_stream_that_fails_costs_only_its_lines() {
        let (queue, word, written) = slow();
        queue.add(b"lost\n").unwrap();
        queue.drain(Duration::from_millis(20));
        assert!(written.lock().unwrap().is_empty());
        word.send(Err(io::ErrorKind::BrokenPipe.into())).unwrap();
        queue.drain(PATIENCE);
        assert_eq!(dropped(&queue), 1);
        drop(word);
        queue.add(b"kept\n").unwrap();
        queue.drain(PATIENCE);
        assert_eq!(*written.lock().unwrap(), b"kept\n");
    }
}
