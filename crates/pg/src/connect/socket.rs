//! Opens one socket and sets what the configuration says of it. Says nothing on it.
//! Rule: options go on before the connection, so that they hold while it is made.

use std::io;
use std::net::SocketAddr;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};

use super::address::Address;
use super::stream::Stream;
use crate::config::{Config, Keepalive};
use crate::platform;

/// A socket to this address, in the clear.
pub async fn open(config: &Config, address: &Address) -> io::Result<Stream> {
    match address {
        Address::Tcp(address) => Ok(Stream::Tcp(tcp(config, *address).await?)),
        Address::Local { directory, port } => {
            let stream = platform::connect_local(directory, *port).await?;
            Ok(Stream::Local(stream))
        }
    }
}

async fn tcp(config: &Config, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_nodelay(true)?;
    if config.keepalive.enabled {
        SockRef::from(&socket).set_tcp_keepalive(&keepalive(config.keepalive))?;
    }
    if let Some(timeout) = config.tcp_user_timeout {
        platform::user_timeout(SockRef::from(&socket), timeout)?;
    }
    socket.connect(address).await
}

fn keepalive(wanted: Keepalive) -> TcpKeepalive {
    let mut keepalive = TcpKeepalive::new();
    if let Some(idle) = wanted.idle {
        keepalive = keepalive.with_time(idle);
    }
    if let Some(interval) = wanted.interval {
        keepalive = keepalive.with_interval(interval);
    }
    if let Some(count) = wanted.count {
        keepalive = keepalive.with_retries(count);
    }
    keepalive
}
