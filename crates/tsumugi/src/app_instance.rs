//! An application loaded on one worker, answering requests. Knows no connection.
//! Rule: the plugin stops after the last request, stream and tick that can use it.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use http::header::SET_COOKIE;
use http::{HeaderMap, Method, Uri};
use tsumugi_db::Recency;
use tsumugi_http::compress::CompressionPolicy;
use tsumugi_http::{Allow, Files, HttpBody, OnWorker, Request, RouteMatch};
use tsumugi_server::commands::RouteLine;
use tsumugi_server::dispatch::{
    self, Dispatch, FirstTurn, JobGuard, Lifecycle, PublicFolders, RequestDeadline, RequestLine,
    RequestRefusal, StreamKind, below, client_gone, feed, send_back,
};
use tsumugi_server::session::{SessionSlot, SessionStore};
use tsumugi_server::{AdminView, Mode};
use tsumugi_worker::LocalTask;

use crate::context::{Captures, Context, captures};
use crate::error::{Error, Result, report, story};
use crate::handler::Endpoint;
use crate::layer::{self, Mapper};
use crate::ledger::Ledger;
use crate::plugin::{Plugin, Worker};
use crate::response::{Producer, Response, ResponseTail};
use crate::router::{MountSpec, MountedApp, Router, translated};
use crate::settings::Settings;
use crate::streaming::Output;
use crate::timers;

/// One application with its plugin, on one worker.
pub struct AppInstance<S> {
    state: Rc<S>,
    worker: Worker,
    lines: Vec<RouteLine>,
    lifecycle: Lifecycle<RouteTarget<S>>,
    not_found: Option<Endpoint<S>>,
    /// The longest prefix first.
    mounts: Vec<Mounting<S>>,
    mapper: Option<Mapper>,
    sessions: Option<Rc<SessionStore>>,
    ledger: Ledger,
}

/// What a route leads to.
pub struct RouteTarget<S> {
    names: Rc<[Rc<str>]>,
    endpoint: Endpoint<S>,
}

struct Mounting<S> {
    prefix: String,
    endpoint: Endpoint<S>,
    mounted: Rc<dyn MountedApp>,
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
        let timers = timers::with_periods(std::mem::take(&mut declared.timers))?;
        let kinds = std::mem::take(&mut declared.jobs);
        let folders = folders(&worker, &mut declared).await?;
        // What is wrong with the environment is an error now, and not with the first mail.
        #[cfg(feature = "mail")]
        worker.mailer()?;
        let not_found = declared.take_not_found();
        let not_found = not_found.map(|endpoint| declared.around_handler(endpoint));
        let sessions = declared.take_sessions();
        let mapper = declared.mapper();
        let sessions = match sessions {
            Some(sessions) => Some(Rc::new(sessions.open(&worker).await?)),
            None => None,
        };
        let state = Rc::new(S::start(&worker).await?);
        if let Err(error) = timers::check_cluster(&timers, &worker) {
            state.stop().await;
            return Err(error);
        }
        let mut mounts = Vec::with_capacity(declared.mounts.len());
        for placed in std::mem::take(&mut declared.mounts) {
            match placed.mount.load(&worker).await {
                Ok(mounted) => mounts.push(mounting(&declared, placed, mounted)),
                Err(error) => {
                    stop(&mounts, &*state).await;
                    return Err(error);
                }
            }
        }
        mounts.sort_by_key(|mounting| std::cmp::Reverse(mounting.prefix.len()));
        let limits = &worker.settings().limits;
        let (requests_max, request_ms_max) = (limits.requests_max, limits.request_ms_max);
        let lifecycle = Lifecycle::new(router, folders, requests_max, request_ms_max);
        let jobs = lifecycle.jobs();
        let started = match crate::job_worker::start(&worker, &state, kinds, jobs.stop_signal()) {
            Ok(started) => started,
            Err(error) => {
                stop(&mounts, &*state).await;
                return Err(error);
            }
        };
        jobs.add_timers(started);
        let start = |timer| timers::start(&worker, &state, timer, jobs.stop_signal());
        jobs.add_timers(timers.into_iter().filter_map(start));
        Ok(Rc::new(AppInstance {
            state,
            worker,
            lines,
            lifecycle,
            not_found,
            mounts,
            mapper,
            sessions,
            ledger: Ledger::here(),
        }))
    }

    /// Waits for the last request and stream, ends the timers, then stops the plugin.
    pub async fn retire(&self) {
        self.lifecycle.jobs().drain().await;
        stop(&self.mounts, &*self.state).await;
    }
}

