//! Activities, spans and tracers from outside: what is recorded, shown, kept, sent and cancelled, and what is beyond a limit.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tsumugi_trace::{
    Activity, ActivityKind, CancelReply, Ending, EndingKind, FinishedActivity, OwnedActivity,
    SPAN_ATTRIBUTES_MAX, SPAN_NAME_BYTES_MAX, Sampling, SpanKind, TRACE_SPANS_MAX,
    TRACE_SPANS_OPEN_MAX, TRACES_KEPT_BYTES_MAX, TRACES_KEPT_FAILED_TICKS_MAX, TRACES_KEPT_MAX,
    TRACES_KEPT_SPANS_MAX, TRACES_KEPT_TICKS_MAX, TRACES_QUEUED_BYTES_MAX, TRACES_QUEUED_MAX,
    TRACES_TAKEN_BYTES_MAX, TraceParent, TraceSettings, Tracer, brief_span, current, in_span,
    in_wait, is_observed, log_ids, outgoing, source_location, span, within,
};

fn tracer(sampling: Sampling) -> Tracer {
    let tracer = Tracer::new(TraceSettings {
        sampling,
        watches: true,
        keeps: true,
        sends: true,
    });
    tracer.attach(0);
    tracer
}

fn begin(parent: Option<TraceParent>) -> OwnedActivity {
    Activity::begin_named(ActivityKind::Job, "thumbnail".into(), parent)
}

fn parent(is_sampled: bool) -> TraceParent {
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    TraceParent {
        is_sampled,
        ..TraceParent::parse(text.as_bytes()).unwrap()
    }
}

fn last(tracer: &Tracer) -> Arc<FinishedActivity> {
    Arc::clone(&tracer.kept()[0])
}

#[test]
fn activity_is_current_only_while_it_is_entered() {
    let (outer, inner) = (begin(None), begin(None));
    assert!(current().is_none() && log_ids().is_none());
    outer.enter(|| {
        inner.enter(|| assert_eq!(current().unwrap().span_id(), inner.span_id()));
        assert_eq!(current().unwrap().span_id(), outer.span_id());
    });
    assert!(current().is_none());
}

#[test]
fn span_is_empty_where_nobody_records_or_watches() {
    let activity = begin(Some(parent(true)));
    activity.enter(|| {
        assert!(!is_observed());
        assert!(span(SpanKind::Sql, "select 1").id().is_none());
        // The caller's trace goes on all the same.
        let told = outgoing(&span(SpanKind::Http, "GET a")).unwrap();
        assert_eq!(told.trace_parent.trace_id, parent(true).trace_id);
    });
    assert!(
        begin(None)
            .enter(|| outgoing(&span(SpanKind::Http, "GET a")))
            .is_none()
    );
}

#[test]
fn spans_have_the_parent_that_they_began_in() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    let place: Arc<str> = "app.rb:7".into();
    activity.enter(|| {
        let outer = span(SpanKind::Named, "prices");
        let inner = within(outer.id(), Some(&place), || span(SpanKind::Sql, "select 1"));
        inner.set("rows", 3_usize);
        inner.fail("Timeout");
        let beside = span(SpanKind::Kv, "get");
        drop((inner, beside, outer));
        let mut scoped = pin!(in_span(SpanKind::Named, "scope", async {
            drop(span(SpanKind::Sleep, "sleep"));
        }));
        let polled = scoped
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
    });
    activity.end(Ending::default());
    let finished = last(&tracer);
    let named = |name: &str| {
        finished
            .spans
            .iter()
            .find(|span| &*span.name == name)
            .unwrap()
    };
    assert_eq!(named("prices").parent, activity.span_id());
    assert_eq!(named("get").parent, activity.span_id());
    assert_eq!(named("select 1").parent, named("prices").id);
    assert_eq!(named("sleep").parent, named("scope").id);
    assert_eq!(named("select 1").place.as_deref(), Some("app.rb:7"));
    assert_eq!(named("select 1").error.as_deref(), Some("Timeout"));
    assert_eq!(named("select 1").attributes.len(), 1);
    assert_eq!(named("sleep").place, None);
}

#[test]
fn caller_decides_whether_its_trace_is_recorded() {
    for (ratio, said, expected) in [
        (0.0, Some(true), true),
        (1.0, Some(false), false),
        (0.0, None, false),
        (1.0, None, true),
    ] {
        let tracer = tracer(Sampling::Ratio(ratio));
        let activity = begin(said.map(parent));
        assert_eq!(activity.is_recorded(), expected, "{ratio} {said:?}");
        assert_eq!(activity.as_parent().is_sampled, expected);
        drop(activity);
        assert_eq!(tracer.kept().len(), usize::from(expected));
    }
}

