//! The life of one request in an application of either language: found, admitted, begun, waited for, summarised. Knows no language of
//! applications and no connection.
//!
//! Rule: what both faces promise about requests is decided here. A face finds its handler's arguments, runs it and makes its response.
//! The order is: a route; else a file; else a part that is mounted; else OPTIONS, 405, the face's own "not found", 404. A handler that is
//! not let in has not begun. A handler that ends in its first turn costs no allocation and no timer here.

mod drain;
mod files;
mod no_route;
mod permit;
mod refusal;
mod tail;
mod timer_figures;
mod timers;
mod websocket;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::StatusCode;
use tsumugi_http::{Allow, HttpResponse, Match, Request, RouteMatch, RouteTable};
use tsumugi_trace::ShownActivity;
pub use tsumugi_trace::cancelled;

pub use drain::{HasJobs, JobGuard, RunningWork, StopSignal};
pub use files::{PublicFolders, below};
use permit::Permits;
pub use refusal::{RefusalCount, RequestRefusal};
pub use tail::{RequestLine, SharedSender, StreamKind, client_gone, feed, send_back};
pub use timer_figures::{TimerDescription, TimerKind};
pub(crate) use timer_figures::{TimerFigures, timers};
pub use timers::{
    TimerPeriod, TimerPeriodError, push_schedules, run_cluster_timer, run_jobs, run_timer, tick_cut,
};
pub use websocket::{ConversationError, conversation};

/// What every application has for its requests.
pub struct Lifecycle<R> {
    router: RouteTable<R>,
    folders: PublicFolders,
    permits: Permits,
    jobs: RunningWork,
    request_ms_max: u64,
}

impl<R> Lifecycle<R> {
    /// For these routes and folders, with the limits of the same names.
    pub fn new(
        router: RouteTable<R>,
        folders: PublicFolders,
        requests_max: usize,
        request_ms_max: u64,
    ) -> Lifecycle<R> {
        Lifecycle {
            router,
            folders,
            permits: Permits::new(requests_max),
            jobs: RunningWork::default(),
            request_ms_max,
        }
    }

    /// What a drain waits for.
    pub fn jobs(&self) -> &RunningWork {
        &self.jobs
    }

    /// What a developer is told of a request whose path has no route, or with `allow` only routes of other methods.
    pub fn explain_unrouted(&self, request: &Request, allow: Option<&Allow>) -> HttpResponse {
        no_route::explained(&self.router, request, allow)
    }

    /// Requests whose handlers wait now.
    pub fn waiting(&self) -> usize {
        self.permits.waiting()
    }
}

/// A loaded application, to which requests are dispatched.
pub trait Dispatch: Sized + 'static {
    /// What a route leads to.
    type Route;
    /// A handler with what was captured for it.
    type Handler;
    /// A handler that waits, with what is needed to make its response.
    type Waiting: 'static;

    /// What it has for its requests.
    fn lifecycle(&self) -> &Lifecycle<Self::Route>;

    /// The handler of a route.
    fn handler(&self, found: &RouteMatch<'_, '_, Self::Route>) -> Self::Handler;

    /// What is mounted over this path, for which there is neither a route nor a file.
    fn mounted(&self, path: &str) -> Option<Self::Handler> {
        let _ = path;
        None
    }

    /// The application's own answer to a path that has nothing.
    fn not_found(&self) -> Option<Self::Handler>;

    /// The answer to a request without a route, or with `allow` one whose path has routes of other methods, where that is more than a bare
    /// refusal.
    fn explain_unrouted(&self, request: &Request, allow: Option<&Allow>) -> Option<HttpResponse> {
        let _ = (request, allow);
        None
    }

    /// The answer to a request that is not let in. Nothing of its handler has run.
    fn refuse(
        self: &Rc<Self>,
        request: &Request,
        refusal: RequestRefusal,
        job: JobGuard<Self>,
    ) -> HttpResponse {
        let _ = (request, job);
        refusal.response()
    }

    /// Runs a handler until it waits for the first time. `job` goes with what outlives the response.
    fn begin(
        self: &Rc<Self>,
        cx: &mut Context<'_>,
        request: Box<Request>,
        handler: Self::Handler,
        job: JobGuard<Self>,
    ) -> FirstTurn<Self::Waiting>;

    /// Waits for the rest of a handler, but not beyond the deadline.
    fn wait(
        waiting: &mut Self::Waiting,
        deadline: RequestDeadline,
    ) -> impl Future<Output = HttpResponse>;
}

