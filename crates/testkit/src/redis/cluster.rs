//! A cluster of three masters and a replica of the first, made without another program. It knows no client.

use super::inline::wait_for;
use super::server::RedisServer;
use crate::free_port;

/// How long a node may be silent until the others hold it for gone.
const NODE_MS: &str = "1000";
/// First and last slot of each master.
const SLOTS: [(u16, u16); 3] = [(0, 5_460), (5_461, 10_922), (10_923, 16_383)];

/// The nodes.
pub struct RedisCluster {
    masters: Vec<RedisServer>,
    replica: RedisServer,
}

impl RedisCluster {
    /// Starts them, gives each its slots, and waits until all agree.
    pub fn start() -> RedisCluster {
        let masters: Vec<(RedisServer, u16)> = SLOTS.map(|_| node()).into();
        let (replica, _) = node();
        let (first, first_bus) = &masters[0];
        for (at, (master, _)) in masters.iter().enumerate() {
            let (from, to) = SLOTS[at];
            check(master, &format!("CLUSTER ADDSLOTSRANGE {from} {to}"));
            // Nodes of the same epoch would have to agree on another one first.
            check(master, &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1));
        }
        let others = masters.iter().skip(1).map(|(master, _)| master);
        for node in others.chain([&replica]) {
            check(
                node,
                &format!("CLUSTER MEET 127.0.0.1 {} {first_bus}", first.port()),
            );
        }
        for node in masters.iter().map(|(master, _)| master).chain([&replica]) {
            wait_for(node.port(), "CLUSTER INFO", |answer| {
                answer.contains("cluster_state:ok") && answer.contains("cluster_known_nodes:4")
            });
        }
        check(&replica, &format!("CLUSTER REPLICATE {}", id(first)));
        wait_for(first.port(), "INFO replication", |answer| {
            answer.contains("state=online")
        });
        let masters = masters.into_iter().map(|(master, _)| master).collect();
        RedisCluster { masters, replica }
    }

    /// The address as a store has it, by two of the nodes.
    pub fn url(&self) -> String {
        let [first, second, ..] = self.masters.as_slice() else {
            panic!("there are three");
        };
        format!(
            "redis+cluster://127.0.0.1:{},127.0.0.1:{}",
            first.port(),
            second.port()
        )
    }

    /// The masters, in the order of their slots.
    pub fn masters(&self) -> &[RedisServer] {
        &self.masters
    }

    /// The replica of the first master.
    pub fn replica(&self) -> &RedisServer {
        &self.replica
    }

    /// Begins to move a slot from one master to another: what is not there yet is asked for at the other.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (from, to) = (&self.masters[from], &self.masters[to]);
        check(
            to,
            &format!("CLUSTER SETSLOT {slot} IMPORTING {}", id(from)),
        );
        check(
            from,
            &format!("CLUSTER SETSLOT {slot} MIGRATING {}", id(to)),
        );
    }

    /// Ends the move of a slot that is empty at its old master. Clients are not told.
    pub fn end_move(&self, slot: u16, to: usize) {
        let owner = id(&self.masters[to]);
        // First the new one, so that there is always one that has the slot.
        check(
            &self.masters[to],
            &format!("CLUSTER SETSLOT {slot} NODE {owner}"),
        );
        for (at, master) in self.masters.iter().enumerate() {
            if at != to {
                check(master, &format!("CLUSTER SETSLOT {slot} NODE {owner}"));
            }
        }
    }
}

/// A node, and the port by which others reach it.
fn node() -> (RedisServer, u16) {
    let bus = std::cell::Cell::new(0);
    let server = RedisServer::with(|port, _| {
        bus.set(free_port());
        let arguments = [
            ("--port", port.to_string()),
            ("--cluster-enabled", "yes".to_owned()),
            ("--cluster-port", bus.get().to_string()),
            ("--cluster-node-timeout", NODE_MS.to_owned()),
        ];
        let pairs = arguments.into_iter();
        pairs
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    });
    (server, bus.get())
}

fn id(node: &RedisServer) -> String {
    node.ask("CLUSTER MYID")
}

#[track_caller]
fn check(node: &RedisServer, command: &str) {
    let answer = node.ask(command);
    assert_eq!(answer, "+OK", "{command}\n{}", node.log());
}
