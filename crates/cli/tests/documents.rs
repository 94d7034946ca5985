//! The Ruby of the README and of the documentation loads: every block is an application of its own. Pages that build one are followed step by step, and
//! the pages of the reference say what the program says.

#[path = "documents/reference.rs"]
mod reference;
#[allow(dead_code)] // this uses a part of it
#[path = "serving/rig.rs"]
mod rig;
#[path = "documents/walk.rs"]
mod walk;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Ruby blocks of a document, each with the line it begins at.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (i, line) in text.lines().enumerate() {
        // Those of a list are as far to the right as its text.
        let line = line
            .strip_prefix("   ")
            .filter(|line| !line.is_empty() && text.contains("\n   ```ruby\n"))
            .unwrap_or(line);
        match &mut open {
            None if line == "```ruby" => open = Some((i + 2, String::new())),
            None => {}
            Some(_) if line == "```" => found.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
        }
    }
    found
}

fn check(document: &str, blocks_min: usize) {
    check_with(document, blocks_min, "");
}

/// `database` is what the applications find as `DATABASE_URL`.
fn check_with(document: &str, blocks_min: usize, database: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let blocks = blocks(&text);
    assert!(
        blocks.len() >= blocks_min,
        "{document} has {} blocks",
        blocks.len()
    );
    for (line, block) in blocks {
        let folder = tempfile::tempdir().unwrap();
        // Folders that the documents speak of.
        for beside in ["public", "assets", "views"] {
            std::fs::create_dir(folder.path().join(beside)).unwrap();
        }
        let app: PathBuf = folder.path().join("app.rb");
        std::fs::write(&app, block).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["check", "app.rb"])
            .env(
                "TSUMUGI_SECRET",
                "a secret of the documents' test of 32 bytes",
            )
            .env("DATABASE_URL", database)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{document}:{line} does not load: {said}"
        );
    }
}

/// What the lines become, piped into the console of the block of a document that has `word`.
fn converse(document: &str, word: &str, database: &str, lines: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let blocks = blocks(&text);
    let block = blocks.iter().find(|(_, block)| block.contains(word));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.rb"), &block.unwrap().1).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .arg("console")
        .env("DATABASE_URL", database)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Transfers of the document's sample: what has no account to go to or no amount leaves all balances as they were.
#[track_caller]
fn check_transfer(document: &str, database: &str) {
    let lines = r#"
        db.execute "insert into accounts (id, balance) values (1, 10), (2, 0)"
        transfer = ->(to, amount) { post("/transfer", json: { from: 1, to: to, amount: amount }).status }
        [transfer.(2, 7), transfer.(2, 7), transfer.(2, -1), transfer.(2, 0), transfer.(3, 1)]
        db.query("select balance from accounts order by id").map { |row| row[:balance] }
    "#;
    let said = converse(document, r#"post "/transfer""#, database, lines);
    assert!(
        said.contains("=> [204, 409, 422, 422, 404]\n=> [3, 7]"),
        "{document}: {said}"
    );
}

#[test]
fn a_transfer_without_amount_or_account_changes_nothing() {
    check_transfer("docs/guide.md", "");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_transfer("docs/databases.md", &database.url());
}

#[test]
fn the_readmes_application_loads() {
    check("README.md", 1);
    check("README.ja.md", 1);
}

/// What a chat has to do, for `tsumugi test`.
const CHAT_TEST: &str = r#"
test "who is not signed in gets no WebSocket" do
  assert_equal nil, websocket("/chat/a")
  assert_status 403
end
test "what one writes all in the room read" do
  post "/login", json: { name: "Ann" }
  ann = websocket "/chat/a"
  other = websocket "/chat/b"
  bo = websocket "/chat/a"
  # A message that comes back says that its writer is there.
  bo << "hello"
  assert_equal "Ann: hello", bo.receive(within: 60.0)
  ann << "hi"
  # Whether Ann was there for the first depends on who was faster.
  texts = [ann.receive(within: 60.0)]
  texts << ann.receive(within: 60.0) if texts[0] == "Ann: hello"
  assert_equal "Ann: hi", texts.last
  assert_equal "Ann: hi", bo.receive(within: 60.0)
  other.hang_up
  bo.close
  assert_equal "Ann has left", ann.receive(within: 60.0)
end
test "echo and clock" do
  echo = websocket "/echo", protocols: ["v1"]
  assert_equal "v1", response["sec-websocket-protocol"]
  echo << "a"
  assert_equal ["a", false], [echo.receive(within: 60.0), echo.binary?]
  echo.send_bytes "\xff"
  assert_equal ["\xff", true], [echo.receive(within: 60.0), echo.binary?]
  clock = websocket "/clock"
  assert_match "at", clock.receive(within: 60.0)
  clock << "stop"
  nil while clock.receive(within: 60.0)
  assert_equal [4000, "that was enough"], [clock.close_code, clock.close_reason]
end
"#;

/// What a request for a price has to become, for `tsumugi test`.
const PRICE_TEST: &str = r#"
test "a price has its trace" do
  stub_http :get, "https://rates.example.org/eur", json: { usd: 2 }
  price = get("/prices/3").json
  assert_status 200
  assert_equal [300, 600, 32], [price["cents"], price["usd"], price["trace"].size]
end
"#;

/// Runs tests on the block of a document that has `word`.
#[track_caller]
fn check_tests(document: &str, word: &str, tests: &str, passed: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    let blocks = blocks(&text);
    let app = blocks.iter().find(|(_, block)| block.contains(word));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("test")).unwrap();
    std::fs::write(folder.path().join("app.rb"), &app.unwrap().1).unwrap();
    std::fs::write(folder.path().join("test/app_test.rb"), tests).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .arg("test")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains(passed),
        "{document}: {said}"
    );
}

