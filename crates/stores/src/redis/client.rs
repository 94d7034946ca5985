//! A worker's client of one address of Redis: sends requests to the right server, and again to another one where that is certain to be right.
//! Rule: a write is sent again only after a server has said that it did nothing; once an answer is lost, the caller learns that it may have taken place.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use redis::{ServerError, Value};
use tokio::time::{Instant, sleep, timeout_at};
use tsumugi_kv::Error as KvError;

use super::link::{Link, LinkFailure, Refusal, is_denial, server_text};
use super::request::{Effect, Request, ScriptForm};
use super::servers::Servers;
use super::slots::{Address, redirection, slot_of};
use super::table::CAPABILITIES;
use crate::error::{CallFate, Error, Result};
use crate::limits::{REDIS_CALLS_MAX, REDIS_REDIRECTS_MAX, REDIS_RETRY_MS_MAX, REDIS_RETRY_MS_MIN};

/// The client. All stores of a worker with the same way to the same servers share it.
pub(super) struct RedisClient {
    pub(super) servers: Servers,
    pub(super) timeout_ms: u64,
    /// Calls that are under way.
    calls: Cell<usize>,
}

/// One call among those that are under way.
struct CountedCall<'a>(&'a Cell<usize>);

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Where the next attempt of a call goes.
enum Route {
    /// To the server that has the key.
    Owner,
    /// To the node that gets the key's slot, which is on its way there.
    Asking(Address),
}

/// What an error of a server means for the call.
enum Verdict {
    /// The key is elsewhere.
    Moved(u16, Address),
    /// The key is elsewhere, this once.
    Asked(Address),
    /// The server does not know the script by its name.
    UnknownScript,
    /// Not now.
    Later,
    /// The server is a master no more.
    Replica,
    /// Not at all.
    Failed(Error),
}

/// How a call has gone so far.
struct CallState {
    deadline: Instant,
    route: Route,
    form: ScriptForm,
    redirects: usize,
    rest: Duration,
    /// A read whose answer was lost has been sent again.
    has_repeated: bool,
}

impl RedisClient {
    pub(super) fn new(servers: Servers, timeout_ms: u64) -> RedisClient {
        RedisClient {
            servers,
            timeout_ms,
            calls: Cell::new(0),
        }
    }

    /// Sends a request, and gives its answer.
    pub(super) async fn call(&self, request: &Request) -> Result<Value> {
        self.check_slot(request)?;
        let _counted = self.count()?;
        let mut state = CallState {
            deadline: Instant::now() + Duration::from_millis(self.timeout_ms),
            route: Route::Owner,
            form: ScriptForm::Name,
            redirects: 0,
            rest: Duration::from_millis(REDIS_RETRY_MS_MIN),
            has_repeated: false,
        };
        loop {
            let link = self.link(request.key.as_ref(), &mut state).await?;
            let attempt = attempt(&link, request, &state);
            let failure = match timeout_at(state.deadline, attempt).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    // What is asked behind this call would wait for it too, and the server may be gone.
                    link.close();
                    self.servers.contradicted();
                    return Err(Error::Deadline {
                        engine: CAPABILITIES.engine,
                        limit_ms: self.timeout_ms,
                        fate: fate(request),
                    });
                }
            };
            self.settle(failure, &link, request, &mut state).await?;
        }
    }

    /// Prepares another attempt, or says why there is none.
    async fn settle(
        &self,
        failure: LinkFailure,
        link: &Link,
        request: &Request,
        state: &mut CallState,
    ) -> Result<()> {
        let error = match failure {
            LinkFailure::Lost(reason) => {
                link.close();
                self.servers.contradicted();
                if request.effect == Effect::Reads && !state.has_repeated {
                    state.has_repeated = true;
                    return Ok(());
                }
                return Err(Error::Unavailable {
                    engine: CAPABILITIES.engine,
                    reason,
                    fate: fate(request),
                });
            }
            LinkFailure::TooLong => return Err(too_long(request)),
            LinkFailure::Server(error) => error,
        };
        state.route = Route::Owner;
        match verdict(&error, &link.address) {
            Verdict::Failed(error) => return Err(error),
            Verdict::UnknownScript if state.form == ScriptForm::Name => {
                state.form = ScriptForm::Text;
                return Ok(());
            }
            Verdict::UnknownScript => return Err(answered(&error)),
            Verdict::Moved(slot, to) => self.servers.moved(slot, to),
            Verdict::Asked(to) => state.route = Route::Asking(to),
            Verdict::Replica if !self.servers.has_others() => return Err(answered(&error)),
            Verdict::Replica => {
                link.close();
                self.servers.contradicted();
                return self.rest(state, || answered(&error)).await;
            }
            Verdict::Later => {
                self.servers.contradicted();
                return self.rest(state, || answered(&error)).await;
            }
        }
        state.redirects += 1;
        match state.redirects > REDIS_REDIRECTS_MAX {
            false => Ok(()),
            true => Err(Error::Unavailable {
                engine: CAPABILITIES.engine,
                reason: format!(
                    "its nodes sent the call on more than {REDIS_REDIRECTS_MAX} times (REDIS_REDIRECTS_MAX)"
                ),
                fate: CallFate::NotApplied,
            }),
        }
    }

    /// The connection for the next attempt. Nothing has been sent when there is none.
    async fn link(&self, key: Option<&Bytes>, state: &mut CallState) -> Result<Rc<Link>> {
        loop {
            let opened = async {
                match &state.route {
                    Route::Owner => self.servers.link(key).await,
                    Route::Asking(address) => self.servers.link_to(address).await,
                }
            };
            let refusal = match timeout_at(state.deadline, opened).await {
                Ok(Ok(link)) => return Ok(link),
                Ok(Err(refusal)) => refusal,
                Err(_) => Refusal::Unreachable("no connection in time (timeout)".to_owned()),
            };
            state.route = Route::Owner;
            let waits = matches!(refusal, Refusal::Unreachable(_)) && self.servers.has_others();
            if !waits {
                return Err(refused(refusal));
            }
            self.rest(state, || refused(refusal)).await?;
        }
    }

    /// A pause before the next attempt, while there is time for one.
    async fn rest(&self, state: &mut CallState, why: impl FnOnce() -> Error) -> Result<()> {
        if Instant::now() + state.rest >= state.deadline {
            return Err(why());
        }
        sleep(state.rest).await;
        state.rest = (state.rest * 2).min(Duration::from_millis(REDIS_RETRY_MS_MAX));
        Ok(())
    }

    fn count(&self) -> Result<CountedCall<'_>> {
        if self.calls.get() >= REDIS_CALLS_MAX {
            return Err(Error::Kv(KvError::QueueFull {
                what: "calls of Redis",
                limit: "REDIS_CALLS_MAX",
                max: REDIS_CALLS_MAX,
            }));
        }
        self.calls.set(self.calls.get() + 1);
        Ok(CountedCall(&self.calls))
    }

    /// A cluster does at one moment only what is in one slot.
    fn check_slot(&self, request: &Request) -> Result<()> {
        if !self.servers.is_cluster() {
            return Ok(());
        }
        let mut slots = request.keys().iter().map(|key| slot_of(key));
        let first = slots.next();
        match slots.any(|slot| Some(slot) != first) {
            false => Ok(()),
            true => Err(Error::Unsupported {
                engine: CAPABILITIES.engine,
                reason: "that is a cluster changes several records at one moment only where their keys have the same part in braces, as {cart:7}.items and {cart:7}.total",
            }),
        }
    }
}

