//! Iterate over what an engine keeps: the same places and answers as those of a database of this process, each found by a page of the engine.
//! Rule: nothing is read ahead, so an answer is what the engine has now.

use std::sync::Arc;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, KeyRange, Move, Pair, Seek, Write, WriteResult};

use super::engine_call::{EngineCall, EngineLine};
use super::iterate_answer::{bare, destination, record, written};
use super::outcome::{compact, missing, status, success};
use crate::code::TkrzwCode;
use crate::proto::iterate_request::OpType;
use crate::proto::{IterateRequest, IterateResponse, StatusProto};

/// A place among the records of an engine.
pub(crate) struct EngineCursor {
    engine: EngineCall,
    /// `None` is nowhere.
    key: Option<Bytes>,
}

/// What an engine answers, or how it fails.
type Lookup<T> = Result<T, StatusProto>;

impl EngineCursor {
    /// One that is nowhere.
    pub(crate) fn new(engine: &Arc<EngineLine>) -> EngineCursor {
        EngineCursor {
            engine: engine.call("Iterate"),
            key: None,
        }
    }

    /// Answers one request, and gives the cursor back.
    pub(crate) async fn operate(
        mut self,
        request: IterateRequest,
    ) -> (EngineCursor, IterateResponse) {
        let answer = self.answer(request).await;
        (self, answer.unwrap_or_else(bare))
    }

    async fn answer(&mut self, request: IterateRequest) -> Lookup<IterateResponse> {
        let Ok(operation) = OpType::try_from(request.operation) else {
            let text = "there is no such operation";
            return Err(status(TkrzwCode::InvalidArgument, text));
        };
        if operation == OpType::OpNone {
            return Ok(bare(success()));
        }
        match destination(operation, &request) {
            Some(to) => self.go(to).await.map(bare),
            None => self.operate_on_record(operation, request).await,
        }
    }

    async fn go(&mut self, to: Move) -> Lookup<StatusProto> {
        let seek = match (to, self.key.clone()) {
            (Move::Jump(key), _) => {
                // An engine without an order has no places.
                self.engine.page(KeyRange::all(), 0).await?;
                self.key = Some(key);
                return Ok(success());
            }
            (Move::To(seek), _) => seek,
            (Move::Next | Move::Previous, None) => {
                self.engine.page(KeyRange::all(), 0).await?;
                return Ok(missing());
            }
            (Move::Next, Some(key)) => Seek::After(key),
            (Move::Previous, Some(key)) => Seek::Before(key),
        };
        self.seek(&seek).await?;
        Ok(success())
    }

    /// Looks for a record, and goes there.
    async fn seek(&mut self, seek: &Seek) -> Lookup<Option<Pair>> {
        let page = self.engine.page(KeyRange::from(seek), 1).await?;
        let found = page.into_iter().next();
        self.key = found.as_ref().map(|(key, _)| key.clone());
        Ok(found)
    }

    async fn operate_on_record(
        &mut self,
        operation: OpType,
        request: IterateRequest,
    ) -> Lookup<IterateResponse> {
        let at = match self.key.clone() {
            Some(key) => Seek::AtOrAfter(key),
            None => {
                self.engine.page(KeyRange::all(), 0).await?;
                return Ok(bare(missing()));
            }
        };
        let Some((key, value)) = self.seek(&at).await? else {
            return Ok(bare(missing()));
        };
        match operation {
            OpType::OpSet => {
                let write = Write::CompareExchange {
                    key,
                    expected: Expected::Any,
                    desired: Desired::Put(compact(request.value), None),
                };
                return self.write(write).await;
            }
            OpType::OpRemove => return self.write(Write::remove(key)).await,
            OpType::OpStep => {
                // An error is an answer of its own, and the record is met again by the next step.
                self.seek(&Seek::After(key.clone())).await?;
            }
            _ => {}
        }
        Ok(record(&request, (key, value)))
    }

    async fn write(&self, write: Write) -> Lookup<IterateResponse> {
        let done: Lookup<WriteResult> = self.engine.submit(write).await;
        Ok(written(&done))
    }
}
