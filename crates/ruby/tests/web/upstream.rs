//! A server that answers what a test says, and counts connections and requests. Not a test.
//! It reads whole requests only, speaks HTTP/1.1 as the test writes it, and ends with the process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A server whose every request is answered by a function of the request's text. Ends with the process.
pub struct Upstream {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What an upstream does with a connection after an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum After {
    Stay,
    Close,
}

impl Upstream {
    pub fn new(answer: impl Fn(&str) -> (String, After) + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (answer, counted, seen) = (
            Arc::new(answer),
            Arc::clone(&connections),
            Arc::clone(&requests),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                std::thread::spawn(move || converse(stream, &*answer, &seen));
            }
        });
        Upstream {
            address,
            connections,
            requests,
        }
    }

    /// Answers every request with this body.
    pub fn saying(text: &'static str) -> Upstream {
        Upstream::new(move |_| (ok(text), After::Stay))
    }

    /// An address where nobody listens.
    pub fn absent() -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Upstream {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn last(&self) -> String {
        self.requests
            .lock()
            .unwrap()
            .last()
            .cloned()
            .unwrap_or_default()
    }
}

pub fn ok(text: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    )
}

fn converse(
    mut stream: TcpStream,
    answer: &dyn Fn(&str) -> (String, After),
    seen: &Mutex<Vec<String>>,
) {
    let mut bytes = Vec::new();
    loop {
        let text = loop {
            if let Some(text) = complete(&bytes) {
                bytes.drain(..text.len());
                break text;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece) {
                Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
                _ => return,
            }
        };
        seen.lock().unwrap().push(text.clone());
        let (answer, after) = answer(&text);
        if stream.write_all(answer.as_bytes()).is_err() || after == After::Close {
            return;
        }
    }
}

/// The text of a whole request.
pub fn complete(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let end = text.find("\r\n\r\n")? + 4;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    (bytes.len() >= end + length).then(|| text[..end + length].to_owned())
}
