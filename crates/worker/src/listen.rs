//! Binds listening sockets or takes those that are bound already, and owns the files of UNIX sockets. Chooses no worker and serves nothing.
//! Everything is bound before any worker starts, so that a wrong address is an error and not half a server.

use std::fs::{self, Metadata};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use crate::{
    Config, Error, FileOwner, ListenAddress, ListeningSocket, Peer, Result, SocketStream,
    WorkerLimits,
};

/// A listening socket of one worker, not yet registered with its event loop.
#[derive(Debug)]
pub(crate) struct WorkerListener {
    pub socket: Socket,
    /// Which address of the configuration it is.
    pub index: usize,
    pub kind: ListenerKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    Tcp,
    Unix,
}

impl WorkerListener {
    /// Registers the listener with the event loop of the calling worker.
    pub fn open(self) -> io::Result<OpenListener> {
        Ok(match self.kind {
            ListenerKind::Tcp => OpenListener::Tcp(TcpListener::from_std(self.socket.into())?),
            ListenerKind::Unix => OpenListener::Unix(UnixListener::from_std(self.socket.into())?),
        })
    }
}

/// A listening socket on its worker.
#[derive(Debug)]
pub(crate) enum OpenListener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl OpenListener {
    /// The next connection. Yields to the worker's other tasks now and then, as all of tokio's sockets do.
    pub async fn accept(&self) -> io::Result<(SocketStream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((SocketStream::from(stream), Peer::Tcp(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((SocketStream::Unix(stream), Peer::Unix))
            }
        }
    }

    /// Leaves the event loop. What is in the backlog may not have been announced by it yet.
    pub fn close(self) -> io::Result<Backlog> {
        Ok(Backlog(match self {
            Self::Tcp(listener) => listener.into_std()?.into(),
            Self::Unix(listener) => listener.into_std()?.into(),
        }))
    }
}

/// What a closing listener still holds.
#[derive(Debug)]
pub(crate) struct Backlog(Socket);

impl Backlog {
    /// Takes one connection; `WouldBlock` when the backlog is empty. Never blocks.
    pub fn take(&self) -> io::Result<(SocketStream, Peer)> {
        let (socket, address) = self.0.accept()?;
        socket.set_nonblocking(true)?;
        let peer = address.as_socket().map_or(Peer::Unix, Peer::Tcp);
        Ok((SocketStream::adopt(socket, peer)?, peer))
    }
}

/// Everything that a configuration asked to listen on.
#[derive(Debug)]
pub(crate) struct BoundListeners {
    /// The listeners of each worker.
    pub workers: Vec<Vec<WorkerListener>>,
    /// The addresses as they are, ports filled in.
    pub addresses: Vec<ListenAddress>,
    pub files: Vec<SocketFile>,
    /// Each socket once more, for a process that takes over.
    pub sockets: Vec<ListeningSocket>,
}

/// Binds what is configured; what is among `given` already is taken as it is.
pub(crate) fn bind(config: &Config, mut given: Vec<ListeningSocket>) -> Result<BoundListeners> {
    if config.listen.is_empty() {
        return Err(Error::NoAddress);
    }
    let workers = config.workers.get();
    let mut bound = BoundListeners {
        workers: (0..workers).map(|_| Vec::new()).collect(),
        addresses: Vec::new(),
        files: Vec::new(),
        sockets: Vec::new(),
    };
    for (index, address) in config.listen.iter().enumerate() {
        let own: Vec<ListeningSocket> = given
            .extract_if(.., |socket| socket.address() == address)
            .collect();
        let kind = match address {
            ListenAddress::Tcp(_) => ListenerKind::Tcp,
            ListenAddress::Unix(_) => ListenerKind::Unix,
        };
        let sockets = match own.is_empty() {
            true => bound.bind(address, workers, &config.limits)?,
            false => bound.adopt(address, workers, own)?,
        };
        for (worker, socket) in sockets {
            bound.workers[worker].push(WorkerListener {
                socket,
                index,
                kind,
            });
        }
    }
    for socket in given {
        tracing::warn!(
            address = %socket.address(),
            "a listening socket was passed to this server, which does not listen there; it is closed"
        );
    }
    Ok(bound)
}

/// Sockets with the workers that accept from them.
type WorkerSockets = Vec<(usize, Socket)>;

impl BoundListeners {
    /// Binds one address for every worker.
    fn bind(
        &mut self,
        address: &ListenAddress,
        workers: usize,
        limits: &WorkerLimits,
    ) -> Result<WorkerSockets> {
        let failed = cannot_listen(address.clone());
        let mut actual = address.clone();
        let (sockets, distinct) = match address {
            ListenAddress::Tcp(wanted) => {
                let (local, sockets) = tcp((*wanted).into(), workers, limits).map_err(&failed)?;
                if let Some(local) = local.as_socket() {
                    actual = ListenAddress::Tcp(local);
                }
                (sockets, workers)
            }
            ListenAddress::Unix(path) => {
                let (file, sockets) = unix(path, workers, limits)?;
                self.files.push(file);
                // All are the same.
                (sockets, 1)
            }
        };
        for socket in sockets.iter().take(distinct) {
            let again = ListeningSocket::bound(socket, &actual);
            self.sockets.push(again.map_err(&failed)?);
        }
        self.addresses.push(actual);
        Ok(sockets.into_iter().enumerate().collect())
    }

