//! Calls that may go to public addresses only, over servers of the tests; and stubs in place of servers.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tsumugi_worker::WorkerLimits;

use super::*;

/// In these tests one address of loopback is the internet, and all others are within.
fn is_outside(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1))
}

/// Runs with a client for which names are looked up so.
fn alone(
    look_up: fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>,
    run: impl AsyncFnOnce(Rc<HttpClient>),
) {
    let internet = Internet {
        look_up,
        is_public: is_outside,
    };
    let outcome = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let limits = CallLimits::default();
        run(HttpClient::over(&worker, limits, None, internet, None)).await;
    });
    outcome.unwrap();
}

fn call(url: &str, reach: Reach) -> ClientRequest {
    ClientRequest {
        method: Method::GET,
        target: TargetUrl::parse(url).unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout: Duration::from_secs(60),
        reach,
        redirects_max: 5,
        response_bytes_max: 1024,
    }
}

/// A server on this address that gives each request this answer, a connection for each unless the answer is to be followed by others.
async fn serve(address: [u8; 4], answer: String) -> (SocketAddr, Rc<RefCell<usize>>) {
    let listener = TcpListener::bind((Ipv4Addr::from(address), 0))
        .await
        .unwrap();
    let at = listener.local_addr().unwrap();
    let connections = Rc::new(RefCell::new(0));
    let count = Rc::clone(&connections);
    tokio::task::spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            *count.borrow_mut() += 1;
            let answer = answer.clone();
            tokio::task::spawn_local(async move {
                let mut request = Vec::new();
                let mut piece = [0; 1024];
                while let Ok(1..) = stream.read(&mut piece).await.inspect(|read| {
                    request.extend_from_slice(&piece[..*read]);
                }) {
                    if request.ends_with(b"\r\n\r\n") {
                        request.clear();
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        if answer.contains("close") {
                            return;
                        }
                    }
                }
            });
        }
    });
    (at, connections)
}

const KEPT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CLOSED: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

fn no_names(_: &str, _: u16) -> std::io::Result<Vec<SocketAddr>> {
    Err(std::io::Error::other("there are no names here"))
}

#[track_caller]
fn assert_not_public(result: Result<ClientResponse, Error>) {
    match result {
        Err(Error::NotPublic { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(response) => panic!("an answer from {}", response.url),
    }
}

#[test]
fn address_that_is_not_public_is_not_connected_to() {
    alone(no_names, async |client| {
        let (inside, connections) = serve([127, 0, 0, 2], KEPT.to_owned()).await;
        let url = format!("http://{inside}/");
        assert_not_public(client.call(call(&url, Reach::PublicOnly)).await);
        assert_eq!(*connections.borrow(), 0);
        let answer = client.call(call(&url, Reach::Anywhere)).await.unwrap();
        assert_eq!(answer.body, "ok");
        // The connection that now waits in the pool is not for calls that may go to public addresses only.
        assert_not_public(client.call(call(&url, Reach::PublicOnly)).await);
        assert_eq!(*connections.borrow(), 1);
    });
}

#[test]
fn redirect_to_an_address_that_is_not_public_is_not_followed() {
    alone(no_names, async |client| {
        let (inside, connections) = serve([127, 0, 0, 2], KEPT.to_owned()).await;
        let answer = format!(
            "HTTP/1.1 302 Found\r\nlocation: http://{inside}/\r\ncontent-length: 0\r\n\r\n"
        );
        let (outside, _) = serve([127, 0, 0, 1], answer).await;
        let url = format!("http://{outside}/");
        assert_not_public(client.call(call(&url, Reach::PublicOnly)).await);
        assert_eq!(*connections.borrow(), 0);
        let answer = client.call(call(&url, Reach::Anywhere)).await.unwrap();
        assert_eq!(answer.body, "ok");
    });
}

#[test]
fn name_of_which_one_address_is_not_public_is_refused() {
    let both = |_: &str, port| {
        let addresses = [[127, 0, 0, 1], [127, 0, 0, 2]];
        Ok(addresses
            .map(|address| SocketAddr::from((address, port)))
            .to_vec())
    };
    alone(both, async |client| {
        let (outside, connections) = serve([127, 0, 0, 1], KEPT.to_owned()).await;
        let url = format!("http://mixed.example:{}/", outside.port());
        assert_not_public(client.call(call(&url, Reach::PublicOnly)).await);
        assert_eq!(*connections.borrow(), 0);
        client.call(call(&url, Reach::Anywhere)).await.unwrap();
    });
}

#[test]
fn name_that_means_another_address_later_is_refused_then() {
    static LOOKS: AtomicUsize = AtomicUsize::new(0);
    let rebound = |_: &str, port| {
        let looked = LOOKS.fetch_add(1, SeqCst);
        let address = if looked == 0 {
            [127, 0, 0, 1]
        } else {
            [127, 0, 0, 2]
        };
        Ok(vec![SocketAddr::from((address, port))])
    };
    alone(rebound, async |client| {
        let (outside, connections) = serve([127, 0, 0, 1], CLOSED.to_owned()).await;
        let url = format!("http://rebound.example:{}/", outside.port());
        // Looked up once, and connected to what was found.
        let answer = client.call(call(&url, Reach::PublicOnly)).await.unwrap();
        assert_eq!((LOOKS.load(SeqCst), answer.status), (1, StatusCode::OK));
        assert_not_public(client.call(call(&url, Reach::PublicOnly)).await);
        assert_eq!(*connections.borrow(), 1);
    });
}

/// Runs with a client whose calls these stubs answer.
fn with_stubs(run: impl AsyncFnOnce(Rc<HttpClient>, Rc<HttpStubs>)) {
    let outcome = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        let stubs = HttpStubs::new();
        let limits = CallLimits::default();
        let client = HttpClient::stubbed(&worker, limits, None, Rc::clone(&stubs));
        run(client, stubs).await;
    });
    outcome.unwrap();
}

