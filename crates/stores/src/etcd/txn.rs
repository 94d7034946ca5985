//! Parts of etcd's transactions: what must hold, and what is done then. Pure.

use bytes::{Bytes, BytesMut};

use super::messages::{
    Compare, CompareResult, CompareTarget, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest,
    RangeResponse, Request, RequestOp, Response, ResponseOp, TargetUnion,
};

/// There is no record.
pub(super) fn is_absent(key: &Bytes) -> Compare {
    version(key, CompareResult::Equal)
}

/// There is a record.
pub(super) fn is_there(key: &Bytes) -> Compare {
    version(key, CompareResult::Greater)
}

fn version(key: &Bytes, result: CompareResult) -> Compare {
    Compare {
        result: result.into(),
        target: CompareTarget::Version.into(),
        key: key.clone(),
        target_union: Some(TargetUnion::Version(0)),
    }
}

/// The record is as it was read, or is still missing.
pub(super) fn is_unchanged(key: &Bytes, seen: Option<&KeyValue>) -> Compare {
    match seen {
        None => is_absent(key),
        Some(seen) => Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: key.clone(),
            target_union: Some(TargetUnion::ModRevision(seen.mod_revision)),
        },
    }
}

/// The record has this value.
pub(super) fn has_value(key: &Bytes, value: &Bytes) -> Compare {
    Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Value.into(),
        key: key.clone(),
        target_union: Some(TargetUnion::Value(value.clone())),
    }
}

/// Reads a record.
pub(super) fn range(key: &Bytes) -> RequestOp {
    operation(Request::Range(RangeRequest {
        key: key.clone(),
        ..RangeRequest::default()
    }))
}

/// Stores a value with a lease; 0 is none.
pub(super) fn put(key: &Bytes, value: Bytes, lease: i64) -> RequestOp {
    operation(Request::Put(PutRequest {
        key: key.clone(),
        value,
        lease,
        ..PutRequest::default()
    }))
}

/// Stores a value with the lease that the record has.
pub(super) fn put_in_place(key: &Bytes, value: Bytes) -> RequestOp {
    operation(Request::Put(PutRequest {
        key: key.clone(),
        value,
        ignore_lease: true,
        ..PutRequest::default()
    }))
}

/// Gives a record that is there another lease.
pub(super) fn attach(key: &Bytes, lease: i64) -> RequestOp {
    operation(Request::Put(PutRequest {
        key: key.clone(),
        lease,
        ignore_value: true,
        ..PutRequest::default()
    }))
}

/// Removes a record.
pub(super) fn delete(key: &Bytes) -> RequestOp {
    operation(Request::DeleteRange(DeleteRangeRequest {
        key: key.clone(),
        ..DeleteRangeRequest::default()
    }))
}

pub(super) fn operation(request: Request) -> RequestOp {
    RequestOp {
        request: Some(request),
    }
}

/// The record that an operation has read.
pub(super) fn found(response: Option<ResponseOp>) -> Option<KeyValue> {
    match response?.response? {
        Response::Range(RangeResponse { mut kvs, .. }) => kvs.pop(),
        _ => None,
    }
}

/// The first key that does not begin with a prefix; empty, which is the one key, never: a prefix here ends in ASCII.
pub(super) fn prefix_end(prefix: &[u8]) -> Bytes {
    let mut end = BytesMut::from(prefix);
    while let Some(last) = end.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            break;
        }
        end.truncate(end.len() - 1);
    }
    end.freeze()
}

/// The least key after this one.
pub(super) fn after(key: &[u8]) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.extend_from_slice(&[0]);
    next.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_prefix_is_the_first_key_that_does_not_begin_with_it() {
        for (prefix, expected) in [
            (&b"tsumugi/"[..], &b"tsumugi0"[..]),
            (b"a/\xff\xff", b"a0"),
            (b"a/b\xff", b"a/c"),
        ] {
            assert_eq!(prefix_end(prefix), expected);
        }
        assert_eq!(after(b"a"), &b"a\0"[..]);
    }
}