#[test]
fn chat_of_the_guide_works_as_its_test_says() {
    check_tests("docs/guide.md", "socket.forward", CHAT_TEST, "3 passed");
}

#[test]
fn every_application_of_the_guide_loads() {
    check("docs/guide.md", 6);
    // Commands that only look need no cluster.
    check("docs/stores.md", 1);
}

#[test]
fn every_application_of_the_page_on_databases_loads() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/databases.md", 8, &database.url());
}

#[test]
fn every_application_of_the_page_on_clusters_loads_on_both_databases() {
    check_with("docs/cluster.md", 4, "sqlite::memory:");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/cluster.md", 4, &database.url());
}

#[test]
fn every_application_of_the_page_on_jobs_loads() {
    check_with("docs/jobs.md", 4, "sqlite::memory:");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/jobs.md", 4, &database.url());
}

#[test]
fn application_of_the_page_on_scale_loads() {
    check_with("docs/scale.md", 1, "sqlite::memory:");
}

#[test]
fn application_of_the_tutorial_becomes_the_example_step_by_step() {
    let walk = walk::Walk::follow("docs/tutorial.md");
    assert!(walk.runs >= 8, "{}", walk.runs);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shortener");
    for entry in example.join("views").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let own = walk.path("views").join(path.file_name().unwrap());
        let [theirs, ours] = [&path, &own].map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!(theirs, ours, "{}", path.display());
    }
    let program = Path::new(env!("CARGO_BIN_EXE_tsumugi"));
    let output = walk::command(program, walk.folder.path())
        .args(["test", "app.rb"])
        .arg(example.join("test/shortener_test.rb"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains(" passed, 0 failed"),
        "{said}"
    );
}

#[test]
fn first_application_of_the_page_on_installing_is_made_and_tested() {
    assert!(walk::Walk::follow("docs/install.md").runs >= 1);
    check("docs/install.md", 1);
}

#[test]
fn every_application_of_the_how_tos_and_explanations_loads() {
    for (page, blocks_min) in [
        ("docs/how-to/backups.md", 1),
        ("docs/how-to/from-sinatra.md", 1),
        ("docs/how-to/from-express.md", 1),
        ("docs/explanation/fibres.md", 1),
        ("docs/explanation/cancellation.md", 1),
    ] {
        check(page, blocks_min);
    }
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/explanation/pipelining.md", 1, &database.url());
}

