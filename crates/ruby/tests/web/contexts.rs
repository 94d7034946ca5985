//! How long a handler's context has its request: until the request is over, wherever the context is kept.

use crate::rig::Rig;

const APP: &str = r##"
plugin(:kept) { [] }
get("/keep") { kept << self; "kept\n" }
get "/late" do
  kept.pop.request.path
rescue => e
  "#{e.class}: #{e.message}\n"
end
get("/stream") { stream("text/plain") { |out| sleep 0.01; out << query[:q] } }
get("/branch") { parallel(-> { sleep 0.01; query[:q] }, -> { request.path }).join(" ") }
"##;

fn check(paths: &[&str], expected: &str) {
    let rig = Rig::serve(APP);
    let answers: Vec<String> = paths.iter().map(|path| rig.get(path).text()).collect();
    assert_eq!(answers.last().unwrap(), expected, "{paths:?}");
}

#[test]
fn context_that_outlives_its_request_says_so() {
    let message =
        "RuntimeError: the request is over: read what is needed of it before it is answered\n";
    check(&["/keep", "/late"], message);
}

#[test]
fn block_of_a_stream_still_has_the_request() {
    check(&["/stream?q=here"], "here");
}

#[test]
fn branches_of_a_handler_have_the_request() {
    check(&["/branch?q=here"], "here /branch");
}
