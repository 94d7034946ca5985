//! Sessions whose content is in a key-value store: changes by exchange, so that overlapping requests do not lose each other's.
//! Rule: an id that the store does not know begins no session; when another request ended it meanwhile, nothing is stored under it again.

use bytes::Bytes;
use tsumugi_http::session::{TOKEN, key_of, new_id};
use tsumugi_kv::{Desired, Expected, SetMode, Write, WriteResult};
use tsumugi_stores::Store;

use super::content::SessionContent;
use super::error::{Result, SessionError};
use super::state::RequestSession;
use crate::limits::SESSION_TRIES_MAX;

impl RequestSession {
    pub(super) async fn change_stored(
        &self,
        store: &Store,
        change: impl Fn(&mut SessionContent),
    ) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut content = self.content.borrow().clone();
            change(&mut content);
            let Some((id, text)) = self.stored() else {
                return self.begin(store, content).await;
            };
            let changed = (!content.is_empty()).then(|| Bytes::from(content.to_json()));
            let desired = match &changed {
                None => Desired::Remove,
                Some(text) => Desired::Put(text.clone(), Some(self.max_age())),
            };
            let exchange = Write::CompareExchange {
                key: key_of(&id).into(),
                expected: Expected::Value(text),
                desired,
            };
            match (store.write(exchange).await?, changed) {
                (WriteResult::Exchanged { .. }, Some(text)) => {
                    return self.adopt(id, text, content);
                }
                (WriteResult::Exchanged { .. }, None) => return self.reset(),
                _ => self.reload(store, &id).await?,
            }
        }
        Err(SessionError::Contended)
    }

    pub(super) async fn end_stored(&self, store: &Store) -> Result<()> {
        if let Some((id, _)) = self.stored() {
            store.write(Write::remove(key_of(&id))).await?;
        }
        self.reset()
    }

    pub(super) async fn renew_stored(&self, store: &Store) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut content = self.content.borrow().clone();
            content.remove(TOKEN);
            let Some((id, text)) = self.stored() else {
                // What this request alone wrote goes on, of what was ended nothing does.
                self.record.borrow_mut().ended = false;
                return self.begin(store, content).await;
            };
            if content.is_empty() {
                return self.end_stored(store).await;
            }
            let (old, fresh) = (Bytes::from(key_of(&id)), new_id()?);
            let renewed = Bytes::from(content.to_json());
            let new = Bytes::from(key_of(&fresh));
            let put = Desired::Put(renewed.clone(), Some(self.max_age()));
            let exchange = Write::CompareExchangeMulti {
                expected: vec![(old.clone(), Expected::Value(text))],
                desired: vec![(old, Desired::Remove), (new, put)],
            };
            match store.write(exchange).await? {
                WriteResult::Done => return self.adopt(fresh, renewed, content),
                _ => self.reload(store, &id).await?,
            }
        }
        Err(SessionError::Contended)
    }

    /// A session with a new id; what another request ended stays ended.
    async fn begin(&self, store: &Store, content: SessionContent) -> Result<()> {
        if self.record.borrow().ended {
            *self.content.borrow_mut() = content;
            return Ok(());
        }
        if content.is_empty() {
            return self.reset();
        }
        let (id, text) = (new_id()?, Bytes::from(content.to_json()));
        let write = Write::Set {
            key: key_of(&id).into(),
            value: text.clone(),
            mode: SetMode::Overwrite,
            ttl: Some(self.max_age()),
        };
        store.write(write).await?;
        self.adopt(id, text, content)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::Future;
    use std::rc::Rc;
    use std::task::{Context, Waker};

    use http::HeaderMap;
    use tsumugi_http::cookie::SameSite;
    use tsumugi_http::session::{Forms, SessionSettings, SessionStorage, Transport};
    use tsumugi_kv::{KvDatabase, Spec};
    use tsumugi_worker::{Pool, WorkerLimits};

    use super::super::state::{SessionSlot, SessionStore};
    use super::*;

    fn sessions(place: &str) -> Rc<SessionStore> {
        let store = KvDatabase::open(&Spec::of_place(place).unwrap()).unwrap();
        let declared = SessionSettings {
            name: "session".to_owned(),
            path: "/".to_owned(),
            domain: None,
            same_site: SameSite::Lax,
            max_age_seconds: 60,
            transport: Transport::Any,
            forms: Forms::Checked,
            keeping: SessionStorage::Store,
        };
        let store = Store::local(store, Pool::new(&WorkerLimits::default()));
        Rc::new(SessionStore::new(declared, Some(store), 10).unwrap())
    }

    /// What another request does, at once: the store is in memory.
    fn replace(store: &Store, id: &str, text: String) {
        let write = Write::Set {
            key: key_of(id).into(),
            value: text.into(),
            mode: SetMode::Overwrite,
            ttl: None,
        };
        let submitted = std::pin::pin!(store.write(write));
        let polled = submitted.poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
    }

    #[test]
    fn change_that_another_precedes_at_each_try_is_contended_and_stores_nothing() {
        let sessions = sessions("memory:contended-sessions");
        let store = sessions.store.clone().unwrap();
        let slot = SessionSlot::new(&sessions);
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        runtime.block_on(async {
            let session = slot.read(&HeaderMap::new()).await.unwrap();
            let begin = session.change(|content| content.set("a", "1".to_owned()));
            begin.await.unwrap();
            let id = session.record.borrow().id.clone().unwrap();
            let tries = Cell::new(0);
            let contended = session.change(|content| {
                tries.set(tries.get() + 1);
                replace(&store, &id, format!("{{\"other\":{}}}", tries.get()));
                content.set("b", "2".to_owned());
            });
            let contended = contended.await.unwrap_err();
            assert!(matches!(contended, SessionError::Contended));
            assert_eq!(contended.status().map(|status| status.as_u16()), Some(503));
            assert_eq!(tries.get(), SESSION_TRIES_MAX);
            assert_eq!(session.content().get("other"), Some("64"));
            assert_eq!(session.content().get("b"), None);
        });
    }
}
