//! Sessions of applications in Rust: kept in a cookie and in a store, ended, renewed, and forms that other sites forge.
//! Every check runs for both ways of keeping them.

use std::time::Duration;

use tsumugi::trial::{self, Client, Reply};
use tsumugi::{
    Error, Forms, Mode, Result, Router, Secret, Session, Sessions, Settings, StreamResponse, get,
    post,
};

async fn count(session: Session) -> Result<String> {
    let count = session.get::<u64>("count")?.unwrap_or(0) + 1;
    session.set("count", count).await?;
    Ok(count.to_string())
}

async fn show(session: Session) -> Result<String> {
    Ok(format!(
        "{:?} {:?}",
        session.get::<u64>("count")?,
        session.get::<String>("name")?
    ))
}

async fn late(session: Session) -> StreamResponse {
    StreamResponse::new("text/plain", async move |out| {
        let error = session.set("count", 9).await.unwrap_err().to_string();
        out.write(error).await
    })
}

fn routes(sessions: Sessions) -> Router<()> {
    Router::new()
        .sessions(sessions)
        .route("/count", get(count))
        .route("/show", get(show))
        .route(
            "/name",
            get(async |session: Session| session.set("name", "Ada").await),
        )
        .route(
            "/fail",
            get(async |session: Session| {
                session.set("count", 7).await?;
                Err::<(), Error>(Error::conflict("no"))
            }),
        )
        .route(
            "/forget",
            get(async |session: Session| session.remove("count").await.map(|_| ())),
        )
        .route(
            "/renew",
            get(async |session: Session| session.renew().await),
        )
        .route(
            "/clear",
            get(async |session: Session| session.clear().await),
        )
        .route(
            "/token",
            get(async |session: Session| session.csrf_token().await),
        )
        .route("/form", post(async |body: String| body))
        .route("/late", get(late))
}

/// The cookie that a response sets, as the next request sends it.
fn cookie(reply: &Reply) -> Option<String> {
    let cookie = reply.header("set-cookie")?;
    Some(cookie.split(';').next().unwrap().to_owned())
}

async fn ask(client: &Client<()>, path: &str, cookie: &str) -> Reply {
    client.get(path).header("cookie", cookie).await
}

async fn begun(client: &Client<()>) -> String {
    let reply = client.get("/count").await;
    assert_eq!(reply.text(), "1");
    cookie(&reply).unwrap()
}

/// Runs a test with sessions in a cookie and in a store.
fn check(test: impl AsyncFn(&Client<()>)) {
    for sessions in [
        Sessions::in_cookie(),
        Sessions::in_store("memory:kinds#capacity=1m"),
    ] {
        trial::run(|| routes(sessions.clone()), &test);
    }
}

#[test]
fn values_are_there_at_the_next_request() {
    check(async |client| {
        let first = begun(client).await;
        let reply = ask(client, "/count", &first).await;
        assert_eq!(reply.text(), "2");
        let second = cookie(&reply).unwrap();
        let third = cookie(&ask(client, "/name", &second).await).unwrap();
        assert_eq!(
            ask(client, "/show", &third).await.text(),
            "Some(2) Some(\"Ada\")"
        );
        assert_eq!(client.get("/show").await.text(), "None None");
        let shown = ask(client, "/show", &third).await;
        assert!(cookie(&shown).is_none(), "reading sets no cookie");
    });
}

#[test]
fn error_of_the_handler_keeps_what_was_stored() {
    check(async |client| {
        let reply = client.get("/fail").await;
        assert_eq!(reply.status, 409);
        let kept = cookie(&reply).unwrap();
        assert_eq!(ask(client, "/show", &kept).await.text(), "Some(7) None");
    });
}

#[test]
fn session_ends_when_it_is_cleared_or_empty() {
    check(async |client| {
        for path in ["/clear", "/forget"] {
            let session = begun(client).await;
            let reply = ask(client, path, &session).await;
            let ended = reply.header("set-cookie").unwrap();
            assert!(ended.contains("Max-Age=0"), "{path}: {ended}");
        }
        assert!(cookie(&client.get("/clear").await).is_none());
    });
}

#[test]
fn forged_cookie_is_no_session() {
    check(async |client| {
        let session = begun(client).await;
        let last = if session.ends_with('A') { 'E' } else { 'A' };
        let changed = format!("{}{last}", &session[..session.len() - 1]);
        for cookie in [changed.as_str(), "session=", "session=AAAA", "other=1"] {
            assert_eq!(
                ask(client, "/show", cookie).await.text(),
                "None None",
                "{cookie}"
            );
        }
    });
}

#[test]
fn stored_session_that_is_renewed_or_ended_is_gone_under_its_old_id() {
    let sessions = || routes(Sessions::in_store("memory:renewed#capacity=1m"));
    trial::run(sessions, async |client| {
        let old = begun(client).await;
        let new = cookie(&ask(client, "/renew", &old).await).unwrap();
        assert_ne!(old, new);
        assert_eq!(ask(client, "/show", &new).await.text(), "Some(1) None");
        assert_eq!(ask(client, "/show", &old).await.text(), "None None");
        ask(client, "/clear", &new).await;
        assert_eq!(ask(client, "/show", &new).await.text(), "None None");
        let reply = ask(client, "/count", &new).await;
        assert_ne!(
            cookie(&reply).unwrap(),
            new,
            "an id that is not known begins nothing"
        );
    });
}