async fn attempt(link: &Link, request: &Request, state: &CallState) -> Result<Value, LinkFailure> {
    let command = request.command(state.form);
    match state.route {
        Route::Owner => link.call(&command).await,
        Route::Asking(_) => link.call_asking(command.into_owned()).await,
    }
}

fn fate(request: &Request) -> CallFate {
    match request.effect {
        Effect::Reads => CallFate::NotApplied,
        Effect::Writes => CallFate::Unknown,
    }
}

fn verdict(error: &ServerError, asked: &Address) -> Verdict {
    let to = || redirection(error.details().unwrap_or_default(), asked);
    match error.code() {
        "MOVED" => match to() {
            Some((slot, address)) => Verdict::Moved(slot, address),
            None => Verdict::Failed(answered(error)),
        },
        "ASK" => match to() {
            Some((_, address)) => Verdict::Asked(address),
            None => Verdict::Failed(answered(error)),
        },
        "NOSCRIPT" => Verdict::UnknownScript,
        "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "BUSY" => Verdict::Later,
        "READONLY" => Verdict::Replica,
        "OOM" => Verdict::Failed(Error::Full {
            engine: CAPABILITIES.engine,
            message: "the server has reached its maxmemory".to_owned(),
        }),
        code if is_denial(code) => Verdict::Failed(Error::Refused {
            engine: CAPABILITIES.engine,
            message: server_text(code, error.details()),
        }),
        _ => Verdict::Failed(answered(error)),
    }
}

/// An error of a server, after which nothing has changed: scripts look at everything before they change anything.
fn answered(error: &ServerError) -> Error {
    Error::Server {
        engine: CAPABILITIES.engine,
        message: server_text(error.code(), error.details()),
        fate: CallFate::NotApplied,
    }
}

fn too_long(request: &Request) -> Error {
    let max = CAPABILITIES.value_bytes;
    Error::Server {
        engine: CAPABILITIES.engine,
        message: format!(
            "a value of more than {} bytes ({}), which another program has stored",
            max.max, max.name
        ),
        fate: fate(request),
    }
}

/// Why a server could not be asked.
pub(super) fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Unreachable(reason) => Error::Unavailable {
            engine: CAPABILITIES.engine,
            reason,
            fate: CallFate::NotApplied,
        },
        Refusal::Denied(message) => Error::Refused {
            engine: CAPABILITIES.engine,
            message,
        },
        Refusal::Unfit(reason) => Error::Address { reason },
    }
}
