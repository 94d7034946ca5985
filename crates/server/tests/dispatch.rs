//! The life of a request, with an application of one route whose handler waits as long as the test wants. Knows no language.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Version};
use tokio::sync::mpsc::unbounded_channel;
use tsumugi_http::{
    CachePolicy, Files, HttpLimits, HttpResponse, OnWorker, Request, RequestBody, RequestNumber,
    RouteMatch, RouteTable,
};
use tsumugi_server::dispatch::{
    Dispatch, FirstTurn, JobGuard, Lifecycle, PublicFolders, RefusalCount, RequestDeadline,
    RequestRefusal, answer,
};

const LIMIT_MS: u64 = 2_000;

struct App {
    lifecycle: Lifecycle<()>,
    wait: Duration,
    begun: Cell<usize>,
    /// What outlives its response.
    kept: RefCell<Option<JobGuard<App>>>,
}

impl App {
    fn waiting(wait: Duration, requests_max: usize) -> Rc<App> {
        App::with_folders(PublicFolders::default(), wait, requests_max)
    }

    fn with_folders(folders: PublicFolders, wait: Duration, requests_max: usize) -> Rc<App> {
        let mut router = RouteTable::new();
        router.insert(Method::GET, "/", &[], ()).unwrap();
        Rc::new(App {
            lifecycle: Lifecycle::new(router, folders, requests_max, LIMIT_MS),
            wait,
            begun: Cell::new(0),
            kept: RefCell::default(),
        })
    }

    async fn get(self: &Rc<App>) -> HttpResponse {
        self.visit("/").await
    }

    async fn visit(self: &Rc<App>, path: &str) -> HttpResponse {
        let request = Request {
            method: Method::GET,
            uri: path.parse().unwrap(),
            version: Version::HTTP_11,
            headers: HeaderMap::new().into(),
            body: RequestBody::in_memory(Bytes::new()),
            peer: None,
            scheme: Default::default(),
            received_at: Instant::now(),
            number: RequestNumber::default(),
            mounted_path: None,
            activity: None,
        };
        answer(self, Box::new(request)).await
    }
}

impl Dispatch for App {
    type Route = ();
    type Handler = ();
    type Waiting = Duration;

    fn lifecycle(&self) -> &Lifecycle<()> {
        &self.lifecycle
    }

    fn handler(&self, _: &RouteMatch<'_, '_, ()>) {}

    fn not_found(&self) -> Option<()> {
        Some(())
    }

    fn begin(
        self: &Rc<Self>,
        _: &mut Context<'_>,
        _: Box<Request>,
        (): (),
        job: JobGuard<App>,
    ) -> FirstTurn<Duration> {
        self.begun.set(self.begun.get() + 1);
        self.kept.replace(Some(job));
        match self.wait {
            Duration::ZERO => FirstTurn::Done(HttpResponse::new(StatusCode::OK, "at once")),
            wait => FirstTurn::Waits(wait),
        }
    }

