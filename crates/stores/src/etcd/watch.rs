//! Watches of a store in etcd: a task for each, which goes on at another server from the revision where it was when its own fails.
//! Rule: what etcd has compacted away meanwhile is reported as a gap; nothing is passed over in silence.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::ChangeEvent;
use tsumugi_rpc::client::GrpcStream;

use super::EtcdStore;
use super::change_queue::{ChangeSender, change_queue};
use super::client::{EtcdClient, spread};
use super::messages::{
    Event, EventType, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchRequestUnion,
    WatchResponse,
};
use super::status::{DENIED, may_be_of_token};
use super::table::ENGINE;
use super::txn::prefix_end;
use super::watch_permit::WatchPermit;
use crate::error::{CallFate, Error, Result};
use crate::limits::{ETCD_WATCH_ALIVE_MS, ETCD_WATCH_REST_MS_MAX};
use crate::watch::{ChangeSource, StoreWatch};

/// First rest before a watch begins again, and the spread of all of them.
const REST_MS_MIN: u64 = 50;

type Stream = GrpcStream<WatchRequest, WatchResponse>;

impl EtcdStore {
    /// The changes of the keys that begin so, from now on.
    pub(super) async fn watch_prefix(&self, prefix: Bytes) -> Result<StoreWatch> {
        let begun = self.begin_watch(self.key(&prefix)).await?;
        let (sender, changes) = change_queue();
        let sink = ChangeSink {
            sender,
            cut: self.prefix.len(),
        };
        drop(tokio::task::spawn_local(begun.run(sink)));
        Ok(StoreWatch::of(ChangeSource::Etcd(changes)))
    }

    /// Begins a watch of the keys in etcd that begin so: what changes after this has ended is reported.
    pub(super) async fn begin_watch(&self, prefix: Bytes) -> Result<BegunWatch> {
        let permit = WatchPermit::take(&self.watches)?;
        let mut task = WatchTask {
            client: Rc::clone(&self.client),
            range_end: prefix_end(&prefix),
            key: prefix,
            next: 0,
            has_gap: false,
            _permit: permit,
        };
        let open = task.begin().await?;
        Ok(BegunWatch { task, open })
    }
}

/// What is done with what a watch reports.
pub(super) trait EventSink {
    /// A change of a record.
    fn event(&self, event: Event);

    /// Changes were lost, in unknown number.
    fn gap(&self);

    /// Resolves once nobody wants more.
    async fn closed(&self);

    /// Nothing more comes, for this reason.
    fn end(self, why: Error);
}

/// The changes as a watcher of a store takes them.
struct ChangeSink {
    sender: ChangeSender,
    /// Bytes of the namespace, which reported keys are without.
    cut: usize,
}

impl EventSink for ChangeSink {
    fn event(&self, event: Event) {
        if let Some(change) = change_of(event, self.cut) {
            self.sender.send(change);
        }
    }

    fn gap(&self) {
        self.sender.send(ChangeEvent::Gap);
    }

    async fn closed(&self) {
        self.sender.closed().await;
    }

    fn end(self, why: Error) {
        self.sender.end(why);
    }
}

/// A watch that has begun and that nobody follows yet.
pub(super) struct BegunWatch {
    task: WatchTask,
    open: OpenWatch,
}

impl BegunWatch {
    /// Reports what comes until nobody wants more, or etcd refuses it.
    pub(super) async fn run(self, sink: impl EventSink) {
        self.task.run(self.open, sink).await;
    }
}

struct WatchTask {
    client: Rc<EtcdClient>,
    key: Bytes,
    range_end: Bytes,
    /// The revision from which nothing was reported yet; 0 before the first watch.
    next: i64,
    /// Whether changes were lost before the watch that begins next.
    has_gap: bool,
    _permit: WatchPermit,
}

/// A watch at one server.
struct OpenWatch {
    stream: Stream,
    at: usize,
}

impl WatchTask {
    /// Begins at the server that calls go to, or at another one.
    async fn begin(&mut self) -> Result<OpenWatch> {
        let (mut open, mut created) = self.create().await?;
        // A token that has ended is told by the answer alone.
        let may_be_of_token = created.canceled && may_be_of_token(&created.cancel_reason);
        if may_be_of_token && self.client.forget_token() {
            (open, created) = self.create().await?;
        }
        if created.canceled {
            if created.compact_revision > 0 {
                self.next = created.compact_revision;
                self.has_gap = true;
            }
            return Err(match created.cancel_reason.contains(DENIED) {
                true => Error::Refused {
                    engine: ENGINE,
                    message: created.cancel_reason,
                },
                false => failed(created.cancel_reason),
            });
        }
        if self.next == 0 {
            let header = created.header.unwrap_or_default();
            self.next = header.revision + 1;
        }
        Ok(open)
    }

    /// Asks for it, and has the answer that says whether it was begun.
    async fn create(&self) -> Result<(OpenWatch, WatchResponse)> {
        let create = WatchRequest {
            request: Some(WatchRequestUnion::Create(WatchCreateRequest {
                key: self.key.clone(),
                range_end: self.range_end.clone(),
                start_revision: self.next,
                progress_notify: true,
                fragment: true,
            })),
        };
        let mut stream = self.client.watch(&create).await?;
        let at = self.client.current();
        let first = tokio::time::timeout(self.client.timeout(), stream.next()).await;
        match first {
            Ok(Ok(Some(created))) if created.created => Ok((OpenWatch { stream, at }, created)),
            Ok(Ok(_)) => Err(failed(
                "a watch does not begin with its creation".to_owned(),
            )),
            Ok(Err(failure)) => Err(failed(format!("{failure:?}"))),
            Err(_) => {
                stream.abandon();
                self.client.rotate_from(at);
                Err(failed("a watch was not created in time".to_owned()))
            }
        }
    }

