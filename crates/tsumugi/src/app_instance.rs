//! An application loaded on one worker, answering requests. Knows no connection.
//! Rule: the plugin stops after the last request, stream and tick that can use it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use http::header::SET_COOKIE;
use http::{Method, StatusCode, Uri};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tsumugi_http::compress::CompressionPolicy;
use tsumugi_http::{Allow, Files, Folder, HttpBody, Match, OnWorker, Request};
use tsumugi_server::{Mode, Shown};

use crate::context::{Captures, Context, captures};
use crate::error::{Error, Result, story};
use crate::handler::Endpoint;
use crate::layer::{self, Mapper};
use crate::ledger::Ledger;
use crate::local::Local;
use crate::plugin::{Plugin, Worker};
use crate::response::{Producer, Response, ResponseTail};
use crate::router::{Mounted, Placed, RouteLine, Router, translated};
use crate::session::{RequestSession, SessionStore};
use crate::settings::Settings;
use crate::streaming::{Output, until_gone};
use crate::timers;

/// One application with its plugin, on one worker.
pub struct AppInstance<S> {
    state: Rc<S>,
    worker: Worker,
    lines: Vec<RouteLine>,
    router: tsumugi_http::RouteTable<Routed<S>>,
    not_found: Option<Endpoint<S>>,
    /// The longest prefix first.
    mounts: Vec<Mounting<S>>,
    folders: Vec<(String, Folder<OnWorker>)>,
    mapper: Option<Mapper>,
    sessions: Option<Rc<SessionStore>>,
    ledger: Ledger,
    waiting: Cell<usize>,
    /// Requests and streams that can use the plugin.
    jobs: Cell<usize>,
    ended: Notify,
    stop_timers: Rc<Stop>,
    timers: RefCell<Vec<JoinHandle<()>>>,
}

struct Routed<S> {
    names: Rc<[Rc<str>]>,
    endpoint: Endpoint<S>,
}

struct Mounting<S> {
    prefix: String,
    endpoint: Endpoint<S>,
    mounted: Rc<dyn Mounted>,
}

#[derive(Default)]
struct Stop {
    given: Cell<bool>,
    notify: Notify,
}

impl Stop {
    async fn given(&self) {
        let mut notified = std::pin::pin!(self.notify.notified());
        notified.as_mut().enable();
        if !self.given.get() {
            notified.await;
        }
    }
}

impl<S: Plugin> AppInstance<S> {
    /// Loads on this worker what `routes` makes: the patterns are looked at, then the plugin is started, then mounted applications.
    pub async fn load(
        worker: &tsumugi_worker::WorkerHandle,
        settings: Rc<Settings>,
        routes: impl Fn() -> Router<S>,
    ) -> Result<Rc<AppInstance<S>>> {
        let worker = Worker::new(worker.clone(), settings);
        let mut declared = routes();
        let lines = declared.lines();
        let router = router(&mut declared)?;
        let folders = folders(&worker, &mut declared).await?;
        let not_found = declared.take_not_found();
        let not_found = not_found.map(|endpoint| declared.around_handler(endpoint));
        let sessions = declared.take_sessions();
        let mapper = declared.mapper();
        let sessions = match sessions {
            Some(sessions) => Some(Rc::new(sessions.open(&worker).await?)),
            None => None,
        };
        let state = Rc::new(S::start(&worker).await?);
        let mut mounts = Vec::with_capacity(declared.mounts.len());
        for placed in std::mem::take(&mut declared.mounts) {
            match placed.mount.load(&worker).await {
                Ok(mounted) => mounts.push(mounting(&declared, placed, mounted)),
                Err(error) => {
                    for Mounting { mounted, .. } in &mounts {
                        mounted.retire().await;
                    }
                    state.stop().await;
                    return Err(error);
                }
            }
        }
        mounts.sort_by_key(|mounting| std::cmp::Reverse(mounting.prefix.len()));
        let loaded = Rc::new(AppInstance {
            state,
            worker,
            lines,
            router,
            not_found,
            mounts,
            folders,
            mapper,
            sessions,
            ledger: Ledger::here(),
            waiting: Cell::new(0),
            jobs: Cell::new(0),
            ended: Notify::new(),
            stop_timers: Rc::default(),
            timers: RefCell::default(),
        });
        let started = declared.timers.into_iter().filter_map(|timer| {
            let stop = Rc::clone(&loaded.stop_timers);
            timers::start(&loaded.worker, &loaded.state, timer, async move {
                stop.given().await
            })
        });
        loaded.timers.borrow_mut().extend(started);
        Ok(loaded)
    }

