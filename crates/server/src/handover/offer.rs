//! What a process that serves offers to the next one, on a thread of its own: its listening sockets, to one process at a time.
//! Rule: nothing of this process changes before the other one has said that it serves.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tsumugi_worker::{Handle, ListeningSocket, SocketFile, SocketLoan, remove_stale_socket};

use super::SocketRole;
use super::channel::{ChannelError, HandoverChannel};
use super::message::{HandoverMessage, MessageError, SocketLabel};
use crate::bind::AdminPorts;
use crate::limits::{HANDOVER_MS_MAX, HANDOVER_SOCKETS_EACH, HANDOVER_TURN_MS_MAX};

/// Rest after a connection could not be accepted, mostly for want of descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Between two looks at something that is about to be over.
const LOOK: Duration = Duration::from_millis(5);

/// More than pages take at most once they are stopped.
const PAGES_WAIT_MAX: Duration = Duration::from_secs(2);

/// The servers of this process. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct HandoverParts(Arc<Mutex<Vec<HandoverPart>>>);

/// One of them.
pub(crate) enum HandoverPart {
    /// A server with workers.
    Workers(SocketRole, Handle),
    /// The pages for operators.
    Admin(AdminPorts),
}

/// What another process is given.
struct LentSockets {
    sockets: Vec<(SocketRole, ListeningSocket)>,
    _loans: Vec<SocketLoan>,
}

impl HandoverParts {
    /// Adds one that is offered from now on.
    pub(crate) fn add(&self, part: HandoverPart) {
        self.parts().push(part);
    }

    fn parts(&self) -> MutexGuard<'_, Vec<HandoverPart>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Descriptors of all that listens.
    fn lend(&self) -> io::Result<LentSockets> {
        let (mut sockets, mut loans) = (Vec::new(), Vec::new());
        for part in &*self.parts() {
            match part {
                HandoverPart::Workers(role, handle) => {
                    let (lent, loan) = handle.lend_sockets()?;
                    sockets.extend(lent.into_iter().map(|socket| (*role, socket)));
                    loans.push(loan);
                }
                HandoverPart::Admin(ports) => {
                    let lent = ports.lend()?.into_iter();
                    sockets.extend(lent.map(|socket| (SocketRole::Admin, socket)));
                }
            }
        }
        Ok(LentSockets {
            sockets,
            _loans: loans,
        })
    }

    /// Whether this process is asked to end, and its sockets are about to be closed.
    fn is_ending(&self) -> bool {
        let is_ending = |part: &HandoverPart| match part {
            HandoverPart::Workers(_, handle) => handle.is_ending(),
            HandoverPart::Admin(_) => false,
        };
        self.parts().iter().any(is_ending)
    }

    /// Whether the last request of every server has ended, and its application has retired.
    fn has_retired(&self) -> bool {
        let has_retired = |part: &HandoverPart| match part {
            HandoverPart::Workers(_, handle) => handle.has_retired(),
            HandoverPart::Admin(_) => true,
        };
        self.parts().iter().all(has_retired)
    }

    /// Lets go of the stores on disk once nothing uses them any more, or after `limit`. Blocks the thread.
    fn release_stores(&self, limit: Duration) {
        let since = Instant::now();
        while tsumugi_kv::has_folders() && !self.has_retired() && since.elapsed() < limit {
            thread::park_timeout(LOOK);
        }
        let has_retired = self.has_retired();
        let released = tsumugi_kv::release_databases();
        let after_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        match (released, has_retired) {
            (0, _) => {}
            (_, true) => tracing::info!(after_ms, "stores on disk were let go"),
            (_, false) => tracing::warn!(
                after_ms,
                "stores on disk were let go while requests still run, which cannot use them any more (handover_store_ms)"
            ),
        }
    }

    /// Waits for the pages for operators that were under way when another process took over, which limit their time. Blocks the thread.
    pub(crate) fn finish_pages(&self) {
        let is_finished = |part: &HandoverPart| match part {
            HandoverPart::Workers(..) => true,
            HandoverPart::Admin(ports) => ports.are_finished(),
        };
        let since = Instant::now();
        while !self.parts().iter().all(is_finished) && since.elapsed() < PAGES_WAIT_MAX {
            thread::park_timeout(LOOK);
        }
    }

    /// Leaves everything to the other process.
    fn hand_over(&self) {
        for part in &mut *self.parts() {
            match part {
                HandoverPart::Workers(_, handle) => handle.hand_over(),
                HandoverPart::Admin(ports) => ports.stop(),
            }
        }
    }
}

/// A socket on which the next process can ask, not yet served.
pub(super) struct HandoverListener {
    listener: UnixListener,
    file: PlacedSocket,
}

/// The offer of a running process. Dropping it removes the socket's file, unless it is the next process's.
pub(crate) struct HandoverOffer {
    _file: SocketFile,
}

/// A socket's file where it is for now; removed unless it is brought to where it belongs.
struct PlacedSocket {
    place: PathBuf,
    is_kept: bool,
}