impl<A: Dispatch> HasJobs for A {
    fn jobs(&self) -> &RunningWork {
        &self.lifecycle().jobs
    }
}

/// How far a handler came at once.
pub enum FirstTurn<W> {
    /// To its response.
    Done(HttpResponse),
    /// To something that it waits for.
    Waits(W),
}

/// When a request must be answered. Counted from the end of its head, so that what it waited for before its handler counts too.
#[derive(Clone, Copy, Debug)]
pub struct RequestDeadline {
    /// The moment.
    pub at: Instant,
    /// `request_ms_max`.
    pub limit_ms: u64,
}

/// Answers one request.
pub async fn answer<A: Dispatch>(app: &Rc<A>, request: Box<Request>) -> HttpResponse {
    if app.lifecycle().jobs.are_over() {
        return refusal::refuse_replaced();
    }
    let mut request = Some(request);
    let first = poll_fn(|cx| {
        let Some(request) = request.take() else {
            unreachable!("this future is ready at its first poll")
        };
        Poll::Ready(route(app, cx, request))
    });
    match first.await {
        Ok(FirstTurn::Done(response)) => response,
        // Boxed, as what does not wait would carry its room through every future.
        Ok(FirstTurn::Waits(rest)) => Box::pin(rest.end(Rc::clone(app))).await,
        Err(miss) => Box::pin(miss.answer(Rc::clone(app))).await,
    }
}

/// Begins the handler of a request, unless the folders have to be asked first.
fn route<A: Dispatch>(
    app: &Rc<A>,
    cx: &mut Context<'_>,
    request: Box<Request>,
) -> Result<FirstTurn<Rest<A>>, RouteMiss<A>> {
    let job = JobGuard::begin(app);
    let unrouted = match find(app, &request) {
        Ok((handler, pattern)) => {
            return Ok(begin(app, cx, request, handler, Some(pattern), job));
        }
        Err(unrouted) => unrouted,
    };
    if !matches!(unrouted, NoRoute::Malformed) && app.lifecycle().folders.may_have(&request) {
        return Err(RouteMiss {
            request,
            unrouted,
            job,
        });
    }
    Ok(begin_unrouted(app, cx, request, unrouted, job))
}

/// The handler of the request's route, with the route's pattern.
fn find<A: Dispatch>(app: &Rc<A>, request: &Request) -> Result<(A::Handler, Arc<str>), NoRoute> {
    let router = &app.lifecycle().router;
    let found = router.find(&request.method, request.uri.path());
    // Looked at where it is: to move what was captured costs more than to find it.
    if let Match::Found(found) = &found {
        return Ok((app.handler(found), Arc::clone(found.pattern)));
    }
    match found {
        Match::Options(allow) => Err(NoRoute::Options(allow)),
        Match::MethodNotAllowed(allow) => Err(NoRoute::Method(allow)),
        Match::Malformed => Err(NoRoute::Malformed),
        Match::NotFound | Match::Found(_) => Err(NoRoute::Path),
    }
}

/// Why there is no route for a request.
enum NoRoute {
    Options(Allow),
    Method(Allow),
    Malformed,
    Path,
}

/// A request without a route, for which there may be a file.
struct RouteMiss<A: Dispatch> {
    request: Box<Request>,
    unrouted: NoRoute,
    job: JobGuard<A>,
}

impl<A: Dispatch> RouteMiss<A> {
    async fn answer(self, app: Rc<A>) -> HttpResponse {
        let RouteMiss {
            request,
            unrouted,
            job,
        } = self;
        let since = Instant::now();
        let file = app.lifecycle().folders.answer(&request).await;
        // No handler runs while files are looked for.
        let looked = since.elapsed();
        if let Some(mut response) = file {
            response.summary.waited = looked;
            return response;
        }
        let mut rest = Some((request, unrouted, job));
        let first = poll_fn(|cx| {
            let Some((request, unrouted, job)) = rest.take() else {
                unreachable!("this future is ready at its first poll")
            };
            Poll::Ready(begin_unrouted(&app, cx, request, unrouted, job))
        });
        let mut response = match first.await {
            FirstTurn::Done(response) => response,
            FirstTurn::Waits(rest) => rest.end(app).await,
        };
        response.summary.waited += looked;
        response
    }
}

