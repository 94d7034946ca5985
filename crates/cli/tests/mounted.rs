//! A Ruby application as a part of one in Rust: beside native routes, and below a prefix. In the same process, without a socket.

use std::path::Path as File;

use tsumugi::app::Settings;
use tsumugi::prelude::*;
use tsumugi::trial;

const APP: &str = r##"
plugin(:greeting) { "hello" }
get("/") { "ruby at home\n" }
get("/both") { "ruby\n" }
post("/both") { "ruby takes posts\n" }
get("/greet/:name") { |name| sleep 0.01; "#{greeting} #{name} #{query[:x]}\n" }
get("/data") { Tsumugi.data_dir + "\n" }
"##;

fn write(folder: &File) -> std::path::PathBuf {
    let file = folder.join("app.rb");
    std::fs::write(&file, APP).unwrap();
    file
}

async fn native() -> &'static str {
    "rust\n"
}

#[test]
fn ruby_answers_what_no_native_route_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    let routes = move || {
        Router::<()>::new()
            .route("/both", get(native))
            .mount("/", Ruby::new(&file))
    };
    trial::run(routes, async |client| {
        assert_eq!(client.get("/both").await.text(), "rust\n");
        assert_eq!(client.post("/both").await.text(), "ruby takes posts\n");
        assert_eq!(client.get("/").await.text(), "ruby at home\n");
        assert_eq!(client.get("/greet/Ada?x=7").await.text(), "hello Ada 7\n");
        assert_eq!(client.get("/nowhere").await.status, 404);
    });
}

#[test]
fn ruby_below_a_prefix_sees_its_own_paths_and_the_layers_stand_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path());
    async fn guard(headers: Headers) -> Result<()> {
        match headers.text("authorization") {
            Some(_) => Ok(()),
            None => Err(Error::unauthorized("who are you")),
        }
    }
    let routes = move || {
        Router::<()>::new()
            .before(guard)
            .mount("/ruby", Ruby::new(&file))
    };
    let settings = Settings {
        data_dir: folder.path().to_owned(),
        ..Settings::default()
    };
    let data = format!("{}\n", folder.path().display());
    trial::run_with(settings, routes, async |client| {
        let ask = async |path: &str| client.get(path).header("authorization", "me").await;
        assert_eq!(ask("/ruby").await.text(), "ruby at home\n");
        assert_eq!(ask("/ruby/greet/Ada").await.text(), "hello Ada \n");
        assert_eq!(ask("/ruby/data").await.text(), data);
        assert_eq!(ask("/rubyist").await.status, 404);
        assert_eq!(client.get("/ruby/greet/Ada").await.status, 401);
    });
}