impl PlacedSocket {
    /// Brings it to `path`, in one step: there is no moment at which nobody can be asked. By then the place beside it may be another one's.
    fn keep_at(mut self, path: &Path) -> io::Result<SocketFile> {
        if self.place != path {
            fs::rename(&self.place, path)?;
        }
        self.is_kept = true;
        SocketFile::new(path)
    }
}

impl Drop for PlacedSocket {
    fn drop(&mut self) {
        if !self.is_kept {
            // Whoever comes next replaces one that stays.
            let _ = fs::remove_file(&self.place);
        }
    }
}

impl HandoverListener {
    /// At a path where no process has a socket.
    pub(super) fn at(path: &Path) -> Result<HandoverListener> {
        // Said now, and not to the first successor.
        SocketAddr::from_pathname(beside(path))
            .with_context(|| format!("--handover {} is too long", path.display()))?;
        HandoverListener::bind(path.to_owned())
    }

    /// Beside a path where another process has its socket for now.
    pub(super) fn beside(path: &Path) -> Result<HandoverListener> {
        HandoverListener::bind(beside(path))
    }

    fn bind(place: PathBuf) -> Result<HandoverListener> {
        remove_stale_socket(&place)?;
        let listener = bind(&place)
            .with_context(|| format!("cannot listen on {} for --handover", place.display()))?;
        let file = PlacedSocket {
            place,
            is_kept: false,
        };
        Ok(HandoverListener { listener, file })
    }

    /// Answers whoever asks at `path` from now on.
    pub(super) fn start(
        self,
        path: &Path,
        parts: HandoverParts,
        store_limit: Duration,
    ) -> Result<HandoverOffer> {
        let HandoverListener { listener, file } = self;
        let file = file
            .keep_at(path)
            .context("its socket cannot be put there")?;
        thread::Builder::new()
            .name("tsumugi-handover".to_owned())
            .spawn(move || answer_all(&listener, &parts, store_limit))
            .context("the system gave no thread")?;
        Ok(HandoverOffer { _file: file })
    }
}

/// Always the same place: there is one successor at a time, and what a killed one left is replaced.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".next");
    PathBuf::from(name)
}

/// Only this user may connect; the other process's user is looked at all the same.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether a process is being given the sockets, or has them: there is one at a time.
#[derive(Clone, Default)]
struct HandoverTurn(Arc<AtomicBool>);

impl HandoverTurn {
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}

fn answer_all(listener: &UnixListener, parts: &HandoverParts, store_limit: Duration) {
    let turn = HandoverTurn::default();
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a process that wants to take over could not be accepted");
                thread::park_timeout(ACCEPT_REST);
                continue;
            }
        };
        if !turn.take() {
            refuse(stream, "another process is taking over already");
            continue;
        }
        let (parts, taken) = (parts.clone(), turn.clone());
        let session = thread::Builder::new()
            .name("tsumugi-successor".to_owned())
            .spawn(move || answer(stream, &parts, &taken, store_limit));
        if let Err(error) = session {
            tracing::warn!(%error, "the system gave no thread for a process that wants to take over");
            turn.give_back();
        }
    }
}

/// Says no without waiting for anything.
fn refuse(stream: UnixStream, reason: &str) {
    let refused = HandoverChannel::new(stream).and_then(|mut channel| {
        channel.set_patience(Some(Duration::from_millis(HANDOVER_MS_MAX)))?;
        Ok(channel.send(&HandoverMessage::Refused(reason.to_owned()), &[])?)
    });
    if let Err(error) = refused {
        tracing::warn!("a process wanted to take over: {error}");
    }
}

/// How a conversation with another process ended.
enum SessionEnd {
    /// It asked for nothing.
    Silent,
    /// It had the sockets, and has gone without serving.
    Gone,
    /// It serves, with these.
    Serving(LentSockets),
    /// It came too late, or too early.
    Refused,
}

fn answer(stream: UnixStream, parts: &HandoverParts, turn: &HandoverTurn, store_limit: Duration) {
    let talked = HandoverChannel::new(stream).and_then(|mut channel| {
        let ended = talk(&mut channel, parts);
        // The reason helps one of another version; it may have gone.
        if let Err(error @ (ChannelError::Message(_) | ChannelError::Sockets { .. })) = &ended {
            let refusal = HandoverMessage::Refused(error.to_string());
            let _ = channel.send(&refusal, &[]);
        }
        Ok((channel, ended?))
    });
    match talked {
        Ok((mut channel, SessionEnd::Serving(lent))) => {
            tracing::info!("another process serves now");
            parts.hand_over();
            drop(lent);
            parts.release_stores(store_limit);
            // It may have gone.
            let _ = channel.send(&HandoverMessage::Released, &[]);
            // The end of the connection is that of this process.
            loop {
                thread::park();
            }
        }
        Ok((_, SessionEnd::Gone)) => {
            tracing::warn!(
                "the process that was to take over has gone before it served; this one goes on"
            );
        }
        Ok((_, SessionEnd::Silent | SessionEnd::Refused)) => {}
        Err(error) => tracing::warn!("a process wanted to take over: {error}"),
    }
    turn.give_back();
}

