//! The unit files and configurations of `deploy/`: their programs take them, they say of the server what it has, and the application there is
//! served by the commands that they hold, on SQLite, on one machine with PostgreSQL and a store, and behind a balancer on etcd.
//! Rule: a file is read as it stands; only paths, addresses and names of this machine are put in place of those of the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::{free_port, pause, server_certificate};

const TSUMUGI: &str = env!("CARGO_BIN_EXE_tsumugi");
/// Those of docs/scale.md, and what the Debian package has.
const STEPS: [&str; 4] = ["one", "machine", "cluster", "package"];
const PATIENCE: Duration = Duration::from_secs(60);

fn deploy(path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    root.join(path)
}

fn text(path: &str) -> String {
    let path = deploy(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the files of a step that end so.
fn files(step: &str, end: &str) -> Vec<String> {
    let names = deploy(step).read_dir().unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(end)).collect()
}

/// A program of Debian.
fn program(name: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("{name} is missing; it is in the Debian package {package}"))
}

/// The words of the commands of ours that a unit starts.
fn commands(unit: &str) -> Vec<Vec<&str>> {
    let lines = unit.lines();
    let commands = lines.filter_map(|line| line.strip_prefix("ExecStart="));
    commands
        .map(|command| command.split_whitespace().collect())
        .filter(|words: &Vec<&str>| words[0] == "/usr/bin/tsumugi")
        .collect()
}

/// The setting of a unit, which has it once.
fn setting<'a>(unit: &'a str, name: &str) -> Option<&'a str> {
    let prefix = format!("{name}=");
    unit.lines().find_map(|line| line.strip_prefix(&*prefix))
}

/// What a file of an environment sets.
fn environment(path: &str) -> BTreeMap<String, String> {
    let text = text(path);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

#[test]
fn systemd_takes_every_unit() {
    let systemd = program("systemd-analyze", "systemd");
    for step in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let mut verify = Command::new(&systemd);
        verify.args(["verify", "--man=no"]).current_dir(&folder);
        for name in [files(step, ".service"), files(step, ".socket")].concat() {
            let unit = text(&format!("{step}/{name}"));
            let unit = unit.replace("/usr/bin/tsumugi", TSUMUGI);
            std::fs::write(folder.path().join(&name), unit).unwrap();
            verify.arg(format!("./{name}"));
        }
        let said = succeeds(&mut verify);
        // A name that it does not know is a line and no failure.
        assert_eq!(said, "", "{step}");
    }
}

#[test]
fn services_are_started_again_however_often_they_fail() {
    let mut seen = 0;
    for step in STEPS {
        for name in files(step, ".service") {
            let unit = text(&format!("{step}/{name}"));
            if setting(&unit, "Restart").is_none() {
                continue;
            }
            seen += 1;
            let (of_unit, _) = unit.split_once("\n[Service]").unwrap();
            let limit = setting(of_unit, "StartLimitIntervalSec");
            assert_eq!(limit, Some("0"), "{step}/{name}");
        }
    }
    assert!(seen >= 7, "{seen}");
}

/// Runs a script of the package where systemd answers every call so; what was asked of it.
fn run_script(folder: &Path, name: &str, words: &[&str], systemctl: i32) -> String {
    let (etc, log) = (folder.join("etc"), folder.join("log"));
    std::fs::create_dir_all(&etc).unwrap();
    let fake = folder.join("systemctl");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >>'{}'\nexit {systemctl}\n",
        log.display()
    );
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&log, "").unwrap();
    let text = text(&format!("package/{name}"));
    let text = text.replace("/etc/tsumugi", &etc.display().to_string());
    let text = text.replace("/run/systemd/system", &folder.display().to_string());
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let mut command = Command::new("sh");
    command.args(["-c", &text, name]).args(words);
    succeeds(command.env("PATH", path));
    std::fs::read_to_string(log).unwrap()
}

