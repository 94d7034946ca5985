//! A server for mail in this process: enough of SMTP to take a mail, a thread for each connection, and one fault at a command of choice.
//! It speaks no TLS, which it offers only to fail at it, and knows no users.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A mail that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenMail {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// The mail, without the dots that its lines were given on the way.
    pub text: String,
}

/// What goes wrong at the command that a server is told: `EHLO`, `STARTTLS`, `MAIL`, `RCPT`, `DATA`, `.` (the end of a mail) or `NOOP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpFault {
    /// It answers this, one line or several.
    Answers(&'static str),
    /// It answers nothing and keeps the connection.
    IsSilent,
    /// It closes the connection.
    Leaves,
    /// It sends one line that never ends.
    Floods,
}

/// The server. It listens until it is dropped.
pub struct SmtpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    fault: Option<(&'static str, SmtpFault)>,
    mails: Mutex<Vec<TakenMail>>,
    sockets: Mutex<Vec<TcpStream>>,
}

impl SmtpServer {
    /// On a free port of 127.0.0.1.
    #[must_use]
    pub fn start() -> SmtpServer {
        SmtpServer::run(None)
    }

    /// The same with something that goes wrong each time at this command.
    #[must_use]
    pub fn with_fault(command: &'static str, fault: SmtpFault) -> SmtpServer {
        SmtpServer::run(Some((command, fault)))
    }

    fn run(fault: Option<(&'static str, SmtpFault)>) -> SmtpServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("127.0.0.1 has a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            fault,
            mails: Mutex::default(),
            sockets: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        // Ends with the test's process; nobody connects to it once its value is gone.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&of_thread);
                if let Ok(socket) = stream.try_clone() {
                    lock(&shared.sockets).push(socket);
                }
                thread::spawn(move || shared.converse(stream));
            }
        });
        SmtpServer { address, shared }
    }

    /// `smtp://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// The mails that it has taken.
    #[must_use]
    pub fn mails(&self) -> Vec<TakenMail> {
        lock(&self.shared.mails).clone()
    }

    /// How many connections there were.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.shared.sockets).len()
    }

    /// Closes the connections that there are.
    pub fn hang_up(&self) {
        for socket in &*lock(&self.shared.sockets) {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.hang_up();
    }
}

impl Shared {
    /// Until the client goes; what fails on the way is its end.
    fn converse(&self, stream: TcpStream) -> Option<()> {
        let mut out = stream.try_clone().ok()?;
        let mut lines = BufReader::new(stream).lines();
        let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).ok();
        say("220 ready")?;
        let (mut from, mut to) = (String::new(), Vec::new());
        loop {
            let line = lines.next()?.ok()?;
            let word = line
                .split([' ', ':'])
                .next()
                .unwrap_or_default()
                .to_ascii_uppercase();
            if self.fail(&word, &mut say)? {
                continue;
            }
            match word.as_str() {
                "EHLO" => {
                    let offers_tls = self.fault.is_some_and(|(word, _)| word == "STARTTLS");
                    let tls = if offers_tls { "250-STARTTLS\r\n" } else { "" };
                    say(&format!("250-here\r\n250-8BITMIME\r\n{tls}250 SMTPUTF8"))?;
                }
                "MAIL" => {
                    from = address(&line);
                    to.clear();
                    say("250 ok")?;
                }
                "RCPT" => {
                    to.push(address(&line));
                    say("250 ok")?;
                }
                "DATA" => {
                    say("354 go on")?;
                    let mut text = String::new();
                    loop {
                        let line = lines.next()?.ok()?;
                        if line == "." {
                            break;
                        }
                        text.push_str(line.strip_prefix('.').unwrap_or(&line));
                        text.push_str("\r\n");
                    }
                    if self.fail(".", &mut say)? {
                        continue;
                    }
                    let (from, to) = (from.clone(), to.clone());
                    lock(&self.mails).push(TakenMail { from, to, text });
                    say("250 taken")?;
                }
                "QUIT" => {
                    say("221 bye")?;
                    return None;
                }
                _ => say("250 ok")?,
            }
        }
    }

    /// Whether the fault is at this command, and was done. None where it ends the connection.
    fn fail(&self, word: &str, say: &mut impl FnMut(&str) -> Option<()>) -> Option<bool> {
        let fault = self.fault.filter(|(command, _)| *command == word);
        match fault.map(|(_, fault)| fault) {
            None => return Some(false),
            Some(SmtpFault::Answers(line)) => say(line)?,
            Some(SmtpFault::IsSilent) => {}
            Some(SmtpFault::Leaves) => {
                self.close();
                return None;
            }
            Some(SmtpFault::Floods) => self.flood(),
        }
        Some(true)
    }

    /// One line without an end, until the client goes.
    fn flood(&self) {
        let piece = [b'x'; 16 * 1024];
        let socket = lock(&self.sockets).last().map(TcpStream::try_clone);
        let Some(Ok(mut socket)) = socket else {
            return;
        };
        while socket.write_all(&piece).is_ok() {}
    }

    fn close(&self) {
        for socket in &*lock(&self.sockets) {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn address(line: &str) -> String {
    let inner = line
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or_else(String::new, |(address, _)| address.to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
