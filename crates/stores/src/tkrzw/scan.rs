//! Pages of a store behind a service, read by its cursor. Several steps are under way at a time.

use std::ops::Bound;

use tsumugi_kv::{KeyRange, Pair, ReadDirection};
use tsumugi_rpc::Client;
use tsumugi_rpc::client::Duplex;
use tsumugi_rpc::proto::iterate_request::OpType;
use tsumugi_rpc::proto::{IterateRequest, IterateResponse};

use super::write::{broken_off, is_success};
use crate::error::Result;
use crate::limits::CALLS_MAX;

/// The first records of a range, at most `limit`. Several steps are requested at a time.
pub(super) async fn page(client: &Client, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
    let mut page = Vec::new();
    if limit == 0 || range.is_empty() {
        return Ok(page);
    }
    let mut stream = client.iterate(CALLS_MAX).await?;
    stream.send(&jump(client, range)).await?;
    // A jump may be refused; whether there is a record is said by the step that follows alone.
    let jumped = stream.receive().await?.ok_or_else(broken_off)?;
    is_success(jumped.status)?;
    loop {
        let steps = (CALLS_MAX / 2).min(limit - page.len());
        for _ in 0..steps {
            step(client, range.direction, &mut stream).await?;
        }
        for _ in 0..steps {
            let answer = stream.receive().await?.ok_or_else(broken_off)?;
            if range.direction == ReadDirection::Backward {
                stream.receive().await?.ok_or_else(broken_off)?;
            }
            if !is_success(answer.status)? || is_beyond(range, &answer.key) {
                return Ok(page);
            }
            page.push((answer.key, answer.value));
        }
        if page.len() >= limit {
            return Ok(page);
        }
    }
}

fn request(client: &Client, operation: OpType) -> IterateRequest {
    IterateRequest {
        dbm_index: client.index(),
        operation: operation.into(),
        ..IterateRequest::default()
    }
}

fn jump(client: &Client, range: &KeyRange) -> IterateRequest {
    let (bound, open, closed) = match range.direction {
        ReadDirection::Forward => (&range.from, OpType::OpFirst, OpType::OpJumpUpper),
        ReadDirection::Backward => (&range.to, OpType::OpLast, OpType::OpJumpLower),
    };
    match bound {
        Bound::Unbounded => request(client, open),
        Bound::Included(key) | Bound::Excluded(key) => IterateRequest {
            key: key.clone(),
            jump_inclusive: matches!(bound, Bound::Included(_)),
            ..request(client, closed)
        },
    }
}

async fn step(
    client: &Client,
    direction: ReadDirection,
    stream: &mut Duplex<IterateRequest, IterateResponse>,
) -> Result<()> {
    match direction {
        ReadDirection::Forward => stream.send(&request(client, OpType::OpStep)).await?,
        ReadDirection::Backward => {
            stream.send(&request(client, OpType::OpGet)).await?;
            stream.send(&request(client, OpType::OpPrevious)).await?;
        }
    }
    Ok(())
}

/// Whether a key comes after the range, in the direction in which it is read.
fn is_beyond(range: &KeyRange, key: &[u8]) -> bool {
    match range.direction {
        ReadDirection::Forward => match &range.to {
            Bound::Unbounded => false,
            Bound::Included(to) => key > to.as_ref(),
            Bound::Excluded(to) => key >= to.as_ref(),
        },
        ReadDirection::Backward => match &range.from {
            Bound::Unbounded => false,
            Bound::Included(from) => key < from.as_ref(),
            Bound::Excluded(from) => key <= from.as_ref(),
        },
    }
}
