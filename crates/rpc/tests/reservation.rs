//! Messages that are announced and do not come take no memory of the process. One test, beside which nothing runs: what the process has is
//! read. What an announced length is refused for is in tests/service/hostile.rs.

#[path = "service/raw_client.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod raw_client;
#[path = "service/rig.rs"]
mod rig;

use raw_client::RawClient;
use rig::{Rig, on_loop};

/// Calls that are begun.
const CALLS: usize = 500;
/// What each of them announces.
const ANNOUNCED_BYTES: u32 = 64 << 20;
/// What all of them together may take: a stream and its buffers, client and server.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Bytes of memory that this process has.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

#[test]
fn announced_messages_that_do_not_come_take_no_memory() {
    let rig = Rig::with(|settings, _, _| {
        // The budget would refuse all but a few.
        settings.limits.inbound_bytes_max = usize::MAX;
    });
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        assert_eq!(bare.call("Echo", &[vec![]]).await.code, 0);
        let before = resident_bytes();
        let mut begun = Vec::new();
        for _ in 0..CALLS {
            let (response, mut body) = bare.begin("/tkrzw_rpc.DBMService/Set").await.unwrap();
            let mut prefix = vec![0];
            prefix.extend(ANNOUNCED_BYTES.to_be_bytes());
            for piece in [prefix, vec![7; 1_000], vec![7; 1_000]] {
                body.send_data(piece.into(), false).unwrap();
            }
            begun.push((response, body));
        }
        // Answered after all that was sent before it.
        assert_eq!(bare.call("Echo", &[vec![]]).await.code, 0);
        let taken = resident_bytes().saturating_sub(before);
        assert!(
            taken <= MEMORY_BYTES_MAX,
            "{CALLS} calls took {taken} bytes"
        );
        drop(begun);
        assert_eq!(bare.call("Echo", &[vec![]]).await.code, 0);
    });
}
