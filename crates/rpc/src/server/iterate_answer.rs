//! What the requests of Iterate mean and how they are answered, whatever keeps the records. Moves no cursor.

use bytes::Bytes;
use tsumugi_kv::{Move, Pair, Seek, WriteResult};

use super::outcome::{DatabaseError, missing, of_write, success};
use crate::proto::iterate_request::OpType;
use crate::proto::{IterateRequest, IterateResponse, StatusProto};

/// Where an operation leads; `None` of those on the record where the cursor is.
pub(crate) fn destination(operation: OpType, request: &IterateRequest) -> Option<Move> {
    let key = || request.key.clone();
    Some(match operation {
        OpType::OpFirst => Move::To(Seek::First),
        OpType::OpLast => Move::To(Seek::Last),
        OpType::OpJump => Move::Jump(key()),
        OpType::OpJumpLower if request.jump_inclusive => Move::To(Seek::AtOrBefore(key())),
        OpType::OpJumpLower => Move::To(Seek::Before(key())),
        OpType::OpJumpUpper if request.jump_inclusive => Move::To(Seek::AtOrAfter(key())),
        OpType::OpJumpUpper => Move::To(Seek::After(key())),
        OpType::OpNext => Move::Next,
        OpType::OpPrevious => Move::Previous,
        OpType::OpNone | OpType::OpGet | OpType::OpSet | OpType::OpRemove | OpType::OpStep => {
            return None;
        }
    })
}

/// The record at a cursor, without what its client does without.
pub(crate) fn record(request: &IterateRequest, (key, value): Pair) -> IterateResponse {
    IterateResponse {
        status: Some(success()),
        key: if request.omit_key { Bytes::new() } else { key },
        value: if request.omit_value {
            Bytes::new()
        } else {
            value
        },
    }
}

pub(crate) fn bare(status: StatusProto) -> IterateResponse {
    IterateResponse {
        status: Some(status),
        ..IterateResponse::default()
    }
}

/// What a write at the cursor answers: a record that went away meanwhile is one that is not there.
pub(crate) fn written<E: DatabaseError>(written: &Result<WriteResult, E>) -> IterateResponse {
    bare(match written {
        Ok(WriteResult::Mismatch { .. }) => missing(),
        written => of_write(written),
    })
}
