//! The calls of one message and one answer, by their methods: decoded, done, encoded. Knows no connection and no database.
//! The generated service, which knows the others, has several tasks' worth of layers around each, which cost more than most calls do.

use bytes::Bytes;
use prost::Message;
use tonic::Status;

use super::budget::Claim;
use super::calls::Calls;
use super::codec::decoded;
use super::framed_message::with_last;
use super::outbound::CallReply;
use crate::method::Method;

macro_rules! unary {
    (@last $answer:ident) => {
        None
    };
    (@last $answer:ident $tag:literal $field:ident) => {
        Some(($tag, std::mem::take(&mut $answer.$field)))
    };
    ($($name:literal $call:ident $(($tag:literal $last:ident))?)*) => {
        /// Whether a method is one of these.
        pub(crate) fn has(method: Method) -> bool {
            matches!(method.name(), $($name)|*)
        }

        /// Answers a call.
        ///
        /// # Errors
        /// A refusal; what a database says is in the answer.
        pub(crate) async fn answer(calls: &Calls, method: Method, message: Bytes) -> Result<CallReply, Status> {
            match method.name() {
                $($name => {
                    // Apart: all of them in one future would make each as large as the largest.
                    let reply = Box::pin(calls.$call(decoded(message)?)).await?;
                    Ok(encoded(reply, |_answer| unary!(@last _answer $($tag $last)?)))
                })*
                _ => Err(Status::unimplemented("there is no such call here")),
            }
        }
    };
}

// Behind a call is the last field of its answer, when that may be large: it is sent without a copy.
unary! {
    "Get" get (2 value)
    "Set" set
    "Echo" echo
    "Remove" remove
    "Append" append
    "Increment" increment
    "CompareExchange" compare_exchange
    "GetMulti" get_multi
    "SetMulti" set_multi
    "RemoveMulti" remove_multi
    "AppendMulti" append_multi
    "CompareExchangeMulti" compare_exchange_multi
    "Rekey" rekey
    "PopFirst" pop_first (3 value)
    "PushLast" push_last
    "Inspect" inspect
    "Count" count
    "GetFileSize" get_file_size
    "Clear" clear
    "Rebuild" rebuild
    "ShouldBeRebuilt" should_be_rebuilt
    "Synchronize" synchronize
    "Search" search
    "ChangeMaster" change_master
    "SetWithTtl" set_with_ttl
    "SetMultiWithTtl" set_multi_with_ttl
    "CompareExchangeWithTtl" compare_exchange_with_ttl
    "CompareExchangeMultiWithTtl" compare_exchange_multi_with_ttl
    "Touch" touch
    "Lifetime" lifetime
    "Push" push
    "Pop" pop (3 value)
}

/// An answer as it is sent, with what it has claimed. `last` takes out of it what is sent last.
fn encoded<T: Message>(
    (mut answer, claim): (T, Claim),
    last: impl FnOnce(&mut T) -> Option<(u32, Bytes)>,
) -> CallReply {
    let (tag, value) = last(&mut answer).unwrap_or_default();
    CallReply::Message(with_last(&answer, tag, value), claim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::METHODS;

    #[test]
    fn all_calls_are_here_but_those_with_streams() {
        let others: Vec<&str> = METHODS
            .into_iter()
            .filter(|name| !has(Method::named(name)))
            .collect();
        assert_eq!(others, ["Stream", "Iterate", "Replicate", "Watch", "other"]);
    }
}
