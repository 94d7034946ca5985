//! What applications in Rust answer: routes, extractors, responses, middleware, errors, streams, plugins; each subject in a file beside this.
//! Every test runs an application on a worker of its own, through the client of the same process.

mod arguments;
mod layers;
mod lifetimes;
mod responses;

use serde::{Deserialize, Serialize};
use tsumugi::{Plugin, Router, trial};

/// Sends each request and compares status and text: `GET /path` or `POST /path body`, of JSON.
fn check<S: Plugin>(routes: impl Fn() -> Router<S>, cases: &[(&str, &str)]) {
    trial::run(routes, async |client| {
        for (request, expected) in cases {
            let mut words = request.splitn(3, ' ');
            let method = words.next().unwrap().parse().unwrap();
            let call = client.request(method, words.next().unwrap());
            let reply = match words.next() {
                Some(body) => call.body("application/json", body.to_owned()).await,
                None => call.await,
            };
            let answer = format!("{} {}", reply.status.as_u16(), reply.text().trim_end());
            assert_eq!(answer.trim_end(), *expected, "{request}");
        }
    });
}

#[derive(Deserialize, Serialize)]
struct Point {
    x: i64,
    y: i64,
}