/// Ends what is mounted, then the plugin.
async fn stop<S: Plugin>(mounts: &[Mounting<S>], state: &S) {
    for Mounting { mounted, .. } in mounts {
        mounted.retire().await;
    }
    state.stop().await;
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
    pub(crate) fn show(&self) -> AdminView<'_> {
        let mut shown = AdminView {
            databases: vec![self.ledger.databases.borrow()],
            stores: self.ledger.stores(),
            open_stores: self.ledger.open_stores(),
            jobs: self
                .worker
                .jobs()
                .into_iter()
                .map(|jobs| jobs.queue)
                .collect(),
            ..AdminView::default()
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
    fn user(&self, request: &Request) -> RequestUser {
        let recency = || match &self.sessions {
            Some(sessions) => sessions.recency(&request.headers),
            // Mounted in an application that knows the user.
            None => Recency::current().unwrap_or_default(),
        };
        RequestUser {
            session: self.sessions.as_ref().map(SessionSlot::new).map(Rc::new),
            recency: tsumugi_db::has_replicas().then(recency),
        }
    }

    /// Answers one request.
    pub fn answer(
        self: &Rc<Self>,
        request: Box<Request>,
    ) -> impl Future<Output = tsumugi_http::HttpResponse> {
        dispatch::answer(self, request)
    }

    /// The response, with what follows its head.
    fn respond(
        &self,
        line: RequestLine,
        user: RequestUser,
        outcome: Result<Response>,
        job: JobGuard<Self>,
    ) -> tsumugi_http::HttpResponse {
        let response = match outcome {
            Ok(response) => response,
            Err(error) => self.failed(&line, error),
        };
        let (mut response, tail) = response.into_parts();
        let RequestUser { session, recency } = user;
        if let Some(cookie) = session.and_then(|session| session.cookie().take()) {
            response.headers.append(SET_COOKIE, cookie);
        }
        if let (Some(sessions), Some(recency)) = (&self.sessions, &recency) {
            for cookie in sessions.recency_cookies(recency) {
                response.headers.append(SET_COOKIE, cookie);
            }
        }
        match tail {
            Some(ResponseTail::Body(producer)) if line.method != Method::HEAD => {
                let producer = within(recency, producer);
                response.body = self.produce(job, line, &response.headers, producer);
            }
            Some(ResponseTail::WebSocket(task)) => {
                let worker = self.worker.inner();
                let switch =
                    task.switch(worker, |app: &Self| &app.worker.settings().http, job, line);
                response.body = HttpBody::Switch(switch);
            }
            _ => {}
        }
        response
    }

    fn mapped(&self, line: &RequestLine, error: Error) -> Result<Response> {
        match &self.mapper {
            Some(mapper) => Ok(layer::map(mapper, error, line)),
            None => Err(error),
        }
    }

    /// The response to an error without a mapper.
    fn failed(&self, line: &RequestLine, error: Error) -> Response {
        let response: Response = error.response().into();
        if let Some(refusal) = error.database_refusal() {
            // It may be a fault of what is stored, or of the SQL, as well as of a client.
            let status = refusal.status();
            tracing::warn!("{line}: answered {status}: {}", story(&error));
            return response;
        }
        if !response.status.is_server_error() {
            return response;
        }
        let story = story(&error);
        tracing::error!("{line}: {story}");
        report(error.class(), &story, line);
        match self.worker.mode() {
            Mode::Development => {
                tsumugi_http::HttpResponse::refusal(response.status, &story).into()
            }
            Mode::Production => response,
        }
    }

    /// A body that a task of its own writes.
    fn produce(
        &self,
        job: JobGuard<Self>,
        line: RequestLine,
        head: &HeaderMap,
        producer: Producer,
    ) -> HttpBody {
        let kind = StreamKind::of(head);
        let limits = &self.worker.settings().http;
        let worker = self.worker.inner().clone();
        feed(
            job,
            self.worker.inner(),
            limits,
            head,
            |sender| async move {
                let sender = Rc::new(RefCell::new(Some(sender)));
                let written = tokio::select! {
                    biased;
                    written = producer(Output::new(&sender)) => written,
                    // What writes is dropped where it waits.
                    () = client_gone(&sender) => return,
                    () = kind.over(&worker, &sender) => return send_back(&sender).await,
                };
                let Err(error) = written else { return };
                // A client that broke off, or asked for what is refused, is no fault of the application.
                if matches!(error, Error::Http(_)) || !error.status().is_server_error() {
                    tracing::debug!("{line}: {error}");
                } else {
                    let story = story(&error);
                    tracing::error!("{line}: while its body was sent: {story}");
                    report(error.class(), &story, &line);
                }
            },
        )
    }
}

/// What is known of the user whose request it is.
#[derive(Clone, Default)]
struct RequestUser {
    /// None when the application declares no sessions.
    session: Option<Rc<SessionSlot>>,
    /// None where no database has replicas.
    recency: Option<Rc<Recency>>,
}

/// The body is written for the same user.
fn within(recency: Option<Rc<Recency>>, producer: Producer) -> Producer {
    match recency {
        None => producer,
        Some(recency) => Box::new(move |output| -> LocalTask<Result<()>> {
            let written = producer(output);
            Box::pin(async move { recency.scope(written).await })
        }),
    }
}

/// What handles a request, with what its path captured.
pub struct EndpointCall<S> {
    endpoint: Endpoint<S>,
    captures: Captures,
}

/// A request whose handler waits.
pub struct PendingRequest<S: 'static> {
    /// Dropped when its time is over.
    future: Option<LocalTask<Result<Response>>>,
    line: RequestLine,
    user: RequestUser,
    /// Taken by the response.
    job: Option<JobGuard<AppInstance<S>>>,
}

