//! Where the programs are that suites start: the server, tools of this repository, peers. Knows folders, not what the programs do.
//! The server is the program that runs, unless another is named; the tools lie beside it where cargo puts them.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// Where cargo puts the peers, seen from the repository.
const PEERS: &str = "bench-peers/target/release";

/// What is needed beside this program.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The server: the shipped binary.
    pub server: PathBuf,
    /// Where the programs of Tkrzw-RPC are, if not on PATH.
    pub tkrzw_rpc: Option<PathBuf>,
    /// Where `ngx_http_mruby_module.so` is, if the user has built ngx_mruby.
    pub ngx_mruby: Option<PathBuf>,
    folders: Vec<PathBuf>,
    peers: PathBuf,
}

impl Programs {
    /// `server` instead of this program, and the peers of `peers`.
    pub fn new(server: Option<PathBuf>, peers: Option<PathBuf>) -> Result<Programs> {
        let server = match server {
            Some(server) => server
                .canonicalize()
                .with_context(|| format!("there is no server {}", server.display()))?,
            None => std::env::current_exe().context("this program cannot find itself")?,
        };
        let beside = server.parent().map(PathBuf::from).unwrap_or_default();
        // Run from elsewhere, the repository is found from the server in its target/release.
        let repository = beside.join("../..");
        let target = beside.join("..");
        let near = [PathBuf::from(PEERS), repository.join(PEERS)];
        let found = near.iter().find(|folder| folder.is_dir());
        Ok(Programs {
            server,
            tkrzw_rpc: None,
            ngx_mruby: None,
            folders: vec![beside.join("examples"), beside, target],
            peers: peers
                .or_else(|| found.cloned())
                .unwrap_or_else(|| PEERS.into()),
        })
    }

    /// A tool of this repository; where it would be when it is not built.
    pub fn tool(&self, name: &str) -> PathBuf {
        let places = || self.folders.iter().map(|folder| folder.join(name));
        places()
            .find(|file| file.is_file())
            .or_else(|| places().next())
            .unwrap_or_else(|| name.into())
    }

    /// The folder of the peers' programs.
    pub fn peers(&self) -> &PathBuf {
        &self.peers
    }
}

/// Where a program is, if it is installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian's servers are where an ordinary user's PATH does not lead.
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
