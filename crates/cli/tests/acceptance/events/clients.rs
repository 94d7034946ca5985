//! Clients of server-sent events, all on one thread, as browsers are: they come back after the time that they are told, with the id that they had last.
//! Rule: whatever is not the next message of a client ends it, with what came.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::rig::pause;

/// Above what a crowded machine needs.
const PATIENCE: Duration = Duration::from_secs(180);

/// All clients, and what they have seen.
pub struct Audience {
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    is_over: AtomicBool,
    following: AtomicUsize,
    messages: AtomicUsize,
    hints: AtomicUsize,
    broken: AtomicUsize,
    faults: Mutex<Vec<String>>,
}

/// How much was seen by all of them together.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Clients that know where they follow from.
    pub following: usize,
    pub messages: usize,
    /// Streams that ended with the time to come back after.
    pub hints: usize,
    /// Streams that ended otherwise.
    pub broken: usize,
}

impl Audience {
    pub fn begin(addresses: [SocketAddr; 3], clients: usize) -> Audience {
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let thread = std::thread::spawn(move || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().build().unwrap();
            runtime.block_on(tokio::task::LocalSet::new().run_until(async move {
                for number in 0..clients {
                    let counts = Arc::clone(&shared);
                    tokio::task::spawn_local(EventClient::new(addresses, number, counts).follow());
                }
                while !shared.is_over.load(Relaxed) {
                    sleep(Duration::from_millis(20)).await;
                }
            }));
        });
        Audience {
            counts,
            thread: Some(thread),
        }
    }

    fn seen(&self) -> Seen {
        let count = |counter: &AtomicUsize| counter.load(Relaxed);
        Seen {
            following: count(&self.counts.following),
            messages: count(&self.counts.messages),
            hints: count(&self.counts.hints),
            broken: count(&self.counts.broken),
        }
    }

    /// Waits until that is so.
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl Fn(&Seen) -> bool) -> Seen {
        let begun = Instant::now();
        loop {
            let seen = self.seen();
            if is_so(&seen) {
                return seen;
            }
            let faults = self.counts.faults.lock().unwrap();
            assert!(faults.is_empty(), "{what}: {:?}", faults.first());
            assert!(begun.elapsed() < PATIENCE, "{what}: {seen:?}");
            drop(faults);
            pause(20);
        }
    }

    /// Ends all of them, and answers what they did not expect.
    pub fn end(mut self) -> Vec<String> {
        self.stop();
        std::mem::take(&mut self.counts.faults.lock().unwrap())
    }

    fn stop(&mut self) {
        self.counts.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Why a stream has ended.
enum StreamEnd {
    /// As the server wanted, which said when to come back.
    Hint(u64),
    /// Otherwise.
    Broken,
}

struct EventClient {
    addresses: [SocketAddr; 3],
    place: usize,
    last_id: Option<String>,
    next: usize,
    counts: Arc<Counts>,
}

impl EventClient {
    fn new(addresses: [SocketAddr; 3], number: usize, counts: Arc<Counts>) -> EventClient {
        EventClient {
            addresses,
            place: number,
            last_id: None,
            next: 0,
            counts,
        }
    }

    async fn follow(mut self) {
        loop {
            match self.read_stream().await {
                Ok(StreamEnd::Hint(after_ms)) => {
                    self.counts.hints.fetch_add(1, Relaxed);
                    sleep(Duration::from_millis(after_ms)).await;
                }
                Ok(StreamEnd::Broken) => {
                    self.counts.broken.fetch_add(1, Relaxed);
                    self.place += 1;
                    sleep(Duration::from_millis(50)).await;
                }
                Err(error) => {
                    self.counts.faults.lock().unwrap().push(error.to_string());
                    return;
                }
            }
        }
    }

    /// Reads one stream to its end.
    async fn read_stream(&mut self) -> Result<StreamEnd, Box<dyn Error>> {
        let address = self.addresses[self.place % self.addresses.len()];
        let Ok(stream) = self.ask(address).await else {
            return Ok(StreamEnd::Broken);
        };
        let mut body = Body::new(stream);
        match body.status().await {
            Ok(200) => {}
            Ok(status) => return Err(format!("status {status}").into()),
            Err(_) => return Ok(StreamEnd::Broken),
        }
        let mut hint = None;
        loop {
            let event = match body.event().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) => return Ok(StreamEnd::Broken),
            };
            if let Some(after_ms) = event.strip_prefix("retry: ") {
                hint = Some(after_ms.parse()?);
            } else {
                self.take(&event)?;
            }
        }
        match hint {
            Some(after_ms) => Ok(StreamEnd::Hint(after_ms)),
            None => Err("a stream came to its end without a hint".into()),
        }
    }

    async fn ask(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(address).await?;
        let id = self.last_id.as_ref();
        let id = id.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
        let request = format!("GET /chat HTTP/1.1\r\nhost: test\r\n{id}\r\n");
        stream.write_all(request.as_bytes()).await?;
        Ok(stream)
    }

    /// One event: the place to follow from, or the next message.
    fn take(&mut self, event: &str) -> Result<(), Box<dyn Error>> {
        let (id, data) = match event.split_once('\n') {
            Some((id, data)) => (id, Some(data)),
            None => (event, None),
        };
        let id = id.strip_prefix("id: ");
        let id = id.ok_or_else(|| format!("an event without an id: {event}"))?;
        if self.last_id.replace(id.to_owned()).is_none() {
            self.counts.following.fetch_add(1, Relaxed);
        }
        match data {
            None if self.next == 0 => Ok(()),
            Some(data) if data == format!("data: {}", self.next) => {
                self.next += 1;
                self.counts.messages.fetch_add(1, Relaxed);
                Ok(())
            }
            other => Err(format!("{other:?}, not message {}", self.next).into()),
        }
    }
}

/// A response in chunks, of which each event is a part.
struct Body {
    stream: TcpStream,
    raw: Vec<u8>,
    text: String,
    is_over: bool,
}

impl Body {
    fn new(stream: TcpStream) -> Body {
        Body {
            stream,
            raw: Vec::new(),
            text: String::new(),
            is_over: false,
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.raw).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn status(&mut self) -> Result<u16, Box<dyn Error>> {
        loop {
            let head = self.raw.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            if let Some(length) = head {
                let head: Vec<u8> = self.raw.drain(..length + 4).collect();
                let head = String::from_utf8(head)?;
                let status = head.split(' ').nth(1).ok_or("no status")?;
                return Ok(status.parse()?);
            }
            self.more().await?;
        }
    }

    /// The next event; nothing at the end.
    async fn event(&mut self) -> Result<Option<String>, Box<dyn Error>> {
        loop {
            if let Some(length) = self.text.find("\n\n") {
                let event: String = self.text.drain(..length + 2).collect();
                return Ok(Some(event.trim_end().to_owned()));
            }
            if self.is_over {
                return Ok(None);
            }
            if !self.take_chunk()? {
                self.more().await?;
            }
        }
    }

    /// Whether a whole chunk had come.
    fn take_chunk(&mut self) -> Result<bool, Box<dyn Error>> {
        let Some(line) = self.raw.windows(2).position(|bytes| bytes == b"\r\n") else {
            return Ok(false);
        };
        let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line])?, 16)?;
        let (begin, end) = (line + 2, line + 2 + size);
        if self.raw.len() < end + 2 {
            return Ok(false);
        }
        self.text
            .push_str(std::str::from_utf8(&self.raw[begin..end])?);
        self.raw.drain(..end + 2);
        self.is_over = size == 0;
        Ok(true)
    }
}
