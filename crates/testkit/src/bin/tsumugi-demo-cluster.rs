//! `tsumugi-demo-cluster`: the demo on three processes behind a balancer, over three PostgreSQL under Patroni and an etcd of three; in another
//! terminal, the commands that kill, stop and start its parts. Not a test, and no way to run an application: everything ends with it.
//! Rule: what it prints as a command can be typed as it stands.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use tsumugi_testkit::demo::command::{self, PartCommand};
use tsumugi_testkit::demo::{DemoCluster, DemoProgram, control};
use tsumugi_testkit::{Guard, pause};

const USAGE: &str = "usage: tsumugi-demo-cluster [--listen ADDRESS] [--program TSUMUGI] [--app FILE] [--at FOLDER]
  serves FILE (examples/demo/app.rb) by three processes of TSUMUGI (that beside this program) behind a balancer at ADDRESS (127.0.0.1:8080)
usage: tsumugi-demo-cluster [--at FOLDER] COMMAND
  status                     what runs
  kill PART                  ends it at once, as a machine's death does
  start PART                 starts it again
  freeze PART, thaw PART     stops it in its tracks, and lets it go on
  cut PART, heal PART        cuts a PostgreSQL off from all others, and ends that
PART is primary (the PostgreSQL that writes), postgres N, web N or etcd N, where N is 1 to 3.
FOLDER has the socket by which a running cluster is reached; a cluster started without one is found by the commands of the same build.";

/// Between two looks at what runs.
const LOOKS_APART: usize = 30;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match read(&words) {
        Ok(Request::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Request::Send { at, command }) => {
            let folder = at.unwrap_or_else(usual_folder);
            control::send(&folder, command)
        }
        Ok(Request::Serve(options)) => serve(&options),
        Err(reason) => {
            eprintln!("{reason}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Where commands of this build look: it leads to the folder of the cluster that was started last.
fn usual_folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("tsumugi-demo-cluster.running")
}

/// What this program was called for.
enum Request {
    Help,
    Serve(ServeOptions),
    Send {
        at: Option<PathBuf>,
        command: PartCommand,
    },
}

/// How a cluster is to be.
struct ServeOptions {
    listen: SocketAddr,
    program: Option<PathBuf>,
    app: PathBuf,
    at: Option<PathBuf>,
}

fn serve(options: &ServeOptions) -> ExitCode {
    let own = tempfile::Builder::new()
        .prefix("tsumugi-demo-")
        .tempdir()
        .unwrap_or_else(|error| panic!("cannot make a temporary directory: {error}"))
        .keep();
    let _guard = Guard::over(&own, "KILL");
    let folder = options.at.clone().unwrap_or_else(|| own.clone());
    let socket = match control::bind(&folder) {
        Ok(socket) => socket,
        Err(reason) => return fail(&reason),
    };
    let program = DemoProgram {
        tsumugi: options.program.clone().unwrap_or_else(beside),
        app: options.app.clone(),
        folder: own,
    };
    eprintln!("starting PostgreSQL, etcd, the demo and a balancer …");
    let cluster = match DemoCluster::start(&program, Some(options.listen)) {
        Ok(cluster) => Arc::new(cluster),
        Err(reason) => return fail(&reason),
    };
    println!("{}", greeting(&cluster.url(), &command_prefix(&folder)));
    let commanded = Arc::clone(&cluster);
    std::thread::spawn(move || control::listen(&socket, |command| commanded.run(command)));
    report(&cluster)
}

/// Says what changes, for ever: an interrupt ends this process, and the guards of all parts end them.
fn report(cluster: &DemoCluster) -> ExitCode {
    let mut before = Vec::new();
    loop {
        let now = cluster.lines();
        for line in now.iter().filter(|line| !before.contains(*line)) {
            println!("{line}");
        }
        before = now;
        (0..LOOKS_APART).for_each(|_| pause());
    }
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}

/// The server's program of the same build.
fn beside() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("tsumugi")
}

/// How this program is called for a cluster in that folder.
fn command_prefix(folder: &Path) -> String {
    let own = std::env::current_exe().unwrap_or_default();
    let current = std::env::current_dir().unwrap_or_default();
    let shown = own.strip_prefix(&current).unwrap_or(&own).display();
    let usual = usual_folder();
    let _ = std::fs::remove_file(&usual);
    match std::os::unix::fs::symlink(folder, &usual) {
        Ok(()) => shown.to_string(),
        // Not ours to write, as where another user has built it.
        Err(_) => format!("{shown} --at {}", folder.display()),
    }
}

fn greeting(url: &str, own: &str) -> String {
    let of = |words: &[PartCommand]| {
        let lines = words.iter().map(|word| format!("  {own} {word}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    format!(
        "
The demo runs as three processes over three PostgreSQL and an etcd of three:

  {url}/

Open it, add tasks, and meanwhile type in another terminal:

{}

Another PostgreSQL takes over within some ten seconds; what is sent meanwhile waits, and nothing is lost. Then start again what you killed, or
stop something in its tracks:

{}

{own} status says what runs, --help what else there is. Ctrl-C ends everything.
",
        of(&command::KILLS),
        of(&command::OTHERS)
    )
}

fn read(words: &[String]) -> Result<Request, String> {
    let mut words = words.iter().map(String::as_str);
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 8080));
    let (mut program, mut app, mut at) = (None, PathBuf::from("examples/demo/app.rb"), None);
    while let Some(word) = words.next() {
        if matches!(word, "-h" | "--help") {
            return Ok(Request::Help);
        }
        if !word.starts_with('-') {
            let command: Vec<&str> = std::iter::once(word).chain(words).collect();
            let command = command::parse(&command)?;
            return Ok(Request::Send { at, command });
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} takes a value"))?;
        match word {
            "--listen" => {
                listen = value
                    .parse()
                    .map_err(|_| format!("--listen takes an address and a port, not {value}"))?;
            }
            "--program" => program = Some(PathBuf::from(value)),
            "--app" => app = PathBuf::from(value),
            "--at" => at = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no option {word}")),
        }
    }
    Ok(Request::Serve(ServeOptions {
        listen,
        program,
        app,
        at,
    }))
}
