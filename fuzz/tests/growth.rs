//! Every parser that is fuzzed, at sizes apart: time grows with the bytes, not with their square. Its targets check what they parse, in
//! proportion too.

use tsumugi_fuzz::TARGETS;
use tsumugi_testkit::growth::excess;

#[test]
fn time_to_parse_grows_with_the_bytes() {
    let found: Vec<String> = TARGETS
        .iter()
        .flat_map(|(name, target)| excess(name, target))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
