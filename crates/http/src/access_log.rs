//! The access log: one line a request, JSON or a short text for developers, written by a thread of its own. Knows no handler and no route.
//! A worker never waits for it: its lines go into a queue that only the writer shares with it, and past `access_log_lines_max` they are
//! counted instead of written. Query strings are left out, because they carry secrets.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use http::Uri;
use time::UtcDateTime;
use tsumugi_trace::TraceId;

use crate::{
    limits::{
        ACCESS_LOG_LINES_MAX, ACCESS_LOG_PATH_BYTES_MAX, ACCESS_LOG_WAIT_MS, ACCESS_LOG_WRITE_BYTES,
    },
    request::Request,
    summary::{FinishedRequest, RequestOutcome},
};

/// The log of all workers. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct AccessLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    target: LogTarget,
    form: LineForm,
    lanes: Mutex<Vec<Receiver<Line>>>,
    dropped: AtomicU64,
    reopen: AtomicBool,
    closing: AtomicBool,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Where the lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    Output,
    /// The end of this file, which is made when it is missing.
    File(PathBuf),
}

impl From<PathBuf> for LogTarget {
    /// `-` is standard output.
    fn from(path: PathBuf) -> LogTarget {
        if path == Path::new("-") {
            LogTarget::Output
        } else {
            LogTarget::File(path)
        }
    }
}

/// What a line of the log is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// An object of JSON with all that is known of the request.
    Json,
    /// Method, path, status and time, for who looks on while developing.
    Text,
}

type Line = Box<[u8]>;

/// One worker's way into the log.
#[derive(Debug)]
pub struct LogLane {
    lines: SyncSender<Line>,
    shared: Arc<Shared>,
}

/// What the log needs of a request after the handler has it.
#[derive(Debug)]
pub struct LogEntry {
    uri: Uri,
    id: String,
    trace_id: TraceId,
    ip: Option<IpAddr>,
}

impl LogEntry {
    /// Of a request that has just come.
    pub fn of(request: &Request) -> LogEntry {
        LogEntry {
            uri: request.uri.clone(),
            id: request.id(),
            trace_id: request.trace_id(),
            ip: request.peer.map(|peer| peer.ip()),
        }
    }

    /// The path, as much of it as a line may have.
    fn path(&self) -> &str {
        let path = self.uri.path();
        let end = path.floor_char_boundary(ACCESS_LOG_PATH_BYTES_MAX);
        path.get(..end).unwrap_or(path)
    }
}

