//! The connection of two processes, one of which takes over from the other: messages, and the sockets that come with them.
//! Serves nothing. Rule: nothing is said to a process of another user, and no more sockets are held than messages have named.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::message::{HandoverMessage, MessageError};
use crate::limits::{HANDOVER_MESSAGE_BYTES_MAX, HANDOVER_MS_MAX, HANDOVER_SOCKETS_EACH};

/// Why the other process is not understood, or cannot be.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    #[error("it belongs to another user: only processes of one user take over from each other")]
    OtherUser,
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error("{sockets} sockets came with a message that names {named}")]
    Sockets { sockets: usize, named: usize },
    #[error("it did not answer within {HANDOVER_MS_MAX} ms (handover_ms_max)")]
    Late,
    #[error("the connection to it failed: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for ChannelError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Linux says the first.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ChannelError::Late,
            _ => ChannelError::Io(error),
        }
    }
}

/// One end of the connection.
pub(super) struct HandoverChannel {
    stream: UnixStream,
    bytes: Vec<u8>,
    sockets: VecDeque<OwnedFd>,
}

impl HandoverChannel {
    /// Of a connection to a process of the same user.
    pub(super) fn new(stream: UnixStream) -> Result<HandoverChannel, ChannelError> {
        if !is_same_user(&stream)? {
            return Err(ChannelError::OtherUser);
        }
        Ok(HandoverChannel {
            stream,
            bytes: Vec::new(),
            sockets: VecDeque::new(),
        })
    }

    /// How long a message may take, in either direction.
    pub(super) fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(patience)?;
        self.stream.set_write_timeout(patience)
    }

    /// The other half of the same end: one reads while the other writes.
    pub(super) fn try_clone(&self) -> io::Result<HandoverChannel> {
        Ok(HandoverChannel {
            stream: self.stream.try_clone()?,
            bytes: Vec::new(),
            sockets: VecDeque::new(),
        })
    }

    /// Sends a message, with as many sockets as it names.
    pub(super) fn send(
        &mut self,
        message: &HandoverMessage,
        sockets: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let bytes = message.encode();
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !sockets.is_empty() && !control.push(SendAncillaryMessage::ScmRights(sockets)) {
            return Err(io::Error::other("more sockets than one message may have"));
        }
        let pieces = [IoSlice::new(&bytes)];
        let sent = sendmsg(&self.stream, &pieces, &mut control, SendFlags::NOSIGNAL)?;
        // The sockets went with the first byte.
        let rest = bytes.get(sent..).unwrap_or_default();
        self.stream.write_all(rest)
    }

    /// The next message with its sockets; none at the end of the connection.
    pub(super) fn receive(
        &mut self,
    ) -> Result<Option<(HandoverMessage, Vec<OwnedFd>)>, ChannelError> {
        loop {
            if let Some((message, end)) = HandoverMessage::decode(&self.bytes)? {
                self.bytes.drain(..end);
                let sockets = self.sockets_of(&message)?;
                return Ok(Some((message, sockets)));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    /// The sockets that a message names. Further ones are a later message's, of which bytes came along: sockets come with the first byte.
    fn sockets_of(&mut self, message: &HandoverMessage) -> Result<Vec<OwnedFd>, ChannelError> {
        let named = match message {
            HandoverMessage::Sockets(labels) => labels.len(),
            _ => 0,
        };
        let sockets = self.sockets.len();
        if sockets < named || (sockets > named && self.bytes.is_empty()) {
            return Err(ChannelError::Sockets { sockets, named });
        }
        Ok(self.sockets.drain(..named).collect())
    }

    /// Reads what is there; false at the end.
    fn read(&mut self) -> Result<bool, ChannelError> {
        let mut piece = [0; READ_BYTES];
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut pieces = [IoSliceMut::new(&mut piece)];
            match recvmsg(&self.stream, &mut pieces, &mut control, flags) {
                Err(rustix::io::Errno::INTR) => {}
                received => break received.map_err(io::Error::from)?,
            }
        };
        for came in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sockets) = came {
                self.sockets.extend(sockets);
            }
        }
        // One message's whose bytes are not all there, and the next one's.
        let named = 2 * HANDOVER_SOCKETS_EACH;
        let sockets = self.sockets.len();
        if sockets > named || received.flags.contains(ReturnFlags::CTRUNC) {
            return Err(ChannelError::Sockets { sockets, named });
        }
        let read = piece.get(..received.bytes).unwrap_or_default();
        self.bytes.extend_from_slice(read);
        Ok(!read.is_empty())
    }
}

