//! `tsumugi build`: what is put into an executable, what it does when it starts, and what is left of it when it ends. Not what serving answers.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

const APP: &str = r#"
db = DB.connect(ENV["DATABASE_URL"] || "sqlite:#{Tsumugi.data_dir}/app.db")
public "public"
require_relative "words"
get("/") { render "home", word: WORD, notes: db[:notes].count }
get("/tested") { render "test/page" }
"#;

const FILES: [(&str, &str); 13] = [
    ("app.rb", APP),
    ("words.rb", "WORD = 'hello'\n"),
    ("views/home.erb", "<p><%= word %> <%= notes %></p>"),
    ("public/style.css", "p { color: navy }"),
    // Names that are left out directly in the application's folder.
    ("views/test/page.erb", "<p>tested</p>"),
    ("public/data/c.json", "[3]"),
    ("public/.well-known/security.txt", "Contact: us"),
    ("public/.hidden", "x"),
    ("node_modules/a.js", "x"),
    (
        "migrations/20260101090000_create_notes.rb",
        "up { db.create(:notes) { increments :id; text :text } }\ndown { db.drop :notes }\n",
    ),
    (".env", "SECRET=1"),
    ("data/app.db", "of another machine"),
    ("test/app_test.rb", "test('x') { }"),
];

/// An executable of an application, in a folder without its sources.
struct Shop {
    folder: TempDir,
    /// Where it is unpacked, and nothing else.
    unpacked: TempDir,
}

impl Shop {
    fn new() -> Shop {
        Shop::of(APP)
    }

