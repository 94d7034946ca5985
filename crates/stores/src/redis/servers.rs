//! Which server is asked: the one that there is, the master that the Sentinels name, or the node of a cluster that has the key's slot.
//! Rule: what is known of masters and slots is asked again as soon as a server contradicts it or is gone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::aio::AsyncPushSender;
use redis::cmd;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::address::{RedisServers, Topology};
use super::link::{Dialer, Link, LinkFailure, Refusal, ServerMode, ServerRole, server_text};
use super::sentinel::master_of;
use super::shared_link::SharedLink;
use super::slots::{Address, SlotMap, slot_of};
use crate::limits::{REDIS_CONNECT_MS_MAX, REDIS_SLOTS_REST_MS};

/// The servers of an address, with a connection to each that is asked.
pub(super) struct Servers {
    dialer: Dialer,
    kind: ServersKind,
}

enum ServersKind {
    Alone(Address, SharedLink),
    Sentinel {
        sentinels: Vec<Address>,
        /// How the Sentinels are spoken to.
        dialer: Dialer,
        service: String,
        master: SharedLink,
    },
    Cluster(ClusterNodes),
}

/// What is known of a cluster.
#[derive(Default)]
struct ClusterNodes {
    seeds: Vec<Address>,
    slots: RefCell<Option<SlotMap>>,
    /// A server has contradicted the map, or one that it names is gone.
    is_stale: Cell<bool>,
    asked: Cell<Option<Instant>>,
    /// Held by the call that asks for the map.
    turn: Mutex<()>,
    nodes: RefCell<HashMap<Address, Rc<SharedLink>>>,
}

