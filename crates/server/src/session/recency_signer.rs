//! What signs the cookie of recency: that of sessions in cookies, else one that is made when it is first needed. Signs nothing itself.
//! Rule: where there is nothing to sign with, the log says so once.

use std::cell::OnceCell;
use std::rc::Rc;

use tsumugi_http::secret::{SecretError, Signer};
use tsumugi_http::session::SessionStorage;

/// What signs the cookie.
pub(super) struct RecencySigner {
    make: Box<dyn Fn() -> Result<Rc<Signer>, SecretError>>,
    made: OnceCell<Option<Rc<Signer>>>,
}

impl RecencySigner {
    pub(super) fn of(storage: &SessionStorage) -> RecencySigner {
        let signer = match storage {
            SessionStorage::Cookie(signer) => Some(Rc::clone(signer)),
            SessionStorage::Store => None,
        };
        RecencySigner::made_by(move || signer.clone().ok_or(SecretError::Missing))
    }

    pub(super) fn made_by(
        make: impl Fn() -> Result<Rc<Signer>, SecretError> + 'static,
    ) -> RecencySigner {
        RecencySigner {
            make: Box::new(make),
            made: OnceCell::new(),
        }
    }

    pub(super) fn signer(&self) -> Option<&Signer> {
        let make = || {
            let refused = |error: SecretError| {
                tracing::warn!(
                    "reads from replicas follow what was written in the same request, not in those before it: {error}"
                );
            };
            (self.make)().map_err(refused).ok()
        };
        self.made.get_or_init(make).as_deref()
    }
}
