//! The process that serves until this one does, as seen from this one: asked for its sockets, told when it may go, watched until it has gone.
//! Rule: what it says is believed only if it is a process of the same user.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tsumugi_kv::Takeover;
use tsumugi_worker::ListeningSocket;

use super::GivenSockets;
use super::channel::{ChannelError, HandoverChannel};
use super::message::HandoverMessage;
use crate::limits::{HANDOVER_MS_MAX, HANDOVER_SOCKETS_MAX};

/// How often a process is looked for again that goes while it is asked.
const GONE_TRIES: usize = 5;

/// Rest before that.
const GONE_REST: Duration = Duration::from_millis(50);

/// The process that serves until this one does.
pub(super) struct Predecessor {
    channel: HandoverChannel,
    takeover: Takeover,
}

impl Predecessor {
    /// The process that has a socket at this path, with its listening sockets; none when there is none.
    /// Its stores are waited for as long as `patience`, from when this process serves on.
    pub(super) fn find(
        path: &Path,
        patience: Duration,
    ) -> Result<Option<(Predecessor, GivenSockets)>> {
        let mut tries = GONE_TRIES;
        let (channel, given) = loop {
            let Some(stream) = connect(path)? else {
                return Ok(None);
            };
            let asked = ask(stream).with_context(|| {
                format!("cannot take over from the process at {}", path.display())
            })?;
            if let Some(answer) = asked {
                break answer;
            }
            ensure!(
                tries > 0,
                "the process at {} closes the connection on which it is asked for its sockets",
                path.display()
            );
            // It may be ending just now, and no longer be there at the next look.
            tries -= 1;
            thread::park_timeout(GONE_REST);
        };
        let takeover = Takeover::begin(patience);
        watch(&channel, &takeover).context("the system gave no thread for --handover")?;
        tracing::info!(
            "taking over from the process at {}, which serves until this one does",
            path.display()
        );
        Ok(Some((Predecessor { channel, takeover }, given)))
    }

    /// Has requests wait for the stores that the other process lets go once it knows that this one serves.
    pub(super) fn await_stores(&self) {
        self.takeover.serving();
    }

    /// Says that this process serves.
    pub(super) fn replace(mut self) {
        if let Err(error) = self.channel.send(&HandoverMessage::Serving, &[]) {
            tracing::warn!("the process that served before has gone already: {error}");
        }
    }
}

/// A connection to the process that has a socket at this path; none when there is none.
fn connect(path: &Path) -> Result<Option<UnixStream>> {
    match UnixStream::connect(path) {
        Ok(stream) => Ok(Some(stream)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => {
            Err(error).with_context(|| format!("cannot reach --handover {}", path.display()))
        }
    }
}

/// Asks for the sockets; none when the process goes before all have come. Those that came are closed then, as its own are.
fn ask(stream: UnixStream) -> Result<Option<(HandoverChannel, GivenSockets)>> {
    match ask_once(stream) {
        Err(error) if has_gone(&error) => Ok(None),
        asked => asked,
    }
}

fn has_gone(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(ChannelError::Io(error)) => error.kind() == ErrorKind::ConnectionReset,
        _ => false,
    }
}

fn ask_once(stream: UnixStream) -> Result<Option<(HandoverChannel, GivenSockets)>> {
    let mut channel = HandoverChannel::new(stream)?;
    channel.set_patience(Some(Duration::from_millis(HANDOVER_MS_MAX)))?;
    match channel.send(&HandoverMessage::Ask, &[]) {
        // It may have said why before it closed.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        asked => asked.map_err(ChannelError::from)?,
    }
    let mut given = GivenSockets::default();
    let mut count = 0;
    loop {
        let Some((message, sockets)) = channel.receive()? else {
            return Ok(None);
        };
        match message {
            HandoverMessage::Sockets(labels) => {
                count = add_sockets(count, labels.len())?;
                for (label, socket) in labels.into_iter().zip(sockets) {
                    let socket = ListeningSocket::adopt(socket, label.owner);
                    given.add(
                        Some(label.role),
                        socket.context("one of its sockets cannot be used")?,
                    );
                }
            }
            HandoverMessage::Complete => break,
            HandoverMessage::Refused(reason) => bail!("it says: {reason}"),
            HandoverMessage::Ask | HandoverMessage::Serving | HandoverMessage::Released => {
                bail!("it says what is not its turn")
            }
        }
    }
    channel.set_patience(None)?;
    Ok(Some((channel, given)))
}