    /// Waits for the last request and stream, ends the timers, then stops the plugin.
    pub async fn retire(&self) {
        self.stop_timers.given.set(true);
        self.stop_timers.notify.notify_waiters();
        let timers: Vec<JoinHandle<()>> = self.timers.borrow_mut().drain(..).collect();
        for timer in timers {
            let _ = timer.await; // it ends by the signal; a panic in it is in the log
        }
        while self.jobs.get() > 0 {
            self.ended.notified().await;
        }
        for mounting in &self.mounts {
            mounting.mounted.retire().await;
        }
        self.state.stop().await;
    }
}

impl<S> AppInstance<S> {
    /// The plugin.
    pub fn state(&self) -> &Rc<S> {
        &self.state
    }

    /// The worker.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// What the admin pages show: what this worker's plugins have opened, and what is mounted.
    pub(crate) fn show(&self) -> Shown<'_> {
        let mut shown = Shown {
            databases: vec![self.ledger.databases.borrow()],
            stores: self.ledger.stores(),
            ..Shown::default()
        };
        for mounting in &self.mounts {
            shown.add(mounting.mounted.show());
        }
        shown
    }

    /// The routes, in the order of the code.
    pub fn routes(&self) -> &[RouteLine] {
        &self.lines
    }
}

impl<S: 'static> AppInstance<S> {
    /// Answers one request.
    pub async fn answer(self: &Rc<Self>, request: Box<Request>) -> tsumugi_http::HttpResponse {
        let job = Job::begin(self);
        let found = self.router.find(&request.method, request.uri.path());
        let (captures, endpoint, pattern) = match &found {
            Match::Found(found_route) => {
                let routed = found_route.value;
                let captures = captures(&found, &routed.names);
                (
                    captures,
                    Rc::clone(&routed.endpoint),
                    Some(found_route.pattern.clone()),
                )
            }
            Match::Malformed => {
                return tsumugi_http::HttpResponse::refusal(
                    StatusCode::BAD_REQUEST,
                    "malformed path",
                );
            }
            other => {
                let allow = match other {
                    Match::MethodNotAllowed(allow) => {
                        Some((allow.clone(), StatusCode::METHOD_NOT_ALLOWED))
                    }
                    Match::Options(allow) => Some((allow.clone(), StatusCode::NO_CONTENT)),
                    _ => None,
                };
                drop(found);
                return Box::pin(self.elsewhere(job, request, allow)).await;
            }
        };
        drop(found);
        let mut response = self.run(job, request, captures, endpoint).await;
        response.summary.pattern = pattern;
        response
    }

    /// What there is for a request that no route answers: a file, a mounted application, `not_found`.
    async fn elsewhere(
        self: &Rc<Self>,
        job: Job<S>,
        request: Box<Request>,
        allow: Option<(Allow, StatusCode)>,
    ) -> tsumugi_http::HttpResponse {
        let path = request.uri.path();
        if matches!(request.method, Method::GET | Method::HEAD) {
            for (at, folder) in &self.folders {
                if let Some(below) = below(path, at)
                    && let Some(response) = folder.answer(&request, below).await
                {
                    return response;
                }
            }
        }
        let mounting = |mounting: &&Mounting<S>| below(path, &mounting.prefix).is_some();
        if let Some(mounting) = self.mounts.iter().find(mounting) {
            let endpoint = Rc::clone(&mounting.endpoint);
            return self.run(job, request, Captures::new(), endpoint).await;
        }
        match (allow, &self.not_found) {
            (Some((allow, StatusCode::NO_CONTENT)), _) => {
                tsumugi_http::HttpResponse::options(&allow)
            }
            (Some((allow, _)), _) => tsumugi_http::HttpResponse::method_not_allowed(&allow),
            (None, Some(endpoint)) => {
                let endpoint = Rc::clone(endpoint);
                self.run(job, request, Captures::new(), endpoint).await
            }
            (None, None) => tsumugi_http::HttpResponse::not_found(),
        }
    }

    async fn run(
        self: &Rc<Self>,
        job: Job<S>,
        request: Box<Request>,
        captures: Captures,
        endpoint: Endpoint<S>,
    ) -> tsumugi_http::HttpResponse {
        let subject = Subject {
            method: request.method.clone(),
            uri: request.uri.clone(),
            received_at: request.received_at,
        };
        let visit = self.sessions.as_ref().map(RequestSession::new);
        let max = self.worker.settings().limits.requests_max;
        let (outcome, waited) = if self.waiting.get() >= max {
            // Looked at before anything of it runs: who is told to try again must not have had half of it done.
            tracing::warn!("requests_max ({max}) is reached: a request was answered 503");
            let refused = self.mapped(&subject, Error::Busy { max });
            (refused, Duration::ZERO)
        } else {
            let context = Context::new(
                request,
                captures,
                Rc::clone(&self.state),
                self.worker.clone(),
                visit.clone(),
            );
            let mut future = endpoint(context);
            match poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await {
                Poll::Ready(outcome) => (outcome, Duration::ZERO),
                Poll::Pending => {
                    let since = Instant::now();
                    (self.wait(&subject, future).await, since.elapsed())
                }
            }
        };
        let response = match outcome {
            Ok(response) => response,
            Err(error) => self.failed(&subject, error),
        };
        let (mut response, sequel) = response.into_parts();
        response.summary.waited = waited;
        if let Some(cookie) = visit.and_then(|visit| visit.leave()) {
            response.headers.append(SET_COOKIE, cookie);
        }
        match sequel {
            Some(ResponseTail::Body(producer)) if subject.method != Method::HEAD => {
                response.body = self.produce(job, subject, producer);
            }
            Some(ResponseTail::Talk(talk)) => {
                response.body = HttpBody::Switch(talk.switch(&self.worker, job, subject));
            }
            _ => {}
        }
        response
    }

    /// Waits for a handler within its time.
    async fn wait(&self, subject: &Subject, future: Local<Result<Response>>) -> Result<Response> {
        let _place = RequestPermit::take(&self.waiting);
        let limit_ms = self.worker.settings().limits.request_ms_max;
        let deadline = subject.received_at + Duration::from_millis(limit_ms);
        match tokio::time::timeout_at(deadline.into(), future).await {
            Ok(outcome) => outcome,
            Err(_) => self.mapped(subject, Error::Deadline { limit_ms }),
        }
    }

    fn mapped(&self, subject: &Subject, error: Error) -> Result<Response> {
        match &self.mapper {
            Some(mapper) => Ok(layer::map(mapper, error, &subject.method, &subject.uri)),
            None => Err(error),
        }
    }

    /// The response to an error that nobody mapped.
    fn failed(&self, subject: &Subject, error: Error) -> Response {
        let response: Response = error.response().into();
        let Subject { method, uri, .. } = subject;
        if let Error::Db(cause) = &error
            && let Some(refusal) = cause.refusal()
        {
            // It may be a fault of what is stored, or of the SQL, as well as of a client.
            let status = refusal.status();
            tracing::warn!(
                "{method} {}: answered {status}: {}",
                uri.path(),
                story(&error)
            );
            return response;
        }
        if !response.status.is_server_error() {
            return response;
        }
        tracing::error!("{method} {}: {}", uri.path(), story(&error));
        match self.worker.mode() {
            Mode::Development => {
                let text = format!("{}\n", story(&error));
                tsumugi_http::HttpResponse::text(response.status, text).into()
            }
            Mode::Production => response,
        }
    }

    /// A body that is fed by a task of its own.
    fn produce(self: &Rc<Self>, job: Job<S>, subject: Subject, producer: Producer) -> HttpBody {
        let (sender, body) = HttpBody::channel(&self.worker.settings().http);
        drop(self.worker.spawn(async move {
            let sender = Rc::new(RefCell::new(Some(sender)));
            let written = until_gone(producer(Output::new(&sender)), &sender).await;
            if let Some(Err(error)) = written {
                // A client that broke off, or asked for what is refused, is no fault of the application.
                if matches!(error, Error::Http(_)) || !error.status().is_server_error() {
                    tracing::debug!("{subject}: {error}");
                } else {
                    subject.log("while its body was sent", &error);
                }
            }
            drop(job);
        }));
        body
    }
}

