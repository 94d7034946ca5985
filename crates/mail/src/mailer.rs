//! Sends mails from one worker: over a pool of connections, into a folder, or into a list for tests. Not what a mail is made of.
//! Rule: a connection goes to its next mail only when the last one was taken whole; a mail is sent once, and never again by itself.
//! Boxed edge: [`Mailer::send`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tsumugi_trace::{SpanKind, span};
use tsumugi_worker::WorkerHandle;

use crate::address::SmtpUrl;
use crate::connection::{SmtpConnection, SmtpConnector};
use crate::error::Error;
use crate::limits::CONNECT_PART;
use crate::message::{Mail, PreparedMail};
use crate::settings::{MailSettings, MailTarget};

/// Sends mails from one worker.
pub struct Mailer {
    worker: WorkerHandle,
    settings: MailSettings,
    pool: Option<Pool>,
    numbers: Numbers,
    has_shown_folder: Cell<bool>,
}

struct Pool {
    connector: SmtpConnector,
    places: Arc<Semaphore>,
    idle: RefCell<VecDeque<(SmtpConnection, Instant)>>,
}

/// Makes numbers that no other mail has.
struct Numbers {
    random: u64,
    next: Cell<u64>,
}

impl Mailer {
    /// A mailer of this worker.
    pub fn new(worker: &WorkerHandle, settings: MailSettings) -> Rc<Mailer> {
        let connect_limit = Duration::from_millis(settings.limits.send_ms_max / CONNECT_PART);
        let connector = |url: &SmtpUrl| {
            let certificates = settings.certificates.clone();
            SmtpConnector::new(worker, url.clone(), certificates, connect_limit)
        };
        let pool = match &settings.target {
            MailTarget::Server(url) => Some(Pool {
                connector: connector(url),
                places: Arc::new(Semaphore::new(settings.limits.connections_max)),
                idle: RefCell::default(),
            }),
            _ => None,
        };
        let random = || RandomState::new().hash_one(std::thread::current().id());
        Rc::new(Mailer {
            worker: worker.clone(),
            pool,
            settings,
            numbers: Numbers {
                random: random(),
                next: Cell::new(random()),
            },
            has_shown_folder: Cell::new(false),
        })
    }

    /// Sends a mail; its id. When this returns the server has taken it, which is not to say that its recipient has.
    ///
    /// # Errors
    /// See [`Error`]. Of some of them another attempt may help: [`Error::is_transient`].
    pub fn send(&self, mut mail: Mail) -> LocalBoxFuture<'_, Result<String, Error>> {
        async move {
            if mail.from.is_none() {
                mail.from = self.sender();
            }
            let prepared = mail.prepare(self.numbers.take(), &self.settings.limits)?;
            match &self.settings.target {
                MailTarget::Nowhere => return Err(Error::NoServer),
                MailTarget::Collected(collected) => collected.add(mail)?,
                MailTarget::Folder(folder) => self.write(folder, &prepared).await?,
                MailTarget::Server(_) => self.deliver(&prepared).await?,
            }
            Ok(prepared.id)
        }
        .boxed_local()
    }

    /// Who sends what does not say it. Where no server checks it, there is always one.
    fn sender(&self) -> Option<String> {
        let is_sent = matches!(self.settings.target, MailTarget::Server(_));
        let made_up = || (!is_sent).then(|| "app@localhost".to_owned());
        self.settings.from.clone().or_else(made_up)
    }

    async fn write(&self, folder: &Path, mail: &PreparedMail) -> Result<(), Error> {
        let name = mail.id.trim_matches(['<', '>']).split('@').next();
        let file = folder.join(format!("{}.eml", name.unwrap_or_default()));
        let (folder, path, bytes) = (folder.to_owned(), file.clone(), mail.bytes.clone());
        let written = self.worker.offload(move || {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, bytes)
        });
        let failed = |reason: String| Error::Folder {
            path: file.clone(),
            reason,
        };
        let written = written.await.map_err(|error| failed(error.to_string()))?;
        written.map_err(|error| failed(error.to_string()))?;
        let hint = match self.has_shown_folder.replace(true) {
            true => "",
            false => "; set SMTP_URL to have mails sent",
        };
        tracing::info!("mail not sent but written to {}{hint}", file.display());
        Ok(())
    }

    async fn deliver(&self, mail: &PreparedMail) -> Result<(), Error> {
        let pool = self.pool.as_ref().ok_or(Error::NoServer)?;
        let (place, ms) = (pool.connector.place(), self.settings.limits.send_ms_max);
        let span = span(SpanKind::Mail, &place);
        let mut sending = pin!(timeout(
            Duration::from_millis(ms),
            self.converse(pool, mail)
        ));
        let sent = poll_fn(|cx| span.enter(|| sending.as_mut().poll(cx))).await;
        let sent = sent.unwrap_or(Err(Error::Timeout { place, ms }));
        sent.inspect_err(|error| span.fail(error.kind()))
    }

    async fn converse(&self, pool: &Pool, mail: &PreparedMail) -> Result<(), Error> {
        let place = pool.connector.place();
        let permit = Arc::clone(&pool.places).acquire_owned().await;
        let _permit = permit.map_err(|_| Error::NoServer)?;
        let mut connection = match self.idle(pool).await {
            Some(connection) => connection,
            None => pool.connector.open().await?,
        };
        connection.send(&place, &mail.envelope, &mail.bytes).await?;
        let mut idle = pool.idle.borrow_mut();
        if idle.len() < self.settings.limits.idle_max {
            idle.push_back((connection, Instant::now()));
        }
        Ok(())
    }

    /// A connection that has waited and still listens.
    async fn idle(&self, pool: &Pool) -> Option<SmtpConnection> {
        let idle_max = Duration::from_millis(self.settings.limits.idle_ms_max);
        loop {
            let (mut connection, since) = pool.idle.borrow_mut().pop_back()?;
            if since.elapsed() < idle_max && connection.is_alive().await {
                return Some(connection);
            }
        }
    }
}

impl Numbers {
    fn take(&self) -> u128 {
        let count = self.next.get();
        self.next.set(count.wrapping_add(0x9E37_79B9_7F4A_7C15));
        u128::from(self.random) << 64 | u128::from(count)
    }
}

impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailer")
    }
}
