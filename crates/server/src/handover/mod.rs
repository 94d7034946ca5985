//! `--handover PATH`: taking over from the process that serves, and offering the same to the next one. Serves no request.
//! Rule: the process that serves goes on as if nothing had been until the other one has said that it serves.
//!
//! The process that serves listens on a UNIX socket at PATH. A new one that finds it there asks for the listening sockets, which both have
//! from then on. It loads its application, begins to accept from them, says that it serves and puts a socket of its own at PATH; the old
//! one drains, and says when it has let go of its stores on disk. A new one that goes before it serves leaves nothing behind but closed
//! descriptors.

mod channel;
mod given_sockets;
mod message;
mod offer;
mod predecessor;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

pub use given_sockets::{AbandonedFiles, GivenSockets};
pub use message::SocketRole;
pub(crate) use offer::{HandoverOffer, HandoverPart, HandoverParts};

use offer::HandoverListener;
use predecessor::Predecessor;

use crate::limits::{HANDOVER_STORE_REST_MS, ServerLimits};

/// What `--handover` asks for, until the server serves for the first time.
pub(crate) struct Handover {
    path: PathBuf,
    store_limit: Duration,
    listener: HandoverListener,
    predecessor: Option<Predecessor>,
}

impl Handover {
    /// Asks the process that serves for its sockets, if there is one, and prepares to be asked.
    ///
    /// # Errors
    /// Where that process does not answer as one that can be taken over from, and where the path cannot be listened on.
    pub(crate) fn begin(path: &Path, limits: &ServerLimits) -> Result<(Handover, GivenSockets)> {
        // The other process may have more sockets than a process may have open by default.
        tsumugi_worker::raise_open_files();
        let store_limit = Duration::from_millis(limits.handover_store_ms);
        let patience = store_limit + Duration::from_millis(HANDOVER_STORE_REST_MS);
        let (predecessor, given) = match Predecessor::find(path, patience)? {
            Some((predecessor, given)) => (Some(predecessor), given),
            None => {
                tsumugi_kv::wait_for_locks(patience);
                (None, GivenSockets::default())
            }
        };
        let listener = match predecessor {
            Some(_) => HandoverListener::beside(path)?,
            None => HandoverListener::at(path)?,
        };
        let handover = Handover {
            path: path.to_owned(),
            store_limit,
            listener,
            predecessor,
        };
        Ok((handover, given))
    }

    /// Whether another process serves until this one does.
    pub(crate) fn has_predecessor(&self) -> bool {
        self.predecessor.is_some()
    }

    /// The first requests come: what they need of the process before is worth waiting for from now on.
    pub(crate) fn loaded(&self) {
        if let Some(predecessor) = &self.predecessor {
            predecessor.await_stores();
        }
    }

    /// Says that this process serves, and offers `parts` to the next one from now on. The offer ends with what is returned.
    pub(crate) fn complete(self, parts: HandoverParts) -> Option<HandoverOffer> {
        let Handover {
            path,
            store_limit,
            listener,
            predecessor,
        } = self;
        // First of all: as long as the other process serves, it is the one that is found at the path.
        if let Some(predecessor) = predecessor {
            predecessor.replace();
        }
        let offer = listener.start(&path, parts, store_limit);
        if let Err(error) = &offer {
            // It serves, and that is more than being replaced one day.
            tracing::error!(
                "the next version cannot take over at {}: {error:#}",
                path.display()
            );
        }
        offer.ok()
    }
}