    fn of(app: &str) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in FILES {
            write(&folder.path().join("shop").join(name), text);
        }
        write(&folder.path().join("shop/app.rb"), app);
        let (code, text) = run(Command::new(env!("CARGO_BIN_EXE_tsumugi"))
            .args(["build", "shop", "--output", "shop/data/shop"])
            .current_dir(&folder));
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("built shop/data/shop: 8 files"), "{text}");
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        fs::rename(
            folder.path().join("shop/data/shop"),
            folder.path().join("elsewhere/shop"),
        )
        .unwrap();
        // What was built needs nothing of the folder.
        fs::remove_dir_all(folder.path().join("shop")).unwrap();
        Shop {
            folder,
            unpacked: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let elsewhere = self.folder.path().join("elsewhere");
        let mut command = Command::new(elsewhere.join("shop"));
        command
            .args(words)
            .current_dir(&elsewhere)
            .env_remove("DATABASE_URL")
            .env("TMPDIR", self.unpacked.path());
        command
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn serve(&self) -> Child {
        let listen = format!("unix:{}", self.socket().display());
        let mut command = self.command(&["--listen", &listen, "--workers", "2"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn get(&self, path: &str) -> String {
        get(&self.socket(), path)
    }

    fn unpacked(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.unpacked.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

/// The answer to a request, once it is listened for.
fn get(socket: &Path, path: &str) -> String {
    let since = Instant::now();
    loop {
        if let Ok(mut stream) = UnixStream::connect(socket) {
            let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            return text;
        }
        assert!(since.elapsed() < PATIENCE, "it does not listen");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn run(command: &mut Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), text.concat())
}

/// What `build --list` says of an application in this folder.
fn list(folder: &Path, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    run(command
        .args(["build", "--list"])
        .args(words)
        .current_dir(folder))
}

#[test]
fn executable_serves_pages_views_files_and_migrations_without_its_sources() {
    let shop = Shop::new();
    let (code, text) = run(&mut shop.command(&["migrate", "up"]));
    assert_eq!(code, 0, "{text}");
    let (code, text) = run(&mut shop.command(&["routes"]));
    assert!(
        code == 0 && text.contains("GET") && text.contains(" app.rb:5"),
        "{text}"
    );
    let mut server = shop.serve();
    assert!(shop.get("/").contains("<p>hello 0</p>"));
    assert!(shop.get("/style.css").contains("color: navy"));
    assert!(shop.get("/tested").contains("<p>tested</p>"));
    assert!(shop.get("/data/c.json").ends_with("[3]"));
    let well_known = shop.get("/.well-known/security.txt");
    assert!(well_known.ends_with("Contact: us"), "{well_known}");
    for hidden in ["/.env", "/.hidden"] {
        assert!(shop.get(hidden).starts_with("HTTP/1.1 404"), "{hidden}");
    }
    let folders = shop.unpacked();
    assert_eq!(folders.len(), 1, "{folders:?}");
    let mode = fs::metadata(&folders[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let has = |name: &str| folders[0].join(name).exists();
    assert!(has("views/home.erb") && !has(".env") && !has("data") && !has("test"));
    kill(
        Pid::from_raw(server.id().try_into().unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert!(server.wait().unwrap().success());
    assert_eq!(shop.unpacked(), Vec::<PathBuf>::new());
    assert!(shop.folder.path().join("elsewhere/data/app.db").exists());
}

#[test]
fn folder_of_a_killed_process_is_removed_by_a_later_one_and_that_of_a_running_one_stays() {
    let shop = Shop::new();
    run(&mut shop.command(&["migrate", "up"]));
    let mut server = shop.serve();
    shop.get("/");
    let folder = shop.unpacked().pop().unwrap();
    assert_eq!(run(&mut shop.command(&["routes"])).0, 0);
    assert_eq!(shop.unpacked(), [folder]);
    assert!(shop.get("/").contains("hello"));
    server.kill().unwrap();
    server.wait().unwrap();
    // One that somebody has named alike is theirs.
    let other = shop.unpacked.path().join("tsumugi-app-other");
    write(&other.join("app.rb"), "get('/') { 'other' }\n");
    let old = std::time::SystemTime::now() - Duration::from_secs(3_600);
    File::open(&other).unwrap().set_modified(old).unwrap();
    assert_eq!(run(&mut shop.command(&["routes"])).0, 0);
    assert_eq!(shop.unpacked(), [&*other]);
    assert!(other.join("app.rb").exists());
}

#[test]
fn command_that_takes_no_application_unpacks_none() {
    let shop = Shop::new();
    let nowhere = |words: &[&str]| {
        let mut command = shop.command(words);
        // As in a container with --read-only.
        run(command.env("TMPDIR", "/nonexistent"))
    };
    let (code, text) = nowhere(&["routes"]);
    assert!(code == 1 && text.contains("TMPDIR=FOLDER"), "{text}");
    for words in [&["--version"][..], &["--help"], &["health", "--help"]] {
        let (code, text) = nowhere(words);
        assert_eq!(code, 0, "{words:?}: {text}");
    }
    let socket = shop.socket();
    let (code, text) = nowhere(&["health", &format!("unix:{}", socket.display())]);
    assert!(code == 1 && text.contains("cannot ask unix:"), "{text}");
}

#[test]
fn damaged_executable_says_so_and_serves_nothing() {
    let shop = Shop::new();
    let path = shop.folder.path().join("elsewhere/shop");
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    let middle = whole.len() - 200;
    changed[middle] ^= 0xff;
    fs::write(&path, &changed).unwrap();
    let (code, text) = run(&mut shop.command(&["routes"]));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot use the application in"), "{text}");
    assert_eq!(shop.unpacked(), Vec::<PathBuf>::new());
}

#[test]
fn executable_that_was_cut_or_has_bytes_behind_it_serves_no_application_of_the_folder() {
    let shop = Shop::new();
    let elsewhere = shop.folder.path().join("elsewhere");
    write(&elsewhere.join("app.rb"), "get('/') { 'another' }\n");
    let path = elsewhere.join("shop");
    let whole = fs::read(&path).unwrap();
    let trailer = whole.len() - 24;
    let bytes = whole[trailer..trailer + 8].try_into().unwrap();
    let program = trailer - usize::try_from(u64::from_le_bytes(bytes)).unwrap();
    // The length in the trailer, made larger than the file.
    let mut long = whole.clone();
    long[trailer..trailer + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    // `strip` leaves the program alone.
    let only = |end: usize| whole[..end].to_vec();
    let behind = [&whole[..], b"\n"].concat();
    for bytes in [
        long,
        only(program),
        only(trailer),
        only(whole.len() - 1),
        behind,
    ] {
        fs::write(&path, &bytes).unwrap();
        for words in [&["routes"][..], &["check"], &["--help"], &[]] {
            let (code, text) = run(&mut shop.command(words));
            assert_eq!(code, 1, "{words:?}: {text}");
            assert!(text.contains("cut, or has bytes behind it"), "{text}");
        }
        assert_eq!(shop.unpacked(), Vec::<PathBuf>::new());
        // Neither is it a program to put another one into.
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        command.args(["build", "-o", "out", "--program"]).arg(&path);
        let (code, text) = run(command.current_dir(&elsewhere));
        let is_refused = code == 1 && text.contains("give --program the executable");
        assert!(is_refused, "{text}");
    }
}

#[test]
fn command_line_that_is_wrong_or_asks_for_help_leaves_nothing_unpacked() {
    let shop = Shop::new();
    for (words, code) in [
        (&["--nonsense"][..], 2),
        (&["migrate", "nonsense"], 2),
        (&["routes", "--help"], 0),
    ] {
        let (found, text) = run(&mut shop.command(words));
        assert_eq!(found, code, "{words:?}: {text}");
        assert!(text.contains("Usage:"), "{words:?}: {text}");
        assert_eq!(shop.unpacked(), Vec::<PathBuf>::new(), "{words:?}");
    }
}

#[test]
fn help_is_that_of_serving_under_the_names_of_the_executable_and_its_application() {
    let shop = Shop::new();
    for words in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["--listen", "127.0.0.1:0", "help"],
    ] {
        let (code, text) = run(&mut shop.command(words));
        assert_eq!(code, 0, "{words:?}: {text}");
        assert_eq!(shop.unpacked(), Vec::<PathBuf>::new(), "{words:?}");
        for present in [
            "the application app.rb, which is in this executable",
            "Usage: shop [OPTIONS]\n",
            "--listen",
            "--workers",
            "shop check, routes",
        ] {
            assert!(
                text.contains(present),
                "{words:?}: no {present:?} in:\n{text}"
            );
        }
        assert!(!text.contains("  --dev"), "{words:?}: {text}");
    }
    // A value of an option is none, nor is the application another one without one.
    let (code, text) = run(&mut shop.command(&["--nonsense", "help"]));
    assert!(
        code == 2 && !text.contains("which is in this executable"),
        "{text}"
    );
    for words in [["serve", "--help"], ["help", "serve"], ["help", "console"]] {
        let (code, text) = run(&mut shop.command(&words));
        assert_eq!(code, 0, "{words:?}: {text}");
        assert!(
            !text.contains("default: app.rb") && !text.contains("/tsumugi-app-"),
            "{text}"
        );
    }
}

#[test]
fn executable_without_a_name_is_named_after_the_application_and_replaces_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("shop/app.rb"), "get('/') { 'x' }\n");
    let build = |words: &[&str], place: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        run(command
            .arg("build")
            .args(words)
            .current_dir(folder.path().join(place)))
    };
    // There twice: the first is what an earlier build has made.
    for (words, place, expected) in [
        (&[][..], "shop", "built shop: 1 file"),
        (&["app.rb"], "shop", "built shop: 1 file"),
        (&["shop"], "", "built shop.bin: 1 file"),
    ] {
        let (code, text) = build(words, place);
        assert!(code == 0 && text.contains(expected), "{words:?}: {text}");
    }
    write(&folder.path().join("shop.bin"), "of somebody");
    let (code, text) = build(&["shop"], "");
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("shop.bin is here already and was made by no earlier build"),
        "{text}"
    );
    let kept = fs::read_to_string(folder.path().join("shop.bin")).unwrap();
    assert_eq!(kept, "of somebody");
    // Neither is an error about a name that nobody knows.
    let (code, text) = build(&["shop", "-o", "absent/shop"], "");
    assert!(
        code == 1 && text.contains("cannot write absent/shop: "),
        "{text}"
    );
    assert!(
        text.contains("(os error 2)\n") && !text.contains(".tmp"),
        "{text}"
    );
}

#[test]
fn executable_of_an_application_in_a_folder_above_is_named_after_that_folder() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("shop/app.rb"), "get('/') { 'x' }\n");
    fs::create_dir(folder.path().join("shop/views")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let (code, text) = run(command
        .args(["build", "../app.rb"])
        .current_dir(folder.path().join("shop/views")));
    assert!(code == 0 && text.contains("built shop: 1 file"), "{text}");
    assert!(folder.path().join("shop/views/shop").is_file());
}

#[test]
fn executable_without_a_name_replaces_no_link_pipe_or_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(&at("shop/app.rb"), "get('/') { 'x' }\n");
    let build = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        run(command.arg("build").args(words).current_dir(&folder))
    };
    let (code, text) = build(&["shop", "-o", "earlier"]);
    assert_eq!(code, 0, "{text}");
    let is_refused = |what: &str| {
        let (code, text) = build(&["shop"]);
        let says = "shop.bin is here already and was made by no earlier build";
        assert!(code == 1 && text.contains(says), "{what}: {text}");
    };
    // What the link leads to is one of an earlier build, the link is not.
    std::os::unix::fs::symlink("earlier", at("shop.bin")).unwrap();
    is_refused("link");
    assert!(fs::symlink_metadata(at("shop.bin")).unwrap().is_symlink());
    fs::remove_file(at("shop.bin")).unwrap();
    // Nobody writes into it: a build that opened it would wait for ever.
    let made = Command::new("mkfifo").arg(at("shop.bin")).status().unwrap();
    assert!(made.success());
    is_refused("pipe");
    fs::remove_file(at("shop.bin")).unwrap();
    fs::create_dir(at("shop.bin")).unwrap();
    is_refused("folder");
}

#[test]
fn command_for_the_sources_of_an_application_is_refused() {
    let shop = Shop::new();
    for words in [&["test"][..], &["--dev"], &["serve", "--dev"]] {
        let (code, text) = run(&mut shop.command(words));
        assert_eq!(code, 1, "{words:?}: {text}");
        assert!(text.contains("whose files are fixed"), "{words:?}: {text}");
        assert_eq!(shop.unpacked(), Vec::<PathBuf>::new(), "{words:?}");
    }
    // Another application has its files.
    let other = shop.folder.path().join("other");
    write(&other.join("app.rb"), "get('/') { 'x' }\n");
    write(
        &other.join("test/app_test.rb"),
        "test('x') { assert true }\n",
    );
    let (code, text) = run(&mut shop.command(&["test", "../other/app.rb"]));
    assert!(code == 0 && text.contains("1 passed"), "{text}");
}

#[test]
fn files_are_shown_by_their_paths_in_the_application() {
    let shop = Shop::new();
    let (code, text) = run(&mut shop.command(&["check"]));
    assert!(code == 0 && text.contains(" in app.rb\n"), "{text}");
    // The database that it names is of no kind.
    for words in [&["check"][..], &["--listen", "127.0.0.1:0"]] {
        let mut command = shop.command(words);
        let (code, text) = run(command.env("DATABASE_URL", "nothing:x"));
        assert!(code == 1 && text.contains("app.rb:2"), "{words:?}: {text}");
        assert!(!text.contains("tsumugi-app-"), "{words:?}: {text}");
    }
}

#[test]
fn errors_of_the_dashboard_and_of_a_log_in_json_have_no_folder_whose_name_is_escaped_there() {
    let shop = Shop::of("get('/boom') { raise \"in #{__FILE__}\" }\n");
    let quoted = shop.unpacked.path().join("a \"b\"");
    fs::create_dir(&quoted).unwrap();
    let admin = shop.folder.path().join("admin");
    let [listen, admin_listen] =
        [&shop.socket(), &admin].map(|path| format!("unix:{}", path.display()));
    let log = shop.folder.path().join("log");
    let mut command = shop.command(&["--listen", &listen, "--admin", &admin_listen]);
    let mut server = command
        .args(["--workers", "1"])
        .env("TMPDIR", &quoted)
        .env("TSUMUGI_LOG_FORMAT", "json")
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let answer = shop.get("/boom");
    let errors = get(&admin, "/dashboard/api/errors");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).unwrap();
    server.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    let log = fs::read_to_string(log).unwrap();
    for text in [errors, log] {
        assert!(
            text.contains("in app.rb") && text.contains("app.rb:1"),
            "{text}"
        );
        assert!(!text.contains("tsumugi-app-"), "{text}");
    }
}

/// Where a name was that of the folder of one process, each start declared another line.
#[test]
fn line_of_cron_without_a_name_is_named_by_its_path_in_the_application() {
    let shop = Shop::of(
        "db = DB.connect \"sqlite:#{Tsumugi.data_dir}/jobs.db\"\njobs db\n\
         every('0 3 1 1 *') { 1 }\n\
         get('/lines') { jobs.list.map { |job| job[:name] }.join(' ') }\n",
    );
    let mut child = shop.serve();
    let deadline = Instant::now() + PATIENCE;
    let answer = loop {
        let answer = shop.get("/lines");
        if answer.contains("every") || Instant::now() > deadline {
            break answer;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    };
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    child.wait().unwrap();
    assert!(answer.ends_with("every app.rb:3"), "{answer}");
}

#[test]
fn program_that_takes_no_application_is_refused_with_what_to_give() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.rb"), "get('/') { 'x' }\n");
    fs::write(folder.path().join("zeros"), vec![0; 4096]).unwrap();
    write(&folder.path().join("package.deb"), "!<arch>\ndebian-binary");
    for (program, expected) in [
        ("zeros", "zeros is no executable of Linux"),
        ("package.deb", "package.deb is no executable of Linux"),
        ("/dev/zero", "/dev/zero is no file"),
        (".", ". is no file"),
        ("absent", "cannot read absent"),
        ("/bin/sh", "/bin/sh takes no applications of this version"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        command.args(["build", "-o", "out", "--program", program]);
        let (code, text) = run(command.current_dir(&folder));
        assert!(code == 1 && text.contains(expected), "{program}: {text}");
        assert!(!folder.path().join("out").exists(), "{program}");
    }
}

#[test]
fn empty_folders_and_those_with_hidden_files_alone_are_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let app =
        "DB.connect \"sqlite:#{Tsumugi.data_dir}/a.db\"\npublic 'public'\nget('/x') { 'x' }\n";
    write(&folder.path().join("shop/app.rb"), app);
    write(&folder.path().join("shop/public/.keep"), "");
    fs::create_dir_all(folder.path().join("shop/migrations")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let (code, text) = run(command
        .args(["build", "shop", "-o", "out"])
        .current_dir(&folder));
    assert!(code == 0 && text.contains("out: 1 file,"), "{text}");
    fs::remove_dir_all(folder.path().join("shop")).unwrap();
    for words in [["check"], ["routes"]] {
        let mut command = Command::new(folder.path().join("out"));
        let (code, text) = run(command.args(words).current_dir(&folder));
        assert_eq!(code, 0, "{words:?}: {text}");
    }
}

#[test]
fn application_that_does_not_load_from_what_is_put_in_is_not_built() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        write(&folder.path().join("shop").join(name), text);
    }
    let unpacked = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let (code, text) = run(command
        .args(["build", "shop", "-o", "out", "--exclude", "words.rb"])
        .env("TMPDIR", unpacked.path())
        .current_dir(&folder));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("what is put in does not load"), "{text}");
    // By the path that its author knows.
    assert!(text.contains("shop/app.rb:4"), "{text}");
    let is_named = text.contains(unpacked.path().to_str().unwrap());
    assert!(!is_named, "{text}");
    assert!(!folder.path().join("out").exists());
    assert_eq!(fs::read_dir(unpacked.path()).unwrap().count(), 0);
}