fn talk(channel: &mut HandoverChannel, parts: &HandoverParts) -> Result<SessionEnd, ChannelError> {
    channel.set_patience(Some(Duration::from_millis(HANDOVER_MS_MAX)))?;
    if !expect(channel, &HandoverMessage::Ask)? {
        return Ok(SessionEnd::Silent);
    }
    let has_stores = await_takeover();
    let refusal = match parts.is_ending() {
        true => Some("this process is about to end: start again once it has"),
        false if has_stores => None,
        false => Some(
            "it has not got the stores of the process before it yet: start again in a moment (handover_store_ms)",
        ),
    };
    if let Some(reason) = refusal {
        channel.send(&HandoverMessage::Refused(reason.to_owned()), &[])?;
        return Ok(SessionEnd::Refused);
    }
    let lent = parts.lend()?;
    for group in lent.sockets.chunks(HANDOVER_SOCKETS_EACH) {
        let label = |(role, socket): &(SocketRole, ListeningSocket)| SocketLabel {
            role: *role,
            owner: socket.owner(),
        };
        let labels = group.iter().map(label).collect();
        let sockets: Vec<_> = group.iter().map(|(_, socket)| socket.as_fd()).collect();
        channel.send(&HandoverMessage::Sockets(labels), &sockets)?;
    }
    channel.send(&HandoverMessage::Complete, &[])?;
    tracing::info!(
        "another process was given the listening sockets; this one goes on until that one serves"
    );
    // An application may take its time to load.
    channel.set_patience(None)?;
    Ok(match expect(channel, &HandoverMessage::Serving)? {
        true => SessionEnd::Serving(lent),
        false => SessionEnd::Gone,
    })
}

/// Waits until this process has got the stores of the one before it: of three processes in a row the third would else have to take them
/// from the first. Says whether it has.
fn await_takeover() -> bool {
    let since = Instant::now();
    let limit = Duration::from_millis(HANDOVER_TURN_MS_MAX);
    while !tsumugi_kv::is_takeover_settled() {
        if since.elapsed() >= limit {
            return false;
        }
        thread::park_timeout(LOOK);
    }
    true
}

/// Whether this message comes; false at the end of the connection.
fn expect(channel: &mut HandoverChannel, expected: &HandoverMessage) -> Result<bool, ChannelError> {
    match channel.receive() {
        Ok(None) => Ok(false),
        Ok(Some((message, _))) if message == *expected => Ok(true),
        Ok(Some(_)) => Err(MessageError::Content.into()),
        // A process that was killed.
        Err(ChannelError::Io(error)) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;

    use tsumugi_worker::{BoundServer, Config};

    use super::*;

    /// How a conversation ends in which a successor says this.
    #[track_caller]
    fn check(said: &[HandoverMessage], expected: &str) {
        let config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        let parts = HandoverParts::default();
        let workers = HandoverPart::Workers(SocketRole::Application, server.handle());
        parts.add(workers);
        let (own, mut successor) = UnixStream::pair().unwrap();
        let text: Vec<u8> = said.iter().flat_map(HandoverMessage::encode).collect();
        successor.write_all(&text).unwrap();
        successor.shutdown(Shutdown::Write).unwrap();
        let mut channel = HandoverChannel::new(own).unwrap();
        let ended = match talk(&mut channel, &parts) {
            Ok(SessionEnd::Silent) => "silent".to_owned(),
            Ok(SessionEnd::Gone) => "gone".to_owned(),
            Ok(SessionEnd::Serving(lent)) => format!("serving with {}", lent.sockets.len()),
            Ok(SessionEnd::Refused) => "refused".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(ended.starts_with(expected), "{said:?}: {ended}");
        assert!(
            !server.handle().is_ending(),
            "only the one who answers ends it"
        );
    }

    #[test]
    fn conversation_ends_as_far_as_the_successor_came() {
        use HandoverMessage::{Ask, Complete, Refused, Serving};
        check(&[], "silent");
        check(&[Ask], "gone");
        // One for each worker.
        let workers = Config::default().workers;
        check(&[Ask, Serving], &format!("serving with {workers}"));
        let out_of_turn = "it sent a message whose content does not fit";
        check(&[Serving], out_of_turn);
        check(&[Complete], out_of_turn);
        check(&[Ask, Ask], out_of_turn);
        check(&[Ask, Refused("no".to_owned())], out_of_turn);
    }

    #[test]
    fn server_that_is_asked_to_end_gives_nothing() {
        let config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        server.handle().drain();
        let parts = HandoverParts::default();
        let workers = HandoverPart::Workers(SocketRole::Application, server.handle());
        parts.add(workers);
        let (own, mut successor) = UnixStream::pair().unwrap();
        successor.write_all(&HandoverMessage::Ask.encode()).unwrap();
        let mut channel = HandoverChannel::new(own).unwrap();
        let ended = talk(&mut channel, &parts);
        assert!(matches!(ended, Ok(SessionEnd::Refused)));
        drop(channel);
        let mut answer = HandoverChannel::new(successor).unwrap();
        let (message, _) = answer.receive().unwrap().unwrap();
        assert!(
            matches!(message, HandoverMessage::Refused(reason) if reason.contains("about to end"))
        );
    }
}