#[test]
fn scripts_of_the_package_succeed_whatever_systemd_says() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("etc/secret.env");
    let mut first = None;
    for systemctl in [1, 0] {
        let run = |name: &str, words: &[&str]| run_script(folder.path(), name, words, systemctl);
        // Installed, then replaced by a newer version.
        assert_eq!(run("postinst", &["configure", ""]), "daemon-reload\n");
        let calls = run("postinst", &["configure", "0.0.1"]);
        assert!(
            calls.contains("--no-block try-restart tsumugi.service"),
            "{calls}"
        );
        let text = std::fs::read_to_string(&secret).unwrap();
        let digits = text.trim_end().strip_prefix("TSUMUGI_SECRET=").unwrap();
        assert!(digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(first.get_or_insert(text.clone()), &text);
        let mode = secret.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let calls = run("prerm", &["remove"]);
        assert!(calls.contains("disable --now"), "{calls}");
        run("postrm", &["remove"]);
        assert!(secret.exists());
    }
    run_script(folder.path(), "postrm", &["purge"], 1);
    assert!(!secret.exists());
}

#[test]
fn folder_that_dist_has_not_made_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let dist = |made: bool| {
        std::fs::write(&notes, "by hand").unwrap();
        if made {
            std::fs::write(folder.path().join("SHA256SUMS"), "").unwrap();
        }
        let mut dist = Command::new(deploy("../scripts/dist"));
        // Nothing is made for these.
        dist.env("DIST_TARGETS", "none").arg(folder.path());
        let output = dist.output().unwrap();
        assert!(!output.status.success() && notes.exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let refused = dist(false);
    assert!(refused.contains("was not made by this"), "{refused}");
    let made = dist(true);
    assert!(made.contains("DIST_TARGETS lacks"), "{made}");
}

#[test]
fn services_of_ours_are_hardened() {
    let systemd = program("systemd-analyze", "systemd");
    for step in STEPS {
        for name in files(step, ".service") {
            let path = format!("{step}/{name}");
            if commands(&text(&path)).is_empty() {
                continue;
            }
            // Tenths of its scale of 10, on which a service that says nothing has 9.6.
            let mut security = Command::new(&systemd);
            security.args(["security", "--offline=true", "--threshold=20"]);
            succeeds(security.arg(deploy(&path)));
        }
    }
}

#[test]
fn units_name_options_that_there_are_and_times_that_suffice() {
    let drain = Duration::from_millis(tsumugi_worker::WorkerLimits::default().drain_ms_max);
    let load = Duration::from_millis(tsumugi_worker::WorkerLimits::default().load_ms_max);
    let mut seen = 0;
    for step in STEPS {
        for name in files(step, ".service") {
            let unit = text(&format!("{step}/{name}"));
            for words in commands(&unit) {
                seen += 1;
                let help = succeeds(Command::new(TSUMUGI).args([words[1], "--help"]));
                for option in words.iter().filter(|word| word.starts_with("--")) {
                    let is_there = help.split_whitespace().any(|word| word == *option);
                    assert!(is_there, "{step}/{name}: {option}");
                }
                let value = |option: &str| {
                    let at = words.iter().position(|word| *word == option)?;
                    Some(words[at + 1])
                };
                let seconds = |name: &str| {
                    let seconds = setting(&unit, name)?.parse().unwrap();
                    Some(Duration::from_secs(seconds))
                };
                let delay = value("--drain-delay").map_or(0, |text| text.parse().unwrap());
                let stop = seconds("TimeoutStopSec").unwrap();
                assert!(
                    stop > drain + Duration::from_secs(delay),
                    "{step}/{name}: {stop:?}"
                );
                if words[1] == "serve" {
                    assert!(seconds("TimeoutStartSec").unwrap() > load, "{step}/{name}");
                }
                // What has handed over ends with 0, and must not be started again.
                assert_eq!(
                    setting(&unit, "Restart"),
                    Some("on-failure"),
                    "{step}/{name}"
                );
                assert_eq!(setting(&unit, "Type"), Some("notify"), "{step}/{name}");
            }
        }
    }
    assert_eq!(seen, 5, "commands of ours");
}

#[test]
fn names_and_figures_of_the_kernel_are_there_and_allow_what_the_units_ask_for() {
    for step in ["machine", "cluster"] {
        let mut figures = BTreeMap::new();
        let settings = text(&format!("{step}/sysctl.conf"));
        for line in settings.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(" = ").unwrap();
            let path = format!(
                "/proc/sys/{}",
                name.trim_start_matches('-').replace('.', "/")
            );
            let is_there = Path::new(&path).exists();
            assert!(is_there || name.starts_with('-'), "{step}: {name}");
            figures.insert(name.to_owned(), value.to_owned());
        }
        let files_max: u64 = figures["fs.nr_open"].parse().unwrap();
        for name in files(step, ".service") {
            let unit = text(&format!("{step}/{name}"));
            let files: u64 = setting(&unit, "LimitNOFILE").unwrap().parse().unwrap();
            assert!(files <= files_max, "{step}/{name}");
        }
    }
}