impl<S: 'static> Dispatch for AppInstance<S> {
    type Route = RouteTarget<S>;
    type Handler = EndpointCall<S>;
    type Waiting = PendingRequest<S>;

    fn lifecycle(&self) -> &Lifecycle<RouteTarget<S>> {
        &self.lifecycle
    }

    fn handler(&self, found: &RouteMatch<'_, '_, RouteTarget<S>>) -> EndpointCall<S> {
        let RouteTarget { names, endpoint } = found.value;
        EndpointCall {
            endpoint: Rc::clone(endpoint),
            captures: captures(&found.captures, names),
        }
    }

    fn mounted(&self, path: &str) -> Option<EndpointCall<S>> {
        let is_below = |mounting: &&Mounting<S>| below(path, &mounting.prefix).is_some();
        let mounting = self.mounts.iter().find(is_below)?;
        Some(EndpointCall::without_captures(&mounting.endpoint))
    }

    fn not_found(&self) -> Option<EndpointCall<S>> {
        self.not_found.as_ref().map(EndpointCall::without_captures)
    }

    fn explain_unrouted(
        &self,
        request: &Request,
        allow: Option<&Allow>,
    ) -> Option<tsumugi_http::HttpResponse> {
        let Settings { mode, in_test, .. } = self.worker.settings();
        // Tests see what clients will see.
        let is_developed = *mode == Mode::Development && !in_test;
        is_developed.then(|| self.lifecycle.explain_unrouted(request, allow))
    }

    fn refuse(
        self: &Rc<Self>,
        request: &Request,
        refusal: RequestRefusal,
        job: JobGuard<Self>,
    ) -> tsumugi_http::HttpResponse {
        let error = Error::from(refusal);
        // It is counted in the log, and has no line of its own.
        let response = match &self.mapper {
            Some(mapper) => mapper(error),
            None => error.response().into(),
        };
        let user = RequestUser::default();
        self.respond(RequestLine::of(request), user, Ok(response), job)
    }

    fn begin(
        self: &Rc<Self>,
        cx: &mut TaskContext<'_>,
        request: Box<Request>,
        handler: EndpointCall<S>,
        job: JobGuard<Self>,
    ) -> FirstTurn<PendingRequest<S>> {
        let line = RequestLine::of(&request);
        let user = self.user(&request);
        let EndpointCall { endpoint, captures } = handler;
        let context = Context::new(
            request,
            captures,
            Rc::clone(&self.state),
            self.worker.clone(),
            user.session.clone(),
        );
        let mut future = endpoint(context);
        if let Some(recency) = user.recency.clone() {
            future = Box::pin(async move { recency.scope(future).await });
        }
        match future.as_mut().poll(cx) {
            Poll::Ready(outcome) => FirstTurn::Done(self.respond(line, user, outcome, job)),
            Poll::Pending => FirstTurn::Waits(PendingRequest {
                future: Some(future),
                line,
                user,
                job: Some(job),
            }),
        }
    }

    async fn wait(
        waiting: &mut PendingRequest<S>,
        deadline: RequestDeadline,
    ) -> tsumugi_http::HttpResponse {
        let (Some(future), Some(job)) = (waiting.future.take(), waiting.job.take()) else {
            unreachable!("a request is waited for once")
        };
        let outcome = tokio::time::timeout_at(deadline.at.into(), future).await;
        let app = Rc::clone(job.app());
        let outcome = outcome.unwrap_or_else(|_| {
            let limit_ms = deadline.limit_ms;
            app.mapped(&waiting.line, Error::Deadline { limit_ms })
        });
        let line = std::mem::take(&mut waiting.line);
        app.respond(line, std::mem::take(&mut waiting.user), outcome, job)
    }
}

