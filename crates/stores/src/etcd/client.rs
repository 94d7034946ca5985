//! A cluster of etcd as a worker's tasks call it: one connection to each server that is used, one server at a time, the next when that one
//! fails. Knows no record. Rule: a call that may have taken place is sent again only where that changes nothing.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use http::{HeaderMap, HeaderValue};
use prost::Message;
use tokio::time::Instant;
use tsumugi_rpc::client::{
    ClientIdentity, GrpcAnswer, GrpcClient, GrpcFailure, GrpcMessage, GrpcStream, Tls,
};
use tsumugi_rpc::{ClientLimits, Error as RpcError, RpcTarget};
use tsumugi_wire::Secret;
use tsumugi_worker::Pool;

use super::address::{EtcdAddress, Transport};
use super::messages::{
    AuthenticateRequest, AuthenticateResponse, WatchRequest, WatchResponse, path,
};
use super::status::{StatusVerdict, needs_no_password};
use super::table::ENGINE;
use crate::error::{CallFate, Error, Result};
use crate::limits::{
    ETCD_ANSWER_BYTES_MAX, ETCD_ATTEMPT_MS, ETCD_CONNECT_MS_MAX, ETCD_LOGINS_MAX, ETCD_REST_MS,
};

/// How a cluster is reached. Stores with the same settings share the client.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ConnectionSettings {
    hosts: Vec<(String, u16)>,
    transport: Transport,
    login: Option<(String, Secret)>,
    timeout_ms: u64,
    authority: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

impl ConnectionSettings {
    pub(super) fn of(address: &EtcdAddress, configured: Option<&Path>) -> ConnectionSettings {
        let url = &address.url;
        let file = |name: &str| url.settings.find(name).map(PathBuf::from);
        ConnectionSettings {
            hosts: url.hosts.clone(),
            transport: address.transport,
            login: url.user.clone().zip(url.password.clone()),
            timeout_ms: address.timeout_ms,
            authority: url.settings.authority(configured),
            identity: file("cert").zip(file("key")),
        }
    }

    async fn tls(&self, pool: &Pool) -> Result<Option<Tls>> {
        if self.transport == Transport::Plain {
            return Ok(None);
        }
        let Some(authority) = self.authority.clone() else {
            return Err(Error::address(
                "etcds:// needs the certificate of the servers' authority: give its file as ca",
            ));
        };
        let identity = self.identity.clone();
        let read = move || {
            let identity = identity
                .as_ref()
                .map(|(certificate, key)| ClientIdentity { certificate, key });
            Tls::read(&authority, identity)
        };
        Ok(Some(pool.run(read).await??))
    }

    fn target(&self, host: &str, port: u16) -> RpcTarget {
        let host = host.to_owned();
        match self.transport {
            Transport::Plain => RpcTarget::Tcp { host, port },
            Transport::Tls => RpcTarget::Tls { host, port },
        }
    }
}

/// Whether a call that may have taken place is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It reads, or it does no harm twice.
    Safe,
    /// It writes.
    Never,
}

/// The client of a cluster, shared by the stores of a worker.
pub(super) struct EtcdClient {
    pub(super) settings: ConnectionSettings,
    endpoints: Vec<GrpcClient>,
    /// The server that calls go to.
    current: Cell<usize>,
    token: RefCell<Option<HeaderValue>>,
}

/// Moments of one call.
struct CallClock {
    deadline: Instant,
    limit_ms: u64,
    /// Servers that were asked in this round.
    asked: usize,
    logins: usize,
    last: String,
}

impl EtcdClient {
    pub(super) async fn connect(
        settings: ConnectionSettings,
        pool: &Pool,
    ) -> Result<Rc<EtcdClient>> {
        let tls = settings.tls(pool).await?;
        let limits = ClientLimits {
            connect_ms_max: ETCD_CONNECT_MS_MAX.min(settings.timeout_ms),
            call_ms_max: settings.timeout_ms,
            message_bytes_max: ETCD_ANSWER_BYTES_MAX,
        };
        let hosts = settings.hosts.iter();
        let endpoints = hosts.map(|(host, port)| {
            GrpcClient::new(settings.target(host, *port), tls.clone(), limits.clone())
        });
        Ok(Rc::new(EtcdClient {
            endpoints: endpoints.collect(),
            // Workers and processes begin at different servers.
            current: Cell::new(spread(settings.hosts.len())),
            token: RefCell::default(),
            settings,
        }))
    }

