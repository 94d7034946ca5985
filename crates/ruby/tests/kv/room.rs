//! Records of one call past `kv_multi_bytes_max`: refused before so much is copied out of the store, or out of the VM.

use crate::{EMBEDDED, check_on};

#[test]
fn records_of_one_call_past_kv_multi_bytes_max_are_refused_by_its_name() {
    let refused = "KV::LimitExceeded kv_multi_bytes_max";
    // A String that the VM holds once, however often it is said.
    let setup = "LONG = 'x' * (16 << 20)
         kv.set 'a', LONG
         def limit(&block) = exception(&block).then { |e| \"#{e.class} #{e.message[/kv_multi_bytes_max/]}\" }";
    for store in EMBEDDED {
        check_on(
            store,
            "room",
            setup,
            &[
                ("limit { kv.get_multi(*['a'] * 17) }", refused),
                ("limit { kv.get_multi(['a'] * 17) }", refused),
                (
                    "limit { kv.set_multi((0...17).to_h { |n| [n.to_s, LONG] }) }",
                    refused,
                ),
                ("kv.get_multi('0', '1').size", "0"),
                (
                    "limit { kv.cas_multi({}, (0...17).to_h { |n| [n.to_s, LONG] }) }",
                    refused,
                ),
                ("kv.get_multi('a').size", "1"),
            ],
        );
    }
}
