//! Targets of the key-value service: where the messages are in what a peer sends, and what is read in those of our own service.

use tsumugi_rpc::cuts::{lengths, messages, own_request, watch_answer};

/// Most bytes of a message that the client takes here.
const MESSAGE_BYTES_MAX: usize = 4096;

/// A call's bytes: wherever they are cut, both sides find the same messages, and none beyond the limit.
pub fn rpc_frames(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else {
        return;
    };
    let pieces = || bytes.chunks(usize::from(*size).max(1));
    let known = lengths([bytes]);
    assert_eq!(known, lengths(pieces()));
    let (whole, ended) = messages([bytes], MESSAGE_BYTES_MAX);
    let (cut, ended_cut) = messages(pieces(), MESSAGE_BYTES_MAX);
    assert_eq!(whole, cut);
    assert_eq!(ended.is_ok(), ended_cut.is_ok());
    assert!(known.len() >= whole.len());
    for (message, length) in whole.iter().zip(known) {
        assert_eq!(message.len(), length);
        assert!(length <= MESSAGE_BYTES_MAX);
    }
}

/// A message of our own service, after a byte that says of which call: what is read in it is no more than what it holds, and is read again in
/// what is written of it.
pub fn rpc_own(bytes: &[u8]) {
    let Some((call, message)) = bytes.split_first() else {
        return;
    };
    if let Some(written) = own_request(*call, message) {
        assert_eq!(own_request(*call, &written), Some(written.clone()));
    }
    if let Ok(Some(change)) = watch_answer(message)
        && let Some(key) = change.key()
    {
        assert!(key.len() <= message.len());
    }
}