    async fn wait(wait: &mut Duration, deadline: RequestDeadline) -> HttpResponse {
        let sleep = tokio::time::sleep(*wait);
        match tokio::time::timeout_at(deadline.at.into(), sleep).await {
            Ok(()) => HttpResponse::new(StatusCode::OK, "later"),
            Err(_) => RequestRefusal::Deadline {
                limit_ms: deadline.limit_ms,
            }
            .response(),
        }
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(test);
}

async fn text(response: HttpResponse) -> String {
    let bytes = response.into_parts().body.read_all().await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn handler_that_ends_at_once_takes_no_permit() {
    run(async {
        let app = App::waiting(Duration::ZERO, 1);
        for _ in 0..3 {
            let response = app.get().await;
            assert_eq!(response.summary.waited, Duration::ZERO);
            assert_eq!(response.summary.pattern.as_deref(), Some("/"));
            assert_eq!(text(response).await, "at once");
        }
        assert_eq!(app.begun.get(), 3);
    });
}

#[test]
fn request_beyond_requests_max_is_refused_before_it_begins() {
    run(async {
        let app = App::waiting(Duration::from_millis(20), 1);
        let (first, second) = tokio::join!(app.get(), app.get());
        assert_eq!(first.status, StatusCode::OK);
        assert!(first.summary.waited >= Duration::from_millis(20));
        assert_eq!(second.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(app.begun.get(), 1);
        assert_eq!(app.lifecycle().waiting(), 0);
        assert_eq!(app.get().await.status, StatusCode::OK);
    });
}

#[test]
fn permit_of_an_abandoned_request_is_given_back() {
    run(async {
        let app = App::waiting(Duration::from_secs(3600), 1);
        tokio::select! {
            biased;
            _ = app.get() => unreachable!("it waits"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(app.lifecycle().waiting(), 0);
    });
}

#[test]
fn deadline_counts_from_the_end_of_the_head() {
    run(async {
        let app = App::waiting(Duration::from_secs(3600), 1);
        let response = app.get().await;
        assert_eq!(response.status, StatusCode::GATEWAY_TIMEOUT);
        let expected = "the handler took longer than request_ms_max (2000 ms)\n";
        assert_eq!(text(response).await, expected);
    });
}

#[test]
fn drain_waits_for_what_outlives_its_response() {
    run(async {
        let app = App::waiting(Duration::ZERO, 1);
        app.get().await;
        let mut drain = pin!(app.lifecycle().jobs().drain());
        let cx = &mut Context::from_waker(Waker::noop());
        assert_eq!(drain.as_mut().poll(cx), Poll::Pending);
        app.kept.take();
        assert_eq!(drain.as_mut().poll(cx), Poll::Ready(()));
    });
}

#[test]
fn request_that_comes_after_the_last_one_of_a_drain_begins_no_handler() {
    run(async {
        let app = App::waiting(Duration::ZERO, 1);
        app.kept.take();
        app.lifecycle().jobs().drain().await;
        let begun = app.begun.get();
        let response = app.get().await;
        assert_eq!(response.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(app.begun.get(), begun);
    });
}

#[test]
fn drain_stops_the_timers_first() {
    run(async {
        let app = App::waiting(Duration::ZERO, 1);
        let stop = Rc::clone(app.lifecycle().jobs().stop_signal());
        let local = tokio::task::LocalSet::new();
        let timer = local.spawn_local(async move {
            tokio::select! { () = stop.given() => {}, () = pending() => {} }
        });
        app.lifecycle().jobs().add_timers([timer]);
        local.run_until(app.lifecycle().jobs().drain()).await;
        assert!(app.lifecycle().jobs().stop_signal().is_given());
    });
}

#[test]
fn time_in_which_files_are_looked_for_is_no_time_of_the_handler() {
    let folder = tempfile::tempdir().unwrap();
    // What this thread itself waits for the machine is counted too, and is little of one of these.
    let is_apart = [300, 1_000, 4_000].into_iter().any(|milliseconds| {
        let busy = Duration::from_millis(milliseconds);
        let (waited, ran) = waited_and_ran(folder.path(), busy);
        println!("{busy:?}: {waited:?} {ran:?}");
        waited >= busy / 2 && ran < busy / 2
    });
    assert!(is_apart);
}

/// Of a request for which files are looked for by a thread that is busy for so long: how long it waited for that, and the rest.
fn waited_and_ran(folder: &std::path::Path, busy_for: Duration) -> (Duration, Duration) {
    let mut times = (Duration::ZERO, Duration::ZERO);
    let limits = tsumugi_worker::WorkerLimits {
        offload_threads_max: 1,
        ..tsumugi_worker::WorkerLimits::default()
    };
    let served = tsumugi_worker::alone(limits, async |worker| {
        let files = Files::new(OnWorker(worker.clone()), HttpLimits::default());
        let public = files
            .folder(folder.to_owned(), &CachePolicy::Revalidate)
            .await
            .unwrap();
        let folders = PublicFolders::new(vec![(String::new(), public)]);
        let app = App::with_folders(folders, Duration::ZERO, 1);
        // The only thread that may look is busy.
        let busy = worker.offload(move || std::thread::park_timeout(busy_for));
        let begun = Instant::now();
        let visited = async {
            let response = app.visit("/none").await;
            (begun.elapsed(), response)
        };
        let (_, (total, response)) = tokio::join!(busy, visited);
        let waited = response.summary.waited;
        times = (waited, total.saturating_sub(waited));
        assert_eq!(text(response).await, "at once");
    });
    served.unwrap();
    times
}

#[test]
fn refusals_of_a_burst_are_all_reported_though_none_follows() {
    let (reports, mut reported) = unbounded_channel();
    let refuse = |count: &RefusalCount| {
        let reports = reports.clone();
        count.add(move |count| reports.send(count).unwrap());
    };
    run(async {
        let count = RefusalCount::default();
        (0..5).for_each(|_| refuse(&count));
        assert_eq!(reported.recv().await, Some(1));
        let rest = tokio::time::timeout(Duration::from_secs(30), reported.recv());
        assert_eq!(rest.await.unwrap(), Some(4));
        // A worker that ends before the second is over.
        (0..3).for_each(|_| refuse(&count));
    });
    assert_eq!(reported.try_recv(), Ok(3));
}