/// What remains of a request for the log.
pub(crate) struct Subject {
    method: Method,
    uri: Uri,
    received_at: Instant,
}

impl Subject {
    pub(crate) fn log(&self, when: &str, error: &Error) {
        tracing::error!("{self}: {when}: {}", story(error));
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.uri.path())
    }
}

/// Keeps the plugin from being stopped.
pub(crate) struct Job<S>(Rc<AppInstance<S>>);

impl<S> Job<S> {
    fn begin(loaded: &Rc<AppInstance<S>>) -> Job<S> {
        loaded.jobs.set(loaded.jobs.get() + 1);
        Job(Rc::clone(loaded))
    }
}

impl<S> Drop for Job<S> {
    fn drop(&mut self) {
        let jobs = self.0.jobs.get() - 1;
        self.0.jobs.set(jobs);
        if jobs == 0 {
            self.0.ended.notify_one();
        }
    }
}

/// A place among `requests_max`.
struct RequestPermit<'c>(&'c Cell<usize>);

impl<'c> RequestPermit<'c> {
    fn take(waiting: &'c Cell<usize>) -> RequestPermit<'c> {
        waiting.set(waiting.get() + 1);
        RequestPermit(waiting)
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The routes with their middleware around them.
fn router<S: 'static>(declared: &mut Router<S>) -> Result<tsumugi_http::RouteTable<Routed<S>>> {
    let mut router = tsumugi_http::RouteTable::new();
    for route in std::mem::take(&mut declared.routes) {
        let place = |error: Error| {
            Error::Usage(
                format!(
                    "{}:{}: {error}",
                    route.location.file(),
                    route.location.line()
                )
                .into(),
            )
        };
        let pattern = translated(&route.pattern).map_err(place)?;
        let names = pattern.split('/').filter_map(|segment| {
            let name = segment.strip_prefix([':', '*'])?;
            Some(Rc::from(name))
        });
        let routed = Routed {
            names: names.collect(),
            endpoint: declared.around_handler(route.endpoint),
        };
        let inserted = router.insert(route.method, &pattern, &[], routed);
        inserted.map_err(|error| place(error.into()))?;
    }
    Ok(router)
}

async fn folders<S>(
    worker: &Worker,
    declared: &mut Router<S>,
) -> Result<Vec<(String, Folder<OnWorker>)>> {
    let on_worker = OnWorker(worker.inner().clone());
    let files = Files::new(on_worker, worker.settings().http.clone());
    let mut folders = Vec::with_capacity(declared.folders.len());
    for folder in std::mem::take(&mut declared.folders) {
        let opened = files.folder(folder.path.clone(), folder.cache).await;
        let opened = opened.map_err(|error| {
            let path = folder.path.display();
            Error::Usage(format!("cannot serve the folder {path}: {error}").into())
        })?;
        folders.push((folder.at, opened));
    }
    folders.sort_by_key(|(at, _)| std::cmp::Reverse(at.len()));
    Ok(folders)
}

fn mounting<S: 'static>(
    declared: &Router<S>,
    placed: Placed<S>,
    mounted: Rc<dyn Mounted>,
) -> Mounting<S> {
    let Placed {
        prefix,
        inner: further,
        ..
    } = placed;
    let (inner, inside) = (Rc::clone(&mounted), prefix.clone());
    let endpoint: Endpoint<S> = Rc::new(move |context| {
        let mut request = match context.into_request() {
            Ok(request) => request,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        if let Some(uri) =
            below(request.uri.path(), &inside).and_then(|path| moved(&request.uri, path))
        {
            request.uri = uri;
        }
        let answered = inner.answer(request);
        let packing = match inner.compresses() {
            true => CompressionPolicy::Free,
            false => CompressionPolicy::AsIs,
        };
        Box::pin(async move {
            let mut response = answered.await;
            response.summary.compression = packing;
            Ok(response.into())
        })
    });
    let endpoint = match further {
        Some(further) => further(endpoint),
        None => endpoint,
    };
    Mounting {
        endpoint: declared.around_endpoint(endpoint),
        prefix,
        mounted,
    }
}

/// What is left of a path below a prefix, which has no slash at its end. It begins with a slash.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

/// The same target with another path.
fn moved(uri: &Uri, path: &str) -> Option<Uri> {
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_at_a_slash() {
        assert_eq!(below("/a/b", "/a"), Some("/b"));
        assert_eq!(below("/a", "/a"), Some("/"));
        assert_eq!(below("/ab", "/a"), None);
        assert_eq!(below("/b", ""), Some("/b"));
    }

    #[test]
    fn moved_target_keeps_its_query() {
        let uri: Uri = "/a/b?x=1".parse().unwrap();
        assert_eq!(moved(&uri, "/b").unwrap(), "/b?x=1");
    }
}