    async fn run(mut self, begun: OpenWatch, sink: impl EventSink) {
        let mut open = Some(begun);
        let mut rest_ms = REST_MS_MIN;
        loop {
            let watch = match open.take() {
                Some(watch) => watch,
                None => {
                    let begin = self.begin();
                    let begun = tokio::select! {
                        () = sink.closed() => return,
                        begun = begin => begun,
                    };
                    match begun {
                        Ok(begun) => begun,
                        Err(error @ Error::Refused { .. }) => return sink.end(error),
                        Err(error) => {
                            tracing::debug!(%error, "a watch of etcd does not begin again yet");
                            let rest = Duration::from_millis(
                                rest_ms + spread(REST_MS_MIN as usize) as u64,
                            );
                            rest_ms = (rest_ms * 2).min(ETCD_WATCH_REST_MS_MAX);
                            tokio::select! {
                                () = sink.closed() => return,
                                () = tokio::time::sleep(rest) => {}
                            }
                            continue;
                        }
                    }
                }
            };
            rest_ms = REST_MS_MIN;
            if std::mem::take(&mut self.has_gap) {
                sink.gap();
            }
            let ended = tokio::select! {
                () = sink.closed() => return,
                ended = self.follow(watch, &sink) => ended,
            };
            if let Some(error) = ended {
                return sink.end(error);
            }
        }
    }

    /// Reports what comes until the watch is lost (`None`) or refused.
    async fn follow(&mut self, watch: OpenWatch, sink: &impl EventSink) -> Option<Error> {
        let OpenWatch { mut stream, at } = watch;
        let alive = Duration::from_millis(ETCD_WATCH_ALIVE_MS);
        let mut heard = Instant::now();
        let mut ask = heard + alive;
        loop {
            let next = tokio::time::timeout_at(ask, stream.next()).await;
            let response = match next {
                Ok(Ok(Some(response))) => response,
                Ok(lost) => {
                    tracing::warn!(reason = ?lost.err(), "a watch of etcd was lost and goes on at another server");
                    self.client.rotate_from(at);
                    return None;
                }
                Err(_) if heard.elapsed() > alive * 2 => {
                    tracing::warn!(
                        "a watch of etcd has no sign of life and goes on at another server"
                    );
                    stream.abandon();
                    self.client.rotate_from(at);
                    return None;
                }
                Err(_) => {
                    let progress = WatchRequest {
                        request: Some(WatchRequestUnion::Progress(WatchProgressRequest {})),
                    };
                    if stream.send(&progress).is_err() {
                        self.client.rotate_from(at);
                        return None;
                    }
                    ask = Instant::now() + alive;
                    continue;
                }
            };
            heard = Instant::now();
            ask = heard + alive;
            if response.canceled {
                return self.canceled(response);
            }
            self.report(response, sink);
        }
    }

    fn canceled(&mut self, response: WatchResponse) -> Option<Error> {
        if response.compact_revision > 0 {
            tracing::warn!("etcd has compacted changes away that a watch had not seen");
            self.next = response.compact_revision;
            self.has_gap = true;
            return None;
        }
        match response.cancel_reason.contains(DENIED) {
            true => Some(Error::Refused {
                engine: ENGINE,
                message: response.cancel_reason,
            }),
            false => None,
        }
    }

    fn report(&mut self, response: WatchResponse, sink: &impl EventSink) {
        let is_whole = !response.fragment;
        let last = response.events.iter().filter_map(|event| {
            let kv = event.kv.as_ref()?;
            Some(kv.mod_revision)
        });
        let last = last.max();
        for event in response.events {
            sink.event(event);
        }
        match last {
            // Of a revision that goes on in the next response everything is reported again rather than a part never.
            Some(last) => self.next = self.next.max(last + i64::from(is_whole)),
            // A sign of progress of this watch itself: everything before it has come. That of the whole stream may be ahead of events.
            None if response.watch_id >= 0 => {
                let revision = response.header.map_or(0, |header| header.revision);
                self.next = self.next.max(revision + 1);
            }
            None => {}
        }
    }
}

fn failed(reason: String) -> Error {
    Error::Unavailable {
        engine: ENGINE,
        reason,
        fate: CallFate::NotApplied,
    }
}

/// A change, whose key is without the namespace. What expired is removed by etcd as by anybody.
fn change_of(event: Event, cut: usize) -> Option<ChangeEvent> {
    let kind = event.kind();
    let key = event.kv?.key;
    let key = key.slice(cut.min(key.len())..);
    Some(match kind {
        EventType::Put => ChangeEvent::Put(key),
        EventType::Delete => ChangeEvent::Removed(key),
    })
}

#[cfg(test)]
mod tests {
    use super::super::messages::KeyValue;
    use super::*;

    #[test]
    fn event_is_a_change_of_the_key_without_its_namespace() {
        let event = |kind: EventType| Event {
            kind: kind.into(),
            kv: Some(KeyValue {
                key: "tsumugi/a".into(),
                ..KeyValue::default()
            }),
        };
        let change = |kind| change_of(event(kind), 8).unwrap();
        assert_eq!(change(EventType::Put), ChangeEvent::Put("a".into()));
        assert_eq!(change(EventType::Delete), ChangeEvent::Removed("a".into()));
    }
}
