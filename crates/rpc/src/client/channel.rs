//! The one connection of a client: made when it is first needed and again when it was lost, by whichever call comes first.
//! The others wait for it. Attempts that fail follow each other at growing distances, until the caller's time is over.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tsumugi_http::version_hint;

use super::plain::PlainStream;
use super::target::RpcTarget;
use super::tls::Tls;
use crate::error::{Error, Result};
use crate::limits::{
    CONNECTION_WINDOW_BYTES, ClientLimits, RECONNECT_MS_MAX, RECONNECT_MS_MIN, STREAM_WINDOW_BYTES,
};

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

pub(crate) struct RpcChannel {
    pub(crate) target: RpcTarget,
    tls: Option<Tls>,
    limits: ClientLimits,
    state: RefCell<State>,
    /// Told when an attempt has ended.
    changed: Notify,
}

enum State {
    Closed(Failures),
    Connecting,
    Open(OpenChannel),
}

/// A connection and which one it is, so that the loss of an old one is not taken for that of its successor.
#[derive(Clone)]
pub(crate) struct OpenChannel {
    pub(crate) sender: SendRequest<Bytes>,
    pub(crate) number: u64,
}

/// Attempts that failed, one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: u32,
    /// Connections that were made.
    number: u64,
    not_before: Option<Instant>,
}

impl Failures {
    fn one_more(self, now: Instant) -> Failures {
        let factor = 1_u64.checked_shl(self.count.min(16)).unwrap_or(u64::MAX);
        let rest_ms = RECONNECT_MS_MIN
            .saturating_mul(factor)
            .min(RECONNECT_MS_MAX);
        // Clients that lost the same server do not come back in step.
        let spread = rest_ms / 2 + u64::from(jitter()) * (rest_ms / 2) / 255;
        Failures {
            count: self.count.saturating_add(1),
            not_before: Some(now + Duration::from_millis(spread)),
            ..self
        }
    }
}

/// A byte that differs from process to process and from call to call.
fn jitter() -> u8 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(()).to_le_bytes()[0]
}

/// Gives the attempt to the next caller when this one goes away in the middle of it.
struct Attempt<'a> {
    link: &'a RpcChannel,
    failures: Failures,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut state = self.link.state.borrow_mut();
        if let State::Connecting = *state {
            *state = State::Closed(self.failures);
        }
        drop(state);
        self.link.changed.notify_waiters();
    }
}

impl RpcChannel {
    pub(crate) fn new(target: RpcTarget, tls: Option<Tls>, limits: ClientLimits) -> Rc<RpcChannel> {
        Rc::new(RpcChannel {
            target,
            tls,
            limits,
            state: RefCell::new(State::Closed(Failures::default())),
            changed: Notify::new(),
        })
    }

    /// The connection, made if there is none.
    #[cfg(feature = "tkrzw")]
    pub(crate) async fn open(self: &Rc<RpcChannel>) -> Result<OpenChannel> {
        if let State::Open(opened) = &*self.state.borrow() {
            return Ok(opened.clone());
        }
        let deadline = Instant::now() + Duration::from_millis(self.limits.connect_ms_max);
        let mut last = None;
        loop {
            let changed = self.changed.notified();
            let failures = match &*self.state.borrow() {
                State::Open(opened) => return Ok(opened.clone()),
                State::Connecting => None,
                State::Closed(failures) => Some(*failures),
            };
            let tried = match failures {
                None => timeout_at(deadline, changed).await.is_ok(),
                Some(Failures {
                    not_before: Some(rest),
                    ..
                }) if rest > Instant::now() => {
                    if rest > deadline {
                        false
                    } else {
                        tokio::time::sleep_until(rest).await;
                        true
                    }
                }
                Some(failures) => match self.attempt(failures, deadline).await {
                    Ok(opened) => return Ok(opened),
                    Err(source) => {
                        last = Some(source);
                        true
                    }
                },
            };
            if !tried || Instant::now() >= deadline {
                let source = last.unwrap_or_else(|| {
                    let limit_ms = self.limits.connect_ms_max;
                    too_late(format!(
                        "no connection within connect_ms_max ({limit_ms} ms)"
                    ))
                });
                let target = self.target.to_string();
                return Err(Error::Connect { target, source });
            }
        }
    }