/// A message and its head fit.
const READ_BYTES: usize = 2 * HANDOVER_MESSAGE_BYTES_MAX;

/// Room for the sockets of one message. One more, so that a message with too many is told from one with as many as there may be.
const SPACE: usize = rustix::cmsg_space!(ScmRights(HANDOVER_SOCKETS_EACH + 1));

#[cfg(target_os = "linux")]
fn is_same_user(stream: &UnixStream) -> io::Result<bool> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid == rustix::process::geteuid())
}

#[cfg(not(target_os = "linux"))]
fn is_same_user(_: &UnixStream) -> io::Result<bool> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "a handover needs Linux, which says whose process the other one is",
    ))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    use tsumugi_worker::FileOwner;

    use super::super::message::{SocketLabel, SocketRole};
    use super::*;

    fn pair() -> (HandoverChannel, HandoverChannel) {
        let (one, other) = UnixStream::pair().unwrap();
        let channel = |stream| {
            let channel = HandoverChannel::new(stream).unwrap();
            let patience = Some(Duration::from_secs(5));
            channel.set_patience(patience).unwrap();
            channel
        };
        (channel(one), channel(other))
    }

    fn named(count: usize) -> HandoverMessage {
        let label = SocketLabel {
            role: SocketRole::Application,
            owner: FileOwner::Server,
        };
        HandoverMessage::Sockets(vec![label; count])
    }

    #[test]
    fn sockets_arrive_with_the_message_that_names_them() {
        let (mut old, mut new) = pair();
        let listeners: Vec<_> = (0..3)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let sockets: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
        old.send(&named(1), &sockets[..1]).unwrap();
        old.send(&named(2), &sockets[1..]).unwrap();
        old.send(&HandoverMessage::Complete, &[]).unwrap();
        drop(old);
        let mut addresses = Vec::new();
        let mut messages = 0;
        while let Some((_, sockets)) = new.receive().unwrap() {
            messages += 1;
            let listeners = sockets.into_iter().map(TcpListener::from);
            addresses.extend(listeners.map(|one| one.local_addr().unwrap()));
        }
        let expected = listeners.iter().map(|one| one.local_addr().unwrap());
        assert_eq!((messages, addresses), (3, expected.collect()));
    }

    #[test]
    fn more_or_fewer_sockets_than_named_are_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let refused = |message: HandoverMessage, count: usize| {
            let (mut old, mut new) = pair();
            old.send(&message, &vec![listener.as_fd(); count]).unwrap();
            matches!(new.receive(), Err(ChannelError::Sockets { .. }))
        };
        assert!(refused(named(2), 1));
        assert!(refused(named(1), 2));
        assert!(refused(HandoverMessage::Ask, 1));
        assert!(refused(
            named(HANDOVER_SOCKETS_EACH),
            HANDOVER_SOCKETS_EACH + 1
        ));
        assert!(!refused(
            named(HANDOVER_SOCKETS_EACH),
            HANDOVER_SOCKETS_EACH
        ));
    }

    #[test]
    fn connection_that_says_nothing_is_left_in_time() {
        let (_old, mut new) = pair();
        new.set_patience(Some(Duration::from_millis(50))).unwrap();
        assert!(matches!(new.receive(), Err(ChannelError::Late)));
    }
}
