//! The thread that keeps a certificate: reads the cache, orders when one is due, changes the one in use. Speaks no ACME itself.
//! Rule: it waits on nothing that a request waits on; what another process has put into the cache is taken before anything is ordered.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::runtime::Runtime;
use tsumugi_http::CertificateSource;

use crate::back_off::{Chance, TryCost, renewal_at, rest_after, rest_after_success};
use crate::cache::{AcmeCache, FileStamp};
use crate::certificate::AcmeCertificate;
use crate::challenge::ChallengeFolder;
use crate::challenge_kind::ChallengeKind;
use crate::error::Error;
use crate::limits::LOOK_EVERY;
use crate::order::OrderPlan;
use crate::settings::AcmeSettings;
use crate::source::{AcmeSource, OrderFigures};
use crate::transport::AcmeTransport;

/// A certificate that is kept. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct CertificateKeeper(Arc<Keeper>);

impl std::fmt::Debug for CertificateKeeper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CertificateKeeper")
            .finish_non_exhaustive()
    }
}

struct Keeper {
    settings: AcmeSettings,
    cache: AcmeCache,
    transport: AcmeTransport,
    source: Arc<AcmeSource>,
    /// What the thread takes along.
    memory: Mutex<Option<KeeperMemory>>,
}

/// What the thread remembers.
#[derive(Default)]
struct KeeperMemory {
    /// The file of the certificate when it was read last.
    stamp: Option<FileStamp>,
    /// When the certificate in use is to be renewed, in seconds since 1970.
    renewal_at: i64,
    /// Failures in a row.
    failures: u32,
    /// Nothing is ordered before.
    next_try: Option<Instant>,
    /// How often an order was begun.
    tries: usize,
    /// Whether it was said that another process orders.
    is_waiting: bool,
}

impl CertificateKeeper {
    /// Reads the cache; a certificate of it is in use from now on. Blocks, and asks nobody.
    ///
    /// # Errors
    /// The folder cannot be used, or there is nothing to check the directory by.
    pub fn open(settings: AcmeSettings) -> Result<CertificateKeeper, Error> {
        let keeper = Keeper {
            cache: AcmeCache::open(&settings)?,
            transport: AcmeTransport::open(settings.authority.as_deref())?,
            settings,
            source: Arc::default(),
            memory: Mutex::default(),
        };
        let mut memory = KeeperMemory::default();
        keeper.look(&mut memory);
        if keeper.source.dates().is_none() {
            tracing::warn!(
                "no certificate for {} yet: TLS handshakes are refused until {} has issued one",
                keeper.settings.names_text(),
                keeper.settings.directory
            );
        }
        keeper.put_memory(memory);
        Ok(CertificateKeeper(Arc::new(keeper)))
    }

    /// What TLS asks for certificates.
    pub fn source(&self) -> Arc<dyn CertificateSource> {
        Arc::clone(&self.0.source) as _
    }

    /// What answers HTTP-01.
    pub fn challenges(&self) -> ChallengeFolder {
        self.0.cache.challenges().clone()
    }

    /// What became of orders.
    pub fn figures(&self) -> OrderFigures {
        self.0.source.figures()
    }

    /// Starts the thread; the server must be there for the authority to look at. A failed order is tried again by the next of these challenges. A
    /// second call does nothing.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(&self, challenges: Vec<ChallengeKind>) -> io::Result<()> {
        if challenges.is_empty() {
            return Ok(());
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // Last, so that a call after one that failed is not a second one.
        let Some(memory) = self.0.lock().take() else {
            return Ok(());
        };
        let keeper = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("tsumugi-acme".to_owned());
        thread.spawn(move || {
            let keep = async |memory: &mut KeeperMemory| keeper.keep(memory, &challenges).await;
            keeper.run(&runtime, memory, keep);
        })?;
        let started = &self.0.source.is_started;
        started.store(true, std::sync::atomic::Ordering::Release);
        Ok(())
    }

    /// Ends the thread, in the middle of an order too. The certificate stays in use.
    pub fn close(&self) {
        self.0.source.end.notify_one();
    }
}

impl Keeper {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<KeeperMemory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_memory(&self, memory: KeeperMemory) {
        *self.lock() = Some(memory);
    }