#[test]
fn requests_that_overlap_keep_each_others_changes() {
    async fn slow(session: Session) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        session.set("slow", 1).await
    }
    let routes = || {
        routes(Sessions::in_store("memory:overlapping#capacity=1m"))
            .route("/slow", get(slow))
            .route(
                "/both",
                get(async |session: Session| {
                    Ok::<_, Error>(format!(
                        "{:?} {:?}",
                        session.get::<u64>("slow")?,
                        session.get::<u64>("count")?
                    ))
                }),
            )
    };
    trial::run(routes, async |client| {
        let session = begun(client).await;
        let (slow, quick) = tokio::join!(
            ask(client, "/slow", &session),
            ask(client, "/count", &session)
        );
        assert_eq!((slow.status.as_u16(), quick.text()), (204, "2"));
        assert_eq!(
            ask(client, "/both", &session).await.text(),
            "Some(1) Some(2)"
        );
        // One that ended meanwhile is not begun again.
        let (slow, _) = tokio::join!(
            ask(client, "/slow", &session),
            ask(client, "/clear", &session)
        );
        assert!(cookie(&slow).is_none());
        assert_eq!(ask(client, "/both", &session).await.text(), "None None");
    });
}

#[test]
fn forms_show_the_token_or_come_from_this_site() {
    check(async |client| {
        let reply = client.get("/token").await;
        let (session, token) = (cookie(&reply).unwrap(), reply.text().to_owned());
        let form = |body: String| client.post("/form").form(body).header("cookie", &session);
        let forged = form("a=1".to_owned()).await;
        assert_eq!(forged.status, 403);
        assert!(forged.text().contains("x-csrf-token"));
        let honest = format!("a=1&_csrf={token}");
        assert_eq!(form(honest.clone()).await.text(), honest);
        let capitals = client
            .post("/form")
            .body("Application/X-WWW-Form-Urlencoded", honest.clone())
            .header("cookie", &session);
        assert_eq!(capitals.await.text(), honest);
        let other = format!("a=1&_csrf={}", "A".repeat(token.len()));
        assert_eq!(form(other).await.status, 403);
        let with = |name, value: &str| form("a=1".to_owned()).header(name, value);
        assert_eq!(with("x-csrf-token", &token).await.status, 200);
        assert_eq!(with("sec-fetch-site", "same-origin").await.status, 200);
        assert_eq!(with("sec-fetch-site", "same-site").await.status, 403);
        // Without a session there is nothing to protect, and JSON makes a browser ask first.
        assert_eq!(client.post("/form").form("a=1").await.status, 200);
        let json = client.post("/form").body("application/json", "{}");
        assert_eq!(json.header("cookie", &session).await.status, 200);
        // Another text each time, all valid.
        assert_ne!(ask(client, "/token", &session).await.text(), token);
    });
    let unchecked = || routes(Sessions::in_cookie().forms(Forms::Unchecked));
    trial::run(unchecked, async |client| {
        let session = begun(client).await;
        let form = client.post("/form").form("a=1").header("cookie", &session);
        assert_eq!(form.await.status, 200);
    });
}

#[test]
fn production_needs_a_secret_and_sends_the_cookie_over_tls_only() {
    let settings = Settings {
        mode: Mode::Production,
        secret: Some(Secret::new("a secret of thirty-two bytes or more")),
        ..Settings::default()
    };
    trial::run_with(
        settings,
        || routes(Sessions::in_cookie()),
        async |client| {
            let reply = client.get("/count").await;
            let cookie = reply.header("set-cookie").unwrap();
            assert!(
                cookie.contains("Secure") && cookie.contains("HttpOnly"),
                "{cookie}"
            );
        },
    );
}

#[test]
fn session_is_written_before_the_response_begins() {
    check(async |client| {
        let reply = client.get("/late").await;
        assert!(
            reply.text().contains("the response has begun"),
            "{}",
            reply.text()
        );
    });
}

#[test]
fn cookie_has_a_limit_that_is_named() {
    async fn fill(session: Session) -> Result<String> {
        let error = session.set("x", "y".repeat(5000)).await.unwrap_err();
        Ok(error.to_string())
    }
    let routes = || {
        Router::<()>::new()
            .sessions(Sessions::in_cookie())
            .route("/", get(fill))
    };
    trial::run(routes, async |client| {
        let reply = client.get("/").await;
        assert!(
            reply.text().contains("session_cookie_bytes_max"),
            "{}",
            reply.text()
        );
        assert!(cookie(&reply).is_none());
    });
}

#[test]
fn sessions_that_are_not_declared_are_an_error_of_the_author() {
    let routes = || Router::<()>::new().route("/", get(show));
    trial::run(routes, async |client| {
        let reply = client.get("/").await;
        assert_eq!(reply.status, 500);
        assert!(
            reply.text().contains("Router::sessions"),
            "{}",
            reply.text()
        );
    });
}
