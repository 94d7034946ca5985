//! The servers that the suites start: ours, and the peers beside it. Knows their configurations and Debian packages.
//! All of them listen on loopback ports that were free, with the same number of workers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::process::{Process, free_address};
use crate::programs::find;
use crate::report::SessionScope;

/// Workers of every server, ours and others.
pub const WORKERS: usize = 2;

/// A build of the server with the allocator of the system, among this repository's tools.
pub const SYSTEM_ALLOCATOR: &str = "system-allocator/release/tsumugi";

const NGINX_CONFIG: &str = include_str!("../peers/nginx-lua.conf");
const H2O_CONFIG: &str = include_str!("../peers/h2o-mruby.conf");
/// The handlers of ngx_mruby's author, and a one-line one.
const NGX_MRUBY_CONFIG: &str = include_str!("../peers/nginx-mruby.conf");
const LUA_WORLD_CONFIG: &str = include_str!("../peers/nginx-world.conf");
const LUA_WORLD: &str = include_str!("../peers/world.lua");
const LUA_MODULE: &str = "/usr/lib/nginx/modules/ngx_http_lua_module.so";

/// A program measured beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerProgram {
    /// nginx with Lua.
    NginxLua,
    /// H2O with its mruby handler.
    H2o,
}

impl PeerProgram {
    /// All of them.
    pub const ALL: [PeerProgram; 2] = [PeerProgram::NginxLua, PeerProgram::H2o];

    /// The name in a line of results.
    pub fn name(self) -> &'static str {
        match self {
            PeerProgram::NginxLua => "nginx+Lua",
            PeerProgram::H2o => "H2O mruby",
        }
    }

    /// The Debian packages that are missing for it, if any.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            PeerProgram::NginxLua if find("nginx").is_none() || !Path::new(LUA_MODULE).exists() => {
                Some("nginx libnginx-mod-http-lua")
            }
            PeerProgram::H2o if find("h2o").is_none() => Some("h2o"),
            _ => None,
        }
    }

    /// Starts it with so many workers and its files in `folder`.
    pub fn start(self, folder: &Path, workers: usize) -> Result<Process> {
        // Each has files of its own: several run at once.
        let folder = &tempfile::tempdir_in(folder)?.keep();
        let (program, config) = match self {
            PeerProgram::NginxLua => ("nginx", NGINX_CONFIG),
            PeerProgram::H2o => ("h2o", H2O_CONFIG),
        };
        start_configured(program, config, folder, workers, SessionScope::Own)
    }
}

/// Starts nginx with Lua on the endpoints of World and Fortune, with so many connections a worker to the database that the words of a Lua
/// table name.
pub fn start_lua_world(
    database: &str,
    connections: usize,
    folder: &Path,
    sessions: SessionScope,
) -> Result<Process> {
    let folder = &tempfile::tempdir_in(folder)?.keep();
    fs::write(folder.join("world.lua"), LUA_WORLD)?;
    let config = LUA_WORLD_CONFIG
        .replace("{pool}", &connections.to_string())
        .replace("{database}", database);
    start_configured("nginx", &config, folder, WORKERS, sessions)
}

/// Starts nginx with the module ngx_mruby, and what that module needs.
pub fn start_ngx_mruby(
    module: &Path,
    needed: &str,
    folder: &Path,
    workers: usize,
) -> Result<Process> {
    let folder = &tempfile::tempdir_in(folder)?.keep();
    let config = NGX_MRUBY_CONFIG
        .replace("{needed}", needed)
        .replace("{module}", &module.display().to_string());
    start_configured("nginx", &config, folder, workers, SessionScope::Own)
}

/// Starts a program with a configuration, on a port that is free, with its files in `folder`.
fn start_configured(
    program: &str,
    config: &str,
    folder: &Path,
    workers: usize,
    sessions: SessionScope,
) -> Result<Process> {
    let address = free_address()?;
    let config = config
        .replace("{workers}", &workers.to_string())
        .replace("{port}", &address.port().to_string());
    let file = folder.join(format!("{program}.conf"));
    fs::write(&file, config)?;
    let mut command =
        Command::new(find(program).with_context(|| format!("there is no {program}"))?);
    if program == "nginx" {
        command.arg("-p").arg(folder);
    }
    command.arg("-c").arg(&file);
    Process::start_in(sessions, program, command, address, folder)
}

/// How a server is started, where a suite shows more than one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartMode {
    /// Where it runs.
    pub sessions: SessionScope,
    /// Its `--scheduling`, if not its default.
    pub scheduling: Option<SchedulingOption>,
}

/// What `--scheduling` of our servers takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchedulingOption {
    /// A worker that becomes ready lets others finish their turn
    Batches,
    /// As the server was started
    Inherited,
}

impl SchedulingOption {
    /// What it is called on the command line.
    pub fn word(self) -> &'static str {
        match self {
            SchedulingOption::Batches => "batches",
            SchedulingOption::Inherited => "inherited",
        }
    }
}

