//! A process of the bank, in Ruby or in Rust: started, killed, stopped and started again at the same address. Knows nothing of what it is asked for.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use nix::sys::signal::Signal;
use tempfile::TempDir;
use tsumugi_testkit::free_port;

use super::native;
use crate::rig::{Site, pause};

/// The language that its application is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Ruby,
    Rust,
}

/// One process, or its place.
pub struct BankProcess {
    face: Face,
    pub name: String,
    pub address: SocketAddr,
    /// Of its pages for operators.
    pub admin: SocketAddr,
    variables: Vec<(&'static str, String)>,
    folder: Arc<TempDir>,
    site: Option<Site>,
    /// What those before it said.
    logs: Vec<String>,
}

/// For the places in the log that cookies carry from process to process.
const SECRET: &str = "a secret of the tests that has thirty-two bytes and more";

impl BankProcess {
    /// Starts it and waits until it serves.
    pub fn start(face: Face, name: &str, database: &str, sessions: &str) -> BankProcess {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("app.rb"), include_str!("bank.rb")).unwrap();
        let address = || ([127, 0, 0, 1], free_port()).into();
        let mut process = BankProcess {
            face,
            name: name.to_owned(),
            address: address(),
            admin: address(),
            variables: vec![
                ("BANK_NAME", name.to_owned()),
                ("BANK_DATABASE", database.to_owned()),
                ("BANK_SESSIONS", sessions.to_owned()),
                ("TSUMUGI_SECRET", SECRET.to_owned()),
            ],
            folder: Arc::new(folder),
            site: None,
            logs: Vec::new(),
        };
        process.start_again();
        process
    }

    pub fn start_again(&mut self) {
        let (address, admin) = (self.address.to_string(), self.admin.to_string());
        let options = ["--listen", &address, "--admin", &admin, "--workers", "1"];
        let mut command = match self.face {
            Face::Ruby => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
                command.args(["serve", "app.rb"]);
                command.args(options);
                command
            }
            Face::Rust => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "bank::process_in_rust", "--nocapture"]);
                let arguments = [&["serve"], &options[..]].concat();
                command.env(native::ARGUMENTS, arguments.join("\n"));
                command
            }
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let site = Site::launch(Arc::clone(&self.folder), command);
        site.expect_log("serving");
        self.site = Some(site);
    }

    /// As `kill -9` does.
    pub fn kill(&mut self) {
        let mut site = self.site.take().expect("it runs");
        site.signal(Signal::SIGKILL);
        while !site.has_ended() {
            pause(5);
        }
        self.logs.push(site.log());
    }

    /// Stops it in its tracks.
    pub fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        self.site.as_ref().expect("it runs").signal(signal);
    }

    /// All that it has said, with those before it.
    pub fn whole_log(&self) -> String {
        let mut text = self.logs.concat();
        text += &self.site.as_ref().map(Site::log).unwrap_or_default();
        text
    }

    /// The last of that.
    pub fn log(&self) -> String {
        let text = self.whole_log();
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(60)..];
        format!("--- {} ({:?})\n{}", self.name, self.face, shown.join("\n"))
    }
}
