//! The command line as a user meets it: output, files and lines in errors, exit codes. Not what serving answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

fn tsumugi(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    command
        .args(words)
        .current_dir(folder)
        .env_remove("DATABASE_URL")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn run(folder: &Path, words: &[&str]) -> (i32, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = tsumugi(folder, words).output().unwrap();
    let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (status.code().unwrap(), text.concat())
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Runs a command on an application and expects an exit code and pieces of the output.
fn check(app: &str, words: &[&str], code: i32, expected: &[&str]) {
    let folder = folder_with(&[("app.rb", app)]);
    let (actual, text) = run(folder.path(), words);
    for piece in expected {
        assert!(text.contains(piece), "{words:?}: no {piece:?} in:\n{text}");
    }
    assert_eq!(actual, code, "{words:?}:\n{text}");
}

#[test]
fn a_sound_application_passes_the_check() {
    check(
        "get('/') { 'x' }\nget('/a') { 'y' }",
        &["check"],
        0,
        &["ok: 2 routes in app.rb\n"],
    );
}

#[test]
fn syntax_error_is_reported_with_file_line_and_source() {
    for command in ["check", "routes", "serve", "test"] {
        let words = match command {
            "serve" => vec!["serve", "--listen", "127.0.0.1:0", "--workers", "1"],
            other => vec![other],
        };
        let expected: &[&str] = match command {
            "test" => &["no test ran"],
            _ => &["app.rb:2:", "\n    get('/') { ) }"],
        };
        check("\nget('/') { ) }\n", &words, 1, expected);
    }
}

#[test]
fn exception_while_loading_is_reported_with_its_line() {
    check(
        "\n\nplugin(:x) { raise 'no luck' }",
        &["check"],
        1,
        &["app.rb:3", "RuntimeError: no luck"],
    );
}

#[test]
fn a_worker_that_fails_to_load_ends_the_others_in_the_middle_of_a_wait() {
    check(
        "worker.id == 0 ? raise('no luck') : sleep(20)",
        &["serve", "--listen", "127.0.0.1:0", "--workers", "2"],
        1,
        &["app.rb:1", "RuntimeError: no luck"],
    );
}

#[test]
fn absent_application_is_reported_by_its_name() {
    for command in ["check", "routes", "serve", "test", "console"] {
        let advice = ["there is no other.rb here", "tsumugi new NAME"];
        check("", &[command, "other.rb"], 1, &advice);
        check("", &[command, "."], 1, &[". is a folder", "./app.rb"]);
        let folder = folder_with(&[]);
        assert_eq!(run(folder.path(), &[command]).0, 1, "{command}");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(
            left, 0,
            "{command} has made something where no application is"
        );
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    check("", &["check", "--nope"], 2, &["--nope"]);
    check("", &["nope"], 2, &["nope"]);
    check("", &["serve", "--listen", "nowhere"], 2, &["nowhere"]);
    let known = ["sometimes", "batches", "inherited"];
    check("", &["serve", "--scheduling", "sometimes"], 2, &known);
    check("", &[], 2, &["Usage", "First steps"]);
}

#[test]
fn a_check_leaves_no_data_behind() {
    let app = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/app.db\" }\ndb.execute 'create table t (a)'";
    let folder = folder_with(&[("app.rb", app)]);
    let (code, text) = run(folder.path(), &["check"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn routes_are_listed_with_types_and_places() {
    check(
        "get('/') { 'x' }\nscope '/users' do\n  delete(':id', id: Integer) { status 204 }\nend",
        &["routes"],
        0,
        &["DELETE  /users/:id  id: Integer  app.rb:3\n"],
    );
}

#[test]
fn routes_are_described_for_other_programs() {
    let app = "get('/users/:id', id: Integer) { |id| query.int(:page, 1); 'x' }";
    let folder = folder_with(&[("shop/app.rb", app)]);
    let shop = folder.path().join("shop");
    let (code, text) = run(&shop, &["routes", "--openapi"]);
    assert_eq!(code, 0, "{text}");
    let document = tsumugi_testkit::openapi::read(&text);
    assert_eq!(document["info"]["title"], "shop");
    assert_eq!(document["info"]["version"], "0");
    let operation = &document["paths"]["/users/{id}"]["get"];
    assert_eq!(operation["x-source"], "app.rb:1");
    assert_eq!(operation["parameters"][1]["name"], "page");
    let named = [
        "routes",
        "--openapi",
        "--title",
        "A \"shop\"",
        "--api-version",
        "2.1",
    ];
    let document = tsumugi_testkit::openapi::read(&run(&shop, &named).1);
    assert_eq!(document["info"]["title"], "A \"shop\"");
    assert_eq!(document["info"]["version"], "2.1");
    check(app, &["routes", "--title", "x"], 2, &["--openapi"]);
}

#[test]
fn no_worker_or_too_many_are_wrong_usage() {
    for workers in ["0", "two", "-1", "1025"] {
        let option = format!("--workers={workers}");
        check(
            "",
            &["serve", &option],
            2,
            &["a whole number from 1 to 1024"],
        );
    }
}

#[test]
fn every_command_explains_itself() {
    let commands = ["serve", "check", "routes", "console", "test", "new"];
    for command in commands {
        check("", &[command, "--help"], 0, &["Example"]);
    }
    check("", &["--help"], 0, &commands);
    check("", &["--version"], 0, &["mruby"]);
}

/// Runs one file of tests against one application.
fn check_tests(app: &str, tests: &str, code: i32, expected: &[&str]) {
    let folder = folder_with(&[("app.rb", app), ("test/a_test.rb", tests)]);
    let (actual, text) = run(folder.path(), &["test"]);
    for piece in expected {
        assert!(text.contains(piece), "no {piece:?} in:\n{text}");
    }
    assert_eq!(actual, code, "{text}");
}

#[test]
fn the_last_line_counts_and_a_failure_names_its_line() {
    check_tests(
        "get('/') { 'hello' }",
        "test('good') { assert_equal 'hello', get('/').body }\n\n\
         test('bad') do\n  get '/'\n  assert_status 404\nend\n\
         test('raises') { nil.nothing }\n",
        1,
        &[
            "ok   good",
            "FAIL bad",
            "test/a_test.rb:5: expected status 404, got 200",
            "FAIL raises",
            "NoMethodError",
            "\n1 passed, 2 failed\n",
        ],
    );
}

#[test]
fn assertions_say_what_they_found() {
    let failing = [
        ("assert nil", "expected something true, got nil"),
        ("refute 3", "expected nil or false, got 3"),
        ("assert_equal 1, 2", "expected 1, got 2"),
        ("assert_match 'x', 'abc'", "\"x\" is not in \"abc\""),
        ("refute_match 'b', 'abc'", "\"b\" is in \"abc\""),
        (
            "assert_raises(KeyError) { }",
            "expected KeyError, nothing was raised",
        ),
        ("flunk 'oh'", ": oh"),
    ];
    for (code, expected) in failing {
        let tests = format!("test('x') do\n  {code}\nend");
        let place = "a_test.rb:2: ";
        check_tests("", &tests, 1, &[place, expected, "0 passed, 1 failed\n"]);
    }
}

#[test]
fn an_assertion_is_not_rescued_by_accident_and_an_expected_exception_is_returned() {
    check_tests(
        "",
        "test('swallowed?') do\n  begin\n    flunk 'no'\n  rescue => e\n  end\nend\n\
         test('raised') { assert_equal 'm', assert_raises(ArgumentError) { raise ArgumentError, 'm' }.message }\n",
        1,
        &["FAIL swallowed?", "ok   raised", "1 passed, 1 failed"],
    );
}

#[test]
fn each_test_has_an_application_of_its_own() {
    let app = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/app.db\" }\n\
               db.execute 'create table t (a)'\n\
               post('/') { db.insert('insert into t values (1)').to_s }";
    let one = "{ assert_equal '1', post('/').body; cookie_jar['a'] = 'b' }\n";
    let tests =
        format!("test('one') {one}test('two') {one}test('three') {{ assert cookie_jar.empty? }}");
    check_tests(app, &tests, 0, &["3 passed, 0 failed"]);
}

#[test]
fn requests_carry_forms_queries_headers_and_cookies() {
    let app = "post('/form') { \"#{body[:a]} #{body[:b]}\" }\n\
               get('/query') { query.list(:q).join('+') }\n\
               get('/header') { headers['x-a'] }\n\
               get('/set') { header 'set-cookie', 'a=1; Path=/'; 'set' }\n\
               get('/cookie') { headers['cookie'] || 'none' }\n\
               get('/gone') { header 'set-cookie', 'a=; Max-Age=0'; 'gone' }\n\
               get('/away') { redirect '/cookie' }";
    let tests = "test('all') do\n\
                 assert_equal '日本 & x=y', post('/form', form: { a: '日本', b: '& x=y' }).body\n\
                 assert_equal '1+2 3', get('/query', query: { q: [1, '2 3'] }).body\n\
                 assert_equal 'v', get('/header', headers: { x_a: 'v' }).body\n\
                 get '/set'\n\
                 assert_equal 'a=1', get('/cookie').body\n\
                 get '/away'\n\
                 assert response.redirect?\n\
                 assert_equal 'a=1', follow_redirect.body\n\
                 get '/gone'\n\
                 assert_equal 'none', get('/cookie').body\n\
                 end";
    check_tests(app, tests, 0, &["1 passed, 0 failed"]);
}

#[test]
fn streams_are_read_piece_by_piece_and_hung_up() {
    let app = "plugin(:ended) { Tsumugi::Channel.new }\n\
               get '/ticks' do\n\
                 events do |out|\n\
                   i = 0\n\
                   loop { out.event((i += 1).to_s, event: 'tick'); sleep 0.01 }\n\
                 ensure\n\
                   ended << 'yes'\n\
                 end\n\
               end\n\
               get('/pieces') { stream('text/plain') { |out| out << 'a'; sleep 0.01; out << 'b' } }\n\
               get('/broken') { stream('text/plain') { |out| out << 'a'; raise 'oh' } }\n\
               post('/trailers') { body.text; request.trailers }\n\
               get('/mute') { stream('text/plain') { |out| sleep 60 } }";
    let tests = "test('events') do\n\
                 assert_equal %w[1 2 3], get('/ticks').events(3).map { |e| e[:data] }\n\
                 assert_equal 'tick', response.events(1)[0][:event]\n\
                 response.close\n\
                 assert_equal 'yes', ended.pop\n\
                 end\n\
                 test('pieces') do\n\
                 assert_equal %w[a b], get('/pieces').pieces(5)\n\
                 assert_equal 'ab', get('/pieces').body\n\
                 end\n\
                 test('trailers') do\n\
                 post '/trailers', body: 'a', trailers: { 'x-sum' => 7, 'authorization' => 'x' }\n\
                 assert_equal({ 'x-sum' => '7' }, response.json)\n\
                 many = (0..64).to_h { |n| [\"x-#{n}\", 1] }\n\
                 error = assert_raises(ArgumentError) { post('/trailers', trailers: many) }\n\
                 assert_match(/trailer_fields_max/, error.message)\n\
                 end\n\
                 test('broken') { assert_raises(Tsumugi::Client::BrokenOff) { get('/broken').body } }\n\
                 test('mute') { assert_raises(Tsumugi::Client::Timeout) { get('/mute').pieces(1, within: 0.05) } }\n";
    check_tests(app, tests, 0, &["5 passed, 0 failed"]);
}

#[test]
fn rows_are_streamed_as_csv() {
    let app = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/app.db\" }\n\
               get('/a.csv') { stream db.stream('select 1 as a, ? as b', 'x,y'), as: :csv }";
    let tests = "test('csv') { assert_equal \"a,b\\r\\n1,\\\"x,y\\\"\\r\\n\", get('/a.csv').body }";
    check_tests(app, tests, 0, &["1 passed, 0 failed"]);
}

#[test]
fn setup_and_teardown_surround_each_test_and_helpers_reach_it() {
    let app = "helpers { def answer = 42 }";
    let tests = "setup { @log = ['setup'] }\n\
                 teardown { puts \"teardown of #{@log.join}\" }\n\
                 test('one') { assert_equal 42, answer; @log << ' one' }\n\
                 test('two') { @log << ' two'; flunk }";
    let expected = [
        "teardown of setup one",
        "teardown of setup two",
        "1 passed, 1 failed",
    ];
    check_tests(app, tests, 1, &expected);
}

#[test]
fn tests_are_chosen_by_file_and_name() {
    let folder = folder_with(&[
        ("app.rb", "puts 'loaded'"),
        (
            "test/a_test.rb",
            "test('login works') { }\ntest('other') { }",
        ),
        ("test/b_test.rb", "test('logout') { }"),
    ]);
    // Each test has an application of its own. Only for its names the first of a file has one, too.
    let check = |words: &[&str], expected: &str, loads: usize| {
        let (_, text) = run(folder.path(), words);
        assert!(text.contains(expected), "{words:?}: {text}");
        let loaded = text.matches("loaded\n").count();
        assert_eq!(loaded, loads, "{words:?}: {text}");
    };
    check(&["test"], "3 passed, 0 failed\n", 3);
    check(&["test", "--name", "log"], "2 passed, 0 failed\n", 2);
    check(&["test", "--name", "other"], "1 passed, 0 failed\n", 3);
    let one_file = ["test", "app.rb", "test/b_test.rb"];
    check(&one_file, "1 passed, 0 failed\n", 1);
    let none = "no name contains \"nothing\"";
    check(&["test", "--name", "nothing"], none, 2);
}

#[test]
fn a_new_application_passes_its_check_and_its_tests() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text) = run(folder.path(), &["new", "blog"]);
    assert_eq!(code, 0, "{text}");
    let blog = folder.path().join("blog");
    let (code, text) = run(&blog, &["check"]);
    assert_eq!((code, text.contains("ok: ")), (0, true), "{text}");
    let (code, text) = run(&blog, &["test"]);
    assert!(text.contains(" passed, 0 failed"), "{text}");
    assert_eq!(code, 0, "{text}");
    run(&blog, &["migrate", "up"]);
    let (code, text) = run(&blog, &["seed"]);
    assert_eq!((code, text.contains("seeds of notes")), (0, true), "{text}");
    let (code, text) = run(folder.path(), &["new", "blog"]);
    assert_eq!((code, text.contains("is not empty")), (1, true), "{text}");
    let (_, text) = run(folder.path(), &["new", "my blog"]);
    let advice = format!("cd 'my blog'\n  {} serve", env!("CARGO_BIN_EXE_tsumugi"));
    assert!(text.contains(&advice), "{text}");
}

#[test]
fn new_application_shows_the_name_of_its_folder_as_text_in_each_kind_of_file() {
    for (name, html, markdown) in [
        ("my_blog-2", "my_blog-2", "# my_blog-2\n"),
        ("x y<z", "x y&lt;z", "# x y\\<z\n"),
        (
            "<%= 1 %> & _a_*#",
            "&lt;%= 1 %&gt; &amp; _a_*#",
            "# \\<%= 1 %\\> \\& \\_a\\_\\*\\#\n",
        ),
        ("a\nb", "a b", "# a b\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (code, text) = run(folder.path(), &["new", name]);
        assert_eq!(code, 0, "{text}");
        let made = folder.path().join(name);
        let readme = std::fs::read_to_string(made.join("README.md")).unwrap();
        assert!(readme.starts_with(markdown), "{readme}");
        assert!(readme.contains("`tsumugi migrate new NAME`"), "{readme}");
        std::fs::write(
            made.join("page.rb"),
            "get('/') { render 'home', notes: [] }\n",
        )
        .unwrap();
        let mut console = tsumugi(&made, &["console", "page.rb"]);
        console.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = console.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"puts get('/').body\n").unwrap();
        drop(input);
        let page = child.wait_with_output().unwrap().stdout;
        let page = String::from_utf8(page).unwrap();
        for tag in ["title", "h1"] {
            let expected = format!("<{tag}>{html}</{tag}>");
            assert!(page.contains(&expected), "no {expected:?} in:\n{page}");
        }
    }
}

/// A server that is ended when this is dropped.
struct Served {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Served {
    fn start(folder: &Path, words: &[&str]) -> Served {
        let words = [
            &["serve", "--listen", "127.0.0.1:0", "--workers", "1"],
            words,
        ]
        .concat();
        let mut child = tsumugi(folder, &words)
            .stdout(Stdio::null()) // the access log
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut served = Served {
            child,
            log,
            address: String::new(),
        };
        let line = served.line_with("listening on http://");
        let (_, rest) = line.split_once("http://").unwrap();
        served.address = rest.split(' ').next().unwrap().to_owned();
        assert!(line.contains("with 1 worker"), "{line}");
        served
    }

    fn line_with(&mut self, piece: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.log.read_line(&mut line).unwrap();
            assert!(read > 0, "the log ended without {piece:?}:\n{all}");
            if line.contains(piece) {
                return line;
            }
            all.push_str(&line);
        }
    }

    fn get(&self, path: &str) -> String {
        let until = Instant::now() + PATIENCE;
        let mut stream = loop {
            match TcpStream::connect(&self.address) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        };
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks until the answer has the piece.
    #[expect(clippy::disallowed_methods, reason = "this thread serves no request")]
    fn until_answer_has(&self, piece: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.get("/");
            if answer.contains(piece) {
                return;
            }
            assert!(Instant::now() < until, "no {piece:?} in {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn in_development_a_changed_file_is_loaded_and_a_broken_one_is_not() {
    let folder = folder_with(&[("app.rb", "get('/') { 'first' }")]);
    let mut served = Served::start(folder.path(), &["--dev"]);
    assert!(served.get("/").contains("first"));
    let write = |text: &str| std::fs::write(folder.path().join("app.rb"), text).unwrap();
    write("get('/') { 'the second' }");
    served.until_answer_has("the second");
    write("\n\nget('/') { ");
    served.line_with("not reloaded");
    assert!(served.get("/").contains("the second"));
    write("get('/') { raise 'third' }");
    served.until_answer_has("RuntimeError");
}

#[test]
fn in_production_files_are_not_watched_and_errors_not_shown() {
    let folder = folder_with(&[("app.rb", "get('/') { raise 'secret' }")]);
    let served = Served::start(folder.path(), &[]);
    let answer = served.get("/");
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(!answer.contains("secret"), "{answer}");
}

#[test]
fn empty_database_url_names_no_database_of_jobs() {
    let folder = folder_with(&[("app.rb", "")]);
    let mut list = tsumugi(folder.path(), &["jobs", "list"]);
    let refused = list.env("DATABASE_URL", "").output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("there is no database data/app.db"), "{text}");
}

#[test]
fn jobs_are_listed_retried_and_dropped() {
    let app = "db = DB.connect
jobs db
job(:note) { |n:| n }
job(:other) { 1 }
";
    let folder = folder_with(&[("app.rb", app)]);
    let said = |words: &[&str], code: i32, expected: &[&str]| {
        let (actual, text) = run(folder.path(), words);
        for piece in expected {
            assert!(text.contains(piece), "{words:?}: no {piece:?} in:\n{text}");
        }
        assert_eq!(actual, code, "{words:?}:\n{text}");
    };
    said(&["jobs", "list"], 1, &["there is no database data/app.db"]);
    let type_in = |lines: &str| {
        let mut console = tsumugi(folder.path(), &["console"]);
        let mut child = console
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(lines.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    type_in(
        "jobs.push :note, n: 7\njobs.push :note, after: 100, n: 8\njobs.push :other, unique: 'k'\n",
    );
    said(
        &["jobs", "list"],
        0,
        &[
            "1  ready ",
            "note {\"n\":7}  queue default, begun 0 times\n",
            "2  scheduled ",
            "3  ready ",
            "1 scheduled (0 after a failure), 2 ready, 0 running, 0 dead\n",
        ],
    );
    said(&["jobs", "retry", "2"], 0, &["1 retried\n"]);
    said(
        &["jobs", "list", "--state", "ready", "--after", "1"],
        0,
        &["2  ready ", "3  ready "],
    );
    said(
        &["jobs", "drop", "1", "9"],
        1,
        &["1 dropped; not there, or running: 9"],
    );
    said(&["jobs", "retry", "--all"], 0, &["0 retried\n"]);
    said(&["jobs", "drop"], 2, &["<IDS|--all>"]);
    // Tables of an older version are left as they are.
    type_in("jobs.db.execute 'alter table tsumugi_jobs drop column losses'\n");
    for _ in 0..2 {
        said(
            &["jobs", "list"],
            1,
            &["of an older version: `tsumugi migrate up` gives them"],
        );
    }
    said(&["migrate", "up"], 0, &["tables of jobs"]);
    said(&["jobs", "list"], 0, &["2 ready, 0 running, 0 dead\n"]);
    let elsewhere = ["jobs", "list", "--database", "sqlite::memory:"];
    said(&elsewhere, 1, &["there are no jobs in this database"]);
}

/// The commands that `--help` lists below `words`, with those below them.
fn commands_below(folder: &Path, words: &[&str]) -> Vec<String> {
    let (code, help) = run(folder, &[words, &["--help"]].concat());
    assert_eq!(code, 0, "{words:?}: {help}");
    let Some((_, list)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let mut found = Vec::new();
    for line in lines.filter(is_name) {
        let name = line.split_whitespace().next().unwrap();
        if name == "help" {
            continue;
        }
        found.push([words, &[name]].concat().join(" "));
        found.extend(commands_below(folder, &[words, &[name]].concat()));
    }
    found
}

#[test]
fn completions_and_manual_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands_below(folder.path(), &[]);
    assert!(commands.iter().any(|command| command == "kv get"));
    let (code, text) = run(folder.path(), &["man", "pages"]);
    assert_eq!((code, &*text), (0, ""));
    for shell in ["bash", "zsh", "fish"] {
        let (code, script) = run(folder.path(), &["completions", shell]);
        assert_eq!(code, 0, "{script}");
        for command in &commands {
            let name = command.rsplit(' ').next().unwrap();
            assert!(script.contains(name), "{shell} lacks {command}");
        }
    }
    for command in &commands {
        let page = format!("pages/tsumugi-{}.1", command.replace(' ', "-"));
        let page = std::fs::read_to_string(folder.path().join(&page))
            .unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(
            page.starts_with(".ie") && page.contains(".SH SYNOPSIS"),
            "{page}"
        );
    }
    let pages = folder.path().join("pages").read_dir().unwrap();
    assert_eq!(pages.count(), commands.len() + 1);
}

#[test]
fn health_is_that_of_the_pages_and_unhealthy_where_nothing_answers() {
    let folder = folder_with(&[("app.rb", "get('/') { 'x' }")]);
    let socket = folder.path().join("admin.sock");
    let address = format!("unix:{}", socket.display());
    let (code, text) = run(folder.path(), &["health", &address]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot ask unix:"), "{text}");
    let words = ["serve", "--listen", "unix:app.sock", "--workers", "1"];
    let mut server = tsumugi(
        folder.path(),
        &[&words[..], &["--admin", &address]].concat(),
    )
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let deadline = Instant::now() + PATIENCE;
    let (code, text) = loop {
        let answer = run(folder.path(), &["health", &address]);
        if answer.0 == 0 || Instant::now() > deadline {
            break answer;
        }
        tsumugi_testkit::pause();
    };
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((code, &*text), (0, "ready\n"));
    // Something else answers there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let other = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.write_all(b"SSH-2.0-other 1\r\n").unwrap();
    });
    let (code, text) = run(folder.path(), &["health", &address]);
    other.join().unwrap();
    assert_eq!(code, 1, "{text}");
    assert!(!text.contains("ready\n"), "{text}");
}

#[test]
fn mistyped_option_is_refused_without_advice_to_take_it_for_a_file() {
    for words in [
        &["serve", "--prot", "3000"][..],
        &["jobs", "retry", "--limt", "3"],
        &["kv", "list", "--limt", "3"],
    ] {
        let (code, text) = run(Path::new("/"), words);
        assert_eq!(code, 2, "{words:?}: {text}");
        let says = text.contains("unexpected argument") && !text.contains("as a value");
        assert!(says, "{words:?}: {text}");
    }
    let (code, text) = run(Path::new("/"), &["jobs", "retry"]);
    assert!(code == 2 && text.contains("<IDS|--all>"), "{text}");
}

#[test]
fn file_of_a_certificate_that_cannot_be_used_is_reported_with_its_option() {
    for words in [
        &[
            "serve",
            "--tls-cert",
            "/absent.pem",
            "--tls-key",
            "/absent.key",
        ][..],
        &[
            "kv",
            "--tls-cert",
            "/absent.pem",
            "--tls-key",
            "/absent.key",
        ],
    ] {
        let app = "get('/') { 'x' }";
        let listen = ["--listen", "127.0.0.1:0"];
        let words = [words, &listen].concat();
        check(app, &words, 1, &["--tls-cert: cannot use /absent.pem"]);
    }
    let app = "get('/') { 'x' }";
    let words = ["kv", "get", "x", "--tls-ca", "/absent.pem"];
    check(app, &words, 1, &["--tls-ca: cannot use /absent.pem"]);
}

#[test]
fn call_without_a_server_says_where_it_was_looked_for_and_how_to_start_one() {
    for (address, listen) in [
        ("unix:/absent/kv.sock", "unix:/absent/kv.sock"),
        ("127.0.0.1:1", "127.0.0.1:1"),
    ] {
        let (code, text) = run(Path::new("/"), &["kv", "get", "x", "--address", address]);
        assert_eq!(code, 1, "{text}");
        let start = format!("`tsumugi kv --listen {listen}` starts one");
        assert!(
            text.contains("cannot connect to") && text.contains(&start),
            "{text}"
        );
    }
}

#[test]
fn folder_of_views_that_is_not_there_fails_the_check_with_its_path() {
    check(
        "views 'nothere'\nget('/') { 'x' }",
        &["check"],
        1,
        &["app.rb:1", "views \"nothere\"", "cannot read nothere"],
    );
}