    /// How long one server is waited for that is asked for what another may give as well.
    fn attempt_ms(&self) -> u64 {
        (self.settings.timeout_ms / 3).max(ETCD_ATTEMPT_MS)
    }

    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.settings.timeout_ms)
    }

    /// A call of one message and one answer.
    pub(super) async fn call<Q: Message, R: Message + Default>(
        &self,
        path: &str,
        request: &Q,
        repeat: Repeat,
    ) -> Result<R> {
        let request = GrpcMessage::of(request);
        let mut clock = CallClock::start(self.settings.timeout_ms);
        loop {
            let (at, answer) = self.ask(&mut clock, path, &request, repeat).await?;
            match answer.read() {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.judge(&mut clock, at, failure, repeat).await?,
            }
        }
    }

    /// An answer, and which server gave it.
    fn ask<'a>(
        &'a self,
        clock: &'a mut CallClock,
        path: &'a str,
        request: &'a GrpcMessage,
        repeat: Repeat,
    ) -> LocalBoxFuture<'a, Result<(usize, GrpcAnswer)>> {
        async move {
            loop {
                let at = self.current.get();
                let metadata = self.metadata(clock).await?;
                let attempt_ms = match repeat {
                    Repeat::Safe => self.attempt_ms(),
                    Repeat::Never => u64::MAX,
                };
                let limit = clock.left(attempt_ms).ok_or_else(|| clock.late())?;
                let endpoint = self.endpoint(at);
                let failure = match endpoint.call(path, &metadata, request, limit).await {
                    Ok(answer) => return Ok((at, answer)),
                    Err(failure) => failure,
                };
                self.judge(clock, at, failure, repeat).await?;
            }
        }
        .boxed_local()
    }

    /// A watch, and where it is: at a server that can be reached.
    pub(super) async fn watch(
        &self,
        request: &WatchRequest,
    ) -> Result<GrpcStream<WatchRequest, WatchResponse>> {
        let mut clock = CallClock::start(self.settings.timeout_ms);
        loop {
            let at = self.current.get();
            let metadata = self.metadata(&mut clock).await?;
            let limit = clock.left(ETCD_ATTEMPT_MS).ok_or_else(|| clock.late())?;
            let stream = self
                .endpoint(at)
                .stream(path::WATCH, &metadata, request, limit);
            match stream.await {
                Ok(stream) => return Ok(stream),
                Err(failure) => self.judge(&mut clock, at, failure, Repeat::Safe).await?,
            }
        }
    }

    /// Logs in anew before the next call. False where nobody is to log in.
    pub(super) fn forget_token(&self) -> bool {
        self.token.take();
        self.settings.login.is_some()
    }

    /// Goes on with the next server, unless another call has done so.
    pub(super) fn rotate_from(&self, at: usize) {
        if self.current.get() == at {
            self.current.set((at + 1) % self.endpoints.len());
        }
    }

    /// The server that calls go to now.
    pub(super) fn current(&self) -> usize {
        self.current.get()
    }

    fn endpoint(&self, at: usize) -> &GrpcClient {
        // An address has a host at least, and `at` comes from their number.
        &self.endpoints[at % self.endpoints.len()]
    }

    /// Decides after a failure whether the call goes on; its error otherwise.
    async fn judge(
        &self,
        clock: &mut CallClock,
        at: usize,
        failure: GrpcFailure,
        repeat: Repeat,
    ) -> Result<()> {
        let server = self.endpoint(at).target();
        let is_late = matches!(failure, GrpcFailure::Deadline);
        let (reason, is_known) = match failure {
            GrpcFailure::NotBegun(reason) => (reason, true),
            GrpcFailure::Lost(reason) => (format!("{server} was lost: {reason}"), false),
            GrpcFailure::Deadline => (format!("{server} did not answer in time"), false),
            GrpcFailure::Status { code, message } => match StatusVerdict::of(code, &message) {
                StatusVerdict::Final(error) => return Err(error),
                StatusVerdict::Authenticate => {
                    self.token.take();
                    clock.logins += 1;
                    if self.settings.login.is_none() || clock.logins > ETCD_LOGINS_MAX {
                        return Err(Error::Refused {
                            engine: ENGINE,
                            message,
                        });
                    }
                    return Ok(());
                }
                StatusVerdict::Elsewhere => (format!("{server} says `{message}`"), true),
                StatusVerdict::Unknown => (format!("{server} says `{message}`"), false),
            },
            GrpcFailure::Answer(error @ RpcError::TooLarge { .. }) => return Err(error.into()),
            GrpcFailure::Answer(error) => (format!("{server}: {error}"), false),
        };
        // The texts of connections name the schemes of another service.
        let reason = reason.replace("tkrzw+tls://", "etcds://");
        let reason = reason.replace("tkrzw://", "etcd://");
        // A connection that rests after a failure has said why before.
        if clock.last.is_empty() || !reason.contains("has just failed") {
            clock.last = reason;
        }
        self.rotate_from(at);
        if !is_known && repeat == Repeat::Never {
            return Err(match is_late {
                true => Error::Deadline {
                    engine: ENGINE,
                    limit_ms: clock.limit_ms,
                    fate: CallFate::Unknown,
                },
                false => clock.failed(CallFate::Unknown),
            });
        }
        clock.asked += 1;
        if clock.asked >= self.endpoints.len() {
            clock.asked = 0;
            let rest = Duration::from_millis(ETCD_REST_MS + spread(ETCD_REST_MS as usize) as u64);
            if Instant::now() + rest >= clock.deadline {
                return Err(clock.failed(CallFate::NotApplied));
            }
            tokio::time::sleep(rest).await;
        }
        Ok(())
    }

    /// What goes beside a call: that a server without a leader says so at once, and who asks.
    async fn metadata(&self, clock: &mut CallClock) -> Result<HeaderMap> {
        let mut metadata = HeaderMap::new();
        metadata.insert("hasleader", HeaderValue::from_static("true"));
        if self.settings.login.is_none() {
            return Ok(metadata);
        }
        let known = self.token.borrow().clone();
        let token = match known {
            Some(token) => Some(token),
            None => self.log_in(clock).await?,
        };
        if let Some(token) = token {
            metadata.insert("token", token);
        }
        Ok(metadata)
    }

    /// A token for the user; none where servers ask for none.
    async fn log_in(&self, clock: &mut CallClock) -> Result<Option<HeaderValue>> {
        let Some((name, password)) = &self.settings.login else {
            return Ok(None);
        };
        let request = GrpcMessage::of(&AuthenticateRequest {
            name: name.clone(),
            password: password.reveal().to_owned(),
        });
        loop {
            let at = self.current.get();
            let limit = clock.left(ETCD_ATTEMPT_MS).ok_or_else(|| clock.late())?;
            let asked = self
                .endpoint(at)
                .call(path::AUTHENTICATE, &HeaderMap::new(), &request, limit)
                .await;
            let failure = match asked.and_then(GrpcAnswer::read::<AuthenticateResponse>) {
                Ok(answer) => {
                    let token = HeaderValue::try_from(answer.token);
                    let mut token = token.map_err(|_| Error::Server {
                        engine: ENGINE,
                        message: "a token that cannot be sent".to_owned(),
                        fate: CallFate::NotApplied,
                    })?;
                    token.set_sensitive(true);
                    *self.token.borrow_mut() = Some(token.clone());
                    return Ok(Some(token));
                }
                Err(failure) => failure,
            };
            match self.judge(clock, at, failure, Repeat::Safe).await {
                Ok(()) => {}
                Err(error) if needs_no_password(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl CallClock {
    fn start(limit_ms: u64) -> CallClock {
        CallClock {
            deadline: Instant::now() + Duration::from_millis(limit_ms),
            limit_ms,
            asked: 0,
            logins: 0,
            last: String::new(),
        }
    }

    /// The time of one attempt, if there is any left.
    fn left(&self, attempt_ms: u64) -> Option<Duration> {
        let left = self.deadline.checked_duration_since(Instant::now())?;
        let left = left.min(Duration::from_millis(attempt_ms));
        (!left.is_zero()).then_some(left)
    }

    /// The time is over, and nothing that was sent may have taken place, or it did no harm.
    fn late(&self) -> Error {
        self.failed(CallFate::NotApplied)
    }

    fn failed(&self, fate: CallFate) -> Error {
        match self.last.is_empty() {
            true => Error::Deadline {
                engine: ENGINE,
                limit_ms: self.limit_ms,
                fate,
            },
            false => Error::Unavailable {
                engine: ENGINE,
                reason: self.last.clone(),
                fate,
            },
        }
    }
}

/// A number below `count` that differs from call to call.
pub(super) fn spread(count: usize) -> usize {
    use std::hash::{BuildHasher as _, RandomState};
    let hash = RandomState::new().hash_one(());
    usize::try_from(hash % count.max(1) as u64).unwrap_or_default()
}