    /// Takes the sockets of an address that something else has bound.
    fn adopt(
        &mut self,
        address: &ListenAddress,
        workers: usize,
        own: Vec<ListeningSocket>,
    ) -> Result<WorkerSockets> {
        let failed = cannot_listen(address.clone());
        if let (ListenAddress::Unix(path), FileOwner::Server) = (address, own[0].owner()) {
            let mut file = SocketFile::new(path).map_err(&failed)?;
            // The process that has bound it may go on.
            file.leave();
            self.files.push(file);
        }
        for socket in &own {
            self.sockets.push(socket.try_clone().map_err(&failed)?);
        }
        self.addresses.push(address.clone());
        spread(own, workers).map_err(&failed)
    }
}

/// Which worker accepts from which socket of one address: every socket has a worker, so that no connection waits for ever, and every worker
/// has a socket.
fn spread(given: Vec<ListeningSocket>, workers: usize) -> io::Result<WorkerSockets> {
    let count = given.len();
    let mut spread = Vec::with_capacity(count.max(workers));
    for worker in count..workers {
        spread.push((worker, given[worker % count].socket.try_clone()?));
    }
    let given = given.into_iter().enumerate();
    spread.extend(given.map(|(place, given)| (place % workers, given.socket)));
    Ok(spread)
}

fn cannot_listen(address: ListenAddress) -> impl Fn(io::Error) -> Error {
    move |source| Error::Listen {
        address: address.clone(),
        source,
    }
}

/// One `SO_REUSEPORT` socket per worker, all on one port.
fn tcp(
    wanted: SockAddr,
    workers: usize,
    limits: &WorkerLimits,
) -> io::Result<(SockAddr, Vec<Socket>)> {
    let has_port = |address: SocketAddr| address.port() != 0;
    if wanted.as_socket().is_some_and(has_port) {
        // With SO_REUSEPORT a second server of the same user would quietly get half of the connections;
        // without it the kernel says that the port is taken.
        tcp_socket(&wanted)?.bind(&wanted)?;
    }
    let mut address = wanted;
    let mut sockets = Vec::with_capacity(workers);
    for _ in 0..workers {
        let socket = tcp_socket(&address)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address)?;
        address = socket.local_addr()?;
        sockets.push(socket);
    }
    for socket in &sockets {
        listen(socket, limits)?;
    }
    Ok((address, sockets))
}

fn tcp_socket(address: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(address.domain(), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

fn listen(socket: &Socket, limits: &WorkerLimits) -> io::Result<()> {
    socket.listen(i32::try_from(limits.backlog_max).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)
}

/// One UNIX socket that every worker accepts from: a stalled worker then keeps no client waiting.
fn unix(path: &Path, workers: usize, limits: &WorkerLimits) -> Result<(SocketFile, Vec<Socket>)> {
    remove_stale_socket(path)?;
    let bind = || {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let file = SocketFile::new(path)?;
        listen(&socket, limits)?;
        let mut sockets = (1..workers)
            .map(|_| socket.try_clone())
            .collect::<io::Result<Vec<_>>>()?;
        sockets.push(socket);
        Ok((file, sockets))
    };
    bind().map_err(cannot_listen(ListenAddress::Unix(path.to_owned())))
}

/// Removes the UNIX socket that a server left behind when it was killed.
///
/// # Errors
/// [`Error::SocketInUse`] when a server answers there, [`Error::NotASocket`] when something else is there.
pub fn remove_stale_socket(path: &Path) -> Result<()> {
    let failed = cannot_listen(ListenAddress::Unix(path.to_owned()));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(Error::NotASocket {
                path: path.to_owned(),
            });
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            tracing::info!(path = %path.display(), "replacing the socket of a server that is gone");
            fs::remove_file(path).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(failed(error)),
        // Answered, or alive with a full backlog.
        Ok(_) | Err(_) => Err(Error::SocketInUse {
            path: path.to_owned(),
        }),
    }
}

/// The file of a UNIX socket; dropping this removes it, unless another server has put its own there.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64, i64, i64),
    is_left: bool,
}

impl SocketFile {
    /// The file that is there now.
    ///
    /// # Errors
    /// Where there is none.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity(&fs::symlink_metadata(path)?),
            is_left: false,
        })
    }

    /// Leaves the file to the process that has the socket now.
    pub fn leave(&mut self) {
        self.is_left = true;
    }

    /// Removes the file at the end, though another process has made it.
    pub fn take_over(&mut self) {
        self.is_left = false;
    }
}

/// File systems give a removed file's number to the next one, so the time of creation counts as well.
fn identity(metadata: &Metadata) -> (u64, u64, i64, i64) {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.is_left {
            return;
        }
        let own = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| identity(&metadata) == self.identity);
        if own && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the UNIX socket could not be removed");
        }
    }
}