impl<S> EndpointCall<S> {
    fn without_captures(endpoint: &Endpoint<S>) -> EndpointCall<S> {
        EndpointCall {
            endpoint: Rc::clone(endpoint),
            captures: Captures::new(),
        }
    }
}

/// The routes with their middleware around them.
fn router<S: 'static>(
    declared: &mut Router<S>,
) -> Result<tsumugi_http::RouteTable<RouteTarget<S>>> {
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
        let routed = RouteTarget {
            names: names.collect(),
            endpoint: declared.around_handler(route.endpoint),
        };
        let inserted = router.insert(route.method, &pattern, &[], routed);
        inserted.map_err(|error| place(error.into()))?;
    }
    Ok(router)
}

async fn folders<S>(worker: &Worker, declared: &mut Router<S>) -> Result<PublicFolders> {
    let on_worker = OnWorker(worker.inner().clone());
    let files = Files::new(on_worker, worker.settings().http.clone());
    let mut folders = Vec::with_capacity(declared.folders.len());
    for folder in std::mem::take(&mut declared.folders) {
        let opened = files.folder(folder.path.clone(), &folder.cache).await;
        let opened = opened.map_err(|error| {
            let path = folder.path.display();
            Error::Usage(format!("cannot serve the folder {path}: {error}").into())
        })?;
        folders.push((folder.at, opened));
    }
    Ok(PublicFolders::new(folders))
}

fn mounting<S: 'static>(
    declared: &Router<S>,
    placed: MountSpec<S>,
    mounted: Rc<dyn MountedApp>,
) -> Mounting<S> {
    let MountSpec {
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
        let inner_uri = below(request.uri.path(), &inside)
            .filter(|_| !inside.is_empty())
            .and_then(|path| moved(&request.uri, path));
        if let Some(uri) = inner_uri {
            let sent = std::mem::replace(&mut request.uri, uri);
            let sent = sent.into_parts().path_and_query;
            request.mounted_path = request.mounted_path.take().or(sent);
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
    fn a_moved_target_keeps_its_query() {
        let uri: Uri = "/a/b?x=1".parse().unwrap();
        assert_eq!(moved(&uri, "/b").unwrap(), "/b?x=1");
    }
}
