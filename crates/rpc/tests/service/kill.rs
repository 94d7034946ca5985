//! What is left when the serving process is killed under load: a child serves, clients here write, and it is killed at some moment.
//! KILL_ROUNDS sets how often, KILL_MS how long a round lasts at most. Rule: only what a client was answered counts as acknowledged.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tsumugi_kv::{Durability, KvDatabase, SetMode, Spec};
use tsumugi_rpc::client::Options;
use tsumugi_rpc::proto::stream_request::RequestOneof;
use tsumugi_rpc::proto::stream_response::ResponseOneof;
use tsumugi_rpc::proto::{SetRequest, StreamRequest};
use tsumugi_rpc::server::{ServedStore, ServiceSettings};
use tsumugi_rpc::{Client, ClientLimits, Error};
use tsumugi_worker::{BoundServer, Config, ListenAddress};

use crate::rig::on_loop;

/// Clients that make one call at a time, and one more that streams.
const CALLERS: usize = 3;
/// Writes of the stream that are under way.
const IN_FLIGHT: usize = 8;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Not a test by itself: the process that serves until it is killed.
#[test]
fn child_process_serves_until_it_is_killed() {
    let (Ok(spec), Ok(socket)) = (
        std::env::var("KILL_SERVES"),
        std::env::var("KILL_SERVES_AT"),
    ) else {
        return;
    };
    let spec: Spec = spec.parse().unwrap();
    let store = ServedStore::new(ServiceSettings {
        databases: vec![KvDatabase::open(&spec).unwrap().into()],
        ..ServiceSettings::default()
    });
    let store = store.unwrap();
    let config = Config {
        workers: NonZeroUsize::new(2).unwrap(),
        listen: vec![ListenAddress::Unix(socket.into())],
        ..Config::default()
    };
    let server = BoundServer::bind(config).unwrap();
    let _ = server.run(move |worker| store.service(worker)).unwrap();
}

/// A child that ends with this at the latest.
struct Serving(Child);