    /// The connection, with one attempt if there is none; none either while those that failed before ask for a rest.
    pub(crate) async fn open_once(self: &Rc<RpcChannel>, deadline: Instant) -> Result<OpenChannel> {
        let limit = Instant::now() + Duration::from_millis(self.limits.connect_ms_max);
        let deadline = deadline.min(limit);
        let changed = self.changed.notified();
        let failures = match &*self.state.borrow() {
            State::Open(opened) => return Ok(opened.clone()),
            State::Connecting => None,
            State::Closed(failures) => Some(*failures),
        };
        let source = match failures {
            None => {
                let is_over = timeout_at(deadline, changed).await.is_err();
                match &*self.state.borrow() {
                    State::Open(opened) => return Ok(opened.clone()),
                    _ if is_over => too_late("it took longer than connect_ms_max"),
                    _ => io::Error::other("an attempt to connect has just failed"),
                }
            }
            Some(Failures {
                not_before: Some(rest),
                ..
            }) if rest > Instant::now() => {
                io::Error::other("an attempt to connect has just failed")
            }
            Some(failures) => match self.attempt(failures, deadline).await {
                Ok(opened) => return Ok(opened),
                Err(source) => source,
            },
        };
        let target = self.target.to_string();
        Err(Error::Connect { target, source })
    }

    /// The connection is of no more use; the next call makes another.
    pub(crate) fn lost(&self, opened: &OpenChannel) {
        self.ended(opened.number);
    }

    fn ended(&self, number: u64) {
        let mut state = self.state.borrow_mut();
        if let State::Open(current) = &*state
            && current.number == number
        {
            *state = State::Closed(Failures {
                number,
                ..Failures::default()
            });
        }
    }

    async fn attempt(
        self: &Rc<RpcChannel>,
        failures: Failures,
        deadline: Instant,
    ) -> io::Result<OpenChannel> {
        *self.state.borrow_mut() = State::Connecting;
        let mut attempt = Attempt {
            link: self,
            failures,
        };
        let made = timeout_at(deadline, self.connect(failures.number + 1)).await;
        let made = made.unwrap_or_else(|_| Err(too_late("it took longer than connect_ms_max")));
        match made {
            Ok(opened) => {
                *self.state.borrow_mut() = State::Open(opened.clone());
                Ok(opened)
            }
            Err(error) => {
                attempt.failures = failures.one_more(Instant::now());
                Err(error)
            }
        }
    }

    async fn connect(self: &Rc<RpcChannel>, number: u64) -> io::Result<OpenChannel> {
        let io = self.dial().await?;
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_send_buffer_size(usize::try_from(CONNECTION_WINDOW_BYTES).unwrap_or(usize::MAX));
        let (sender, connection) = builder.handshake(io).await.map_err(io::Error::other)?;
        let link = Rc::downgrade(self);
        drop(tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to a key-value server ended");
            }
            if let Some(link) = link.upgrade() {
                link.ended(number);
            }
        }));
        Ok(OpenChannel { sender, number })
    }

    async fn dial(&self) -> io::Result<Pin<Box<dyn Io>>> {
        let (host, port) = match &self.target {
            RpcTarget::Unix(path) => return Ok(Box::pin(UnixStream::connect(path).await?)),
            RpcTarget::Tcp { host, port } | RpcTarget::Tls { host, port } => (host, *port),
        };
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        let RpcTarget::Tls { .. } = self.target else {
            return Ok(Box::pin(PlainStream::new(stream)));
        };
        let Some(tls) = &self.tls else {
            return Err(io::Error::other("tkrzw+tls needs certificates to trust"));
        };
        let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
        let connector = TlsConnector::from(tls.config());
        let shaken = connector.connect(name, stream).await;
        let explained = |error: io::Error| {
            // A frame of HTTP/2 is no record.
            let is_plain = error.to_string().contains("InvalidContentType");
            match version_hint(&error) {
                Some(hint) => io::Error::other(hint),
                None if is_plain => {
                    io::Error::other("the server speaks no TLS: reach it by tkrzw://HOST:PORT")
                }
                None => error,
            }
        };
        Ok(Box::pin(shaken.map_err(explained)?))
    }
}

fn too_late(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_follow_each_other_at_growing_distances() {
        let now = Instant::now();
        let mut failures = Failures::default();
        for expected_ms in [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
            failures = failures.one_more(now);
            let rest = failures.not_before.unwrap() - now;
            let longest = Duration::from_millis(expected_ms);
            assert!(rest <= longest && rest >= longest / 2, "{rest:?}");
        }
    }
}
