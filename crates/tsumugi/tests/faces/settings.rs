//! What an application in Ruby has of the one in Rust that it is mounted in, but for databases: certificates, limits, the environment, what a test
//! looks at, and the processes beside it. Every test asks both faces.

use http::Method;
use tsumugi::prelude::*;
use tsumugi::{Limits, Mail, RubyLimits, Settings, StubOutcome, StubReply, trial};
use tsumugi_testkit::redis::RedisServer;
use tsumugi_testkit::{server_certificate, tls_server_that_answers};

const RUBY: &str = r##"
get "/call" do
  text http.get(query[:url].to_s).text
rescue HTTP::Error => e
  text e.message
end
get "/mail" do
  mail to: "ann@example.org", subject: "ruby", text: "come"
rescue Mail::Error => e
  text e.message
end
get("/about") { text "#{ENV['PLACE']} #{Tsumugi.data_dir} #{Tsumugi.test?}" }
get "/lock" do
  Tsumugi.lock("faces", wait: 0) { text "free" }
rescue Tsumugi::Lock::Unavailable
  text "taken"
end
"##;

#[derive(Deserialize)]
struct Target {
    url: String,
}

async fn call(worker: Worker, Query(target): Query<Target>) -> Result<String> {
    match worker.http().get(&target.url).await {
        Ok(reply) => Ok(reply.text()?.to_owned()),
        Err(error) => Ok(error.to_string()),
    }
}

async fn mail(worker: Worker) -> String {
    let mail = Mail::new().to("ann@example.org").subject("rust");
    let sent = worker.mail(mail.text("come")).await;
    sent.unwrap_or_else(|error| error.to_string())
}

async fn about(worker: Worker) -> Result<String> {
    let (place, data) = (worker.env("PLACE")?, worker.data_dir().display());
    Ok(format!("{place} {data} {}", worker.is_test()))
}