impl Serving {
    fn start(spec: &Spec, socket: &Path) -> Serving {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child_process_serves_until_it_is_killed"])
            .env("KILL_SERVES", spec.to_string())
            .env("KILL_SERVES_AT", socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Serving(child.unwrap())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What one client wrote, under keys of its own.
#[derive(Default)]
struct Lane {
    name: usize,
    next: u64,
    /// Written in this round, and known to be.
    acknowledged: Vec<u64>,
    /// Begun at any time and not answered.
    unsure: VecDeque<u64>,
    /// Records that are there for certain.
    records: u64,
    /// Additions that were answered, and those that were not.
    added: (u64, u64),
}

impl Lane {
    fn begin(&mut self) -> (Bytes, Bytes) {
        let number = self.next;
        self.next += 1;
        self.unsure.push_back(number);
        (self.key(number), self.value(number))
    }

    /// The oldest write of those that this connection has begun, which are the last `under_way`, was answered.
    fn acknowledge(&mut self, under_way: usize) {
        let at = self.unsure.len() - under_way;
        self.acknowledged.push(self.unsure.remove(at).unwrap());
    }

    fn key(&self, number: u64) -> Bytes {
        format!("{}:{number:08}", self.name).into()
    }

    fn value(&self, number: u64) -> Bytes {
        let mut value = format!("{}-{number}-", self.name);
        value.push_str(&"x".repeat((number % 16 * 100) as usize));
        value.into()
    }

    fn counter(&self) -> String {
        format!("counter{}", self.name)
    }
}

type Shared = Rc<RefCell<Lane>>;

fn client(socket: &Path, connect_ms_max: u64) -> Client {
    let target = format!("tkrzw+unix:{}", socket.display()).parse().unwrap();
    let options = Options {
        limits: ClientLimits {
            connect_ms_max,
            ..ClientLimits::default()
        },
        ..Options::default()
    };
    Client::new(target, options).unwrap()
}

async fn call(kv: Client, lane: Shared) -> Result<(), Error> {
    let counter = lane.borrow().counter();
    loop {
        let (key, value) = lane.borrow_mut().begin();
        assert!(kv.set(key, value, SetMode::Overwrite).await?);
        lane.borrow_mut().acknowledge(1);
        lane.borrow_mut().added.1 += 1;
        kv.increment(counter.clone(), 1, 0).await?;
        let mut lane = lane.borrow_mut();
        lane.added = (lane.added.0 + 1, lane.added.1 - 1);
    }
}

async fn stream(kv: Client, lane: Shared) -> Result<(), Error> {
    let mut stream = kv.stream(IN_FLIGHT).await?;
    let mut under_way = 0;
    loop {
        while under_way < IN_FLIGHT {
            let (key, value) = lane.borrow_mut().begin();
            under_way += 1;
            let set = SetRequest {
                dbm_index: 0,
                key,
                value,
                overwrite: true,
            };
            let request = StreamRequest {
                omit_response: false,
                request_oneof: Some(RequestOneof::SetRequest(set)),
            };
            stream.send(&request).await?;
        }
        let Some(answer) = stream.receive().await? else {
            return Ok(());
        };
        let Some(ResponseOneof::SetResponse(answer)) = answer.response_oneof else {
            panic!("another answer than asked for");
        };
        assert_eq!(answer.status.unwrap_or_default().code, 0);
        lane.borrow_mut().acknowledge(under_way);
        under_way -= 1;
    }
}

/// Lets a child serve these clients for a while, and kills it.
async fn kill_after(spec: &Spec, socket: &Path, lanes: &[Shared], after: Duration) {
    let serving = Serving::start(spec, socket);
    client(socket, 20_000).echo("").await.unwrap();
    let mut clients = JoinSet::new();
    for lane in lanes {
        let (kv, lane) = (client(socket, 1_000), Rc::clone(lane));
        if lane.borrow().name < CALLERS {
            clients.spawn_local(call(kv, lane));
        } else {
            clients.spawn_local(stream(kv, lane));
        }
    }
    let acknowledged = || {
        lanes
            .iter()
            .any(|lane| !lane.borrow().acknowledged.is_empty())
    };
    while !acknowledged() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(after).await;
    drop(serving);
    while let Some(ended) = tokio::time::timeout(Duration::from_secs(60), clients.join_next())
        .await
        .unwrap()
    {
        // A failed check of an answer is no failed call.
        drop(ended.unwrap());
    }
}

/// All that was acknowledged is there, what was not is there whole or not at all, and the count is exact.
async fn check(kv: &Client, lane: &mut Lane) {
    for number in std::mem::take(&mut lane.acknowledged) {
        let found = kv.get(lane.key(number)).await.unwrap();
        assert_eq!(found, Some(lane.value(number)), "lane {}", lane.name);
        lane.records += 1;
    }
    for number in std::mem::take(&mut lane.unsure) {
        if let Some(found) = kv.get(lane.key(number)).await.unwrap() {
            assert_eq!(found, lane.value(number), "lane {}", lane.name);
            lane.records += 1;
        }
    }
    let added = kv.increment(lane.counter(), 0, 0).await.unwrap() as u64;
    let (certain, unsure) = lane.added;
    assert!(
        (certain..=certain + unsure).contains(&added),
        "lane {}: {added} additions, {certain} were acknowledged",
        lane.name
    );
    lane.added = (added, 0);
}

async fn rounds(durability: Durability, rounds: u64, folder: PathBuf) {
    let spec = Spec::disk(folder.join("kv"), durability);
    let socket = folder.join("kv.sock");
    let longest = setting("KILL_MS", 600);
    let dice = tsumugi_testkit::Dice::new(1);
    let lanes: Vec<Shared> = (0..=CALLERS)
        .map(|name| {
            Rc::new(RefCell::new(Lane {
                name,
                ..Lane::default()
            }))
        })
        .collect();
    for round in 0..rounds {
        let after = Duration::from_millis(dice.below(longest));
        kill_after(&spec, &socket, &lanes, after).await;
        let _serving = Serving::start(&spec, &socket);
        let kv = client(&socket, 20_000);
        let mut records = 0;
        for lane in &lanes {
            let mut taken = lane.take();
            check(&kv, &mut taken).await;
            // And its counter.
            records += taken.records + 1;
            lane.replace(taken);
        }
        assert_eq!(kv.count().await.unwrap() as u64, records);
        println!("{durability}: round {round}, killed after {after:?}, {records} records");
    }
}

#[test]
fn answered_write_survives_a_killed_server() {
    let count = setting("KILL_ROUNDS", 4);
    for (durability, rounds_of) in [
        (Durability::Process, count - count / 2),
        (Durability::Disk, count / 2),
    ] {
        let folder = tempfile::tempdir().unwrap();
        on_loop(rounds(durability, rounds_of, folder.path().to_owned()));
    }
}