#[test]
fn database_takes_the_connections_of_two_versions_on_every_machine() {
    const WORKERS: u32 = 8;
    let app = text("app.rb");
    let pool = app.split("pool: ").nth(1).unwrap();
    let pool: String = pool.chars().take_while(char::is_ascii_digit).collect();
    // A worker with subscribers of a channel has one connection more.
    let each = WORKERS * (pool.parse::<u32>().unwrap() + 1);
    let balancer = text("cluster/haproxy.cfg");
    let machines = (1..).take_while(|n| balancer.contains(&format!(" 10.0.1.{n}:8080")));
    let machines = u32::try_from(machines.count()).unwrap();
    for (name, word, machines) in [
        ("machine/postgresql.conf", "max_connections = ", 1),
        ("cluster/patroni.yml", "max_connections: ", machines),
    ] {
        let text = text(name);
        let said = text.split(word).nth(1).unwrap().lines().next().unwrap();
        let wanted = 2 * machines * each;
        assert!(said.parse::<u32>().unwrap() > wanted, "{name}: {wanted}");
        assert!(text.contains(&format!("= {wanted}")), "{name}: {wanted}");
    }
}

#[test]
fn balancer_knows_every_port_of_every_machine() {
    let unit = text("cluster/app@.service");
    let balancer = text("cluster/haproxy.cfg");
    let ports = unit.split("--listen ${ADDRESS}:").skip(1);
    let ports: Vec<&str> = ports.map(|rest| &rest[..4]).collect();
    assert_eq!(ports.len(), 4);
    for machine in 1..=5 {
        for port in &ports {
            assert!(
                balancer.contains(&format!(" 10.0.1.{machine}:{port}\n")),
                "{machine} {port}"
            );
        }
    }
    assert!(unit.contains("--admin ${ADDRESS}:9090") && balancer.contains("check port 9090"));
}

#[test]
fn haproxy_and_patroni_take_their_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("haproxy.cfg");
    std::fs::write(&path, balancer_at(folder.path(), &[])).unwrap();
    let haproxy = program("haproxy", "haproxy");
    succeeds(Command::new(haproxy).args(["-c", "-f"]).arg(&path));
    let patroni = program("patroni", "patroni");
    // Its programs may be those of another version here.
    let bin = Command::new("pg_config").arg("--bindir").output().unwrap();
    let bin = String::from_utf8(bin.stdout).unwrap();
    let configuration = text("cluster/patroni.yml");
    let configuration = configuration.replace("/usr/lib/postgresql/15/bin", bin.trim());
    let path = folder.path().join("patroni.yml");
    std::fs::write(&path, configuration).unwrap();
    let mut validate = Command::new(patroni);
    validate.arg("--validate-config").arg(&path);
    succeeds(validate.envs(environment("cluster/patroni.env")));
}

fn page() -> String {
    text("../docs/scale.md")
}

