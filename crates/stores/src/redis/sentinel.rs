//! The master of a service, as its Sentinels know it. Keeps nothing: it is asked whenever a connection to the master is made.
//! Rule: of those that answer in time, the one that has seen the latest failover is believed, since a Sentinel that was cut off names the old master.

use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use redis::{Value, cmd};
use tokio::time::timeout;

use super::link::{Dialer, LinkFailure, Refusal, ServerMode, entry, server_text, text_of};
use super::slots::Address;
use crate::limits::REDIS_SENTINEL_MS_MAX;

/// What one Sentinel says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedMaster {
    /// The number of the failover.
    epoch: u64,
    address: Address,
}

/// Asks all, and goes by what more than half of them say, or by all that answer.
pub(super) async fn master_of(
    service: &str,
    sentinels: &[Address],
    dialer: &Dialer,
) -> Result<Address, Refusal> {
    let asked = sentinels
        .iter()
        .map(|address| ask(service, address, dialer));
    let mut answers: FuturesUnordered<_> = asked.collect();
    let mut named: Vec<NamedMaster> = Vec::new();
    let mut last = Refusal::Unreachable("the address names no Sentinel".to_owned());
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(master) => named.push(master),
            Err(refusal) => last = refusal,
        }
        if named.len() > sentinels.len() / 2 {
            break;
        }
    }
    let latest = named.into_iter().max_by_key(|master| master.epoch);
    latest.map(|master| master.address).ok_or(last)
}

async fn ask(service: &str, address: &Address, dialer: &Dialer) -> Result<NamedMaster, Refusal> {
    let limit = Duration::from_millis(REDIS_SENTINEL_MS_MAX);
    let asked = timeout(limit, question(service, address, dialer)).await;
    asked.unwrap_or_else(|_| {
        let (host, port) = address;
        Err(Refusal::Unreachable(format!(
            "{host}:{port}: no answer of the Sentinel within {REDIS_SENTINEL_MS_MAX} ms (REDIS_SENTINEL_MS_MAX)"
        )))
    })
}

async fn question(
    service: &str,
    address: &Address,
    dialer: &Dialer,
) -> Result<NamedMaster, Refusal> {
    let (host, port) = address;
    let failed = |reason: &str| Refusal::Unreachable(format!("{host}:{port}: {reason}"));
    let link = dialer.dial(address, None).await?;
    if link.greeting.mode != ServerMode::Sentinel {
        return Err(Refusal::Unfit(format!(
            "{host}:{port}: it is no Sentinel; write redis://"
        )));
    }
    let mut question = cmd("SENTINEL");
    question.arg("MASTER").arg(service);
    match link.call(&question).await {
        Ok(answer) => named_master(&answer)
            .ok_or_else(|| failed("the Sentinel does not say where the master is")),
        // `ERR No such master with that name`: another one may know it.
        Err(LinkFailure::Server(error)) => Err(failed(&server_text(error.code(), error.details()))),
        Err(LinkFailure::Lost(reason)) => Err(failed(&reason)),
        Err(LinkFailure::TooLong) => Err(failed("the Sentinel's answer is too long")),
    }
}

fn named_master(answer: &Value) -> Option<NamedMaster> {
    let text = |name| entry(answer, name).and_then(text_of);
    let host = text("ip").filter(|host| !host.is_empty())?;
    Some(NamedMaster {
        epoch: text("config-epoch")
            .and_then(|epoch| epoch.parse().ok())
            .unwrap_or(0),
        address: (host, text("port")?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_of_a_sentinel_names_the_master_and_the_failover() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let answer = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| (text(name), text(value)));
            Value::Map(pairs.collect())
        };
        let whole = answer(&[("ip", "10.0.0.1"), ("port", "6379"), ("config-epoch", "4")]);
        let expected = NamedMaster {
            epoch: 4,
            address: ("10.0.0.1".to_owned(), 6_379),
        };
        assert_eq!(named_master(&whole), Some(expected));
        for other in [
            Value::Nil,
            answer(&[("ip", ""), ("port", "1")]),
            answer(&[("ip", "a"), ("port", "x")]),
        ] {
            assert_eq!(named_master(&other), None);
        }
    }
}
