//! The servers of the suite kv: ours at three addresses, and `tkrzw_server` of Tkrzw-RPC, where it is, at one address each.
//! Finds and starts them; knows no call. Both get the same names of databases, so that they keep them in the same way.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bench::Bench;
use crate::process::{Process, free_address};
use crate::programs::{Programs, find};
use crate::report::{MissingPart, SessionScope};
use crate::servers::WORKERS;

/// The databases of each server, by their indices: for the author's tool, which clears its database; for our load on disk, as the author
/// had it, and in memory; and for large values. The tool's is the first, because its separate
/// connections use no other index.
const DATABASES: [&str; 4] = [
    "perf.tkh#num_buckets=2m",
    "casket.tkh#num_buckets=2m",
    "casket.tkmt",
    "large.tkmt",
];
/// The index of the database of the author's tool.
pub const PERF_DATABASE: usize = 0;
/// The index of the database on disk.
pub const ON_DISK: usize = 1;
/// The index of the database in memory.
pub const IN_MEMORY: usize = 2;
/// The index of the database of large values.
pub const LARGE: usize = 3;

/// What ours is called in tables.
pub const OURS: &str = "tsumugi";
/// What the original is called.
pub const ORIGINAL: &str = "tkrzw_server";

/// The programs of Tkrzw-RPC.
#[derive(Clone, Debug)]
pub struct TkrzwPrograms {
    server: PathBuf,
    perf: PathBuf,
    /// Where they were built, with the library that they share.
    folder: Option<PathBuf>,
}

impl TkrzwPrograms {
    /// Those of the folder that was named, or of PATH.
    pub fn find(programs: &Programs) -> Result<Result<TkrzwPrograms, MissingPart>> {
        let names = [ORIGINAL, "tkrzw_dbm_remote_perf"];
        if let Some(folder) = &programs.tkrzw_rpc {
            let folder = folder
                .canonicalize()
                .with_context(|| format!("--tkrzw-rpc names no folder: {}", folder.display()))?;
            let [server, perf] = names.map(|name| folder.join(name));
            for file in [&server, &perf] {
                ensure!(
                    file.is_file(),
                    "there is no {}: --tkrzw-rpc names the folder in which Tkrzw-RPC was built",
                    file.display()
                );
            }
            let folder = Some(folder);
            return Ok(Ok(TkrzwPrograms {
                server,
                perf,
                folder,
            }));
        }
        let [server, perf] = names.map(find);
        Ok(match (server, perf) {
            (Some(server), Some(perf)) => Ok(TkrzwPrograms {
                server,
                perf,
                folder: None,
            }),
            _ => Err(MissingPart {
                what: names.join(" and "),
                remedy: "Debian does not have them: get Tkrzw-RPC from https://github.com/estraier/tkrzw-rpc, build it as its author says there, \
                    and name the folder with --tkrzw-rpc FOLDER unless they are on PATH"
                    .to_owned(),
            }),
        })
    }
}

/// A server at one address.
pub struct KvServer<'a> {
    /// What it is called in tables.
    pub name: &'static str,
    /// Where our load finds it.
    pub url: String,
    /// Where the author's load finds it.
    pub address: String,
    /// What runs.
    pub process: &'a Process,
}

/// Both servers at addresses of one kind; each kind has a table.
pub struct AddressGroup {
    /// The part of the published table.
    pub part: &'static str,
    /// Where ours is.
    address: KvAddress,
    /// The original, and where.
    original: Option<(Process, KvAddress)>,
}

/// An address as each of the programs wants it.
#[derive(Clone, Debug)]
enum KvAddress {
    Unix(PathBuf),
    Ip(SocketAddr),
}

impl KvAddress {
    /// As servers take it, and the author's tool.
    fn listen(&self) -> String {
        match self {
            KvAddress::Unix(path) => format!("unix:{}", path.display()),
            KvAddress::Ip(address) => address.to_string(),
        }
    }

    /// As our load takes it.
    fn url(&self) -> String {
        match self {
            KvAddress::Unix(path) => format!("tkrzw+unix:{}", path.display()),
            KvAddress::Ip(address) => format!("tkrzw://{address}"),
        }
    }

    fn answers(&self) -> bool {
        match self {
            KvAddress::Unix(path) => UnixStream::connect(path).is_ok(),
            KvAddress::Ip(address) => TcpStream::connect(address).is_ok(),
        }
    }
}

/// All servers of the suite.
pub struct KvServers {
    ours: Process,
    /// By the kind of address.
    pub groups: Vec<AddressGroup>,
    /// The author's load, when his programs are there.
    pub programs: Option<TkrzwPrograms>,
}