impl Servers {
    pub(super) fn new(servers: &RedisServers, dialer: Dialer) -> Servers {
        let hosts = servers.hosts.clone();
        let kind = match &servers.topology {
            Topology::Alone => {
                // The address has one.
                let host = hosts.into_iter().next().unwrap_or_default();
                ServersKind::Alone(host, SharedLink::default())
            }
            Topology::Sentinel(service) => ServersKind::Sentinel {
                sentinels: hosts,
                dialer: Dialer {
                    login: servers.sentinel_login.clone(),
                    database: 0,
                    tls: dialer.tls.clone(),
                },
                service: service.clone(),
                master: SharedLink::default(),
            },
            Topology::Cluster => ServersKind::Cluster(ClusterNodes {
                seeds: hosts,
                ..ClusterNodes::default()
            }),
        };
        Servers { dialer, kind }
    }

    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.kind, ServersKind::Cluster(_))
    }

    /// Whether another server may take the place of one that is gone, so that waiting is worth it.
    pub(super) fn has_others(&self) -> bool {
        !matches!(self.kind, ServersKind::Alone(..))
    }

    /// A connection to the server that has a key; without one, to any that takes writes.
    pub(super) async fn link(&self, key: Option<&Bytes>) -> Result<Rc<Link>, Refusal> {
        match &self.kind {
            ServersKind::Alone(address, link) => {
                link.open(async || self.alone(address).await).await
            }
            ServersKind::Sentinel { master, .. } => {
                master.open(async || self.dial_master().await).await
            }
            ServersKind::Cluster(cluster) => {
                let address = self.owner(cluster, key).await?;
                let opened = self.node(cluster, &address).await;
                if opened.is_err() {
                    cluster.is_stale.set(true);
                }
                opened
            }
        }
    }

    /// A connection of its own to where that of [`link`](Self::link) leads, and what the server sends without being asked.
    pub(super) async fn separate(
        &self,
        key: Option<&Bytes>,
        pushes: Arc<dyn AsyncPushSender>,
    ) -> Result<Link, Refusal> {
        match &self.kind {
            ServersKind::Alone(address, _) => self.dialer.dial(address, Some(pushes)).await,
            ServersKind::Sentinel { .. } => {
                let address = self.master_address().await?;
                let link = self.dialer.dial(&address, Some(pushes)).await?;
                is_master(link)
            }
            ServersKind::Cluster(cluster) => {
                let address = self.owner(cluster, key).await?;
                let dialled = self.dialer.dial(&address, Some(pushes)).await;
                if dialled.is_err() {
                    cluster.is_stale.set(true);
                }
                dialled
            }
        }
    }

    /// Whether a connection still leads where it should, for what is only listened to. In a cluster the server itself says so when a
    /// slot moves.
    pub(super) async fn is_current(&self, link: &Link, key: Option<&Bytes>) -> bool {
        match &self.kind {
            ServersKind::Alone(..) => true,
            // While no Sentinel answers, the master that is there is as good as any.
            ServersKind::Sentinel { .. } => match self.master_address().await {
                Ok(address) => address == link.address,
                Err(_) => true,
            },
            ServersKind::Cluster(cluster) => {
                cluster.is_stale.set(true);
                match self.owner(cluster, key).await {
                    Ok(address) => address == link.address,
                    Err(_) => true,
                }
            }
        }
    }

    /// The node of a cluster that has a key.
    pub(super) async fn owner_of(&self, key: &Bytes) -> Result<Address, Refusal> {
        match &self.kind {
            ServersKind::Cluster(cluster) => self.owner(cluster, Some(key)).await,
            _ => self.master_address().await,
        }
    }

    /// A connection to a node that another one has named.
    pub(super) async fn link_to(&self, address: &Address) -> Result<Rc<Link>, Refusal> {
        match &self.kind {
            ServersKind::Cluster(cluster) => self.node(cluster, address).await,
            _ => self.link(None).await,
        }
    }

    /// A node said that another one has a slot now.
    pub(super) fn moved(&self, slot: u16, to: Address) {
        if let ServersKind::Cluster(cluster) = &self.kind {
            if let Some(slots) = &mut *cluster.slots.borrow_mut() {
                slots.moved(slot, to);
            }
            cluster.is_stale.set(true);
        }
    }

    /// A server is gone, or takes no writes any more.
    pub(super) fn contradicted(&self) {
        if let ServersKind::Cluster(cluster) = &self.kind {
            cluster.is_stale.set(true);
        }
    }

    async fn alone(&self, address: &Address) -> Result<Link, Refusal> {
        let link = self.dialer.dial(address, None).await?;
        let (host, port) = address;
        match link.greeting.mode {
            ServerMode::Standalone => Ok(link),
            ServerMode::Cluster => Err(Refusal::Unfit(format!(
                "{host}:{port}: it is a node of a cluster; write redis+cluster://"
            ))),
            ServerMode::Sentinel => Err(Refusal::Unfit(format!(
                "{host}:{port}: it is a Sentinel; write redis+sentinel://HOSTS/SERVICE"
            ))),
        }
    }

    async fn dial_master(&self) -> Result<Link, Refusal> {
        let address = self.master_address().await?;
        is_master(self.dialer.dial(&address, None).await?)
    }

    async fn master_address(&self) -> Result<Address, Refusal> {
        match &self.kind {
            ServersKind::Sentinel {
                sentinels,
                dialer,
                service,
                ..
            } => master_of(service, sentinels, dialer).await,
            ServersKind::Alone(address, _) => Ok(address.clone()),
            ServersKind::Cluster(cluster) => self.owner(cluster, None).await,
        }
    }

    async fn owner(&self, cluster: &ClusterNodes, key: Option<&Bytes>) -> Result<Address, Refusal> {
        self.learn(cluster).await?;
        let slots = cluster.slots.borrow();
        let Some(slots) = &*slots else {
            return Err(Refusal::Unreachable(
                "no node has said which slots it has".to_owned(),
            ));
        };
        let owner = match key {
            Some(key) => slots.master(slot_of(key)),
            None => slots.masters().first(),
        };
        owner.cloned().ok_or_else(|| {
            cluster.is_stale.set(true);
            Refusal::Unreachable("no node of the cluster has the key's slot".to_owned())
        })
    }

    async fn node(&self, cluster: &ClusterNodes, address: &Address) -> Result<Rc<Link>, Refusal> {
        let shared = Rc::clone(
            cluster
                .nodes
                .borrow_mut()
                .entry(address.clone())
                .or_default(),
        );
        let (host, port) = address;
        let opened = shared.open(async || {
            let link = self.dialer.dial(address, None).await?;
            match link.greeting.mode {
                ServerMode::Cluster => Ok(link),
                _ => Err(Refusal::Unfit(format!(
                    "{host}:{port}: it is no node of a cluster; write redis://"
                ))),
            }
        });
        opened.await
    }

    /// Asks for the map of slots where it is missing or stale. One that is stale is used until another one is there.
    async fn learn(&self, cluster: &ClusterNodes) -> Result<(), Refusal> {
        if !self.is_to_be_asked(cluster) {
            return Ok(());
        }
        let _turn = cluster.turn.lock().await;
        if !self.is_to_be_asked(cluster) {
            return Ok(());
        }
        let mut known: Vec<Address> = Vec::new();
        if let Some(slots) = &*cluster.slots.borrow() {
            known.extend_from_slice(slots.masters());
        }
        let seeds = cluster.seeds.iter().filter(|seed| !known.contains(seed));
        let seeds: Vec<Address> = seeds.cloned().collect();
        known.extend(seeds);
        let mut last = Refusal::Unreachable("the address names no node".to_owned());
        for address in known {
            match self.slots_of(cluster, &address).await {
                Ok(slots) => {
                    let used = |node: &Address| {
                        slots.masters().contains(node) || cluster.seeds.contains(node)
                    };
                    cluster.nodes.borrow_mut().retain(|node, _| used(node));
                    *cluster.slots.borrow_mut() = Some(slots);
                    cluster.is_stale.set(false);
                    cluster.asked.set(Some(Instant::now()));
                    return Ok(());
                }
                // Another node may let the application in no more than this one.
                Err(refusal @ (Refusal::Denied(_) | Refusal::Unfit(_))) => return Err(refusal),
                Err(refusal) => last = refusal,
            }
        }
        cluster.asked.set(Some(Instant::now()));
        Err(last)
    }

    fn is_to_be_asked(&self, cluster: &ClusterNodes) -> bool {
        let rest = Duration::from_millis(REDIS_SLOTS_REST_MS);
        let has_rested = cluster.asked.get().is_none_or(|at| at.elapsed() >= rest);
        cluster.slots.borrow().is_none() || (cluster.is_stale.get() && has_rested)
    }

    async fn slots_of(&self, cluster: &ClusterNodes, node: &Address) -> Result<SlotMap, Refusal> {
        let (host, port) = node;
        let failed = |reason: &str| Refusal::Unreachable(format!("{host}:{port}: {reason}"));
        let link = self.node(cluster, node).await?;
        let mut question = cmd("CLUSTER");
        question.arg("SLOTS");
        let limit = Duration::from_millis(REDIS_CONNECT_MS_MAX);
        let answer = timeout(limit, link.call(&question)).await;
        match answer {
            Ok(Ok(answer)) => SlotMap::read(&answer, node)
                .ok_or_else(|| failed("it does not say which node has which slots")),
            Ok(Err(LinkFailure::Server(error))) => {
                Err(failed(&server_text(error.code(), error.details())))
            }
            Ok(Err(LinkFailure::Lost(reason))) => Err(failed(&reason)),
            Ok(Err(LinkFailure::TooLong)) => Err(failed("its map of slots is too long")),
            Err(_) => {
                link.close();
                Err(failed("it does not answer"))
            }
        }
    }
}

fn is_master(link: Link) -> Result<Link, Refusal> {
    match link.greeting.role {
        ServerRole::Master => Ok(link),
        ServerRole::Replica => {
            let (host, port) = &link.address;
            Err(Refusal::Unreachable(format!(
                "{host}:{port}: the Sentinels say that it is the master, and it is a replica yet"
            )))
        }
    }
}
