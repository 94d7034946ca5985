//! WebSockets of applications in Rust: which requests get one, what is sent, and how a conversation ends. In process, but for what a drain says.
//! Each test loads an application of its own.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tsumugi::trial::{self, Client, Socket};
use tsumugi::{
    Close, Error, Message, Plugin, Result, Router, Settings, State, WebSocket, WebSocketResponse,
    WebSocketUpgrade, Worker, get,
};

/// After which a wait has failed.
const PATIENCE: Duration = Duration::from_secs(30);

struct App {
    open: Cell<usize>,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        Ok(App { open: Cell::new(0) })
    }
}

/// Counts a conversation as long as it runs.
struct Open(State<App>);

impl Open {
    fn begin(app: &State<App>) -> Open {
        app.open.set(app.open.get() + 1);
        Open(app.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

async fn echo(app: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.protocols(["v2", "v1"]).accept(async move |socket| {
        let _open = Open::begin(&app);
        while let Some(message) = socket.receive().await? {
            if message == Message::from("protocol") {
                socket.send(socket.protocol().unwrap_or("none")).await?;
            } else {
                socket.send(message).await?;
            }
        }
        Ok(())
    })
}

async fn elsewhere(app: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async move |_: &WebSocket| {
        let _open = Open::begin(&app);
        std::future::pending().await
    })
}

async fn broken(upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async |_| Err(Error::Usage("no".into())))
}

async fn refusing(upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async |_| Err(Error::conflict("no")))
}

fn routes() -> Router<App> {
    Router::new()
        .route("/echo", get(echo))
        .route("/elsewhere", get(elsewhere))
        .route("/broken", get(broken))
        .route("/refusing", get(refusing))
        .route(
            "/partner",
            get(async |upgrade: WebSocketUpgrade| {
                upgrade
                    .origins(["https://partner.example"])
                    .accept(async |_| Ok(()))
            }),
        )
        .route(
            "/public",
            get(async |upgrade: WebSocketUpgrade| upgrade.any_origin().accept(async |_| Ok(()))),
        )
        .map_err(|error| (error.status().as_u16(), "mapped"))
}

async fn in_time<T>(what: &str, awaited: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(PATIENCE, awaited).await;
    came.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

async fn open(client: &Client<App>, path: &str) -> Socket {
    match in_time(path, client.get(path).websocket()).await {
        Ok(socket) => socket,
        Err(reply) => panic!("{path}: {}", reply.status),
    }
}

async fn heard(socket: &mut Socket, what: &str) -> Result<Message, Close> {
    in_time(what, socket.receive()).await
}

/// Until so many conversations run.
async fn until_open(client: &Client<App>, count: usize) {
    let open = &client.state().open;
    let reached = async {
        while open.get() != count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(&format!("{count} conversations"), reached).await;
}

#[test]
fn conversation_has_the_plugin_and_ends_with_its_client() {
    trial::run(routes, async |client| {
        let mut socket = open(client, "/echo").await;
        for message in [Message::from("a"), vec![1, 2].into()] {
            socket.send(message.clone()).await.unwrap();
            assert_eq!(heard(&mut socket, "an echo").await, Ok(message));
        }
        let gone = open(client, "/echo").await;
        until_open(client, 2).await;
        drop(gone);
        until_open(client, 1).await;
        in_time("a close", socket.close(1000, "")).await.unwrap();
        until_open(client, 0).await;
    });
}

#[test]
fn handler_that_waits_for_something_else_is_dropped_when_it_is_over() {
    let mut settings = Settings::default();
    settings.http.websocket_close_ms = 50;
    trial::run_with(settings, routes, async |client| {
        let socket = open(client, "/elsewhere").await;
        until_open(client, 1).await;
        drop(socket);
        until_open(client, 0).await;
    });
}

#[test]
fn error_of_the_handler_closes_with_1011() {
    trial::run(routes, async |client| {
        let mut socket = open(client, "/broken").await;
        let close = heard(&mut socket, "the close").await.unwrap_err();
        assert_eq!(
            (close.code, close.reason.as_str()),
            (1011, "the handler failed")
        );
    });
}

/// Counts the errors that this crate logs, by the thread that has it.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<usize>>);

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tsumugi") && *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        *self.0.lock().unwrap() += 1;
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// How many errors the log has of a conversation that ends so.
fn check_errors(path: &str, expected: usize) {
    let errors = Errors::default();
    tracing::subscriber::with_default(errors.clone(), || {
        trial::run(routes, async |client| {
            let mut socket = open(client, path).await;
            let close = heard(&mut socket, "the close").await.unwrap_err();
            assert_eq!(close.code, 1011);
        });
    });
    assert_eq!(*errors.0.lock().unwrap(), expected, "{path}");
}

#[test]
fn log_has_what_is_not_the_doing_of_the_client() {
    check_errors("/broken", 1);
    check_errors("/refusing", 0);
}

#[test]
fn protocol_is_agreed_on() {
    trial::run(routes, async |client| {
        for (offered, expected) in [("v1, v2", "v2"), ("v1", "v1"), ("v3", "none")] {
            let call = client
                .get("/echo")
                .header("sec-websocket-protocol", offered);
            let mut socket = call
                .websocket()
                .await
                .unwrap_or_else(|_| panic!("{offered}"));
            socket.send("protocol").await.unwrap();
            assert_eq!(heard(&mut socket, offered).await, Ok(expected.into()));
        }
    });
}

#[test]
fn pages_of_other_origins_are_let_in_by_name_only() {
    trial::run(routes, async |client| {
        for (path, origin, expected) in [
            ("/echo", "https://here.example", 101),
            ("/echo", "https://partner.example", 403),
            ("/partner", "https://partner.example", 101),
            ("/partner", "https://other.example", 403),
            ("/public", "https://other.example", 101),
        ] {
            let call = client.get(path).header("host", "here.example");
            let status = match call.header("origin", origin).websocket().await {
                Ok(_) => 101,
                Err(reply) => {
                    assert_eq!(reply.text(), "mapped");
                    reply.status.as_u16()
                }
            };
            assert_eq!(status, expected, "{path} {origin}");
        }
    });
}

#[test]
fn plain_request_is_answered_426() {
    let plain = || Router::<App>::new().route("/echo", get(echo));
    trial::run(plain, async |client| {
        let reply = client.get("/echo").await;
        assert_eq!(reply.status.as_u16(), 426);
        assert_eq!(reply.header("upgrade"), Some("websocket"));
    });
}
