//! A server of DNS for which every name leads to 127.0.0.1, but those below `invalid`, which are not there (RFC 2606). Not for any other use.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the question begins.
const HEAD: usize = 12;

/// It ends with its value.
pub(super) struct LoopbackNames {
    port: u16,
    has_ended: Arc<AtomicBool>,
}

impl LoopbackNames {
    pub fn start() -> LoopbackNames {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("127.0.0.1 has a free port");
        let port = socket.local_addr().expect("it is bound").port();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        std::thread::spawn(move || {
            let mut buffer = [0; 1500];
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                if let Some(answer) = answer(&buffer[..length]) {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        LoopbackNames { port, has_ended }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for LoopbackNames {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // The thread looks again.
        if let Ok(socket) = UdpSocket::bind(("127.0.0.1", 0)) {
            let _ = socket.send_to(&[], ("127.0.0.1", self.port));
        }
    }
}

/// The answer to a question (RFC 1035, 4.1).
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let mut labels = Vec::new();
    let mut at = HEAD;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(query.get(at..at + length)?.to_ascii_lowercase());
        at += length;
    }
    let question = query.get(HEAD..at + 4)?;
    let is_there = labels.last().is_some_and(|label| label != b"invalid");
    let is_address = query.get(at..at + 2)? == [0, 1];
    let count = u8::from(is_there && is_address);
    let code = if is_there { 0 } else { 3 };
    let mut answer = query.get(..2)?.to_vec();
    // An answer, with recursion; one question.
    answer.extend_from_slice(&[0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]);
    answer.extend_from_slice(question);
    if count == 1 {
        // The name of the question, A, IN, 60 s.
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::answer;

    fn query(name: &str, kind: u8) -> Vec<u8> {
        let mut query = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(u8::try_from(label.len()).unwrap());
            query.extend_from_slice(label.as_bytes());
        }
        query.extend_from_slice(&[0, 0, kind, 0, 1]);
        query
    }

    #[test]
    fn name_leads_to_this_machine_unless_it_is_invalid() {
        let of = |name, kind| answer(&query(name, kind)).unwrap();
        let found = of("a.example", 1);
        assert_eq!(&found[..2], &[7, 8]);
        assert!(found.ends_with(&[127, 0, 0, 1]));
        assert_eq!(of("a.example", 28)[7], 0);
        let missing = of("a.invalid", 1);
        assert_eq!((missing[3] & 15, missing[7]), (3, 0));
        assert_eq!(answer(&query("a.example", 1)[..15]), None);
    }
}