    /// Does this until the thread is to end. A panic is a try that has failed: after a pause it goes on.
    fn run(
        &self,
        runtime: &Runtime,
        mut memory: KeeperMemory,
        mut keep: impl AsyncFnMut(&mut KeeperMemory),
    ) {
        loop {
            let until_the_end = async {
                tokio::select! {
                    biased;
                    () = self.source.end.notified() => {}
                    () = keep(&mut memory) => {}
                }
            };
            if catch_unwind(AssertUnwindSafe(|| runtime.block_on(until_the_end))).is_ok() {
                return;
            }
            // It may have been in the middle of an order.
            let rest = self.count_failure(&mut memory, TryCost::Counted);
            tracing::error!(
                "the thread that keeps the certificate for {} has panicked, which is a defect: please report it. It goes on in {} or at SIGHUP",
                self.settings.names_text(),
                duration_text(rest)
            );
            let is_over = runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = self.source.end.notified() => true,
                    () = self.source.wake.notified() => false,
                    () = tokio::time::sleep(rest) => false,
                }
            });
            if is_over {
                return;
            }
            memory.next_try = None;
        }
    }

    async fn keep(&self, memory: &mut KeeperMemory, challenges: &[ChallengeKind]) {
        loop {
            self.look(memory);
            let may_try = memory.next_try.is_none_or(|at| Instant::now() >= at);
            if self.is_due(memory) && may_try {
                self.renew(memory, challenges).await;
            }
            tokio::select! {
                () = self.source.wake.notified() => memory.next_try = None,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn is_due(&self, memory: &KeeperMemory) -> bool {
        self.source.dates().is_none() || now() >= memory.renewal_at
    }

    /// Takes the certificate of the cache, if it has changed since it was looked at last.
    fn look(&self, memory: &mut KeeperMemory) {
        let stamp = match self.cache.certificate_stamp() {
            Ok(stamp) if stamp == memory.stamp => return,
            Ok(stamp) => stamp,
            Err(error) => return tracing::warn!("{error}"),
        };
        memory.stamp = stamp;
        let path = self.cache.certificate_path().display();
        let pem = match self.cache.read_certificate() {
            Ok(Some(pem)) => pem,
            Ok(None) => return,
            Err(error) => return tracing::warn!("{error}"),
        };
        match AcmeCertificate::from_pem(&pem, self.settings.names()) {
            Ok(certificate) => {
                self.adopt(memory, certificate);
                tracing::info!("certificate of {path}: {}", self.validity());
            }
            Err(reason) => {
                tracing::warn!(
                    "{path} is not used, and replaced by the next certificate: {reason}"
                );
            }
        }
    }

    fn adopt(&self, memory: &mut KeeperMemory, certificate: AcmeCertificate) {
        memory.renewal_at = renewal_at(&certificate.dates, Chance::draw());
        self.source.adopt(certificate);
    }

    /// Orders, unless another process does.
    async fn renew(&self, memory: &mut KeeperMemory, challenges: &[ChallengeKind]) {
        let lock = match self.cache.lock() {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                if !std::mem::replace(&mut memory.is_waiting, true) {
                    let names = self.settings.names_text();
                    tracing::info!("another process orders the certificate for {names}");
                }
                return;
            }
            Err(error) => return self.record_failure(memory, &error),
        };
        memory.is_waiting = false;
        // The one that had the lock before may have it done.
        self.look(memory);
        if !self.is_due(memory) {
            return;
        }
        self.cache.sweep(&lock);
        let place = memory.tries % challenges.len().max(1);
        let Some(challenge) = challenges.get(place).copied() else {
            return;
        };
        memory.tries = memory.tries.wrapping_add(1);
        let names = self.settings.names_text();
        tracing::info!("ordering a certificate for {names} by {challenge}");
        let plan = OrderPlan {
            settings: &self.settings,
            cache: &self.cache,
            transport: &self.transport,
            source: &self.source,
            challenge,
        };
        match plan.run().await {
            Ok(pem) => self.install(memory, &pem),
            Err(error) => self.record_failure(memory, &error),
        }
    }

    /// Puts what was issued to use, and into the cache.
    fn install(&self, memory: &mut KeeperMemory, pem: &str) {
        let certificate = AcmeCertificate::from_pem(pem.as_bytes(), self.settings.names());
        let certificate = match certificate {
            Ok(certificate) => certificate,
            Err(reason) => return self.record_failure(memory, &Error::Unusable(reason)),
        };
        memory.failures = 0;
        memory.next_try = Instant::now().checked_add(rest_after_success(&certificate.dates));
        self.adopt(memory, certificate);
        self.source.count_issued();
        match self.cache.write_certificate(pem) {
            // It need not be read again.
            Ok(()) => memory.stamp = self.cache.certificate_stamp().ok().flatten(),
            Err(error) => tracing::error!(
                "the new certificate is in use and not in the cache, so that the next start orders another one: {error}"
            ),
        }
        let names = self.settings.names_text();
        tracing::info!("new certificate for {names}: {}", self.validity());
        if self.is_due(memory) {
            tracing::error!(
                "the new certificate for {names} looks as if it were due already: see that the clock of this machine is right"
            );
        }
    }

    /// Counts a failed try, and answers how long none follows.
    fn count_failure(&self, memory: &mut KeeperMemory, cost: TryCost) -> Duration {
        memory.failures = memory.failures.saturating_add(1);
        self.source.count_failed();
        let rest = rest_after(memory.failures, cost, Chance::draw());
        memory.next_try = Instant::now().checked_add(rest);
        rest
    }

    fn record_failure(&self, memory: &mut KeeperMemory, error: &Error) {
        let rest = self.count_failure(memory, error.cost());
        let (names, next) = (self.settings.names_text(), duration_text(rest));
        match self.source.dates() {
            Some(dates) if dates.not_after > now() => tracing::warn!(
                "the certificate for {names} is not renewed: {error}. It is {}; next try in {next} or at SIGHUP",
                self.validity()
            ),
            _ => tracing::error!(
                "no certificate for {names}: {error}. Next try in {next} or at SIGHUP"
            ),
        }
    }

    /// How long the certificate in use is valid, for people.
    fn validity(&self) -> String {
        let end = self.source.dates().map_or(0, |dates| dates.not_after);
        match u64::try_from(end.saturating_sub(now())) {
            Ok(rest @ 1..) => format!("valid for {}", duration_text(Duration::from_secs(rest))),
            _ => "valid no longer".to_owned(),
        }
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// A time for people.
fn duration_text(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..=119 => format!("{seconds} s"),
        seconds @ 120..=7_199 => format!("{} min", seconds / 60),
        seconds @ 7_200..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(folder: &std::path::Path) -> AcmeSettings {
        let mut settings =
            AcmeSettings::new(&["a.example".parse().unwrap()], folder.join("cache")).unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let authority = folder.join("authority.pem");
        std::fs::write(&authority, made.cert.pem()).unwrap();
        settings.authority = Some(authority);
        settings
    }

    fn pem() -> String {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        made.signing_key.serialize_pem() + &made.cert.pem()
    }

    #[test]
    fn certificate_of_the_cache_is_in_use_at_once_and_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let empty = CertificateKeeper::open(settings(folder.path())).unwrap();
        assert_eq!(empty.source().expires_at(), None);
        empty.0.cache.write_certificate(&pem()).unwrap();
        let full = CertificateKeeper::open(settings(folder.path())).unwrap();
        assert!(full.source().expires_at().is_some());
        let mut memory = empty.0.lock().take().unwrap();
        empty.0.look(&mut memory);
        assert_eq!(empty.source().expires_at(), full.source().expires_at());
        assert!(!empty.0.is_due(&memory));
    }

    #[test]
    fn file_of_the_cache_that_is_broken_leaves_the_certificate_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = CertificateKeeper::open(settings(folder.path())).unwrap();
        let mut memory = keeper.0.lock().take().unwrap();
        for text in ["", "broken", "-----BEGIN PRIVATE KEY-----\nS3CR3T\n"] {
            keeper.0.cache.write_certificate(text).unwrap();
            keeper.0.look(&mut memory);
            assert!(keeper.0.is_due(&memory), "{text}");
        }
        keeper.0.cache.write_certificate(&pem()).unwrap();
        keeper.0.look(&mut memory);
        let end = keeper.source().expires_at();
        assert!(end.is_some());
        keeper.0.cache.write_certificate("broken").unwrap();
        keeper.0.look(&mut memory);
        assert_eq!(keeper.source().expires_at(), end);
    }

    #[test]
    fn thread_that_panics_goes_on_and_counts_it_as_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = CertificateKeeper::open(settings(folder.path())).unwrap();
        let memory = keeper.0.lock().take().unwrap();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        // As SIGHUP does it, so that the pause is short.
        keeper.0.source.wake.notify_one();
        let mut runs = Vec::new();
        keeper
            .0
            .run(&runtime, memory, async |memory: &mut KeeperMemory| {
                runs.push(memory.failures);
                assert!(memory.failures > 0, "the panic of this test");
            });
        assert_eq!(runs, [0, 1]);
        assert_eq!(keeper.figures().failed, 1);
    }

    #[test]
    fn time_is_shown_in_a_unit_that_fits() {
        let of = |seconds| duration_text(Duration::from_secs(seconds));
        assert_eq!(
            [of(10), of(120), of(7_200), of(90 * 86_400)],
            ["10 s", "2 min", "2 h", "90 days"]
        );
    }
}