impl KvServers {
    /// Starts the shipped binary on a UNIX socket, IPv4 and IPv6, with its default limits; and the original on each.
    pub fn start(bench: &mut Bench) -> Result<KvServers> {
        let programs = match TkrzwPrograms::find(&bench.programs)? {
            Ok(programs) => Some(programs),
            Err(missing) => {
                bench.miss(&missing.what, &missing.remedy);
                None
            }
        };
        let folder = bench.folder().to_owned();
        let mut groups = vec![
            ("UNIX socket", KvAddress::Unix(folder.join("kv.sock"))),
            ("IPv4", KvAddress::Ip(free_address()?)),
        ];
        match free_ipv6() {
            Ok(address) => groups.push(("IPv6", KvAddress::Ip(address))),
            Err(error) => bench.miss("IPv6", &format!("this machine has none ({error})")),
        }
        let ours = start_ours(&bench.programs.server, &groups, &folder)?;
        let mut started = Vec::new();
        for (at, (part, address)) in groups.into_iter().enumerate() {
            let original = programs.as_ref().map(|programs| {
                let folder = folder.join(format!("original-{at}"));
                programs.start(&address, &folder)
            });
            started.push(AddressGroup {
                part,
                address,
                original: original.transpose()?,
            });
        }
        Ok(KvServers {
            ours,
            groups: started,
            programs,
        })
    }

    /// Ours and, where it is, the original, at the addresses of one kind.
    pub fn at<'a>(&'a self, group: &'a AddressGroup) -> Vec<KvServer<'a>> {
        let ours = KvServer {
            name: OURS,
            url: group.address.url(),
            address: group.address.listen(),
            process: &self.ours,
        };
        let original = group.original.as_ref().map(|(process, address)| KvServer {
            name: ORIGINAL,
            url: address.url(),
            address: address.listen(),
            process,
        });
        std::iter::once(ours).chain(original).collect()
    }
}

fn start_ours(
    program: &Path,
    groups: &[(&'static str, KvAddress)],
    folder: &Path,
) -> Result<Process> {
    let admin = free_address()?;
    let mut command = Command::new(program);
    command.args(["kv", "--workers", &WORKERS.to_string()]);
    command.args(["--admin", &admin.to_string()]);
    for (_, address) in groups {
        command.args(["--listen", &address.listen()]);
    }
    command.args(DATABASES).current_dir(folder);
    Process::start("kv", command, admin, folder)
}

impl TkrzwPrograms {
    /// The author's load.
    pub fn perf(&self) -> Command {
        self.command(&self.perf)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Programs that were not installed find their library where they were built.
        if let Some(folder) = &self.folder {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    }

    /// Starts the original in a folder of its own, at an address of the same kind as another.
    fn start(&self, like: &KvAddress, folder: &Path) -> Result<(Process, KvAddress)> {
        std::fs::create_dir(folder)?;
        let address = match like {
            KvAddress::Unix(_) => KvAddress::Unix(folder.join("kv.sock")),
            KvAddress::Ip(address) if address.is_ipv6() => KvAddress::Ip(free_ipv6()?),
            KvAddress::Ip(_) => KvAddress::Ip(free_address()?),
        };
        let mut command = self.command(&self.server);
        command.args(["--address", &address.listen(), "--log_level", "error"]);
        // Its default is one thread; ours has as many workers.
        command.args(["--threads", &WORKERS.to_string()]);
        command.args(DATABASES).current_dir(folder);
        let answers = || address.answers();
        let process = Process::start_until(
            &answers,
            SessionScope::Own,
            ORIGINAL,
            command,
            // It answers nothing there; the load has the address.
            free_address()?,
            folder,
        )
        .context("tkrzw_server does not start")?;
        Ok((process, address))
    }
}

fn free_ipv6() -> std::io::Result<SocketAddr> {
    TcpListener::bind("[::1]:0")?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_folder_that_lacks_them_are_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::new(None, None).unwrap();
        programs.tkrzw_rpc = Some(folder.path().to_owned());
        let error = TkrzwPrograms::find(&programs).unwrap_err().to_string();
        assert!(error.contains("tkrzw_server: --tkrzw-rpc names"), "{error}");
        for name in [ORIGINAL, "tkrzw_dbm_remote_perf"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let perf = TkrzwPrograms::find(&programs).unwrap().unwrap().perf();
        let expected = folder.path().join("tkrzw_dbm_remote_perf");
        assert_eq!(perf.get_program(), expected);
    }

    #[test]
    fn address_is_written_as_each_program_wants_it() {
        let unix = KvAddress::Unix("/tmp/kv.sock".into());
        assert_eq!(unix.listen(), "unix:/tmp/kv.sock");
        assert_eq!(unix.url(), "tkrzw+unix:/tmp/kv.sock");
        let ip = KvAddress::Ip("[::1]:1978".parse().unwrap());
        assert_eq!(ip.listen(), "[::1]:1978");
        assert_eq!(ip.url(), "tkrzw://[::1]:1978");
    }
}