#[test]
fn executables_of_earlier_builds_are_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app.rb"), "get('/') { 'x' }\n");
    let build = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        let command = command.args(["build", "-o", output]);
        let (code, text) = run(command.current_dir(&folder));
        assert_eq!(code, 0, "{text}");
        text
    };
    build("first");
    let text = build("second");
    assert!(text.contains("earlier builds: first\n"), "{text}");
    assert!(text.contains("built second: 1 file"), "{text}");
    let (_, text) = list(folder.path(), &[]);
    assert!(
        text.contains("earlier builds: first, second\n1 file"),
        "{text}"
    );
}

#[test]
fn two_builds_of_the_same_files_have_the_same_bytes_and_one_can_build_another() {
    let shop = Shop::new();
    let other = tempfile::tempdir().unwrap();
    write(&other.path().join("app.rb"), "get('/') { 'other' }\n");
    let build = |command: &mut Command, output: &str| {
        let output = other.path().join(output);
        let (code, text) = run(command
            .args(["build", "app.rb", "-o"])
            .arg(&output)
            .current_dir(&other));
        assert_eq!(code, 0, "{text}");
        fs::read(&output).unwrap()
    };
    let tsumugi = || Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let one = build(&mut tsumugi(), "one");
    fs::remove_file(other.path().join("one")).unwrap();
    assert!(one == build(&mut tsumugi(), "two"), "two builds differ");
    // The second finds its own earlier output in the folder and leaves it out.
    assert!(
        one == build(&mut tsumugi(), "two"),
        "a build has its output"
    );
    fs::remove_file(other.path().join("two")).unwrap();
    assert!(
        one == build(&mut shop.command(&[]), "three"),
        "built by a built one"
    );
}

