//! Texts and names of channels and locks, as Ruby gives them. Without a database: what processes do together is tested elsewhere.

use crate::rig::Rig;

fn check(call: &str, expected: &str) {
    let app = format!("get('/') {{ begin; {call}.inspect; rescue => e; e.message; end }}");
    assert_eq!(Rig::serve(&app).get("/").text(), expected, "{call}");
}

#[test]
fn text_that_is_no_utf8_is_refused_rather_than_changed() {
    check(
        r#"channel("a").publish("\xff")"#,
        "the message must be UTF-8",
    );
    check(r#"channel("\xff")"#, "the name of a channel must be UTF-8");
    check(
        r#"Tsumugi.lock("a\xffb") { 1 }"#,
        "the name of a lock must be UTF-8",
    );
    check(r#"Tsumugi.lock("あ") { 1 }"#, "1");
    check(
        "channel('a').publish(1)",
        "the message must be a String, not Integer",
    );
}
