//! Connections to servers of ours that misbehave, or can what PostgreSQL 15 cannot: silence in every phase, bytes out of turn,
//! direct TLS. No real server.
//! Rule: a stub says what a test lists, byte by byte, and nothing else.

mod answers;
mod direct;
mod flushing;

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tsumugi_pg::{Cause, Config, Connector, Environment, Error, Phase, StartedConnection};

const SECRET: &str = "hunter2";
const AUTHENTICATION_OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// What a stub does, in turn.
#[derive(Clone)]
enum Step {
    /// Reads one packet of the start-up: a length, and what it counts.
    Packet,
    /// Reads one message: a tag, a length, and what it counts.
    Message,
    /// Sends this.
    Say(Vec<u8>),
    /// Says nothing for so long.
    Pause(Duration),
    /// Keeps the connection and says nothing more.
    Silence,
}
use Step::{Message, Packet, Silence};

fn say(parts: &[&[u8]]) -> Step {
    Step::Say(parts.concat())
}

fn setting(name: &str, value: &str) -> Vec<u8> {
    message(b'S', format!("{name}\0{value}\0").as_bytes())
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn error(code: &str, text: &str) -> Vec<u8> {
    message(
        b'E',
        format!("SFATAL\0VFATAL\0C{code}\0M{text}\0\0").as_bytes(),
    )
}

/// A server that follows one script for each connection, and closes after the last; more connections are an error of the test.
async fn stub(scripts: Vec<Vec<Step>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for script in scripts {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(follow(stream, script));
        }
        drop(listener);
    });
    port
}

