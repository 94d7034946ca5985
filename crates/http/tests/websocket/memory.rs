//! Memory that clients of WebSockets make a worker hold, by messages without an end and by not reading: each sum at its limit and beyond.

use std::{rc::Rc, time::Duration};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tsumugi_http::{
    HttpLimits,
    websocket::{Message, WebSocket, WebSocketClient},
};

use crate::{ask, echo, ended, frame, rig::Rig, server, switch_over, switched};

/// The beginning of a message in binary that fills so many bytes with its head, and has more to come.
fn unfinished(bytes: usize) -> Vec<u8> {
    let head = |payload: usize| {
        let length = (payload as u64).to_be_bytes();
        match payload {
            126..65_536 => [&b"\x02\xfe"[..], &length[6..], &[0; 4]].concat(),
            _ => [&b"\x02\xff"[..], &length, &[0; 4]].concat(),
        }
    };
    let payload = bytes - head(bytes - 8).len();
    [head(payload), vec![7; payload]].concat()
}

/// Bytes of unfinished messages, and of unsent ones, that are not counted.
const BUFFER_BYTES: usize = 8 * 1024;

#[test]
fn messages_of_all_websockets_have_a_limit_and_one_byte_more_closes() {
    let limits = HttpLimits {
        websockets_bytes_max: 100_000,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run(async |rig: &Rig| {
        let mut first = switched(rig).await;
        // Its ping is counted until it is read.
        let bytes = unfinished(100_000 + BUFFER_BYTES - 6);
        first.write_all(&bytes).await.unwrap();
        ask(&mut first, &frame(9, b""), b"\x8a\x00").await;
        let mut second = switched(rig).await;
        ask(&mut second, &frame(1, b"small"), b"\x81\x05small").await;
        second
            .write_all(&unfinished(BUFFER_BYTES + 7))
            .await
            .unwrap();
        let mut client = WebSocketClient::over(second).await;
        let close = client.receive().await.unwrap_err();
        assert_eq!(close.code, 1013);
        assert_eq!(close.reason, "websockets_bytes_max (100000) is full");
        let ending = ended(rig, &outcome).await;
        assert!(
            ending.contains("the messages of WebSockets fill"),
            "{ending}"
        );
        // What one message alone fills will not find room later either.
        first.write_all(&frame(0, b"x")).await.unwrap();
        let mut client = WebSocketClient::over(first).await;
        let close = client.receive().await.unwrap_err();
        assert_eq!(close.code, 1009);
        assert_eq!(close.reason, "websockets_bytes_max is 100000");
        rig.until(|| rig.open() == 0).await;
        let mut third = switched(rig).await;
        third.write_all(&unfinished(100_000)).await.unwrap();
        let end = [b"\x82\x7f\0\0\0\0\0\x01\x86\x92".to_vec(), vec![7; 99_986]].concat();
        ask(&mut third, b"\x80\x80\0\0\0\0", &end).await;
    });
}

#[test]
fn message_that_waits_for_the_handler_counts_until_it_is_taken() {
    let limits = HttpLimits {
        websockets_bytes_max: 100_000,
        ..HttpLimits::default()
    };
    let ready = Rc::new(tokio::sync::Notify::new());
    let notice = Rc::clone(&ready);
    let handler = async move |socket: &WebSocket| {
        notice.notified().await;
        echo(socket).await
    };
    let (server, _) = server(limits, handler);
    server.run(async |rig: &Rig| {
        let whole = |length: usize| {
            let mut message = unfinished(length);
            message[0] |= 0x80;
            message
        };
        let mut first = switched(rig).await;
        first.write_all(&whole(80_000)).await.unwrap();
        let mut second = WebSocketClient::over(switched(rig).await).await;
        // Until the first one has been read.
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        second.send(vec![7; 80_000]).await.unwrap();
        assert_eq!(second.receive().await.unwrap_err().code, 1013);
        drop(second);
        rig.until(|| rig.open() == 1).await;
        ready.notify_waiters();
        let mut first = WebSocketClient::over(first).await;
        assert_eq!(first.receive().await, Ok(vec![7; 80_000 - 14].into()));
        let mut third = WebSocketClient::over(switched(rig).await).await;
        third.send(vec![7; 80_000]).await.unwrap();
        ready.notify_one();
        assert_eq!(third.receive().await, Ok(vec![7; 80_000].into()));
    });
}

#[test]
fn messages_that_slow_clients_do_not_take_have_a_limit_and_one_byte_more_closes() {
    let limits = HttpLimits {
        websockets_bytes_max: 100_000,
        websocket_close_ms: 300,
        send_timeout_ms: 600_000,
        ..HttpLimits::default()
    };
    let begun = std::time::Instant::now();
    // As much as may wait; then what it is told.
    let handler = async move |socket: &WebSocket| {
        let told = socket.receive().await?;
        let Some(Message::Text(told)) = told else {
            return Ok(());
        };
        socket.send(vec![7; 50_000]).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let second = vec![7; told.parse().unwrap()];
        tokio::try_join!(socket.send(second), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            socket.send("small").await
        })?;
        Ok(())
    };
    for (second, expected) in [
        (20_000, "ended"),
        (100_000, "larger than websockets_bytes_max allows (100000)"),
    ] {
        let (server, outcome) = server(limits.clone(), handler);
        server.run_over(1000, async |mut client| {
            switch_over(&mut client).await;
            let told = frame(1, second.to_string().as_bytes());
            client.write_all(&told).await.unwrap();
            if expected == "ended" {
                tokio::time::sleep(Duration::from_millis(400)).await;
                let mut got = vec![0; 50_004 + 20_004 + 7];
                client.read_exact(&mut got).await.unwrap();
            }
            while outcome.borrow().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let ending = outcome.take().unwrap();
            assert!(ending.contains(expected), "{second}: {ending}");
        });
    }
    // Not by send_timeout_ms.
    assert!(begun.elapsed() < Duration::from_secs(120));
}

