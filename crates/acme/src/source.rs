//! The certificate that is in use, and those that answer challenges, as TLS asks for them at each handshake. Orders nothing.
//! Rule: a handshake waits for nothing; the certificate is changed between two handshakes, and none is taken away.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::Notify;
use tsumugi_http::{ACME_TLS_PROTOCOL, CertificateDates, CertificateSource};

use crate::certificate::AcmeCertificate;

/// What became of orders of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderFigures {
    /// Certificates that were issued.
    pub issued: u64,
    /// Tries that failed.
    pub failed: u64,
}

/// What handshakes and the thread that orders have in common.
#[derive(Debug, Default)]
pub(crate) struct AcmeSource {
    current: RwLock<Option<AcmeCertificate>>,
    challenges: Mutex<HashMap<String, Arc<CertifiedKey>>>,
    /// Wakes the thread.
    pub wake: Notify,
    /// Whether the thread runs, so that it can be woken.
    pub is_started: AtomicBool,
    /// Ends the thread.
    pub end: Notify,
    issued: AtomicU64,
    failed: AtomicU64,
}

impl AcmeSource {
    /// Shows this certificate from the next handshake on.
    pub fn adopt(&self, certificate: AcmeCertificate) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Some(certificate);
    }

    /// The dates of the certificate in use.
    pub fn dates(&self) -> Option<CertificateDates> {
        self.current().map(|certificate| certificate.dates)
    }

    /// Answers a challenge for a name until it is removed.
    pub fn put_challenge(&self, name: &str, certificate: CertifiedKey) {
        self.challenges()
            .insert(name.to_owned(), Arc::new(certificate));
    }

    pub fn remove_challenge(&self, name: &str) {
        self.challenges().remove(name);
    }

    pub fn count_issued(&self) {
        self.issued.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn figures(&self) -> OrderFigures {
        OrderFigures {
            issued: self.issued.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }

    fn current(&self) -> Option<AcmeCertificate> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    fn challenges(&self) -> MutexGuard<'_, HashMap<String, Arc<CertifiedKey>>> {
        self.challenges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for AcmeSource {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut offered = hello.alpn().into_iter().flatten();
        if let (Some(ACME_TLS_PROTOCOL), None) = (offered.next(), offered.next()) {
            let name = hello.server_name()?.to_ascii_lowercase();
            return self.challenges().get(&name).cloned();
        }
        self.current().map(|certificate| certificate.key)
    }
}

impl CertificateSource for AcmeSource {
    fn refresh(&self) {
        if self.is_started.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }

    fn expires_at(&self) -> Option<i64> {
        self.dates().map(|dates| dates.not_after)
    }
}