#[test]
fn page_shows_the_application_that_is_deployed() {
    let page = page();
    let shown = page.split("```ruby\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    let app = text("app.rb");
    let (_, app) = app.split_once('\n').unwrap();
    assert_eq!(shown, app);
}

#[test]
fn figures_of_limits_on_the_page_are_those_of_the_code() {
    let page = page();
    let worker = tsumugi_worker::WorkerLimits::default();
    let ruby = tsumugi_ruby::Limits::default();
    let limits = [
        ("connections_max", worker.connections_max),
        ("backlog_max", worker.backlog_max as usize),
        ("requests_max", ruby.requests_max),
        ("vm_bytes_max", ruby.vm_bytes_max),
    ];
    let digits = |number: usize| {
        let text = number.to_string();
        let groups = text.as_bytes().rchunks(3).rev();
        let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
        groups.join(",")
    };
    for (name, value) in limits {
        let said = format!("`{name}` ({})", digits(value));
        assert!(page.contains(&said), "{said}");
    }
    let built_in = [
        (
            "CHANNEL_MESSAGES_MAX",
            tsumugi::cluster::limits::CHANNEL_MESSAGES_MAX,
        ),
        ("CHANNELS_MAX", tsumugi::cluster::limits::CHANNELS_MAX),
        (
            "REMOTE_WATCHES_MAX",
            tsumugi_stores::limits::REMOTE_WATCHES_MAX,
        ),
    ];
    for (name, value) in built_in {
        let row = page
            .lines()
            .find(|line| line.contains(&format!("`{name}`, built in")));
        let row = row.unwrap_or_else(|| panic!("{name} is not on the page"));
        assert!(row.contains(&digits(value)), "{name}: {row}");
    }
}

/// The balancer's configuration with a certificate of its own, and other words in place of some.
fn balancer_at(folder: &Path, others: &[(&str, &str)]) -> String {
    let certificate = server_certificate(folder);
    let pem =
        [certificate.server, certificate.key].map(|path| std::fs::read_to_string(path).unwrap());
    let site = folder.join("site.pem");
    std::fs::write(&site, pem.concat()).unwrap();
    let mut text =
        text("cluster/haproxy.cfg").replace("/etc/haproxy/site.pem", site.to_str().unwrap());
    for (word, other) in others {
        assert!(text.contains(word), "haproxy.cfg lacks {word}");
        text = text.replace(word, other);
    }
    text
}

/// A program that is ended with the test.
struct Service {
    child: Child,
    log: PathBuf,
}

impl Service {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn start(mut command: Command, folder: &Path, name: &str) -> Service {
        let log = folder.join(format!("{name}.log"));
        let file = std::fs::File::create(&log).unwrap();
        let child = command
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn();
        Service {
            child: child.unwrap(),
            log,
        }
    }

    /// Starts what a unit starts, in a folder that stands for the machine. `listener` is what systemd passes.
    fn unit(path: &str, folder: &Path, words: &Words, listener: Option<&TcpListener>) -> Service {
        let unit = text(path);
        let mut commands = commands(&unit);
        let command = commands.pop().unwrap();
        let command = command.iter().map(|word| words.replaced(word));
        let mut line = "exec \"$@\"".to_owned();
        if listener.is_some() {
            line = "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=web; exec \"$@\" 3<&0 0</dev/null".to_owned();
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &line, "sh"]).args(command);
        shell.current_dir(folder).envs(&words.environment);
        let input = listener.map(|socket| OwnedFd::from(socket.try_clone().unwrap()));
        shell.stdin(input.map_or(Stdio::null(), Stdio::from));
        let name = path.replace('/', "-");
        Service::start(shell, folder, &name)
    }

    fn signal(&self, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(process, signal).unwrap();
    }

    fn has_ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().unwrap()?;
        Some(status.code().expect("ended by a signal"))
    }

    /// Waits for its end; answers its exit code.
    fn end(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(code) = self.has_ended() {
                return code;
            }
            assert!(Instant::now() < deadline, "it did not end: {}", self.log());
            pause();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What stands for the names of a real machine.
struct Words {
    words: Vec<(String, String)>,
    environment: BTreeMap<String, String>,
}

impl Words {
    /// Those of a folder, with the environment of a step in which `engines` stand for its addresses.
    fn of(step: &str, folder: &Path, engines: &[(&str, &str)]) -> Words {
        let certificate = server_certificate(folder);
        let inside = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let mut environment = environment(&format!("{step}/app.env"));
        for (name, value) in engines {
            let before = environment.insert((*name).to_owned(), (*value).to_owned());
            assert!(before.is_some(), "{step}/app.env lacks {name}");
        }
        let words = [
            ("/usr/bin/tsumugi", TSUMUGI.to_owned()),
            (
                "/etc/app/tls.pem",
                certificate.server.to_str().unwrap().to_owned(),
            ),
            (
                "/etc/app/tls.key",
                certificate.key.to_str().unwrap().to_owned(),
            ),
            ("/var/lib/app-store", inside("store")),
            ("/var/lib/app", inside("data")),
            ("/run/app-store/store.sock", inside("store.sock")),
            ("/run/app/handover.sock", inside("handover.sock")),
            ("127.0.0.1:9090", format!("127.0.0.1:{}", free_port())),
            ("127.0.0.1:9091", format!("127.0.0.1:{}", free_port())),
        ];
        std::fs::copy(deploy("app.rb"), folder.join("app.rb")).unwrap();
        Words {
            words: words.map(|(name, here)| (name.to_owned(), here)).into(),
            environment,
        }
    }

    fn replaced(&self, word: &str) -> String {
        let mut word = word.to_owned();
        for (name, value) in &self.environment {
            word = word.replace(&format!("${{{name}}}"), value);
        }
        for (name, here) in &self.words {
            word = word.replace(name, here);
        }
        word
    }
}

/// What is answered to a user, whose cookies are in a file.
fn visit(url: &str, folder: &Path, method: &[&str]) -> Option<String> {
    let output = Command::new(program("curl", "curl"))
        .args([
            "--silent",
            "--show-error",
            "--fail",
            "--insecure",
            "--max-time",
            "30",
        ])
        .arg("--cookie-jar")
        .arg(folder.join("cookies"))
        .arg("--cookie")
        .arg(folder.join("cookies"))
        .args(method)
        .arg(url)
        .output()
        .unwrap();
    let body = String::from_utf8(output.stdout).unwrap();
    output.status.success().then_some(body)
}

/// Asks until there is this answer.
#[track_caller]
fn until(url: &str, folder: &Path, expected: &str, services: &[&Service]) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = visit(url, folder, &[]) {
            assert_eq!(found, expected);
            return;
        }
        if Instant::now() > deadline {
            let logs = services.iter().fold(String::new(), |mut logs, service| {
                let _ = writeln!(logs, "{}", service.log());
                logs
            });
            panic!("{url} does not answer: {logs}");
        }
        pause();
    }
}