/// Begins what there is for a request that has neither a route nor a file.
fn begin_unrouted<A: Dispatch>(
    app: &Rc<A>,
    cx: &mut Context<'_>,
    request: Box<Request>,
    unrouted: NoRoute,
    job: JobGuard<A>,
) -> FirstTurn<Rest<A>> {
    let mounted = match unrouted {
        NoRoute::Malformed => None,
        _ => app.mounted(request.uri.path()),
    };
    if let Some(handler) = mounted {
        return begin(app, cx, request, handler, None, job);
    }
    match unrouted {
        NoRoute::Options(allow) => FirstTurn::Done(HttpResponse::options(&allow)),
        NoRoute::Method(allow) => {
            let explained = app.explain_unrouted(&request, Some(&allow));
            let refusal = || HttpResponse::method_not_allowed(&allow);
            FirstTurn::Done(explained.unwrap_or_else(refusal))
        }
        NoRoute::Path => match app.not_found() {
            Some(handler) => begin(app, cx, request, handler, None, job),
            None => {
                let explained = app.explain_unrouted(&request, None);
                FirstTurn::Done(explained.unwrap_or_else(HttpResponse::not_found))
            }
        },
        NoRoute::Malformed => {
            let refusal = HttpResponse::refusal(StatusCode::BAD_REQUEST, "malformed path");
            FirstTurn::Done(refusal)
        }
    }
}

/// Lets a request in and runs its handler, or refuses it.
fn begin<A: Dispatch>(
    app: &Rc<A>,
    cx: &mut Context<'_>,
    request: Box<Request>,
    handler: A::Handler,
    pattern: Option<Arc<str>>,
    job: JobGuard<A>,
) -> FirstTurn<Rest<A>> {
    let received_at = request.received_at;
    if let (Some(activity), Some(pattern)) = (&request.activity, &pattern) {
        activity.set_route(pattern);
    }
    let first = match app.lifecycle().permits.check() {
        Ok(()) => app.begin(cx, request, handler, job),
        Err(refusal) => FirstTurn::Done(app.refuse(&request, refusal, job)),
    };
    match first {
        FirstTurn::Done(mut response) => {
            summarise(&mut response, pattern, Duration::ZERO);
            FirstTurn::Done(response)
        }
        FirstTurn::Waits(waiting) => FirstTurn::Waits(Rest {
            waiting,
            pattern,
            received_at,
        }),
    }
}

/// The rest of a request that waits.
struct Rest<A: Dispatch> {
    waiting: A::Waiting,
    pattern: Option<Arc<str>>,
    received_at: Instant,
}

impl<A: Dispatch> Rest<A> {
    async fn end(mut self, app: Rc<A>) -> HttpResponse {
        let Lifecycle {
            permits,
            request_ms_max,
            ..
        } = app.lifecycle();
        let _permit = permits.take();
        let deadline = RequestDeadline {
            at: self.received_at + Duration::from_millis(*request_ms_max),
            limit_ms: *request_ms_max,
        };
        let (mut since, mut waited) = (Instant::now(), Duration::ZERO);
        let pattern = self.pattern.take();
        let shown = ShownActivity::new();
        let response = {
            let mut rest = pin!(A::wait(&mut self.waiting, deadline));
            let mut is_first = true;
            // Waiting is the time between two polls.
            poll_fn(|cx| {
                if !std::mem::take(&mut is_first) {
                    waited += since.elapsed();
                }
                if shown.is_cancelled(cx) {
                    return Poll::Ready(None);
                }
                let polled = rest.as_mut().poll(cx);
                if polled.is_pending() {
                    since = Instant::now();
                }
                polled.map(Some)
            })
            .await
        };
        let mut response = response.unwrap_or_else(|| {
            // What it waits for is dropped, as if its client had left.
            drop(self.waiting);
            refusal::refuse_cancelled()
        });
        summarise(&mut response, pattern, waited);
        response
    }
}

/// Adds what the access log says of a handler.
fn summarise(response: &mut HttpResponse, pattern: Option<Arc<str>>, waited: Duration) {
    let summary = &mut response.summary;
    // What is mounted has a pattern of its own.
    if pattern.is_some() {
        summary.pattern = pattern;
    }
    summary.waited = waited;
}
