//! A listening socket that something else has bound: a supervisor, or the process that this one takes over from. Binds nothing.
//! Rule: what is no listening socket of streams is refused when it is adopted, not when somebody connects.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use socket2::{Socket, Type};

use crate::ListenAddress;

/// A bound socket that listens. Connections wait in its backlog, whichever process accepts them.
#[derive(Debug)]
pub struct ListeningSocket {
    pub(crate) socket: Socket,
    owner: FileOwner,
    address: ListenAddress,
}

/// What removes the file of a UNIX socket when nothing listens there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOwner {
    /// The server that has the socket last, as one that it has bound itself.
    Server,
    /// The program that made it.
    Supervisor,
}

impl ListeningSocket {
    /// Takes a socket over.
    ///
    /// # Errors
    /// Where it is no stream socket that listens on an IP address or on a path.
    pub fn adopt(socket: OwnedFd, owner: FileOwner) -> io::Result<Self> {
        let refused = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, reason);
        let socket = Socket::from(socket);
        if socket.r#type()? != Type::STREAM {
            return Err(refused("it is no stream socket"));
        }
        if !listens(&socket)? {
            return Err(refused("it does not listen"));
        }
        let local = socket.local_addr()?;
        let address = match (local.as_socket(), local.as_pathname()) {
            (Some(address), _) => ListenAddress::Tcp(address),
            (None, Some(path)) => ListenAddress::Unix(path.to_owned()),
            (None, None) => return Err(refused("it has neither an IP address nor a path")),
        };
        socket.set_nonblocking(true)?;
        // A program that a handler starts must not keep it open.
        socket.set_cloexec(true)?;
        Ok(Self {
            socket,
            owner,
            address,
        })
    }

    /// One that this server has bound.
    pub(crate) fn bound(socket: &Socket, address: &ListenAddress) -> io::Result<Self> {
        Ok(Self {
            socket: socket.try_clone()?,
            owner: FileOwner::Server,
            address: address.clone(),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// What removes its file, if it has one.
    pub fn owner(&self) -> FileOwner {
        self.owner
    }

    /// The system's number of the socket, whichever descriptor it is reached by.
    ///
    /// # Errors
    /// When the limit of open files is reached.
    pub fn number(&self) -> io::Result<u64> {
        let descriptor = OwnedFd::from(self.socket.try_clone()?);
        Ok(File::from(descriptor).metadata()?.ino())
    }

    /// Another descriptor of the same socket.
    ///
    /// # Errors
    /// When the limit of open files is reached.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            socket: self.socket.try_clone()?,
            owner: self.owner,
            address: self.address.clone(),
        })
    }
}

impl AsFd for ListeningSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<ListeningSocket> for OwnedFd {
    fn from(socket: ListeningSocket) -> OwnedFd {
        socket.socket.into()
    }
}

#[cfg(target_os = "linux")]
fn listens(socket: &Socket) -> io::Result<bool> {
    socket.is_listener()
}

/// Not every system says so.
#[cfg(not(target_os = "linux"))]
fn listens(_: &Socket) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    /// The address of what is adopted, or why it is not.
    #[track_caller]
    fn check(socket: impl Into<OwnedFd>, expected: &str) {
        let found = match ListeningSocket::adopt(socket.into(), FileOwner::Supervisor) {
            Ok(socket) => socket.address().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn listening_stream_socket_is_adopted_with_its_address() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap().to_string();
        check(tcp, &address);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        check(
            UnixListener::bind(&path).unwrap(),
            &format!("unix:{}", path.display()),
        );
    }

    #[test]
    fn descriptors_of_one_socket_have_its_number_and_no_other_one_has() {
        let adopted = || {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            ListeningSocket::adopt(tcp.into(), FileOwner::Server).unwrap()
        };
        let (one, other) = (adopted(), adopted());
        let same = one.try_clone().unwrap();
        assert_eq!(one.number().unwrap(), same.number().unwrap());
        assert_ne!(one.number().unwrap(), other.number().unwrap());
    }

    #[test]
    fn socket_that_does_not_listen_is_refused() {
        check(UdpSocket::bind("127.0.0.1:0").unwrap(), "no stream socket");
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        check(
            TcpStream::connect(tcp.local_addr().unwrap()).unwrap(),
            "does not listen",
        );
        check(UnixStream::pair().unwrap().0, "does not listen");
        check(tempfile::tempfile().unwrap(), "");
        assert!(
            ListeningSocket::adopt(tempfile::tempfile().unwrap().into(), FileOwner::Server)
                .is_err()
        );
    }
}