impl StartMode {
    /// What our server is called in tables when it runs so.
    pub fn name(self) -> &'static str {
        match self.scheduling {
            None => "tsumugi",
            Some(SchedulingOption::Batches) => "tsumugi, batches",
            Some(SchedulingOption::Inherited) => "tsumugi, inherited",
        }
    }

    /// The options of our server that say it.
    pub fn options(self) -> Vec<&'static str> {
        let scheduling = self.scheduling.map(|how| ["--scheduling", how.word()]);
        scheduling.into_iter().flatten().collect()
    }
}

/// The programs of this repository.
#[derive(Clone, Debug)]
pub struct OwnPrograms {
    /// The shipped binary.
    pub tsumugi: PathBuf,
    /// The bench-only server of the suite tax.
    pub tax: PathBuf,
}

impl OwnPrograms {
    /// Starts the shipped binary on an application of this crate, with its default limits.
    pub fn start(&self, application: &str, folder: &Path) -> Result<Process> {
        self.start_on(application, folder, WORKERS)
    }

    /// The same, with so many workers.
    pub fn start_on(&self, application: &str, folder: &Path, workers: usize) -> Result<Process> {
        let file = application_file(application, folder)?;
        self.serve(&file, folder, workers, &[])
    }

    /// Starts the shipped binary on an application file, with these variables.
    pub fn serve(
        &self,
        application: &Path,
        folder: &Path,
        workers: usize,
        variables: &[(&str, &str)],
    ) -> Result<Process> {
        self.serve_as(
            StartMode::default(),
            application,
            folder,
            workers,
            variables,
        )
    }

    /// The same, in this way.
    pub fn serve_as(
        &self,
        mode: StartMode,
        application: &Path,
        folder: &Path,
        workers: usize,
        variables: &[(&str, &str)],
    ) -> Result<Process> {
        let folder = &tempfile::tempdir_in(folder)?.keep();
        let address = free_address()?;
        let mut command = Command::new(&self.tsumugi);
        command.arg("serve").arg(application);
        command.args([
            "--listen",
            &address.to_string(),
            "--workers",
            &workers.to_string(),
        ]);
        command.arg("--data").arg(folder.join("data"));
        command.args(mode.options());
        command.envs(variables.iter().copied());
        Process::start_in(mode.sessions, "tsumugi", command, address, folder)
    }

    /// Starts a case of the bench-only server, with so many workers.
    pub fn start_case(&self, case: &str, folder: &Path, workers: usize) -> Result<Process> {
        let folder = &tempfile::tempdir_in(folder)?.keep();
        let address = free_address()?;
        let mut command = Command::new(&self.tax);
        command.args([case, &address.to_string(), &workers.to_string()]);
        Process::start(case, command, address, folder)
    }
}

/// The applications that suites serve; the command carries them.
const APPLICATIONS: [(&str, &str); 10] = [
    ("arena.rb", include_str!("../apps/arena.rb")),
    ("async.rb", include_str!("../apps/async.rb")),
    ("builder.rb", include_str!("../apps/builder.rb")),
    ("hello.rb", include_str!("../apps/hello.rb")),
    ("jobs.rb", include_str!("../apps/jobs.rb")),
    (
        "hello_generational.rb",
        include_str!("../apps/hello_generational.rb"),
    ),
    ("kv.rb", include_str!("../apps/kv.rb")),
    ("pool.rb", include_str!("../apps/pool.rb")),
    ("soak.rb", include_str!("../apps/soak.rb")),
    ("workers.rb", include_str!("../apps/workers.rb")),
];

/// The example `world` and its view.
const WORLD: [(&str, &str); 2] = [
    ("app.rb", include_str!("../../../examples/world/app.rb")),
    (
        "views/fortunes.erb",
        include_str!("../../../examples/world/views/fortunes.erb"),
    ),
];

/// The example `firebird` and its view.
const FIREBIRD: [(&str, &str); 2] = [
    ("app.rb", include_str!("../../../examples/firebird/app.rb")),
    (
        "views/page.erb",
        include_str!("../../../examples/firebird/views/page.erb"),
    ),
];

/// The example `ngx_mruby`.
const NGX_MRUBY: [(&str, &str); 1] =
    [("app.rb", include_str!("../../../examples/ngx_mruby/app.rb"))];

/// Writes an application of this crate into `folder`.
pub fn application_file(name: &str, folder: &Path) -> Result<PathBuf> {
    let found = APPLICATIONS
        .iter()
        .find(|(application, _)| *application == name);
    let (_, text) = found.with_context(|| format!("there is no application {name}"))?;
    let file = folder.join(name);
    fs::write(&file, text)?;
    Ok(file)
}

/// Writes the example `world` into `folder`.
pub fn world_file(folder: &Path) -> Result<PathBuf> {
    written(&folder.join("world"), &WORLD)
}

/// Writes the example `firebird` into `folder`.
pub fn firebird_file(folder: &Path) -> Result<PathBuf> {
    written(&folder.join("firebird"), &FIREBIRD)
}

/// Writes the example `ngx_mruby` into `folder`.
pub fn ngx_mruby_file(folder: &Path) -> Result<PathBuf> {
    written(&folder.join("ngx_mruby"), &NGX_MRUBY)
}

/// Writes files into a folder; the first is the application.
fn written(folder: &Path, files: &[(&str, &str)]) -> Result<PathBuf> {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(&file, text)?;
    }
    Ok(folder.join(files[0].0))
}