#[test]
fn ratio_is_about_the_part_that_is_recorded() {
    let _tracer = tracer(Sampling::Ratio(0.25));
    let recorded = (0..4_000).filter(|_| begin(None).is_recorded()).count();
    assert!((600..1_400).contains(&recorded), "{recorded}");
}

#[test]
fn dropped_activity_has_ended_as_its_client_left() {
    let tracer = tracer(Sampling::Ratio(1.0));
    drop(begin(None));
    assert_eq!(last(&tracer).ending, EndingKind::ClientLeft);
}

#[test]
fn waiting_activity_is_shown_until_it_ends() {
    let tracer = tracer(Sampling::Ratio(0.0));
    let activity = begin(None);
    assert!(tracer.activities(10).0.is_empty());
    let waits = activity.enter(|| span(SpanKind::Sql, "select 1"));
    let (shown, more) = tracer.activities(10);
    assert!(!more);
    assert_eq!((shown[0].kind, &*shown[0].path), ("job", "thumbnail"));
    let wait = shown[0].waits_for.clone().unwrap();
    assert_eq!((wait.kind, &*wait.what), ("sql", "select 1"));
    drop(waits);
    assert!(tracer.activities(10).0[0].waits_for.is_none());
    assert!(tracer.activities(0).1, "one more than the limit");
    drop(activity);
    assert!(tracer.activities(10).0.is_empty());
    assert!(tracer.kept().is_empty());
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn cancel_wakes_what_can_be_cancelled() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    activity.show();
    let id = tracer.activities(1).0[0].id.clone();
    assert_eq!(tracer.cancel("nothing"), CancelReply::Unknown);
    assert_eq!(tracer.cancel(&id), CancelReply::NotCancellable);
    activity.allow_cancel();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let cx = Context::from_waker(&waker);
    assert_eq!(activity.poll_cancelled(&cx), Poll::Pending);
    let (other, asked) = (tracer.clone(), id.clone());
    let outcome = std::thread::spawn(move || other.cancel(&asked))
        .join()
        .unwrap();
    assert_eq!(outcome, CancelReply::Asked);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert_eq!(activity.poll_cancelled(&cx), Poll::Ready(()));
    activity.end(Ending::default());
    assert_eq!(last(&tracer).ending, EndingKind::Cancelled);
    assert_eq!(tracer.cancel(&id), CancelReply::Unknown);
}

#[test]
fn one_span_more_than_the_limit_is_counted() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    activity.enter(|| {
        for _ in 0..=TRACE_SPANS_MAX {
            drop(span(SpanKind::Sql, "select 1"));
        }
    });
    activity.end(Ending::default());
    let finished = last(&tracer);
    assert_eq!(
        (finished.spans.len(), finished.left_out),
        (TRACE_SPANS_MAX, 1)
    );
    assert_eq!(tracer.counts().spans_left_out, 1);
    // It has ended: what comes later is nobody's.
    activity.enter(|| assert!(span(SpanKind::Sql, "select 1").id().is_none()));
}

#[test]
fn one_open_span_more_than_the_limit_is_counted() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    let open: Vec<_> = activity.enter(|| {
        let begun = (0..=TRACE_SPANS_OPEN_MAX).map(|_| span(SpanKind::Sql, "select 1"));
        begun.collect()
    });
    let count = open.iter().filter(|span| span.id().is_some()).count();
    assert_eq!(count, TRACE_SPANS_OPEN_MAX);
    drop(open);
    activity.end(Ending::default());
    assert_eq!(last(&tracer).left_out, 1);
}

#[test]
fn name_and_attributes_beyond_their_limits_are_cut() {
    let tracer = tracer(Sampling::Ratio(1.0));
    const NAMES: [&str; SPAN_ATTRIBUTES_MAX + 1] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
    ];
    let activity = begin(None);
    activity.enter(|| {
        let span = span(SpanKind::Sql, &"x".repeat(SPAN_NAME_BYTES_MAX + 1));
        for name in NAMES {
            span.set(name, "y");
        }
    });
    activity.end(Ending::default());
    let finished = last(&tracer);
    assert_eq!(finished.spans[0].name.len(), SPAN_NAME_BYTES_MAX);
    assert_eq!(finished.spans[0].attributes.len(), SPAN_ATTRIBUTES_MAX);
}

#[test]
fn one_activity_more_than_the_queue_takes_is_dropped_and_counted() {
    let tracer = tracer(Sampling::Ratio(1.0));
    for _ in 0..=TRACES_QUEUED_MAX {
        drop(begin(None));
    }
    let counts = tracer.counts();
    assert_eq!(
        (counts.recorded, counts.dropped),
        (TRACES_QUEUED_MAX as u64 + 1, 1)
    );
    assert_eq!(tracer.take_queued(10).len(), 10);
    assert_eq!(tracer.take_queued(usize::MAX).len(), TRACES_QUEUED_MAX - 10);
    assert_eq!(tracer.kept().len(), TRACES_KEPT_MAX);
}

