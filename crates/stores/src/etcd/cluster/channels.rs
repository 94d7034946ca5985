//! Channels over etcd: a message is a version of its channel's key, which all processes watch. Keeps no message longer than etcd does.
//! Rule: a watch that was cut goes on from the revision where it was, so nothing is missed but what etcd has compacted away meanwhile; that is said.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;
use tsumugi_cluster::Hub;

use super::super::EtcdStore;
use super::super::messages::{Event, EventType};
use super::super::watch::EventSink;
use crate::error::{Error, Result};
use crate::limits::ETCD_WATCH_REST_MS_MAX;

/// Gives the messages to the subscribers of this process.
#[derive(Clone)]
struct MessageSink {
    hub: Arc<Hub>,
    /// Bytes of a key before the name of its channel.
    cut: usize,
    /// The revision of the last message: part of an answer may come twice when a watch goes on.
    last: Rc<Cell<i64>>,
}

impl EventSink for MessageSink {
    fn event(&self, event: Event) {
        // A message that has ended is no message.
        if event.kind() != EventType::Put {
            return;
        }
        let Some(kv) = event.kv else {
            return;
        };
        if kv.mod_revision <= self.last.replace(kv.mod_revision.max(self.last.get())) {
            return;
        }
        let channel = kv.key.get(self.cut..).map(std::str::from_utf8);
        // What is no text was not published by an application.
        if let (Some(Ok(channel)), Ok(message)) = (channel, std::str::from_utf8(&kv.value)) {
            self.hub.deliver(channel, message);
        }
    }

    fn gap(&self) {
        self.hub.deliver_gap();
    }

    async fn closed(&self) {
        // The task is ended with its engine.
        pending().await
    }

    fn end(self, why: Error) {
        tracing::warn!("messages of channels do not come: {why}");
    }
}

/// Begins to receive the messages of all channels whose keys begin so: all that are sent after this has ended. The future that it answers goes on
/// with that.
pub(super) async fn listen(
    store: EtcdStore,
    prefix: Bytes,
    hub: Arc<Hub>,
) -> Result<impl Future<Output = ()> + 'static> {
    let begun = store.begin_watch(prefix.clone()).await?;
    let sink = MessageSink {
        hub,
        cut: prefix.len(),
        last: Rc::default(),
    };
    Ok(async move {
        begun.run(sink.clone()).await;
        // etcd refused it, until somebody may read there again.
        loop {
            sleep(Duration::from_millis(ETCD_WATCH_REST_MS_MAX)).await;
            match store.begin_watch(prefix.clone()).await {
                Ok(begun) => {
                    sink.gap();
                    begun.run(sink.clone()).await;
                }
                Err(error) => tracing::debug!("messages of channels do not come: {error}"),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use tsumugi_cluster::ChannelEvent;

    use super::super::super::messages::KeyValue;
    use super::*;

    #[test]
    fn message_that_comes_twice_is_delivered_once_and_its_end_is_none() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        { runtime }.build().unwrap().block_on(async {
            let hub = Arc::<Hub>::default();
            let mut received = hub.subscribe("chat").unwrap();
            let sink = MessageSink {
                hub,
                cut: "c/".len(),
                last: Rc::default(),
            };
            let event = |kind: EventType, revision, value: &'static [u8]| Event {
                kind: kind.into(),
                kv: Some(KeyValue {
                    key: "c/chat".into(),
                    mod_revision: revision,
                    value: value.into(),
                    ..KeyValue::default()
                }),
            };
            for _ in 0..2 {
                sink.event(event(EventType::Put, 3, b"a"));
            }
            sink.event(event(EventType::Delete, 4, b""));
            sink.event(event(EventType::Put, 5, b"\xff"));
            sink.event(event(EventType::Put, 6, b"b"));
            for text in ["a", "b"] {
                assert_eq!(received.recv().await, ChannelEvent::Message(text.into()));
            }
        });
    }
}
