//! Bytes of HTTP/1.1 as the profiles send them: requests in fragments, and the frames of a WebSocket. Judges no content.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::limits::ANSWER_MS_MAX;
use crate::message;
use crate::process::pause;

/// Between two fragments.
const FRAGMENT_MS: u64 = 30;
/// A key and what a server must make of it (RFC 6455, section 1.3).
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Operation codes of frames (RFC 6455, section 5.2).
pub const TEXT: u8 = 1;
/// Bytes.
pub const BINARY: u8 = 2;
/// The end.
pub const CLOSE: u8 = 8;

/// Sends the fragments with a pause between them, and reads the answer: its status and body.
pub fn fragmented(address: SocketAddr, fragments: &[&str]) -> Result<(u16, String)> {
    let mut stream = connect(address)?;
    for (at, fragment) in fragments.iter().enumerate() {
        if at > 0 {
            pause(FRAGMENT_MS);
        }
        stream.write_all(fragment.as_bytes())?;
    }
    let mut read = Vec::new();
    loop {
        if let Some(message) = message::parse(&read)? {
            let text = String::from_utf8_lossy(&message.body).into_owned();
            return Ok((message.status, text));
        }
        let mut room = [0; 4096];
        let length = stream.read(&mut room)?;
        ensure!(length > 0, "the connection ended before its answer");
        read.extend_from_slice(&room[..length]);
    }
}

/// The first line of what a server answers; nothing when it closes or resets.
pub fn first_line(address: SocketAddr, request: &str) -> Result<String> {
    let mut stream = connect(address)?;
    stream.write_all(request.as_bytes())?;
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read); // a reset is an answer as well
    let line = read.split(|byte| *byte == b'\n').next();
    Ok(String::from_utf8_lossy(line.unwrap_or_default())
        .trim()
        .to_owned())
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream =
        TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MS_MAX)))?;
    Ok(stream)
}

/// A client's side of a WebSocket.
pub struct WebSocketProbe(TcpStream);

impl WebSocketProbe {
    /// Opens one; an error unless the server switches and proves that it has read the key.
    pub fn open(address: SocketAddr, path: &str) -> Result<WebSocketProbe> {
        let mut stream = connect(address)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-key: {KEY}\r\nsec-websocket-version: 13\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).context("no end of the head")?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        ensure!(head.starts_with("HTTP/1.1 101"), "no upgrade: {head}");
        let accept = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-accept")
                .then(|| value.trim())
        });
        ensure!(accept == Some(ACCEPT), "sec-websocket-accept is {accept:?}");
        Ok(WebSocketProbe(stream))
    }

    /// Sends a frame of less than 64 KiB.
    pub fn send(&mut self, operation: u8, payload: &[u8]) -> Result<()> {
        const MASK: [u8; 4] = [0x5a, 0x17, 0xc3, 0x08];
        let mut frame = vec![0x80 | operation];
        match u8::try_from(payload.len())
            .ok()
            .filter(|length| *length < 126)
        {
            Some(length) => frame.push(0x80 | length),
            None => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&u16::try_from(payload.len())?.to_be_bytes());
            }
        }
        frame.extend_from_slice(&MASK);
        let masked = payload.iter().zip(MASK.iter().cycle());
        frame.extend(masked.map(|(byte, mask)| byte ^ mask));
        Ok(self.0.write_all(&frame)?)
    }

    /// The next frame that is neither ping nor pong.
    pub fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head).context("no frame")?;
            let length = match head[1] {
                length @ 0..126 => usize::from(length),
                126 => {
                    let mut length = [0; 2];
                    self.0.read_exact(&mut length)?;
                    usize::from(u16::from_be_bytes(length))
                }
                _ => bail!("a frame is masked or longer than all that were sent"),
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload)?;
            let operation = head[0] & 0x0f;
            // 9 and 10 are ping and pong.
            if operation != 9 && operation != 10 {
                return Ok((operation, payload));
            }
        }
    }

    /// Ends it with 1000, and looks whether the server does the same.
    pub fn close(mut self) -> Result<()> {
        self.send(CLOSE, &[&1000_u16.to_be_bytes()[..], b"done"].concat())?;
        let (operation, payload) = self.receive()?;
        let code = payload.get(..2);
        let is_right = operation == CLOSE && code == Some(&1000_u16.to_be_bytes()[..]);
        ensure!(is_right, "closed with {operation} {payload:?}");
        Ok(())
    }
}
