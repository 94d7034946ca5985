//! Limits of handlers, the order in which plugins, timers and streams end, and applications that are refused when they load.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tsumugi::{Limits, On, Plugin, Result, Router, Settings, State, Worker, get, trial};

#[test]
fn handler_that_takes_too_long_is_dropped() {
    struct Dropped(Rc<Cell<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    struct App(Rc<Cell<bool>>);
    impl Plugin for App {
        async fn start(_: &Worker) -> Result<App> {
            Ok(App(Rc::default()))
        }
    }
    async fn slow(app: State<App>) {
        let _held = Dropped(Rc::clone(&app.0));
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    let settings = Settings {
        limits: Limits {
            request_ms_max: 20,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let routes = || Router::<App>::new().route("/", get(slow));
    trial::run_with(settings, routes, async |client| {
        let reply = client.get("/").await;
        assert_eq!(reply.status, 504);
        assert!(reply.text().contains("request_ms_max (20 ms)"));
        assert!(client.state().0.get());
    });
}

#[test]
fn one_waiting_request_more_than_the_limit_is_refused() {
    let settings = Settings {
        limits: Limits {
            requests_max: 1,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let begun = Rc::new(Cell::new(0));
    let routes = || {
        let begun = Rc::clone(&begun);
        let slow = async move || {
            begun.set(begun.get() + 1);
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        Router::<()>::new().route("/slow", get(slow))
    };
    trial::run_with(settings, routes, async |client| {
        let (first, second) = tokio::join!(client.get("/slow"), client.get("/slow"));
        assert_eq!(first.status, 204);
        assert_eq!(second.status, 503);
        assert!(second.text().contains("requests_max"));
        assert_eq!(begun.get(), 1);
        assert_eq!(client.get("/slow").await.status, 204);
    });
}

#[test]
fn plugin_stops_after_timers_and_streams() {
    thread_local!(static LOG: RefCell<Vec<String>> = RefCell::default());
    fn log(what: impl Into<String>) {
        LOG.with_borrow_mut(|log| log.push(what.into()));
    }
    struct App(Cell<u32>);
    impl Plugin for App {
        async fn start(_: &Worker) -> Result<App> {
            log("start");
            Ok(App(Cell::new(0)))
        }
        async fn stop(&self) {
            log(format!("stop after a tick: {}", self.0.get() > 0));
        }
    }
    impl Drop for App {
        fn drop(&mut self) {
            log("drop");
        }
    }
    let routes = || {
        Router::<App>::new()
            .every(
                Duration::from_millis(1),
                On::OneWorker,
                async |app: &App| {
                    app.0.set(app.0.get() + 1);
                },
            )
            .route("/", get(async |app: State<App>| app.0.get().to_string()))
    };
    trial::run(routes, async |client| {
        while client.get("/").await.text() == "0" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let log = LOG.take();
    assert_eq!(log, ["start", "stop after a tick: true", "drop"]);
}

#[test]
#[should_panic(expected = "tests/routes/lifetimes.rs")]
fn wrong_pattern_is_reported_with_its_line() {
    let routes = || Router::<()>::new().route("/{a}x", get(async || ""));
    trial::run(routes, async |_| {});
}

/// What an application says that cannot load for the period of its timer.
fn refused_period(period: Duration) -> String {
    let load = move || {
        let routes = move || Router::<()>::new().every(period, On::AllWorkers, async |_: &()| {});
        trial::run(routes, async |_| {});
    };
    let panic = std::panic::catch_unwind(load).expect_err("it loads");
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn timer_with_a_period_no_clock_can_keep_is_refused_with_its_line() {
    for (period, shown) in [
        (Duration::ZERO, "0.0"),
        (Duration::from_nanos(1), "1e-9"),
        (Duration::from_secs(1 << 40), "1099511627776.0"),
        (Duration::MAX, "1.8446744073709552e19"),
    ] {
        let refusal = refused_period(period);
        let reason = format!(
            "every takes from 0.001 to timer_seconds_max (1000000000) seconds, not {shown}"
        );
        assert!(refusal.ends_with(&reason), "{refusal}");
        assert!(refusal.contains("tests/routes/lifetimes.rs:"), "{refusal}");
    }
}
