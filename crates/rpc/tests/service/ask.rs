//! A call of a history by the client of the service. No tests in here.

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, RekeySource, SetMode};
use tsumugi_rpc::client::{CompareExchange, RekeyOutcome};
use tsumugi_rpc::proto::RecordState;
use tsumugi_rpc::{Client, Error, TkrzwCode};

use crate::history::{Answer, Call};

fn done(done: bool) -> Answer {
    match done {
        true => Answer::Done,
        false => Answer::Missing,
    }
}

pub async fn ask(kv: &Client, keys: &[Bytes; 2], call: &Call) -> Result<Answer, Error> {
    let key = |at: &usize| keys[*at].clone();
    Ok(match call {
        Call::Get(at) => Answer::Value(kv.get(key(at)).await?),
        Call::Set(at, value) => done(kv.set(key(at), value.clone(), SetMode::Overwrite).await?),
        Call::Remove(at) => done(kv.remove(key(at)).await?),
        Call::Append(at, value) => {
            kv.append(key(at), value.clone(), "").await?;
            Answer::Done
        }
        Call::Increment(at) => match kv.increment(key(at), 1, 0).await {
            Ok(number) => Answer::Number(number),
            Err(Error::Database {
                code: TkrzwCode::InvalidArgument,
                ..
            }) => Answer::NotANumber,
            Err(error) => return Err(error),
        },
        Call::Exchange(at, before, after) => {
            let expected = before.clone().map_or(Expected::Absent, Expected::Value);
            let desired = Desired::Put(after.clone(), None);
            let exchange = CompareExchange::new(key(at), expected, desired);
            let exchanged = kv.compare_exchange(exchange).await?;
            match exchanged.exchanged {
                true => Answer::Exchanged(exchanged.actual),
                false => Answer::Mismatch(exchanged.actual),
            }
        }
        Call::ExchangeBoth(before, after) => {
            let state = |(key, value): (&Bytes, Option<Bytes>)| RecordState {
                existence: value.is_some(),
                key: key.clone(),
                value: value.unwrap_or_default(),
                any_value: false,
            };
            let before = keys.iter().zip(before.iter().cloned()).map(state);
            let after = keys.iter().map(|key| state((key, Some(after.clone()))));
            match kv
                .compare_exchange_multi(before.collect(), after.collect())
                .await?
            {
                true => Answer::Done,
                false => Answer::Mismatch(None),
            }
        }
        Call::Rekey => {
            let [old, new] = keys.clone();
            let rekeyed = kv.rekey(old, new, SetMode::Overwrite, RekeySource::Move);
            done(rekeyed.await? == RekeyOutcome::Done)
        }
    })
}