#[test]
fn list_names_what_is_put_in_and_excludes_by_name_and_by_path() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        write(&folder.path().join(name), text);
    }
    write(&folder.path().join("docs/style.css"), "x");
    let (code, text) = list(
        folder.path(),
        &["--exclude", "docs/style.css", "--exclude", "words.rb"],
    );
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("public/style.css") && text.contains("7 files"),
        "{text}"
    );
    for present in [" views/test/\n", " public/data/c.json", "/security.txt"] {
        assert!(text.contains(present), "{present} is not in:\n{text}");
    }
    for absent in [
        "docs/style.css",
        "words.rb",
        ".env",
        ".hidden",
        "app_test",
        "app.db",
        "a.js",
    ] {
        assert!(!text.contains(absent), "{absent} is in:\n{text}");
    }
    let (code, text) = list(folder.path(), &["--exclude", "app.rb"]);
    assert!(
        code == 1 && text.contains("app.rb itself is excluded"),
        "{text}"
    );
}

#[test]
fn application_beyond_a_limit_of_builds_is_refused_with_advice() {
    let with = |add: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("app.rb"), "get('/') { 'x' }");
        add(folder.path());
        list(folder.path(), &[])
    };
    // 20,000 files (bundle_files_max), of which app.rb is one.
    let files = |count: usize| {
        move |folder: &Path| {
            for n in 0..count {
                File::create(folder.join(n.to_string())).unwrap();
            }
        }
    };
    // 512 MiB (bundle_bytes_max), of which app.rb has 16. Nothing of it is read.
    let bytes = |count: u64| {
        move |folder: &Path| {
            File::create(folder.join("big"))
                .unwrap()
                .set_len(count - 16)
                .unwrap()
        }
    };
    // 16 folders deep (bundle_depth_max).
    let deep = |count: usize| {
        move |folder: &Path| {
            let deep: PathBuf = std::iter::repeat_n("d", count).collect();
            fs::create_dir_all(folder.join(deep)).unwrap();
        }
    };
    let most = 512 * 1024 * 1024;
    for (within, beyond, name) in [
        (
            with(&files(19_999)),
            with(&files(20_000)),
            "bundle_files_max",
        ),
        (
            with(&bytes(most)),
            with(&bytes(most + 1)),
            "bundle_bytes_max",
        ),
        (with(&deep(16)), with(&deep(17)), "bundle_depth_max"),
    ] {
        assert_eq!(within.0, 0, "{}", within.1);
        assert_eq!(beyond.0, 1, "{}", beyond.1);
        assert!(
            beyond.1.contains(name) && beyond.1.contains("--exclude"),
            "{}",
            beyond.1
        );
    }
}

