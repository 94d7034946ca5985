//! Sessions whose content is in a key-value store: changes by exchange, so that overlapping requests do not lose each other's. Knows no cookie.
//! Rule: an id that the store does not know begins no session; when another request ended it meanwhile, nothing is stored under it again.

use bytes::Bytes;
use serde_json::{Map, Value};
use tsumugi_http::session::{TOKEN, key_of, new_id};
use tsumugi_kv::{Desired, Expected, KvDatabase, SetMode, Write, WriteResult};

use super::state::{Session, to_json};
use crate::error::{Error, Result};
use crate::limits::SESSION_TRIES_MAX;

impl Session {
    pub(super) async fn change_stored(
        &self,
        store: &KvDatabase,
        change: impl Fn(&mut Map<String, Value>),
    ) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut data = self.content().borrow().clone();
            change(&mut data);
            let Some((id, text)) = self.stored() else {
                return self.begin(store, data).await;
            };
            let desired = match data.is_empty() {
                true => Desired::Remove,
                false => Desired::Put(to_json(&data)?.into(), Some(self.max_age())),
            };
            let changed = match &desired {
                Desired::Put(text, _) => Some(text.clone()),
                _ => None,
            };
            let exchange = Write::CompareExchange {
                key: key_of(&id).into(),
                expected: Expected::Value(text),
                desired,
            };
            match (store.submit(exchange).await?, changed) {
                (WriteResult::Exchanged { .. }, Some(text)) => return self.adopt(id, text, data),
                (WriteResult::Exchanged { .. }, None) => return self.reset(),
                _ => self.reload(store, &id)?,
            }
        }
        Err(busy())
    }

    pub(super) async fn end_stored(&self, store: &KvDatabase) -> Result<()> {
        if let Some((id, _)) = self.stored() {
            store.submit(Write::remove(key_of(&id))).await?;
        }
        self.reset()
    }

    pub(super) async fn renew_stored(&self, store: &KvDatabase) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut data = self.content().borrow().clone();
            data.remove(TOKEN);
            let Some((id, text)) = self.stored() else {
                // What this request alone wrote goes on, of what was ended nothing does.
                self.record().borrow_mut().ended = false;
                return self.begin(store, data).await;
            };
            if data.is_empty() {
                return self.end_stored(store).await;
            }
            let (old, fresh) = (Bytes::from(key_of(&id)), new_id().map_err(Error::other)?);
            let content = Bytes::from(to_json(&data)?);
            let new = Bytes::from(key_of(&fresh));
            let put = Desired::Put(content.clone(), Some(self.max_age()));
            let exchange = Write::CompareExchangeMulti {
                expected: vec![(old.clone(), Expected::Value(text))],
                desired: vec![(old, Desired::Remove), (new, put)],
            };
            match store.submit(exchange).await? {
                WriteResult::Done => return self.adopt(fresh, content, data),
                _ => self.reload(store, &id)?,
            }
        }
        Err(busy())
    }

    /// A session with a new id; what another request ended stays ended.
    async fn begin(&self, store: &KvDatabase, data: Map<String, Value>) -> Result<()> {
        if self.record().borrow().ended {
            *self.content().borrow_mut() = data;
            return Ok(());
        }
        if data.is_empty() {
            return self.reset();
        }
        let id = new_id().map_err(Error::other)?;
        let text = Bytes::from(to_json(&data)?);
        let write = Write::Set {
            key: key_of(&id).into(),
            value: text.clone(),
            mode: SetMode::Overwrite,
            ttl: Some(self.max_age()),
        };
        store.submit(write).await?;
        self.adopt(id, text, data)
    }
}

fn busy() -> Error {
    Error::refused(
        http::StatusCode::SERVICE_UNAVAILABLE,
        "other requests change this session all the time: try again",
    )
}
