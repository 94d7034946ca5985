//! Every walk of the product over Ruby's containers, while Ruby changes them at random and the collector runs, asked for over a
//! socket: the process lives, and no answer holds what was collected. Each walk is made from a seed, which is printed when it
//! fails; `TSUMUGI_WALK_SEED=N` repeats one, `TSUMUGI_WALKS=N` runs so many (300 usually).

#[path = "../rig/mod.rs"]
mod rig;

mod full;

use std::fs;

use rig::Rig;

const WALKS: &str = include_str!("../../../mruby/tests/walks/walks.rb");
const APP: &str = include_str!("app.rb");
const PAGE: &str =
    "<%= c %><% w.spoil %><%= o %><%== c.inspect %><% Array(c).each { %><%= w.spoiler %><% } %>";

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

/// Asks for walks of so many seeds; answers how many had an answer of their own.
fn check(path: &str, count: u64, expected: impl Fn(u16, &str) -> bool) -> u64 {
    let rig = Rig::serve(&format!("{WALKS}\n{APP}"));
    fs::create_dir_all(rig.path().join("views")).unwrap();
    fs::write(rig.path().join("views/walk.erb"), PAGE).unwrap();
    let seeds = match number("TSUMUGI_WALK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..number("TSUMUGI_WALKS").unwrap_or(count) + 1,
    };
    let mut answered = 0;
    for seed in seeds {
        let answer = rig.get(&format!("{path}/{seed}"));
        let text = answer.text();
        assert!(
            expected(answer.status, &text),
            "TSUMUGI_WALK_SEED={seed}: {} {text}",
            answer.status
        );
        answered += u64::from(answer.status == 200);
    }
    answered
}

#[test]
fn native_walk_over_a_container_that_changes_reaches_nothing_stale() {
    check("/walk", 300, |status, _| status == 200);
}

#[test]
fn result_that_changes_while_it_is_written_shows_nothing_stale() {
    // Some raise, as a sum of an Array with itself does.
    let answered = check("/answer", 150, |_, text| !text.contains("churned"));
    assert!(answered > 0, "no container was written");
}