#[test]
fn link_out_of_the_folder_and_broken_application_are_not_built() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("app/app.rb"), "get('/') { 'x' }");
    write(&folder.path().join("secret"), "s");
    std::os::unix::fs::symlink("../secret", folder.path().join("app/link")).unwrap();
    let (code, text) = list(&folder.path().join("app"), &[]);
    assert!(
        code == 1 && text.contains("leads out of the application's folder"),
        "{text}"
    );
    assert_eq!(
        list(&folder.path().join("app"), &["--exclude", "link"]).0,
        0
    );
    fs::remove_file(folder.path().join("app/link")).unwrap();
    write(&folder.path().join("app/app.rb"), "get('/') {");
    let build = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
        run(command
            .args(["build", "app", "-o", "out"])
            .args(words)
            .current_dir(&folder))
    };
    let (code, text) = build(&[]);
    assert!(
        code == 1 && text.contains("app.rb:1") && text.contains("--no-check"),
        "{text}"
    );
    assert!(!folder.path().join("out").exists());
    assert_eq!(build(&["--no-check"]).0, 0);
    // The folder itself as the output.
    let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
    let onto = run(command
        .args(["build", "app", "-o", "app", "--no-check"])
        .current_dir(&folder));
    assert!(
        onto.0 == 1 && onto.1.contains("app is a folder"),
        "{}",
        onto.1
    );
}
