//! A server in this process for the tests, on free ports and a UNIX socket, and a client's event loop. Not a test itself.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::future::Future;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::JoinHandle;

use tempfile::TempDir;
use tokio::task::LocalSet;
use tsumugi_kv::{Durability, KvDatabase, Spec};
use tsumugi_rpc::client::Options;
use tsumugi_rpc::server::{ServedStore, ServiceSettings};
use tsumugi_rpc::{Client, RpcTarget};
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress};

/// What a test needs of the store behind the service. One of this process has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Count,
    Order,
    Queue,
    Search,
    /// What only a database of this process says of itself.
    Local,
}

/// Whether the store of this test has it.
pub fn has(_: Need) -> bool {
    true
}

/// So many records or requests; fewer behind a network.
pub fn many(count: usize) -> usize {
    count
}

/// Runs a test over a service of each kind of store: a database in memory, and one on disk.
pub fn each(_: &[Need], work: impl AsyncFn(Client)) {
    for durability in [Durability::Memory, Durability::Process] {
        let rig = Rig::with(|settings, _, folder| {
            if durability == Durability::Process {
                let open = |name: &str| {
                    KvDatabase::open(&Spec::disk(folder.path().join(name), durability))
                };
                settings.databases = ["casket.tkt", "other.tkt"]
                    .map(|name| open(name).unwrap().into())
                    .into();
            }
        });
        on_loop(async { work(rig.client()).await });
    }
}

pub struct Rig {
    pub handle: Handle,
    pub addresses: Vec<ListenAddress>,
    pub store: ServedStore,
    pub folder: TempDir,
    thread: Option<JoinHandle<Exit>>,
}

impl Rig {
    /// Two databases in memory, on one worker.
    pub fn start() -> Rig {
        Rig::with(|_, _, _| {})
    }

    pub fn with(change: impl FnOnce(&mut ServiceSettings, &mut Config, &TempDir)) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = ServiceSettings {
            databases: (0..2)
                .map(|_| KvDatabase::open(&Spec::memory()).unwrap().into())
                .collect(),
            ..ServiceSettings::default()
        };
        let mut config = Config {
            workers: NonZeroUsize::MIN,
            listen: vec![
                "127.0.0.1:0".parse().unwrap(),
                ListenAddress::Unix(folder.path().join("kv.sock")),
            ],
            ..Config::default()
        };
        change(&mut settings, &mut config, &folder);
        let server = BoundServer::bind(config).unwrap();
        let (handle, addresses) = (server.handle(), server.addresses().to_vec());
        let store = ServedStore::new(settings).unwrap();
        let own = store.clone();
        let thread =
            std::thread::spawn(move || server.run(move |worker| own.service(worker)).unwrap());
        Rig {
            handle,
            addresses,
            store,
            folder,
            thread: Some(thread),
        }
    }

    pub fn tcp(&self) -> SocketAddr {
        let tcp = self.addresses.iter().find_map(|address| match address {
            ListenAddress::Tcp(address) => Some(*address),
            ListenAddress::Unix(_) => None,
        });
        tcp.unwrap()
    }

    pub fn unix(&self) -> PathBuf {
        let unix = self.addresses.iter().find_map(|address| match address {
            ListenAddress::Unix(path) => Some(path.clone()),
            ListenAddress::Tcp(_) => None,
        });
        unix.unwrap()
    }

    pub fn target(&self) -> RpcTarget {
        format!("tkrzw://{}", self.tcp()).parse().unwrap()
    }

    pub fn client(&self) -> Client {
        Client::new(self.target(), Options::default()).unwrap()
    }

    /// Waits until the server has ended by itself.
    pub fn ended(mut self) -> Exit {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.handle.abort();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a client on an event loop of this thread.
pub fn on_loop<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, work)
}