#[test]
fn activities_beyond_the_bytes_of_the_queue_are_dropped_and_taken_by_bytes() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let name = "x".repeat(SPAN_NAME_BYTES_MAX);
    let large = || {
        let activity = begin(None);
        activity.enter(|| (0..TRACE_SPANS_MAX).for_each(|_| drop(span(SpanKind::Sql, &name))));
        activity.end(Ending::default());
    };
    large();
    let bytes = last(&tracer).bytes();
    let fits = TRACES_QUEUED_BYTES_MAX / bytes;
    assert!(fits < TRACES_QUEUED_MAX, "{fits}");
    (1..fits).for_each(|_| large());
    assert_eq!(tracer.counts().dropped, 0);
    large();
    assert_eq!(tracer.counts().dropped, 1);
    let taken = tracer.take_queued(usize::MAX).len();
    assert_eq!(taken, TRACES_TAKEN_BYTES_MAX.div_ceil(bytes));
    // What was taken has made room.
    large();
    assert_eq!(tracer.counts().dropped, 1);
    let left = fits + 1 - taken;
    let rest = tracer.take_queued(usize::MAX).len();
    assert!(rest > 0 && rest <= left, "{rest} of {left}");
}

#[test]
fn ticks_of_a_timer_push_out_their_own_and_nothing_else() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let tick = |name: &str| {
        let activity = Activity::begin_named(ActivityKind::Timer, name.into(), None);
        activity.enter(|| drop(span(SpanKind::Sql, "select 1")));
        activity.end(Ending::default());
    };
    tick("rare");
    begin(None).end(Ending::default());
    (0..10 * TRACES_KEPT_MAX).for_each(|_| tick("often"));
    let kept = tracer.kept();
    let count = |name: &str| kept.iter().filter(|one| &*one.path == name).count();
    assert_eq!(
        (count("often"), count("rare"), count("thumbnail")),
        (TRACES_KEPT_TICKS_MAX, 1, 1)
    );
    // What is left out counts no more: spans up to the limit fit beside the ticks.
    for _ in 0..TRACES_KEPT_SPANS_MAX / TRACE_SPANS_MAX - 1 {
        let activity = begin(None);
        activity.enter(|| (0..TRACE_SPANS_MAX).for_each(|_| drop(span(SpanKind::Sql, "s"))));
        activity.end(Ending::default());
    }
    assert_eq!(tracer.kept().last().unwrap().path.as_ref(), "rare");
}

#[test]
fn failed_ticks_of_a_timer_are_kept_beside_those_that_went_well_and_push_out_their_own() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let tick = |error: Option<&str>| {
        let activity = Activity::begin_named(ActivityKind::Timer, "often".into(), None);
        activity.end(Ending {
            error: error.map(str::to_owned),
            ..Ending::default()
        });
    };
    let counts = || {
        let kept = tracer.kept();
        let failed = kept.iter().filter(|one| one.has_failed()).count();
        (failed, kept.len() - failed)
    };
    tick(Some("0"));
    (0..10 * TRACES_KEPT_MAX).for_each(|_| tick(None));
    assert_eq!(counts(), (1, TRACES_KEPT_TICKS_MAX));
    (1..=TRACES_KEPT_FAILED_TICKS_MAX).for_each(|n| tick(Some(&n.to_string())));
    assert_eq!(
        counts(),
        (TRACES_KEPT_FAILED_TICKS_MAX, TRACES_KEPT_TICKS_MAX)
    );
    let kept = tracer.kept();
    let is_first = |one: &Arc<FinishedActivity>| one.error.as_deref() == Some("0");
    assert!(!kept.iter().any(is_first));
    // Requests are pushed out by neither.
    begin(None).end(Ending::default());
    (0..10 * TRACES_KEPT_MAX).for_each(|_| tick(Some("again")));
    assert!(tracer.kept().iter().any(|one| &*one.path == "thumbnail"));
}

#[test]
fn oldest_activities_give_way_to_spans_and_bytes_of_later_ones() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let many = |count: usize, name: &str| {
        let activity = begin(None);
        activity.enter(|| (0..count).for_each(|_| drop(span(SpanKind::Sql, name))));
        activity.end(Ending::default());
    };
    let fits = TRACES_KEPT_SPANS_MAX / TRACE_SPANS_MAX;
    for _ in 0..=fits {
        many(TRACE_SPANS_MAX, "");
    }
    let kept = tracer.kept();
    let spans: usize = kept.iter().map(|activity| activity.spans.len()).sum();
    assert!(
        kept.len() <= fits && spans <= TRACES_KEPT_SPANS_MAX,
        "{spans}"
    );
    for _ in 0..fits {
        many(TRACE_SPANS_MAX, &"x".repeat(SPAN_NAME_BYTES_MAX));
        let bytes: usize = tracer.kept().iter().map(|activity| activity.bytes()).sum();
        assert!(bytes <= TRACES_KEPT_BYTES_MAX, "{bytes}");
    }
}