#[test]
fn client_that_takes_nothing_of_a_message_without_room_is_left_at_once() {
    let limits = HttpLimits {
        websockets_bytes_max: 100_000,
        ..HttpLimits::default()
    };
    let handler = async |socket: &WebSocket| {
        socket.send(vec![7; 110_000]).await?;
        std::future::pending().await
    };
    let limits = HttpLimits {
        websocket_close_ms: 100,
        ..limits
    };
    let (server, outcome) = server(limits, handler);
    server.run_over(1000, async |mut client| {
        switch_over(&mut client).await;
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        assert!(rest.len() < 20_000, "{} bytes", rest.len());
        while outcome.borrow().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(outcome.take().unwrap(), "dropped");
    });
}

#[test]
fn messages_go_on_when_buffers_are_given_back_between_them() {
    let limits = HttpLimits {
        websocket_message_bytes_max: 16 << 20,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run(async |rig: &Rig| {
        // More than the buffers that all WebSockets of a worker may keep.
        let length = 9 << 20;
        let whole = |first: u8| {
            let mut message = unfinished(length + 14);
            message[0] = first;
            message
        };
        let sent = [
            whole(0x82),
            frame(9, b"one"),
            frame(1, b"small"),
            whole(0x02),
            frame(9, b"two"),
            frame(0, b"end"),
            whole(0x82),
            whole(0x82),
            frame(1, b"last"),
        ]
        .concat();
        let mut stream = switched(rig).await;
        let (mut reading, mut writing) = stream.split();
        // Four long messages, one of them with an end of its own; two short ones and two pongs.
        let mut got = vec![0; 4 * (10 + length) + 3 + 7 + 6 + 2 * 5];
        let (written, read) = tokio::join!(writing.write_all(&sent), reading.read_exact(&mut got));
        written.unwrap();
        read.unwrap();
        let answer = |payload: usize| {
            let length = (payload as u64).to_be_bytes();
            [&b"\x82\x7f"[..], &length, &vec![7; payload]].concat()
        };
        // The third message has nine million sevens and an end.
        let mut third = answer(length + 3);
        let begin = third.len() - 3;
        third.splice(begin.., *b"end");
        // Pongs go before messages that wait for their handler.
        let mut frames = Vec::new();
        let mut rest = &got[..];
        while let [first, second, ..] = rest {
            let size = match second {
                127 => 10 + u64::from_be_bytes(rest[2..10].try_into().unwrap()) as usize,
                length => 2 + usize::from(*length),
            };
            frames.push((*first, rest[..size].to_vec()));
            rest = &rest[size..];
        }
        let of = |kinds: &[u8]| -> Vec<Vec<u8>> {
            let those = frames.iter().filter(|(kind, _)| kinds.contains(kind));
            those.map(|(_, frame)| frame.clone()).collect()
        };
        let expected = [
            answer(length),
            b"\x81\x05small".to_vec(),
            third,
            answer(length),
            answer(length),
            b"\x81\x04last".to_vec(),
        ];
        assert!(of(&[0x81, 0x82]) == expected, "other messages");
        assert_eq!(of(&[0x8a]), [b"\x8a\x03one", b"\x8a\x03two"]);
        drop(stream);
        assert_eq!(ended(rig, &outcome).await, "ended");
    });
}
