//! Sessions whose content is in a key-value store: changes by exchange, so that requests that overlap keep each other's. Knows no cookie.
//! Rule: an id that the store does not know begins no session; when another request ended it meanwhile, nothing is stored under it again.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};
use tsumugi_http::session::{TOKEN, key_of, new_id};
use tsumugi_kv::{Desired, Expected, KvDatabase, SetMode, Write, WriteResult};

use super::{Session, parsed, written};
use crate::error::{Error, Result};
use crate::limits::SESSION_TRIES_MAX;

/// What a request knows of its session's record.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// None without one in the store.
    pub(super) id: Option<String>,
    /// As it was read or written last.
    pub(super) text: Option<Bytes>,
    /// Another request ended it.
    lost: bool,
}

impl Record {
    pub(super) fn find(store: &KvDatabase, id: Option<&str>) -> Result<Record> {
        let Some(id) = id else {
            return Ok(Record::default());
        };
        let text = store.get(key_of(id).as_bytes())?;
        Ok(Record {
            id: text.is_some().then(|| id.to_owned()),
            text,
            lost: false,
        })
    }
}

impl Session {
    pub(super) async fn change_stored(
        &self,
        store: &KvDatabase,
        change: impl Fn(&mut Map<String, Value>),
    ) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut data = self.0.data.borrow().clone();
            change(&mut data);
            let Some((id, text)) = self.known() else {
                return self.begin(store, data).await;
            };
            let desired = match data.is_empty() {
                true => Desired::Remove,
                false => Desired::Put(written(&data)?.into(), Some(self.max_age())),
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
                (WriteResult::Exchanged { .. }, Some(text)) => return self.keep(id, text, data),
                (WriteResult::Exchanged { .. }, None) => return self.forget(),
                _ => self.look_again(store, &id)?,
            }
        }
        Err(busy())
    }

    pub(super) async fn end_stored(&self, store: &KvDatabase) -> Result<()> {
        if let Some((id, _)) = self.known() {
            store.submit(Write::remove(key_of(&id))).await?;
        }
        self.forget()
    }

    pub(super) async fn renew_stored(&self, store: &KvDatabase) -> Result<()> {
        for _ in 0..SESSION_TRIES_MAX {
            let mut data = self.0.data.borrow().clone();
            data.remove(TOKEN);
            let Some((id, text)) = self.known() else {
                // What this request alone wrote goes on, of what was ended nothing does.
                self.0.record.borrow_mut().lost = false;
                return self.begin(store, data).await;
            };
            if data.is_empty() {
                return self.end_stored(store).await;
            }
            let (old, fresh) = (Bytes::from(key_of(&id)), new_id().map_err(Error::other)?);
            let content = Bytes::from(written(&data)?);
            let new = Bytes::from(key_of(&fresh));
            let put = Desired::Put(content.clone(), Some(self.max_age()));
            let exchange = Write::CompareExchangeMulti {
                expected: vec![(old.clone(), Expected::Value(text))],
                desired: vec![(old, Desired::Remove), (new, put)],
            };
            match store.submit(exchange).await? {
                WriteResult::Done => return self.keep(fresh, content, data),
                _ => self.look_again(store, &id)?,
            }
        }
        Err(busy())
    }

    fn known(&self) -> Option<(String, Bytes)> {
        let record = self.0.record.borrow();
        record.id.clone().zip(record.text.clone())
    }

    fn max_age(&self) -> Duration {
        Duration::from_secs(self.0.visit.kept.declared.max_age_seconds)
    }

    /// A session with a new id; what another request ended stays ended.
    async fn begin(&self, store: &KvDatabase, data: Map<String, Value>) -> Result<()> {
        if self.0.record.borrow().lost {
            *self.0.data.borrow_mut() = data;
            return Ok(());
        }
        if data.is_empty() {
            return self.forget();
        }
        let id = new_id().map_err(Error::other)?;
        let text = Bytes::from(written(&data)?);
        let write = Write::Set {
            key: key_of(&id).into(),
            value: text.clone(),
            mode: SetMode::Overwrite,
            ttl: Some(self.max_age()),
        };
        store.submit(write).await?;
        self.keep(id, text, data)
    }

    fn keep(&self, id: String, text: Bytes, data: Map<String, Value>) -> Result<()> {
        self.0.visit.tell(id.as_bytes())?;
        let mut record = self.0.record.borrow_mut();
        record.id = Some(id);
        record.text = Some(text);
        *self.0.data.borrow_mut() = data;
        Ok(())
    }

    fn forget(&self) -> Result<()> {
        self.0.visit.tell_end(self.0.sent)?;
        *self.0.record.borrow_mut() = Record::default();
        self.0.data.borrow_mut().clear();
        Ok(())
    }

    /// What another request has made of it.
    fn look_again(&self, store: &KvDatabase, id: &str) -> Result<()> {
        let mut record = self.0.record.borrow_mut();
        if record.id.as_deref() != Some(id) {
            return Ok(()); // this request itself has gone on meanwhile
        }
        *record = Record::find(store, Some(id))?;
        if record.id.is_none() {
            // The client keeps the cookie that it has: another answer may have brought it a newer one.
            record.lost = true;
            self.0.visit.cookie.take();
        }
        *self.0.data.borrow_mut() = parsed(record.text.as_deref())?;
        Ok(())
    }
}

fn busy() -> Error {
    Error::refused(
        http::StatusCode::SERVICE_UNAVAILABLE,
        "other requests change this session all the time: try again",
    )
}