/// The first sample of a page in a language.
fn sample(document: &str, language: &str) -> String {
    let fence = format!("\n```{language}\n");
    let (_, rest) = document.split_once(&*fence).unwrap();
    rest.split("\n```").next().unwrap().to_owned()
}

#[test]
fn nginx_of_its_page_says_who_the_client_is() {
    let configuration = sample(&document("docs/how-to/nginx.md"), "nginx");
    let app = "get(\"/\") { \"#{request.ip} #{request.scheme} #{request.host}\" }";
    let folder = rig::folder(&[("app.rb", app.as_bytes())]);
    let mut served = rig::serve(
        folder,
        &["--listen", "unix:app.sock", "--trust-proxy", "unix"],
    );
    served.word_after("listening on unix:");
    let socket = served.path("app.sock").display().to_string();
    let nginx = tsumugi_testkit::FrontProxy::nginx(1, |own| {
        let configuration = configuration.replace("/run/app/app.sock", &socket);
        configuration.replace("listen 80;", &format!("listen {};", own[0]))
    });
    let forged = "x-forwarded-for: 198.51.100.7\r\nx-forwarded-proto: https\r\n";
    let found = rig::ask(&nginx.address(0), "GET", "/", forged).text();
    assert_eq!(found, "127.0.0.1 http x");
}

/// What is said to be done after a backup was made: both copies are opened, and have what the originals had.
#[test]
fn backup_of_its_page_can_be_opened() {
    let page = document("docs/how-to/backups.md");
    let timer = sample(&page, "ruby");
    let timer = timer
        .replace(
            "every \"15 3 * * *\", zone: \"UTC\", name: \"backup\" do",
            "post \"/backup\" do",
        )
        .replace("log.info \"backup\", day: day", "status 204");
    let app = format!(
        "{timer}\ndb.create(:notes) {{ increments :id; string :text, 10 }}\npost(\"/notes\") {{ kv[\"a\"] = \"1\"; db[:notes].insert(text: \"x\"); status 204 }}"
    );
    let folder = rig::folder(&[
        ("app.rb", app.as_bytes()),
        ("backups/.keep", b""),
        ("data/.keep", b""),
    ]);
    let console = |data: &str, lines: &str| {
        let mut child = walk::command(Path::new(env!("CARGO_BIN_EXE_tsumugi")), folder.path())
            .args(["console", "--data", data])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = console(
        "data",
        "[post(\"/notes\").status, post(\"/backup\").status]",
    );
    assert!(said.contains("=> [204, 204]"), "{said}");
    let backups = folder.path().join("backups");
    let restored = folder.path().join("restored");
    std::fs::create_dir(&restored).unwrap();
    for entry in backups.read_dir().unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("app-") {
            std::fs::copy(entry.path(), restored.join("app.db")).unwrap();
        } else if name.starts_with("store-") {
            std::fs::rename(entry.path(), restored.join("store")).unwrap();
        }
    }
    let said = console("restored", "[db[:notes].count, kv[\"a\"]]");
    assert!(said.contains("=> [1, \"1\"]"), "{said}");
}

#[test]
fn every_application_of_the_page_on_traces_loads() {
    check("docs/tracing.md", 1);
}

#[test]
fn price_of_the_page_on_traces_is_answered() {
    for page in ["docs/tracing.md", "docs/ja/tracing.md"] {
        check_tests(page, "/prices/:id", PRICE_TEST, "1 passed");
    }
}

#[test]
fn every_application_of_the_page_on_redis_loads() {
    check("docs/redis.md", 2);
}

#[test]
fn every_application_of_the_page_on_tables_loads_on_both_databases() {
    check_with("docs/schema.md", 3, "sqlite::memory:");
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check_with("docs/schema.md", 3, &database.url());
}

