//! Taking a lease: one question, its answer or the lack of one. Waits for nobody else who has it.
//! Rule: a lease that may be held without being known is given back when it is not wanted any more.

use std::rc::Rc;

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::timeout;

use crate::clock::BootTime;
use crate::engine::{ClusterEngine, LeaseClaim, TakeAnswer, TakeRequest};
use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::state::LeaseState;

/// A holder to be. The same one may ask several times.
#[derive(Debug)]
pub(crate) struct LeaseAttempt {
    engine: Rc<dyn ClusterEngine>,
    label: String,
    request: TakeRequest,
    state: LeaseState,
}

/// What became of one question.
#[derive(Debug)]
pub(crate) enum TakeOutcome {
    Held(Lease),
    /// It need not be asked again before this has passed.
    Busy(std::time::Duration),
}

impl LeaseAttempt {
    /// `request` has no holder yet. `label` is what callers call it.
    pub fn new(engine: &Rc<dyn ClusterEngine>, label: &str, request: TakeRequest) -> LeaseAttempt {
        let state = LeaseState::new(request.ttl);
        let request = TakeRequest {
            holder: unique_holder(),
            ..request
        };
        LeaseAttempt {
            engine: Rc::clone(engine),
            label: label.to_owned(),
            request,
            state,
        }
    }

    /// Asks once. After an error the lease may be held; to ask again is right, and so is to drop this.
    pub async fn take(&mut self) -> Result<TakeOutcome> {
        let ttl = self.request.ttl;
        if self.state.is_in_doubt(BootTime::now()) {
            tracing::debug!(
                "the lock {} may be held, and is asked for again",
                self.label
            );
        }
        // From before the question is sent: the engine counts from later.
        self.state.take_sent(BootTime::now());
        let answer = timeout(ttl, self.engine.take(&self.request)).await;
        let now = BootTime::now();
        match answer {
            Ok(Ok(TakeAnswer::Granted { token })) if self.state.take_granted(now, token) => {
                Ok(TakeOutcome::Held(self.held(token)))
            }
            Ok(Ok(TakeAnswer::Busy { wait })) => {
                self.state.take_refused();
                Ok(TakeOutcome::Busy(wait))
            }
            Ok(Err(error)) => {
                self.state.take_unanswered(now);
                Err(error)
            }
            // Too late, or not at all.
            Ok(Ok(TakeAnswer::Granted { .. })) | Err(_) => {
                self.state.take_unanswered(now);
                Err(Error::Unanswered {
                    name: self.label.clone(),
                    ttl,
                })
            }
        }
    }

    /// The lease, whose holder this one is no more: the next question is another one's.
    fn held(&mut self, token: i64) -> Lease {
        let ttl = self.request.ttl;
        let state = std::mem::replace(&mut self.state, LeaseState::new(ttl));
        let claim = LeaseClaim {
            name: self.request.name.clone(),
            holder: std::mem::replace(&mut self.request.holder, unique_holder()),
            token,
        };
        Lease::new(&self.engine, &self.label, claim, ttl, state)
    }
}

impl Drop for LeaseAttempt {
    fn drop(&mut self) {
        if self.state.is_in_doubt(BootTime::now()) {
            let TakeRequest { name, holder, .. } = &self.request;
            self.engine.abandon(name.clone(), holder.clone());
        }
    }
}

/// A text that no other holder has: machine, process and a random number.
fn unique_holder() -> String {
    let mut random = [0; 16];
    // Without random numbers the process would have no TLS either.
    let filled = SystemRandom::new().fill(&mut random);
    assert!(filled.is_ok(), "the system gives no random numbers");
    let host = nix::unistd::gethostname().unwrap_or_default();
    let number = u128::from_ne_bytes(random);
    format!("{}/{}/{number:032x}", host.display(), std::process::id())
}
