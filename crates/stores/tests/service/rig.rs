//! A service in this process of what an engine keeps, and a client's event loop. No tests in here. The table of behaviours is
//! `crates/rpc`'s, whose own rig has the same words for databases of this process.

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;

use tokio::task::LocalSet;
use tsumugi_kv::{KvDatabase, Spec};
use tsumugi_rpc::Client;
use tsumugi_rpc::client::Options;
use tsumugi_rpc::server::{ServedDatabase, ServedStore, ServiceSettings};
use tsumugi_stores::{Capability, StoreAddress, StoreSettings, StoreSource};
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress, Signals};

/// What a test needs of the store behind the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Count,
    Order,
    Queue,
    Search,
    /// What only a database of this process says of itself.
    Local,
}

/// Where the records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Etcd,
    Redis,
    Tkrzw,
}

thread_local! {
    static ENGINE: Cell<Engine> = const { Cell::new(Engine::Etcd) };
}

impl Engine {
    /// A place that no other test has.
    pub fn place(self) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("service-{}", NUMBER.fetch_add(1, SeqCst));
        match self {
            Engine::Etcd => EtcdCluster::shared().place(&name),
            Engine::Redis => format!("{}?prefix={name}:", RedisServer::shared().url()),
            Engine::Tkrzw => {
                let database = KvDatabase::open(&Spec::memory()).unwrap();
                let rig = Rig::over(vec![database.into()]);
                let place = format!("tkrzw://{}", rig.address);
                // It serves until the tests end.
                std::mem::forget(rig);
                place
            }
        }
    }

    /// Whether it has that, by its own table.
    fn has(self, need: Need) -> bool {
        let wanted = match need {
            Need::Count => Capability::Count,
            Need::Order => Capability::Scan,
            Need::Queue => Capability::Queue,
            Need::Search => Capability::Search,
            Need::Local => return false,
        };
        let address = match self {
            Engine::Etcd => "etcd://127.0.0.1/any",
            Engine::Redis => "redis://127.0.0.1",
            Engine::Tkrzw => "tkrzw://127.0.0.1:1978",
        };
        let address = StoreAddress::parse(address, &StoreSettings::default()).unwrap();
        address.capabilities().check(wanted).is_ok()
    }
}

/// Whether the engine of this test has it.
pub fn has(need: Need) -> bool {
    ENGINE.get().has(need)
}

/// So many records or requests: each may be a round trip to a majority.
pub fn many(count: usize) -> usize {
    count / 20
}

/// Runs a test over a service of each engine that has what it needs.
pub fn each(needs: &[Need], work: impl AsyncFn(Client)) {
    for engine in [Engine::Etcd, Engine::Redis, Engine::Tkrzw] {
        ENGINE.set(engine);
        if let Some(lacks) = needs.iter().find(|need| !has(**need)) {
            println!("{engine:?} lacks {lacks:?}");
            continue;
        }
        println!("over {engine:?}");
        let rig = Rig::start(&[&engine.place(), &engine.place()]);
        on_loop(async { work(rig.client()).await });
    }
}

/// A service that runs.
pub struct Rig {
    handle: Handle,
    address: SocketAddr,
    thread: Option<JoinHandle<Exit>>,
}

impl Rig {
    /// Serves these places on two workers.
    pub fn start(places: &[&str]) -> Rig {
        let served = |place: &&str| {
            let address = StoreAddress::parse(place, &StoreSettings::default()).unwrap();
            ServedDatabase::engine(StoreSource::new(address, None))
        };
        Rig::over(places.iter().map(served).collect())
    }

    fn over(databases: Vec<ServedDatabase>) -> Rig {
        let settings = ServiceSettings {
            databases,
            ..ServiceSettings::default()
        };
        let config = Config {
            workers: NonZeroUsize::new(2).unwrap(),
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            signals: Signals::Leave,
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        let handle = server.handle();
        let address = server.addresses().iter().find_map(|address| match address {
            ListenAddress::Tcp(address) => Some(*address),
            ListenAddress::Unix(_) => None,
        });
        let store = ServedStore::new(settings).unwrap();
        let run = move || server.run(move |worker| store.service(worker)).unwrap();
        Rig {
            handle,
            address: address.unwrap(),
            thread: Some(std::thread::spawn(run)),
        }
    }

    pub fn client(&self) -> Client {
        let target = format!("tkrzw://{}", self.address).parse().unwrap();
        Client::new(target, Options::default()).unwrap()
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