/// What a command prints, wherever it prints it.
fn printed(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args(words)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

fn document(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

#[test]
fn the_readmes_name_every_command() {
    let help = printed(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    for name in ["README.md", "README.ja.md"] {
        let text = document(name);
        let line = text.lines().find(|line| line.contains("`tsumugi --help`"));
        let line = line.unwrap();
        for command in &commands {
            assert!(
                line.contains(&format!("`{command}`")),
                "{name} lacks {command}: {line}"
            );
        }
    }
}

/// The names of limits in backticks.
fn limits_named(text: &str) -> impl Iterator<Item = &str> {
    let is_limit = |name: &&str| {
        let is_name = name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        let units = ["_max", "_MAX", "_ms", "_us", "_max_bytes"];
        is_name && units.iter().any(|unit| name.ends_with(unit))
    };
    text.split('`').skip(1).step_by(2).filter(is_limit)
}

/// Paragraphs and rows of tables.
fn passages(text: &str) -> impl Iterator<Item = String> {
    text.split("\n\n")
        .flat_map(|paragraph| match paragraph.starts_with('|') {
            true => paragraph.lines().map(str::to_owned).collect(),
            false => vec![paragraph.to_owned()],
        })
}

#[test]
fn limits_that_the_documents_name_can_be_set_or_say_that_they_cannot() {
    let known = [&["serve", "--limit", "x=1"][..], &["kv", "--limit", "x=1"]]
        .map(printed)
        .concat();
    let known: Vec<&str> = known
        .split(|c: char| !c.is_ascii_lowercase() && c != '_')
        .collect();
    assert!(
        known.contains(&"vm_bytes_max") && known.contains(&"awake_us"),
        "{known:?}"
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folders = ["", "how-to", "explanation"].map(|name| root.join(name));
    let entries = folders.iter().flat_map(|folder| folder.read_dir().unwrap());
    let mut named = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        // The one has the words of the sources, the other the fields of a report.
        let is_other = path.ends_with("files.md") || path.ends_with("bench.md");
        if is_other || path.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for passage in passages(&text) {
            let is_said = ["built in", "option", "setting"]
                .iter()
                .any(|word| passage.contains(word));
            for name in limits_named(&passage) {
                named += 1;
                let is_known = known.contains(&name);
                assert!(
                    is_known || is_said,
                    "{}: `--limit` does not take {name}: {passage}",
                    path.display()
                );
            }
        }
    }
    assert!(named > 30, "{named}");
}

#[test]
fn figures_of_limits_that_are_built_in_are_those_of_the_code() {
    const MIB: usize = 1024 * 1024;
    let digits = |number: usize| {
        let text = number.to_string();
        let groups = text
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(String::from_utf8_lossy);
        groups.collect::<Vec<_>>().join(",")
    };
    let figures = [
        (
            "docs/kv.md",
            digits(tsumugi_kv::limits::KEY_BYTES_MAX),
            "bytes (`KEY_BYTES_MAX`",
        ),
        (
            "docs/kv.md",
            digits(tsumugi_kv::limits::BATCH_WRITES_MAX),
            "records or keys (`MESSAGE_ENTRIES_MAX`",
        ),
        (
            "docs/kv.md",
            digits(tsumugi_kv::limits::EXCHANGE_BYTES_MAX / MIB),
            "MiB of them (`EXCHANGE_BYTES_MAX`",
        ),
        (
            "docs/kv.md",
            digits(tsumugi_kv::limits::SEARCH_BYTES_MAX / MIB),
            "MiB of them (`SEARCH_BYTES_MAX`",
        ),
        (
            "docs/queries.md",
            digits(tsumugi::sql::limits::NODES_MAX as usize),
            "columns. More parts than that (`NODES_MAX`",
        ),
        (
            "docs/queries.md",
            digits(tsumugi::sql::limits::SQL_BYTES_MAX / MIB),
            "MiB of SQL (`SQL_BYTES_MAX`",
        ),
        (
            "docs/rust.md",
            digits(tsumugi_kv::limits::FETCH_WAITERS_MAX),
            "wait (`FETCH_WAITERS_MAX`",
        ),
    ];
    for (name, figure, words) in figures {
        let text = document(name).replace('\n', " ");
        assert!(
            text.contains(&format!("{figure} {words}")),
            "{name}: {figure} {words}"
        );
    }
}