#[test]
fn one_process_is_restarted_while_its_port_stays_and_sessions_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let words = Words::of("one", folder.path(), &[]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", port.local_addr().unwrap());
    for turn in 1..=2 {
        let mut service = Service::unit("one/app.service", folder.path(), &words, Some(&port));
        // Nobody is refused: it waits for the service.
        until(
            &url,
            folder.path(),
            &format!(r#"{{"visits":{turn},"mine":{turn}}}"#),
            &[&service],
        );
        service.signal(Signal::SIGTERM);
        assert_eq!(service.end(), 0, "{}", service.log());
    }
}

#[test]
fn machine_hands_over_from_one_version_to_the_other_with_one_store_and_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let database = tsumugi_testkit::postgres::Server::shared().database();
    let store = format!("tkrzw+unix:{}", folder.path().join("store.sock").display());
    let engines = [("DATABASE_URL", &*database.url()), ("STORE_URL", &*store)];
    let words = Words::of("machine", folder.path(), &engines);
    let _store = Service::unit("machine/app-store.service", folder.path(), &words, None);
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", port.local_addr().unwrap());
    let start = || Service::unit("machine/app@.service", folder.path(), &words, Some(&port));
    let mut serving = start();
    until(&url, folder.path(), r#"{"visits":1,"mine":1}"#, &[&serving]);
    for turn in 2..=3 {
        let next = start();
        assert_eq!(serving.end(), 0, "{}", serving.log());
        let expected = format!(r#"{{"visits":{turn},"mine":{turn}}}"#);
        until(&url, folder.path(), &expected, &[&next]);
        serving = next;
    }
}

/// Ports of the unit, which machines have at addresses of their own.
const PORTS: [&str; 5] = ["8080", "8081", "8082", "8083", "9090"];

/// Two machines at 127.0.0.1 and 127.0.0.2, ready to serve, with these ports in place of those of the unit.
fn two_machines(folder: &Path, ports: &[String; 5], database: &str) -> Vec<Service> {
    let store = EtcdCluster::shared().place("deploy");
    let machines = ["127.0.0.1", "127.0.0.2"].map(|address| {
        let place = folder.join(address);
        std::fs::create_dir(&place).unwrap();
        let engines = [
            ("ADDRESS", address),
            ("DATABASE_URL", database),
            ("STORE_URL", &*store),
        ];
        let mut words = Words::of("cluster", &place, &engines);
        for (name, port) in PORTS.iter().zip(ports) {
            let here = format!("{address}:{port}");
            // Before the pages of a machine that has no address of its own.
            words.words.insert(0, (format!("{address}:{name}"), here));
        }
        let machine = Service::unit("cluster/app@.service", &place, &words, None);
        let ready = format!("http://{address}:{}/ready", ports[4]);
        until(&ready, &place, "ready\n", &[&machine]);
        machine
    });
    machines.into()
}

/// The balancer before them, and its address. Three of its five machines are not there.
fn balancer_before(folder: &Path, ports: &[String; 5]) -> (Service, String) {
    let front = format!("127.0.0.1:{}", free_port());
    let figures = format!(" 127.0.0.1:{}", free_port());
    let bind = format!("bind {front}");
    let check = format!("check port {}", ports[4]);
    let mut others = vec![
        ("bind :443", bind.as_str()),
        (" 127.0.0.1:8404", &figures),
        (" 10.0.1.", " 127.0.0."),
        ("check port 9090", &check),
        // It is not root here, and has few files.
        ("    user haproxy\n    group haproxy\n", ""),
        ("maxconn 200000", "maxconn 500"),
    ];
    let ends: Vec<(String, String)> = PORTS[..4]
        .iter()
        .zip(ports)
        .map(|(name, port)| (format!(":{name}\n"), format!(":{port}\n")))
        .collect();
    others.extend(ends.iter().map(|(name, port)| (&**name, &**port)));
    let path = folder.join("haproxy.cfg");
    std::fs::write(&path, balancer_at(folder, &others)).unwrap();
    let mut haproxy = Command::new(program("haproxy", "haproxy"));
    haproxy.arg("-db").arg("-f").arg(&path);
    let balancer = Service::start(haproxy, folder, "haproxy");
    let deadline = Instant::now() + PATIENCE;
    while !balancer.log().contains("app5-3 is DOWN") {
        assert!(Instant::now() < deadline, "{}", balancer.log());
        pause();
    }
    (balancer, format!("https://{front}"))
}

#[test]
fn machine_behind_the_balancer_is_stopped_and_no_request_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let ports = PORTS.map(|_| free_port().to_string());
    let database = tsumugi_testkit::postgres::Server::shared().database();
    let mut machines = two_machines(folder.path(), &ports, &database.url());
    let (balancer, url) = balancer_before(folder.path(), &ports);
    let body = ["--json", r#"{"text":"hello"}"#];
    let noted = visit(&format!("{url}/notes"), folder.path(), &body);
    assert_eq!(noted.as_deref(), Some(r#"{"id":1}"#), "{}", balancer.log());
    let mut visits = 0;
    let mut visited = || {
        visits += 1;
        let expected = format!(r#"{{"visits":{visits},"mine":{visits}}}"#);
        let found = visit(&format!("{url}/"), folder.path(), &[]);
        assert_eq!(found, Some(expected), "{}", balancer.log());
        visits
    };
    for _ in 0..4 {
        visited();
    }
    machines[0].signal(Signal::SIGTERM);
    let deadline = Instant::now() + PATIENCE;
    while machines[0].has_ended().is_none() {
        visited();
        let log = machines[0].log();
        assert!(Instant::now() < deadline, "it did not end: {log}");
    }
    assert_eq!(machines[0].end(), 0, "{}", machines[0].log());
    assert!(visited() > 8);
    for machine in machines {
        let log = machine.log();
        assert!(log.contains(r#""path":"/""#), "it was not asked: {log}");
    }
}
