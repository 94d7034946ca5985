//! The stores a test of behaviour runs over. No tests in here. Rule: every engine is in the list, and each test has records of its own.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::task::LocalSet;
use tsumugi_kv::{KvDatabase, Spec};
use tsumugi_rpc::server::{ServedStore, ServiceSettings};
use tsumugi_stores::{Capability, Store, StoreAccess, StoreAddress, StoreOpener, StoreSettings};
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;
use tsumugi_worker::{BoundServer, Config, ListenAddress, Pool, Signals, WorkerLimits};

/// Where the records of a test are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Memory,
    Disk,
    Tkrzw,
    Etcd,
    Redis,
}

pub const ALL: [Engine; 5] = [
    Engine::Memory,
    Engine::Disk,
    Engine::Tkrzw,
    Engine::Etcd,
    Engine::Redis,
];

/// How long a test may take on one engine. A test that hangs says so.
const TEST_MAX: Duration = Duration::from_secs(300);

/// An opener as an application on one worker has it.
pub fn opener() -> StoreOpener {
    let pool = Pool::new(&WorkerLimits::default());
    StoreOpener::new(pool, StoreAccess::Whole, None)
}

/// Opens a place without settings.
pub async fn open(place: &str) -> tsumugi_stores::Result<Store> {
    let address = StoreAddress::parse(place, &StoreSettings::default())?;
    opener().open(address).await
}

/// Runs on a worker's kind of runtime, which ends with it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(TEST_MAX, test).await.expect("an end")
    })
}

/// Runs a test over a new store of every engine. `name` is no other test's.
pub fn each(name: &str, test: impl AsyncFn(&Store, Engine)) {
    for engine in ALL {
        println!("over {engine:?}");
        let folder = tempfile::tempdir().unwrap();
        let place = match engine {
            Engine::Memory => format!("memory:{name}"),
            Engine::Disk => folder.path().join("kv").display().to_string(),
            Engine::Tkrzw => format!("tkrzw://{}", serve()),
            Engine::Etcd => EtcdCluster::shared().place(name),
            Engine::Redis => format!("{}?prefix={name}:", RedisServer::shared().url()),
        };
        run(async {
            let store = open(&place).await.unwrap();
            test(&store, engine).await;
        });
    }
}

/// The same over every engine that can do something. One that cannot is named here, so that none is left out by mistake.
pub fn each_able(name: &str, wanted: Capability, test: impl AsyncFn(&Store, Engine)) {
    each(name, async |store, engine| {
        match store.capabilities().check(wanted) {
            Ok(()) => test(store, engine).await,
            Err(refused) => assert_eq!(engine, Engine::Redis, "{refused}"),
        }
    });
}

/// Checks how many records there are, on engines that count them.
pub async fn check_count(store: &Store, expected: u64) {
    if store.capabilities().check(Capability::Count).is_ok() {
        assert_eq!(store.count().await.unwrap(), expected);
    }
}

/// A service of one database, until the tests end.
fn serve() -> SocketAddr {
    let settings = ServiceSettings {
        databases: vec![KvDatabase::open(&Spec::memory()).unwrap().into()],
        ..ServiceSettings::default()
    };
    let config = Config {
        workers: NonZeroUsize::MIN,
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        signals: Signals::Leave,
        ..Config::default()
    };
    let server = BoundServer::bind(config).unwrap();
    let address = server.addresses().iter().find_map(|address| match address {
        ListenAddress::Tcp(address) => Some(*address),
        ListenAddress::Unix(_) => None,
    });
    let store = ServedStore::new(settings).unwrap();
    std::thread::spawn(move || server.run(move |worker| store.service(worker)));
    address.unwrap()
}