#[test]
fn rate_records_the_first_and_few_of_many() {
    let _tracer = tracer(Sampling::Rate);
    let recorded = (0..20).filter(|_| begin(None).is_recorded()).count();
    assert_eq!(recorded, 20);
    // Whatever the machine takes for it, it is not all of them.
    let recorded = (0..100_000).filter(|_| begin(None).is_recorded()).count();
    assert!(recorded < 100_000);
}

#[test]
fn scope_that_is_dropped_ends_its_future_as_a_part_of_its_activity() {
    struct Seen(Arc<std::sync::Mutex<Option<String>>>);
    impl Drop for Seen {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = log_ids().map(|ids| ids.request_id.to_string());
        }
    }
    let (job, seen) = (begin(None), Arc::default());
    let last = Seen(Arc::clone(&seen));
    let scope = Activity::scope(Some(job.share()), async move {
        let _last = last;
        std::future::pending::<()>().await;
    });
    let mut scope = Box::pin(scope);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(scope.as_mut().poll(&mut cx).is_pending());
    drop(scope);
    assert_eq!(*seen.lock().unwrap(), Some(job.id().to_string()));
}

#[test]
fn activity_that_is_held_ends_with_its_last_hold() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    activity.show();
    let holds = (activity.hold(), activity.hold());
    let shared = activity.share();
    activity.end(Ending {
        status: Some(503),
        ..Ending::default()
    });
    drop(activity);
    shared.enter(|| drop(span(SpanKind::Sql, "rollback")));
    drop(holds.0);
    assert_eq!(tracer.activities(9).0.len(), 1);
    assert!(tracer.kept().is_empty());
    drop(holds.1);
    assert!(tracer.activities(9).0.is_empty());
    let finished = last(&tracer);
    assert_eq!((finished.status, finished.spans.len()), (Some(503), 1));
    assert_eq!(finished.ending, EndingKind::Complete);
}

#[test]
fn wait_has_a_span_unless_it_is_ready_at_once() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    let mut cx = Context::from_waker(Waker::noop());
    let mut poll = |kind: SpanKind, turns: usize| {
        let mut left = turns;
        let future = std::future::poll_fn(move |_| match left {
            0 => Poll::Ready(()),
            _ => {
                left -= 1;
                Poll::Pending
            }
        });
        let mut wait = pin!(in_wait(|| span(kind, "x"), future));
        for _ in 0..turns {
            assert!(activity.enter(|| wait.as_mut().poll(&mut cx)).is_pending());
        }
        assert!(activity.enter(|| wait.as_mut().poll(&mut cx)).is_ready());
    };
    poll(SpanKind::Lock, 0);
    poll(SpanKind::Pool, 2);
    activity.end(Ending::default());
    let spans: Vec<SpanKind> = last(&tracer).spans.iter().map(|span| span.kind).collect();
    assert_eq!(spans, [SpanKind::Pool]);
}

#[test]
fn brief_span_is_shown_and_in_no_trace() {
    let tracer = tracer(Sampling::Ratio(1.0));
    let activity = begin(None);
    activity.enter(|| {
        let brief = brief_span(SpanKind::Client, "message");
        assert!(brief.id().is_none() && !brief.is_recorded());
        let waits_for = tracer.activities(9).0[0].waits_for.clone().unwrap();
        assert_eq!((waits_for.kind, &*waits_for.what), ("client", "message"));
        brief.enter(|| drop(span(SpanKind::Sql, "select 1")));
        (0..=TRACE_SPANS_MAX).for_each(|_| drop(brief_span(SpanKind::Client, "message")));
    });
    activity.end(Ending::default());
    let finished = last(&tracer);
    assert_eq!((finished.spans.len(), finished.left_out), (1, 0));
    assert_eq!(finished.spans[0].parent, finished.span_id);
}

#[test]
fn place_is_known_while_something_runs_for_it() {
    let known: Arc<str> = "app.rb:7".into();
    assert_eq!(source_location(), None);
    within(None, Some(&known), || {
        assert_eq!(source_location(), Some(Arc::clone(&known)))
    });
    assert_eq!(source_location(), None);
}

#[test]
fn bytes_of_an_activity_count_the_method_that_a_client_has_chosen() {
    let tracer = tracer(Sampling::Ratio(1.0));
    begin(None).end(Ending::default());
    let plain = FinishedActivity::clone(&last(&tracer));
    let named = FinishedActivity {
        method: Some("X".repeat(20_000).into()),
        ..plain.clone()
    };
    assert_eq!(named.bytes(), plain.bytes() + 20_000);
}