/// How many sockets there are with so many more.
fn add_sockets(count: usize, more: usize) -> Result<usize> {
    let count = count + more;
    ensure!(
        count <= HANDOVER_SOCKETS_MAX,
        "it has more than {HANDOVER_SOCKETS_MAX} sockets (handover_sockets_max)"
    );
    Ok(count)
}

/// Waits on a thread until the other process has let go of its stores, and then until it has gone.
fn watch(channel: &HandoverChannel, takeover: &Takeover) -> std::io::Result<()> {
    let mut channel = channel.try_clone()?;
    let takeover = takeover.clone();
    let wait = move || {
        // It has nothing else to say: whatever comes is the end.
        while let Ok(Some((HandoverMessage::Released, _))) = channel.receive() {
            takeover.released();
        }
        takeover.over();
        tracing::info!("the process that served before has gone");
    };
    thread::Builder::new()
        .name("tsumugi-predecessor".to_owned())
        .spawn(wait)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a new process makes of one that answers each connection with these bytes, goes, and is not there any more after `answers` of them.
    fn find(answer: &'static [u8], answers: usize) -> Result<bool> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let other = thread::spawn(move || {
            for _ in 0..answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 6];
                std::io::Read::read_exact(&mut stream, &mut asked).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        let found = Predecessor::find(&path, Duration::ZERO).map(|found| found.is_some());
        other.join().unwrap();
        found
    }

    #[test]
    fn process_that_goes_while_it_is_asked_is_none() {
        assert!(!find(b"", 1).unwrap());
        // In the middle of a message.
        assert!(!find(b"TH\x01", 1).unwrap());
    }

    #[test]
    fn as_many_sockets_as_there_may_be_are_taken_and_one_more_is_refused() {
        let most = add_sockets(HANDOVER_SOCKETS_MAX - 1, 1).unwrap();
        assert_eq!(most, HANDOVER_SOCKETS_MAX);
        let refused = add_sockets(most, 1).unwrap_err().to_string();
        assert!(refused.contains("handover_sockets_max"), "{refused}");
    }

    #[test]
    fn reason_of_a_process_that_refuses_before_it_is_asked_is_heard() {
        let (stream, mut other) = UnixStream::pair().unwrap();
        other.write_all(b"TH\x01\x05\0\x04busy").unwrap();
        drop(other);
        let error = ask(stream).err().unwrap().to_string();
        assert!(error.contains("it says: busy"), "{error}");
    }

    #[test]
    fn process_that_does_not_answer_as_one_to_take_over_from_is_an_error() {
        let refused = |answer, answers| format!("{:#}", find(answer, answers).unwrap_err());
        let closes = refused(b"", GONE_TRIES + 1);
        assert!(closes.contains("closes the connection"), "{closes}");
        let other = refused(b"HTTP/1.1 400 Bad Request\r\n", 1);
        assert!(other.contains("no handover"), "{other}");
        let newer = refused(b"TH\x02\x01\0\0", 1);
        assert!(newer.contains("speaks version 2"), "{newer}");
        let busy = refused(b"TH\x01\x05\0\x04busy", 1);
        assert!(busy.contains("it says: busy"), "{busy}");
        let turn = refused(b"TH\x01\x04\0\0", 1);
        assert!(turn.contains("not its turn"), "{turn}");
        let turn = refused(b"TH\x01\x06\0\0", 1);
        assert!(turn.contains("not its turn"), "{turn}");
        // More sockets than it sends.
        let fewer = refused(b"TH\x01\x02\0\x02\0\0", 1);
        assert!(fewer.contains("0 sockets came"), "{fewer}");
    }
}
