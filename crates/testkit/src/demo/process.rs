//! One process of the demo: started at its addresses, killed, stopped in its tracks. It does not know the others.
//! Rule: it has the same addresses whenever it is started, because the balancer knows them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{ServerProcess, free_port, freeze, http_status, log_of, pause, thaw};
use nix::sys::signal::Signal;

/// For a process to be ready. Generous: a busy machine takes its time.
const START_S_MAX: u64 = 60;

/// What is run, and where it may keep its files.
pub struct DemoProgram {
    /// The server's program.
    pub tsumugi: PathBuf,
    /// The application's file.
    pub app: PathBuf,
    /// A directory for what the processes write.
    pub folder: PathBuf,
}

/// What all processes have in common.
pub struct SharedSettings {
    pub database: String,
    pub secret: String,
}

pub struct DemoProcess {
    name: String,
    folder: PathBuf,
    arguments: Vec<String>,
    tsumugi: PathBuf,
    variables: [(&'static str, String); 3],
    pub address: SocketAddr,
    pub admin: SocketAddr,
    process: Mutex<ServerProcess>,
}

impl DemoProcess {
    /// Nothing runs yet.
    pub fn prepare(at: usize, program: &DemoProgram, shared: &SharedSettings) -> DemoProcess {
        let name = format!("web {}", at + 1);
        let folder = program.folder.join(format!("web-{}", at + 1));
        std::fs::create_dir_all(&folder).expect("the directory is ours");
        let port = || SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (address, admin) = (port(), port());
        let mut arguments = vec!["serve".to_owned(), program.app.display().to_string()];
        for (option, value) in [
            ("--listen", address.to_string()),
            ("--admin", admin.to_string()),
            ("--workers", "2".to_owned()),
            ("--data", folder.display().to_string()),
        ] {
            arguments.extend([option.to_owned(), value]);
        }
        DemoProcess {
            arguments,
            tsumugi: program.tsumugi.clone(),
            variables: [
                ("DATABASE_URL", shared.database.clone()),
                ("TSUMUGI_SECRET", shared.secret.clone()),
                ("DEMO_PROCESS", name.clone()),
            ],
            process: Mutex::new(ServerProcess::over(&folder, "TERM")),
            name,
            folder,
            address,
            admin,
        }
    }

    /// Starts it, and waits until it is ready.
    pub fn start(&self) -> Result<(), String> {
        let mut command = Command::new(&self.tsumugi);
        command.args(&self.arguments).env("NO_COLOR", "1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let log = self.folder.join("log");
        let wait = |child: &mut Child| self.wait_ready(child);
        let is_ready = self.process().start(command, &log, wait, |ready| *ready);
        is_ready.then_some(()).ok_or_else(|| {
            let log = log_of([log.as_path()]);
            format!("{} does not start\n{log}", self.name)
        })
    }

    fn wait_ready(&self, child: &mut Child) -> bool {
        let until = Instant::now() + Duration::from_secs(START_S_MAX);
        while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
            if http_status(self.admin, "/ready") == Some(200) {
                return true;
            }
            pause();
        }
        false
    }

    pub fn kill(&self) {
        let log = || log_of([self.folder.join("log").as_path()]);
        self.process().end(Signal::SIGKILL, log);
    }

    pub fn freeze(&self) {
        freeze(self.process().number());
    }

    pub fn thaw(&self) {
        thaw(self.process().number());
    }

    pub fn runs(&self) -> bool {
        let mut process = self.process();
        process.ended();
        process.runs()
    }

    fn process(&self) -> MutexGuard<'_, ServerProcess> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
