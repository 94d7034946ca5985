//! What comes on a connection without a request, and the observer that is called for it. Not replies.
//! Rule: the observer may call the connection, and may be replaced, while it runs.

use std::cell::RefCell;

use tsumugi_pg_proto::backend::ServerError;

/// What a connection reports to its observer.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A channel that this connection listens to was notified.
    Notification {
        /// The server process that notified; may be our own.
        process_id: u32,
        /// The channel.
        channel: String,
        /// Its text; may be empty.
        payload: String,
    },
    /// The server warns.
    Notice(Box<ServerError>),
    /// A setting of the server has a new value.
    Parameter {
        /// As the server names it.
        name: String,
        /// From now on.
        value: String,
    },
    /// The connection has ended; nothing comes after this.
    Ended,
}

type Callback = Box<dyn FnMut(Event)>;

/// Called for each event of a connection.
#[derive(Default)]
pub(super) struct Observer(RefCell<Option<Callback>>);

impl Observer {
    /// Calls `observer` from now on, instead of an earlier one.
    pub(super) fn set(&self, observer: impl FnMut(Event) + 'static) {
        *self.0.borrow_mut() = Some(Box::new(observer));
    }

    pub(super) fn report(&self, event: Event) {
        let observer = self.0.borrow_mut().take();
        if let Some(mut observer) = observer {
            observer(event);
            let mut place = self.0.borrow_mut();
            if place.is_none() {
                *place = Some(observer);
            }
        } else if let Event::Notice(notice) = event {
            tracing::debug!(target: "tsumugi_pg", "{notice}");
        }
    }
}