fn always(outcome: StubOutcome) -> StubAnswer {
    Box::new(move |_| {
        let outcome = outcome.clone();
        Box::pin(async move { Ok(outcome) })
    })
}

#[test]
fn stub_that_was_added_last_answers_and_its_calls_are_kept() {
    with_stubs(async |client, stubs| {
        let text =
            |text: &'static str| always(StubOutcome::Reply(StubReply::new("text/plain", text)));
        let pattern = "https://api.example/users/:id";
        stubs.add(None, pattern, text("any")).unwrap();
        stubs.add(Some(Method::GET), pattern, text("get")).unwrap();
        let url = "https://api.example/users/7?full=1";
        let answer = client.call(call(url, Reach::PublicOnly)).await.unwrap();
        assert_eq!((&*answer.body, answer.url.as_str()), (&b"get"[..], url));
        let mut post = call(url, Reach::Anywhere);
        post.method = Method::POST;
        post.body = Bytes::from_static(b"{}");
        assert_eq!(client.call(post).await.unwrap().body, "any");
        let calls = stubs.calls();
        let shown = calls.iter().map(|call| {
            format!(
                "{} {} {:?} {:?}",
                call.method, call.url, call.body, call.captures
            )
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                format!("GET {url} b\"\" [(\"id\", \"7\")]"),
                format!("POST {url} b\"{{}}\" [(\"id\", \"7\")]"),
            ]
        );
    });
}

#[test]
fn call_without_a_stub_fails_and_says_how_to_write_one() {
    with_stubs(async |client, stubs| {
        let error = client
            .call(call("http://u:p@api.example/x?secret=1", Reach::Anywhere))
            .await;
        let error = error.err().unwrap().to_string();
        assert!(
            error.contains("GET http://api.example/x; stub it with stub_http"),
            "{error}"
        );
        assert_eq!(stubs.calls().len(), 1);
    });
}

#[test]
fn stub_redirects_and_fails_as_a_server_does() {
    with_stubs(async |client, stubs| {
        let mut moved = StubReply::status(StatusCode::FOUND);
        moved
            .headers
            .insert(LOCATION, HeaderValue::from_static("/new"));
        stubs
            .add(None, "http://a/old", always(StubOutcome::Reply(moved)))
            .unwrap();
        let large = StubReply::new("text/plain", vec![b'x'; 1025]);
        let exact = StubReply::new("text/plain", vec![b'x'; 1024]);
        for (path, outcome) in [
            ("new", StubOutcome::Reply(exact)),
            ("large", StubOutcome::Reply(large)),
            ("silent", StubOutcome::Silence),
            ("refused", StubOutcome::Refused),
            ("broken", StubOutcome::BrokenOff),
        ] {
            stubs
                .add(None, &format!("http://a/{path}"), always(outcome))
                .unwrap();
        }
        let broken: StubAnswer = Box::new(|_| Box::pin(async { Err("no such row".to_owned()) }));
        stubs.add(None, "http://a/wrong", broken).unwrap();
        let outcome = async |path: &str| {
            let mut call = call(&format!("http://a/{path}"), Reach::Anywhere);
            call.timeout = Duration::from_millis(50);
            match client.call(call).await {
                Ok(response) => format!("{} {}", response.url, response.body.len()),
                Err(error) => error.to_string(),
            }
        };
        // What never comes is waited for; nothing else may take long.
        let generous = async |path: &str| {
            let call = call(&format!("http://a/{path}"), Reach::Anywhere);
            match client.call(call).await {
                Ok(response) => format!("{} {}", response.url, response.body.len()),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(generous("old").await, "http://a/new 1024");
        assert!(generous("large").await.contains("max_bytes (1024)"));
        assert!(outcome("silent").await.contains("within timeout (0.05 s)"));
        assert!(generous("refused").await.contains("cannot connect to a:80"));
        assert!(
            generous("broken")
                .await
                .contains("the connection to a:80 failed")
        );
        assert!(
            generous("wrong")
                .await
                .contains("http://a/wrong failed: no such row")
        );
    });
}