impl AccessLog {
    /// Opens the target and starts the writer.
    pub fn start(target: LogTarget, form: LineForm) -> io::Result<AccessLog> {
        let sink = Sink::open(&target)?;
        let shared = Arc::new(Shared {
            target,
            form,
            lanes: Mutex::default(),
            dropped: AtomicU64::new(0),
            reopen: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            writer: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("tsumugi-access-log".to_owned())
            .spawn(move || own.write(sink))?;
        *lock(&shared.writer) = Some(writer);
        Ok(AccessLog(shared))
    }

    /// A way into the log for one more worker.
    pub fn lane(&self) -> LogLane {
        let (lines, receiver) = sync_channel(ACCESS_LOG_LINES_MAX);
        lock(&self.0.lanes).push(receiver);
        LogLane {
            lines,
            shared: Arc::clone(&self.0),
        }
    }

    /// Opens the file again, soon: it may have been moved away.
    pub fn reopen(&self) {
        self.0.reopen.store(true, Ordering::Release);
        self.wake();
    }

    /// Lines that were not written: the queue was full, or the file could not be written.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Writes what is queued and ends the writer. Blocks for as long as that takes, but not longer than `limit`: the file may be
    /// a pipe that is not read.
    pub fn close(&self, limit: Duration) {
        self.0.closing.store(true, Ordering::Release);
        self.wake();
        let Some(writer) = lock(&self.0.writer).take() else {
            return;
        };
        let end = Instant::now() + limit;
        while !writer.is_finished() {
            if Instant::now() >= end {
                let ms = limit.as_millis();
                tracing::warn!("the access log was not written to its end within {ms} ms");
                return;
            }
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    fn wake(&self) {
        if let Some(writer) = &*lock(&self.0.writer) {
            writer.thread().unpark();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LogLane {
    /// Queues the line of a request that is over. Never waits.
    pub fn record(&self, finished: &FinishedRequest, entry: &LogEntry) {
        let total = finished.received_at.elapsed();
        let line = match self.shared.form {
            LineForm::Json => line(finished, entry, total, SystemTime::now()),
            LineForm::Text => text_line(finished, entry, total).into_bytes(),
        };
        if self.lines.try_send(line.into()).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// The writer looks by the clock, so that a worker never pays for waking it.
    fn write(&self, mut sink: Sink) {
        loop {
            let closing = self.closing.load(Ordering::Acquire);
            if self.reopen.swap(false, Ordering::AcqRel) {
                match Sink::open(&self.target) {
                    Ok(opened) => sink = opened,
                    Err(error) => {
                        tracing::error!(%error, "the access log cannot be opened again; lines go on to the old file")
                    }
                }
            }
            self.write_queued(&mut sink);
            if closing {
                return;
            }
            thread::park_timeout(Duration::from_millis(ACCESS_LOG_WAIT_MS));
        }
    }

    fn write_queued(&self, sink: &mut Sink) {
        let mut gathered = Vec::new();
        let mut lines = 0;
        let lanes = lock(&self.lanes);
        for line in lanes.iter().flat_map(|lane| lane.try_iter()) {
            gathered.extend_from_slice(&line);
            lines += 1;
            if gathered.len() >= ACCESS_LOG_WRITE_BYTES {
                self.flush(sink, &mut gathered, &mut lines);
            }
        }
        drop(lanes);
        if lines > 0 {
            self.flush(sink, &mut gathered, &mut lines);
        }
    }

    fn flush(&self, sink: &mut Sink, gathered: &mut Vec<u8>, lines: &mut u64) {
        match sink.write(gathered) {
            Ok(()) => sink.failing = false,
            Err(error) => {
                self.dropped.fetch_add(*lines, Ordering::Relaxed);
                if !std::mem::replace(&mut sink.failing, true) {
                    tracing::error!(%error, "the access log cannot be written; lines are dropped until it can");
                }
            }
        }
        gathered.clear();
        *lines = 0;
    }
}

/// The open target.
struct Sink {
    /// None is standard output.
    file: Option<File>,
    /// The last write failed, which has been reported.
    failing: bool,
}

impl Sink {
    fn open(target: &LogTarget) -> io::Result<Sink> {
        let file = match target {
            LogTarget::Output => None,
            LogTarget::File(path) => Some(OpenOptions::new().append(true).create(true).open(path)?),
        };
        Ok(Sink {
            file,
            failing: false,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => tsumugi_worker::OUTPUT.write(bytes),
        }
    }
}

/// The line of a request, `total` after it came, which is `now`.
fn line(finished: &FinishedRequest, entry: &LogEntry, total: Duration, now: SystemTime) -> Vec<u8> {
    let mut line = Vec::with_capacity(256);
    line.extend_from_slice(b"{\"time\":\"");
    let came = now.checked_sub(total).unwrap_or(now);
    write_time(
        &mut line,
        came.duration_since(UNIX_EPOCH).unwrap_or_default(),
    );
    line.extend_from_slice(b"\",\"method\":");
    write_text(&mut line, finished.method.as_str());
    line.extend_from_slice(b",\"path\":");
    write_text(&mut line, entry.path());
    line.extend_from_slice(b",\"pattern\":");
    match &finished.summary.pattern {
        Some(pattern) => write_text(&mut line, pattern),
        None => line.extend_from_slice(b"null"),
    }
    let status = finished.status.as_u16();
    let (status, outcome) = match finished.outcome {
        RequestOutcome::Complete => (Some(status), "complete"),
        RequestOutcome::BrokenOff => (Some(status), "broken_off"),
        RequestOutcome::Unanswered => (None, "unanswered"),
    };
    let ms = |duration: Duration| duration.as_micros() as f64 / 1000.0;
    let status = status.map_or_else(|| "null".to_owned(), |status| status.to_string());
    // Writing into a Vec cannot fail.
    let _ = write!(
        line,
        ",\"status\":{status},\"outcome\":\"{outcome}\",\"bytes\":{},\"ms\":{},\"wait_ms\":{},\"run_ms\":{},\"id\":",
        finished.body_bytes,
        ms(total),
        ms(finished.summary.waited),
        ms(finished.summary.ran),
    );
    write_text(&mut line, &entry.id);
    // Writing into a Vec cannot fail.
    let _ = write!(line, ",\"trace_id\":\"{}\"", entry.trace_id);
    line.extend_from_slice(b",\"ip\":");
    match entry.ip {
        Some(ip) => {
            let _ = write!(line, "\"{ip}\"");
        }
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(b"}\n");
    line
}

/// The line of a request that was over `total` after it came, for people.
fn text_line(finished: &FinishedRequest, entry: &LogEntry, total: Duration) -> String {
    let mut line = format!("{} ", finished.method);
    // A terminal obeys what is no text.
    for char in entry.path().chars() {
        match char.is_control() {
            true => line.extend(char.escape_default()),
            false => line.push(char),
        }
    }
    line.push_str(&match finished.outcome {
        RequestOutcome::Complete => format!(" {}", finished.status.as_u16()),
        RequestOutcome::BrokenOff => format!(" {} broken off", finished.status.as_u16()),
        RequestOutcome::Unanswered => " unanswered".to_owned(),
    });
    line.push_str(&format!(" {:.1} ms\n", total.as_secs_f64() * 1000.0));
    line
}

/// A JSON string. What is no printable ASCII is escaped where JSON wants it.
fn write_text(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            0..0x20 | 0x7F => {
                let _ = write!(line, "\\u{byte:04x}");
            }
            _ => line.push(byte),
        }
    }
    line.push(b'"');
}

/// Appends a time as RFC 3339 has it, in UTC with milliseconds. `since` is the time since 1970.
pub fn write_time(line: &mut Vec<u8>, since: Duration) {
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX);
    let (hour, minute, second) = time.as_hms();
    let (year, month, day) = time.to_calendar_date();
    let (month, ms) = (u8::from(month), since.subsec_millis());
    let _ = write!(
        line,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z",
    );
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::summary::RequestSummary;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn finished() -> FinishedRequest {
        FinishedRequest {
            method: Method::GET,
            status: StatusCode::CREATED,
            summary: RequestSummary {
                pattern: Some("/a/:x".into()),
                waited: Duration::from_micros(1_500),
                ran: Duration::from_millis(2),
                ..RequestSummary::default()
            },
            received_at: Instant::now(),
            body_bytes: 12,
            outcome: RequestOutcome::Complete,
        }
    }

    fn entry(uri: &str) -> LogEntry {
        LogEntry {
            uri: uri.parse().unwrap(),
            id: "id-1".to_owned(),
            trace_id: TraceId::of(0x1f),
            ip: Some([127, 0, 0, 1].into()),
        }
    }

    fn text(finished: &FinishedRequest, entry: &LogEntry) -> String {
        let now = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        let line = line(finished, entry, Duration::from_millis(4), now);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_line_is_json_without_the_query() {
        assert_eq!(
            text(&finished(), &entry("/a/\"b?token=secret")),
            "{\"time\":\"2023-11-14T22:13:20.119Z\",\"method\":\"GET\",\"path\":\"/a/\\\"b\",\"pattern\":\"/a/:x\",\"status\":201,\
             \"outcome\":\"complete\",\"bytes\":12,\"ms\":4,\"wait_ms\":1.5,\"run_ms\":2,\"id\":\"id-1\",\"trace_id\":\"0000000000000000000000000000001f\",\"ip\":\"127.0.0.1\"}\n"
        );
    }

    #[test]
    fn an_unanswered_request_has_no_status_and_a_long_path_is_cut() {
        let finished = FinishedRequest {
            outcome: RequestOutcome::Unanswered,
            ..finished()
        };
        let line = text(&finished, &entry(&format!("/{}", "a".repeat(3_000))));
        assert!(
            line.contains("\"status\":null,\"outcome\":\"unanswered\""),
            "{line}"
        );
        assert!(
            line.len() < ACCESS_LOG_PATH_BYTES_MAX + 400,
            "{}",
            line.len()
        );
    }

    #[test]
    fn a_line_for_people_has_method_path_status_and_time_alone() {
        let said = |outcome, path| {
            let finished = FinishedRequest {
                outcome,
                ..finished()
            };
            text_line(&finished, &entry(path), Duration::from_micros(4_250))
        };
        let complete = said(RequestOutcome::Complete, "/a/b?token=secret");
        assert_eq!(complete, "GET /a/b 201 4.2 ms\n");
        let broken_off = said(RequestOutcome::BrokenOff, "/a");
        assert_eq!(broken_off, "GET /a 201 broken off 4.2 ms\n");
        let unanswered = said(RequestOutcome::Unanswered, "/a");
        assert_eq!(unanswered, "GET /a unanswered 4.2 ms\n");
    }

    /// `seconds` since 1970, as date and time.
    fn check(seconds: u64, expected: &str) {
        let mut line = Vec::new();
        write_time(&mut line, Duration::from_secs(seconds));
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn times_are_civil_dates() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399, "2000-02-28T23:59:59.000Z");
        check(951_782_400, "2000-02-29T00:00:00.000Z");
        check(951_868_800, "2000-03-01T00:00:00.000Z");
        check(1_735_689_599, "2024-12-31T23:59:59.000Z");
        check(4_107_542_400, "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn one_line_more_than_the_limit_is_counted_not_written() {
        let (lines, receiver) = sync_channel(ACCESS_LOG_LINES_MAX);
        let folder = tempfile::tempdir().unwrap();
        let log =
            AccessLog::start(LogTarget::File(folder.path().join("log")), LineForm::Json).unwrap();
        // This lane is not read.
        let lane = LogLane {
            lines,
            shared: Arc::clone(&log.0),
        };
        for _ in 0..=ACCESS_LOG_LINES_MAX {
            lane.record(&finished(), &entry("/"));
        }
        assert_eq!(log.dropped(), 1);
        drop(receiver);
        log.close(PATIENCE);
    }

    #[test]
    fn lines_go_to_the_new_file_after_reopen_and_none_is_lost_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = AccessLog::start(LogTarget::from(path.clone()), LineForm::Json).unwrap();
        let lane = log.lane();
        let lines = |path: &Path| std::fs::read_to_string(path).unwrap().lines().count();
        for _ in 0..1_000 {
            lane.record(&finished(), &entry("/"));
        }
        while lines(&path) < 1_000 {
            thread::park_timeout(Duration::from_millis(5));
        }
        let moved = folder.path().join("log.1");
        std::fs::rename(&path, &moved).unwrap();
        log.reopen();
        while !path.exists() {
            thread::park_timeout(Duration::from_millis(5));
        }
        lane.record(&finished(), &entry("/"));
        log.close(PATIENCE);
        assert_eq!((lines(&moved), lines(&path)), (1_000, 1));
    }
}