/// A client that has enough may break off.
async fn follow(mut stream: TcpStream, script: Vec<Step>) -> io::Result<()> {
    for step in script {
        match step {
            Packet => {
                let length = stream.read_u32().await?;
                read(&mut stream, length).await?;
            }
            Message => {
                stream.read_u8().await?;
                let length = stream.read_u32().await?;
                read(&mut stream, length).await?;
            }
            Step::Say(bytes) => stream.write_all(&bytes).await?,
            Step::Pause(time) => tokio::time::sleep(time).await,
            Silence => std::future::pending().await,
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream, length: u32) -> io::Result<()> {
    let mut bytes = vec![0; usize::try_from(length - 4).unwrap()];
    stream.read_exact(&mut bytes).await.map(drop)
}

/// As `me` with a password; the words come after that.
async fn connect(words: &str) -> Result<StartedConnection, Error> {
    connect_within(words, Some(Duration::from_secs(30))).await
}

async fn connect_within(words: &str, limit: Option<Duration>) -> Result<StartedConnection, Error> {
    let text = format!("user=me password={SECRET} host=127.0.0.1 {words}");
    let mut config = Config::parse(&text, &Environment::empty())?;
    config.connect_timeout = limit;
    let mut random = |bytes: &mut [u8]| bytes.fill(7);
    let result = Connector::new(config).connect(&mut random).await;
    if let Err(error) = &result {
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    }
    result
}

/// Scripts, words, and what comes of it: the phase and a piece of the text.
async fn check(scripts: Vec<Vec<Step>>, words: &str, phase: Phase, expected: &str) {
    let port = stub(scripts).await;
    match connect(&format!("port={port} {words}")).await {
        Err(Error::Connect {
            phase: found,
            cause,
            ..
        }) => {
            assert_eq!(found, phase, "{cause}");
            assert!(cause.to_string().contains(expected), "{cause}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{words}: it connected"),
    }
}

/// A short time limit; nothing is asserted about how long it takes.
async fn silent(scripts: Vec<Vec<Step>>, words: &str, expected: Phase) {
    let port = stub(scripts).await;
    let limit = Some(Duration::from_secs(1));
    match connect_within(&format!("port={port} {words}"), limit).await {
        Err(
            error @ Error::Connect {
                phase,
                cause: Cause::Timeout(_),
                ..
            },
        ) => {
            assert_eq!(phase, expected);
            assert_eq!(
                error.to_string(),
                format!(
                    "cannot connect to 127.0.0.1:{port} ({phase}): no answer within connect_timeout (1 s)"
                )
            );
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it connected"),
    }
}

#[tokio::test]
async fn silent_server_times_out_in_every_phase() {
    silent(vec![vec![Silence]], "", Phase::Tls).await;
    silent(vec![vec![Packet, Silence]], "sslmode=require", Phase::Tls).await;
    silent(vec![vec![Packet, say(&[b"S"]), Silence]], "", Phase::Tls).await;
    silent(
        vec![vec![Silence]],
        "sslmode=require sslnegotiation=direct",
        Phase::Tls,
    )
    .await;
    silent(
        vec![vec![Packet, Silence]],
        "sslmode=disable",
        Phase::Authentication,
    )
    .await;
    silent(
        vec![vec![Packet, say(&[b"N"]), Packet, Silence]],
        "",
        Phase::Authentication,
    )
    .await;
    let asked = vec![Packet, say(&[CLEARTEXT]), Message, Silence];
    silent(vec![asked], "sslmode=disable", Phase::Authentication).await;
    let half = vec![Packet, say(&[AUTHENTICATION_OK, b"S\0\0\0"]), Silence];
    silent(vec![half], "sslmode=disable", Phase::Authentication).await;
    let kind = vec![Packet, say(&[AUTHENTICATION_OK, READY]), Message, Silence];
    silent(
        vec![kind],
        "sslmode=disable target_session_attrs=primary",
        Phase::Role,
    )
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn silent_tcp_peer_times_out() {
    // A listener whose queue is full lets new connections wait for an answer.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener
        .bind(
            &"127.0.0.1:0"
                .parse::<std::net::SocketAddr>()
                .unwrap()
                .into(),
        )
        .unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(300))
    {
        queued.push(stream);
    }
    let words = format!("port={}", address.port());
    match connect_within(&words, Some(Duration::from_millis(300))).await {
        Err(Error::Connect {
            phase,
            cause: Cause::Timeout(_),
            ..
        }) => assert_eq!(phase, Phase::Socket),
        other => panic!("{:?}", other.err()),
    }
}

#[tokio::test]
async fn bytes_after_the_answer_to_the_request_for_tls_are_refused() {
    let injected = "bytes came with the answer to the request for encryption";
    for answer in [&b"S"[..], b"N"] {
        let script = vec![Packet, say(&[answer, AUTHENTICATION_OK, READY]), Silence];
        // `prefer` does not go on in the clear either.
        for mode in ["sslmode=prefer", "sslmode=require"] {
            check(vec![script.clone()], mode, Phase::Tls, injected).await;
        }
    }
}

#[tokio::test]
async fn error_in_place_of_the_tls_reply_is_not_shown() {
    let script = vec![Packet, say(&[&error("28000", "come to my other server")])];
    for mode in ["sslmode=prefer", "sslmode=require"] {
        let expected = "the server answered the request for TLS with an error";
        check(vec![script.clone()], mode, Phase::Tls, expected).await;
    }
}

#[tokio::test]
async fn server_that_breaks_off_or_sends_nonsense_is_an_error() {
    let disabled = "sslmode=disable";
    let closed = "the server closed the connection";
    check(vec![vec![Packet]], disabled, Phase::Authentication, closed).await;
    check(vec![vec![Packet]], "sslmode=require", Phase::Tls, closed).await;
    check(
        vec![vec![Packet, say(&[b"X"])]],
        "",
        Phase::Tls,
        "broke the protocol",
    )
    .await;
    let http = vec![Packet, say(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"])];
    check(
        vec![http.clone()],
        disabled,
        Phase::Authentication,
        "broke the protocol",
    )
    .await;
    let huge = vec![Packet, say(&[b"R\x7f\xff\xff\xff"]), Silence];
    check(
        vec![huge],
        disabled,
        Phase::Authentication,
        "impossible length",
    )
    .await;
    let early = vec![Packet, say(&[READY]), Silence];
    check(vec![early], disabled, Phase::Authentication, "came unasked").await;
    let refused = vec![Packet, say(&[&error("53300", "too many clients")])];
    check(
        vec![refused],
        disabled,
        Phase::Authentication,
        "too many clients (SQLSTATE 53300",
    )
    .await;
}

#[tokio::test]
async fn password_is_never_sent_where_settings_forbid_it() {
    // Somebody who takes TLS away and asks for the password gets nothing.
    let thief = vec![
        Packet,
        say(&[b"N"]),
        Packet,
        say(&[CLEARTEXT]),
        Message,
        Silence,
    ];
    let none = "the server does not offer TLS";
    check(vec![thief.clone()], "sslmode=require", Phase::Tls, none).await;
    let bound = "require channel binding";
    check(
        vec![thief],
        "channel_binding=require",
        Phase::Authentication,
        bound,
    )
    .await;
    let trusting = vec![
        Packet,
        say(&[b"N"]),
        Packet,
        say(&[AUTHENTICATION_OK, READY]),
    ];
    check(
        vec![trusting],
        "channel_binding=require",
        Phase::Authentication,
        bound,
    )
    .await;
    // A wrong password is not said a second time another way.
    let wrong = vec![
        Packet,
        say(&[CLEARTEXT]),
        Message,
        say(&[&error("28P01", "no")]),
    ];
    check(
        vec![wrong],
        "sslmode=allow",
        Phase::Authentication,
        "(SQLSTATE 28P01",
    )
    .await;
}

#[tokio::test]
async fn plaintext_fallback_after_a_failed_handshake_happens_with_prefer_only() {
    let broken = vec![Packet, say(&[b"S", b"this is no TLS record"])];
    let injected = "bytes came with the answer";
    check(vec![broken], "sslmode=require", Phase::Tls, injected).await;
    let closing = vec![Packet, say(&[b"S"])];
    let plain = vec![Packet, say(&[AUTHENTICATION_OK, READY]), Silence];
    let port = stub(vec![closing.clone(), plain.clone()]).await;
    let connected = connect(&format!("port={port} sslmode=prefer"))
        .await
        .unwrap();
    assert!(!connected.stream.is_encrypted());
    assert!(connected.cancel.is_none());
    check(
        vec![closing, plain],
        "sslmode=require",
        Phase::Tls,
        "tls handshake eof",
    )
    .await;
}

#[tokio::test]
async fn host_that_starts_up_or_is_full_is_skipped() {
    for code in ["57P03", "53300"] {
        let busy = stub(vec![vec![Packet, say(&[&error(code, "not now")])]]).await;
        let free = stub(vec![vec![
            Packet,
            say(&[AUTHENTICATION_OK, READY]),
            Silence,
        ]])
        .await;
        let words = format!("host=127.0.0.1,127.0.0.1 port={busy},{free} sslmode=disable");
        assert_eq!(
            connect(&words).await.unwrap().host.to_string(),
            format!("127.0.0.1:{free}")
        );
    }
}

/// A server that says these things about itself, and `on` or `t` to one question at most.
fn kind(settings: &[Vec<u8>], answer: &[u8]) -> Vec<Step> {
    let field = [
        &1_u16.to_be_bytes()[..],
        &u32::try_from(answer.len()).unwrap().to_be_bytes(),
        answer,
    ]
    .concat();
    let row = [
        message(b'T', &[0, 0]),
        message(b'D', &field),
        message(b'C', b"SHOW\0"),
        READY.to_vec(),
    ]
    .concat();
    vec![
        Packet,
        say(&[AUTHENTICATION_OK, &settings.concat(), READY]),
        Message,
        say(&[&row]),
        Silence,
    ]
}

#[tokio::test]
async fn server_that_does_not_report_its_kind_is_queried() {
    for (wanted, answer, suits) in [
        ("read-write", "off", true),
        ("read-write", "on", false),
        ("read-only", "on", true),
        ("read-only", "off", false),
        ("primary", "f", true),
        ("primary", "t", false),
        ("standby", "t", true),
        ("standby", "f", false),
    ] {
        let port = stub(vec![kind(&[], answer.as_bytes())]).await;
        let words = format!("port={port} sslmode=disable target_session_attrs={wanted}");
        match connect(&words).await {
            Ok(connected) => assert!(suits && connected.leftover.is_empty(), "{words}"),
            Err(Error::Connect {
                cause: Cause::Unsuitable(_),
                ..
            }) => assert!(!suits, "{words}"),
            Err(error) => panic!("{error}"),
        }
    }
    // One that tells is not asked, and `any` asks nobody.
    let parameters = [
        setting("in_hot_standby", "on"),
        setting("default_transaction_read_only", "off"),
    ];
    let port = stub(vec![vec![
        Packet,
        say(&[AUTHENTICATION_OK, &parameters.concat(), READY]),
        Silence,
    ]])
    .await;
    connect(&format!(
        "port={port} sslmode=disable target_session_attrs=read-only"
    ))
    .await
    .unwrap();
    let refuses = vec![
        Packet,
        say(&[AUTHENTICATION_OK, READY]),
        Message,
        say(&[&error("42501", "do not ask")]),
        Silence,
    ];
    check(
        vec![refuses],
        "sslmode=disable target_session_attrs=primary",
        Phase::Role,
        "do not ask",
    )
    .await;
}

#[tokio::test]
async fn bytes_behind_the_start_up_are_leftover() {
    let notice = message(b'N', b"SNOTICE\0C00000\0Mlater\0\0");
    let port = stub(vec![vec![
        Packet,
        say(&[AUTHENTICATION_OK, READY, &notice]),
        Silence,
    ]])
    .await;
    let connected = connect(&format!("port={port} sslmode=disable"))
        .await
        .unwrap();
    assert_eq!(connected.leftover, notice);
}

#[tokio::test]
async fn dropped_attempt_closes_its_socket() {
    for answer in [None, Some(b'N')] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let words = format!("port={}", listener.local_addr().unwrap().port());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let length = stream.read_u32().await.unwrap();
            read(&mut stream, length).await.unwrap();
            if let Some(answer) = answer {
                stream.write_u8(answer).await.unwrap();
                let length = stream.read_u32().await.unwrap();
                read(&mut stream, length).await.unwrap();
            }
            stream
        };
        // The selection drops the attempt while it waits for the server.
        let mut stream = tokio::select! {
            stream = server => stream,
            result = connect(&words) => panic!("{:?}", result.err()),
        };
        let mut rest = Vec::new();
        assert_eq!(stream.read_to_end(&mut rest).await.unwrap(), 0);
    }
}
