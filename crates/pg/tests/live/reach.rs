//! TCP, UNIX sockets, IPv6, names; settings and parameters at the start; cancelling.

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tsumugi_pg::Stream;
use tsumugi_pg_proto::backend::Message;
use tsumugi_pg_proto::{ServerError, frontend};
use tsumugi_testkit::postgres::{Options, PostgresTls, Server, User};

use crate::{connect, process, text};

#[tokio::test]
async fn server_is_reached_in_every_way() {
    let server = Server::shared();
    let (port, directory) = (server.port(), server.socket_directory().display());
    for text in [
        format!("postgres://127.0.0.1:{port}"),
        format!("postgres://localhost:{port}/postgres"),
        format!("host=localhost hostaddr=127.0.0.1 port={port}"),
        format!("host=no.such.name.invalid hostaddr=127.0.0.1 port={port}"),
        format!(
            "postgres://127.0.0.1:{port}?keepalives_idle=7&keepalives_interval=3&keepalives_count=2&tcp_user_timeout=9000"
        ),
        server.url(User::ADMIN),
    ] {
        let connected = connect(&text).await.unwrap();
        assert!(matches!(connected.stream, Stream::Tcp(_)), "{text}");
        assert!(connected.leftover.is_empty());
    }
    for text in [
        server.socket_url(User::ADMIN),
        format!("host={directory} port={port}"),
    ] {
        let connected = connect(&text).await.unwrap();
        assert!(matches!(connected.stream, Stream::Local(_)), "{text}");
    }
    // A machine without IPv6 cannot be reached that way.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        connect(&format!("postgres://[::1]:{port}")).await.unwrap();
    }
}

#[tokio::test]
async fn options_of_the_socket_are_set() {
    let server = Server::shared();
    let url = server.url(User::ADMIN);
    let options =
        "keepalives_idle=7&keepalives_interval=3&keepalives_count=2&tcp_user_timeout=9000";
    let connected = connect(&format!("{url}?{options}")).await.unwrap();
    let Stream::Tcp(stream) = &connected.stream else {
        panic!("not over TCP");
    };
    let socket = socket2::SockRef::from(stream);
    assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap().as_secs(), 7);
    assert_eq!(socket.tcp_keepalive_interval().unwrap().as_secs(), 3);
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), 2);
    assert_eq!(
        socket.tcp_user_timeout().unwrap().unwrap().as_millis(),
        9000
    );
    let without = connect(&format!("{url}?keepalives=0")).await.unwrap();
    let Stream::Tcp(stream) = &without.stream else {
        panic!("not over TCP");
    };
    assert!(!socket2::SockRef::from(stream).keepalive().unwrap());
}

#[tokio::test]
async fn start_up_sends_names_and_reads_the_servers_parameters() {
    let server = Server::shared();
    let database = server.database();
    let options = "application_name=loom&options=-c%20work_mem%3D7MB";
    let connected = connect(&format!("{}?{options}", database.url_as(User::TRUST)))
        .await
        .unwrap();
    let parameters = &connected.session.parameters;
    assert_eq!(parameters.value("client_encoding"), Some("UTF8"));
    assert_eq!(parameters.value("application_name"), Some("loom"));
    assert!(parameters.value("server_version").is_some());
    let question = format!(
        "select datname, usename, application_name from pg_stat_activity where pid = {}",
        process(&connected)
    );
    let expected = format!("{}|trusting|loom", database.name());
    assert_eq!(server.psql(&question), expected);
}

#[tokio::test]
async fn missing_database_and_missing_host_are_named() {
    let server = Server::shared();
    let url = server.url(User::ADMIN);
    let missing = url
        .replace("/postgres", "/no_such_database")
        .replace("//no_such_database", "//postgres");
    let error = text(connect(&missing).await);
    assert!(
        error.contains(
            "(authentication): database \"no_such_database\" does not exist (SQLSTATE 3D000"
        ),
        "{error}"
    );
    let error = text(connect("host=/no/such/directory port=7").await);
    assert_eq!(
        error,
        "cannot connect to /no/such/directory/.s.PGSQL.7 (connecting): No such file or directory (os error 2); is the server running, and is the host right?"
    );
    let error = text(connect("host=no.such.name.invalid").await);
    assert!(
        error.starts_with("cannot connect to no.such.name.invalid:5432 (name look-up): "),
        "{error}"
    );
}

/// Starts a statement that lasts, cancels it, and reads its error.
async fn cancel_a_statement(server: &Server, text: &str) {
    let mut connected = connect(text).await.unwrap();
    let mut bytes = BytesMut::new();
    frontend::query(&mut bytes, "select pg_sleep(600)").unwrap();
    connected.stream.write_all(&bytes).await.unwrap();
    connected.stream.flush().await.unwrap();
    let runs = format!(
        "select count(*) from pg_stat_activity where pid = {} and wait_event = 'PgSleep'",
        process(&connected)
    );
    while server.psql(&runs) != "1" {}
    let cancel = connected.cancel.as_ref().unwrap();
    assert_eq!(cancel.process_id(), process(&connected));
    cancel.cancel().await.unwrap();
    let mut input = connected.leftover;
    loop {
        if let Some((message, length)) = Message::decode(&input).unwrap() {
            if let Message::ErrorResponse(report) = message {
                assert_eq!(ServerError::from(report).code.to_string(), "57014");
                return;
            }
            drop(input.split_to(length));
        } else {
            assert_ne!(connected.stream.read_buf(&mut input).await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn statement_is_cancelled_over_every_kind_of_stream() {
    let server = Options::default().tls(PostgresTls::Localhost).start();
    cancel_a_statement(&server, &server.socket_url(User::ADMIN)).await;
    let url = server.url(User::ADMIN);
    cancel_a_statement(&server, &format!("{url}?sslmode=disable")).await;
    cancel_a_statement(&server, &format!("{url}?sslmode=require")).await;
    let connected = connect(&url).await.unwrap();
    let cancel = connected.cancel.unwrap();
    server.stop();
    let error = cancel.cancel().await.unwrap_err().to_string();
    assert!(
        error.contains("(cancel request): Connection refused"),
        "{error}"
    );
}