async fn lock(worker: Worker) -> String {
    let (cluster, wait) = (worker.cluster(), LockWait::UpTo(Duration::ZERO));
    let ttl = Duration::from_secs(30);
    match cluster.lock("faces", ttl, wait, async |_| ()).await {
        Ok(()) => "free".to_owned(),
        Err(tsumugi::cluster::Error::Unavailable { .. }) => "taken".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Processes that find each other by this database.
struct ClusterMember {
    db: Db,
}

impl Plugin for ClusterMember {
    async fn start(worker: &Worker) -> Result<ClusterMember> {
        let url = format!("sqlite:{}/cluster.db", worker.data_dir().display());
        let db = Db::connect(&url, Options::default()).await?;
        worker.use_cluster(Cluster::over(&db)?);
        Ok(ClusterMember { db })
    }
}

fn routes<S: Plugin>(ruby: Ruby) -> Router<S> {
    let rust = Router::new()
        .route("/call", get(call))
        .route("/mail", get(mail))
        .route("/about", get(about))
        .route("/lock", get(lock));
    Router::new().nest("/rust", rust).mount("/ruby", ruby)
}

/// Runs a test of an application in both languages; `change` sets what is particular to the part in Ruby.
fn run_in_both<S: Plugin>(
    settings: Settings,
    change: impl Fn(Ruby) -> Ruby,
    test: impl AsyncFn(&trial::Client<S>),
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.rb");
    std::fs::write(&file, RUBY).unwrap();
    let routes = || routes(change(Ruby::new(&file)));
    trial::run_with(settings, routes, test);
}

/// In a test that answers calls and collects mails.
fn stubbed() -> Settings {
    Settings {
        mode: Mode::Development,
        calls: tsumugi::CallMode::Stubbed,
        ..Settings::default()
    }
}

#[test]
fn certificates_of_the_settings_are_trusted_by_calls_of_both_faces() {
    let folder = tempfile::tempdir().unwrap();
    let files = server_certificate(folder.path());
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret";
    let address = tls_server_that_answers(&files.server, &files.key, answer);
    let port = address.port();
    for (certificates, expected) in [
        (Some(files.authority), "secret"),
        (None, "invalid peer certificate"),
    ] {
        let settings = Settings {
            certificates,
            ..Settings::default()
        };
        run_in_both::<()>(
            settings,
            |ruby| ruby,
            async |client| {
                for face in ["rust", "ruby"] {
                    let path = format!("/{face}/call?url=https://localhost:{port}/");
                    let reply = client.get(&path).await;
                    assert!(reply.text().contains(expected), "{face}: {}", reply.text());
                }
            },
        );
    }
}

#[test]
fn mails_of_both_faces_are_in_the_list_of_the_test_in_their_order() {
    run_in_both::<()>(
        stubbed(),
        |ruby| ruby,
        async |client| {
            for face in ["ruby", "rust", "ruby"] {
                let reply = client.get(&format!("/{face}/mail")).await;
                assert!(reply.status.is_success(), "{face}: {}", reply.text());
            }
            let mails = client.mails();
            let subjects = mails.iter().map(|mail| mail.subject.as_str());
            assert_eq!(subjects.collect::<Vec<_>>(), ["ruby", "rust", "ruby"]);
        },
    );
}

#[test]
fn stubs_of_the_test_answer_the_calls_of_both_faces() {
    run_in_both::<()>(
        stubbed(),
        |ruby| ruby,
        async |client| {
            let url = "https://api.example.org/:name";
            client.stub_http(Method::GET, url, |call| {
                let (_, name) = &call.captures[0];
                StubOutcome::Reply(StubReply::new("text/plain", format!("stub of {name}")))
            });
            for face in ["rust", "ruby"] {
                let path = format!("/{face}/call?url=https://api.example.org/{face}");
                assert_eq!(client.get(&path).await.text(), format!("stub of {face}"));
            }
            let calls = client.http_calls();
            let urls = calls.iter().map(|call| call.url.as_str());
            let expected = ["rust", "ruby"].map(|face| format!("https://api.example.org/{face}"));
            assert_eq!(urls.collect::<Vec<_>>(), expected);
        },
    );
}

#[test]
fn limits_that_both_faces_have_are_those_of_the_settings_unless_ruby_has_its_own() {
    let mut limits = Limits::default();
    limits.client.response_bytes_max = 3;
    limits.mail.recipients_max = 0;
    let settings = Settings {
        limits,
        ..stubbed()
    };
    for (own, in_ruby) in [(None, true), (Some(RubyLimits::default()), false)] {
        let change = |ruby: Ruby| match &own {
            Some(limits) => ruby.limits(limits.clone()),
            None => ruby,
        };
        run_in_both::<()>(settings.clone(), change, async |client| {
            client.stub_http(Method::GET, "https://api.example.org/", |_| {
                StubOutcome::Reply(StubReply::new("text/plain", "four"))
            });
            for (face, is_limited) in [("rust", true), ("ruby", in_ruby)] {
                let path = format!("/{face}/call?url=https://api.example.org/");
                let answer = client.get(&path).await;
                assert_eq!(answer.text() != "four", is_limited, "{}", answer.text());
                let answer = client.get(&format!("/{face}/mail")).await;
                let is_refused = answer.text().contains("recipients_max");
                assert_eq!(is_refused, is_limited, "{face}: {}", answer.text());
            }
        });
    }
}

#[test]
fn environment_data_folder_and_test_mode_are_the_same_in_both_faces() {
    let place = ("PLACE".to_owned(), "here".to_owned());
    let settings = Settings {
        environment: [place].into(),
        ..stubbed()
    };
    run_in_both::<()>(
        settings,
        |ruby| ruby,
        async |client| {
            let rust = client.get("/rust/about").await;
            assert!(rust.text().starts_with("here /"), "{}", rust.text());
            assert!(rust.text().ends_with(" true"), "{}", rust.text());
            assert_eq!(client.get("/ruby/about").await.text(), rust.text());
        },
    );
}

#[test]
fn lock_of_the_cluster_is_one_for_both_faces() {
    run_in_both::<ClusterMember>(
        stubbed(),
        |ruby| ruby,
        async |client| {
            for face in ["rust", "ruby"] {
                assert_eq!(client.get(&format!("/{face}/lock")).await.text(), "free");
            }
            let other = Cluster::over(&client.state().db).unwrap();
            let ttl = Duration::from_secs(30);
            let held = other.lock("faces", ttl, LockWait::Forever, async |_| {
                for face in ["rust", "ruby"] {
                    let reply = client.get(&format!("/{face}/lock")).await;
                    assert_eq!(reply.text(), "taken", "{face}");
                }
            });
            held.await.unwrap();
        },
    );
}

/// One whose processes find each other by Redis, where a cluster has channels alone.
struct ChannelMember;

impl Plugin for ChannelMember {
    async fn start(worker: &Worker) -> Result<ChannelMember> {
        let kv = Kv::open(worker, &RedisServer::shared().url()).await?;
        worker.use_cluster(kv.cluster()?);
        let url = format!("sqlite:{}/board.db", worker.data_dir().display());
        worker.share("board", &Db::connect(&url, Options::default()).await?);
        Ok(ChannelMember)
    }
}

const IN_A_CLUSTER_OF_CHANNELS: &str = r##"
REFUSALS = [-> { every(60, cluster: :one) { nil } }, -> { channel("news", cluster: true, keep: 10) }].map do |need|
  need.call
rescue Tsumugi::Lock::Unsupported => e
  e.message
end
get("/refusals") { REFUSALS.join("\n") }
get("/lock") { Tsumugi.lock("own", wait: 0) { "free" } }
cluster DB.shared(:board) if ENV["CLUSTER"] == "own"
every(60, cluster: :one) { nil } if ENV["CLUSTER"] == "own"
"##;

#[test]
fn ruby_names_a_cluster_of_its_own_in_place_of_one_without_locks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.rb");
    std::fs::write(&file, IN_A_CLUSTER_OF_CHANNELS).unwrap();
    for (cluster, expected) in [("own", "free"), ("inherited", "`cluster db` above")] {
        let settings = Settings {
            environment: [("CLUSTER".to_owned(), cluster.to_owned())].into(),
            ..stubbed()
        };
        let routes = || Router::<ChannelMember>::new().mount("/", Ruby::new(&file));
        trial::run_with(settings, routes, async |client| {
            let refusals = client.get("/refusals").await;
            let lines: Vec<&str> = refusals.text().lines().collect();
            assert_eq!(lines.len(), 2, "{lines:?}");
            for line in lines {
                assert!(line.contains("`cluster db` above"), "{line}");
            }
            let lock = client.get("/lock").await;
            assert!(lock.text().contains(expected), "{}", lock.text());
        });
    }
}
