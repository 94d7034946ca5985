//! `after_response`: what a handler leaves for later, which nobody waits for.

use tsumugi_testkit::pause;

use crate::rig::Rig;

#[test]
fn block_is_run_after_the_response_and_not_after_an_error() {
    let rig = Rig::serve(
        "LINES = []
         helpers { def note(text) = LINES << text }
         get('/') { after_response { sleep 0.02; note 'a' }; after_response { note 'b' }; LINES.join }
         get('/raises') { after_response { note 'c' }; raise 'no' }
         get('/wrong') { after_response { raise 'in it' }; after_response { note 'd' }; 'fine' }
         get('/many') { 17.times { after_response { 1 } } }
         get('/lines') { LINES.join }",
    );
    assert_eq!(rig.get("/").text(), "");
    while rig.get("/lines").text() != "ab" {
        pause();
    }
    assert_eq!(rig.get("/raises").status, 500);
    assert_eq!(rig.get("/wrong").text(), "fine");
    while rig.get("/lines").text() != "abd" {
        pause();
    }
    assert!(rig.get("/many").text().contains("AFTER_RESPONSE_MAX"));
}
