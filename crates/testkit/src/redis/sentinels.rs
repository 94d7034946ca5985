//! A master, its replica and three Sentinels, which make the replica the master when the master is gone. It knows no client.

use std::path::Path;

use super::inline::wait_for;
use super::server::RedisServer;

/// The name of the service.
pub const SERVICE: &str = "mymaster";
/// How long a master may be silent until a Sentinel holds it for gone.
const DOWN_MS: u64 = 3_000;

/// The servers.
pub struct RedisSentinels {
    servers: [RedisServer; 2],
    sentinels: Vec<RedisServer>,
}

impl RedisSentinels {
    /// Starts them, and waits until they know each other and the replica follows.
    pub fn start() -> RedisSentinels {
        let master = RedisServer::start(&[]);
        let port = master.port().to_string();
        let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &port]);
        wait_for(master.port(), "INFO replication", |answer| {
            answer.contains("state=online")
        });
        let start = |_| RedisServer::with(|own, folder| sentinel(own, folder, &port));
        let sentinels: Vec<RedisServer> = (0..3).map(start).collect();
        for sentinel in &sentinels {
            let port = sentinel.port();
            let usable = format!("SENTINEL CKQUORUM {SERVICE}");
            wait_for(port, &usable, |answer| answer.starts_with("+OK 3 "));
            let replicas = format!("SENTINEL REPLICAS {SERVICE}");
            wait_for(port, &replicas, |answer| answer == "*1");
        }
        RedisSentinels {
            servers: [master, replica],
            sentinels,
        }
    }

    /// The address as a store has it.
    pub fn url(&self) -> String {
        let hosts = self
            .sentinels
            .iter()
            .map(|one| format!("127.0.0.1:{}", one.port()));
        let hosts: Vec<String> = hosts.collect();
        format!("redis+sentinel://{}/{SERVICE}", hosts.join(","))
    }

    /// The one that is the master at the beginning.
    pub fn master(&self) -> &RedisServer {
        &self.servers[0]
    }

    /// The one that is its replica at the beginning.
    pub fn replica(&self) -> &RedisServer {
        &self.servers[1]
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> &[RedisServer] {
        &self.sentinels
    }

    /// Waits until a server says that it is the master.
    #[track_caller]
    pub fn wait_for_master(&self, server: &RedisServer) {
        wait_for(server.port(), "INFO replication", |answer| {
            answer.contains("role:master")
        });
    }

    /// Waits until a server says that it follows another one.
    #[track_caller]
    pub fn wait_for_replica(&self, server: &RedisServer) {
        wait_for(server.port(), "INFO replication", |answer| {
            answer.contains("role:slave")
        });
    }
}

/// The arguments of a Sentinel, which writes what it learns into its file.
fn sentinel(port: u16, folder: &Path, master: &str) -> Vec<String> {
    let file = folder.join("sentinel.conf");
    let settings = format!(
        "port {port}
dir {}
sentinel monitor {SERVICE} 127.0.0.1 {master} 2
sentinel down-after-milliseconds {SERVICE} {DOWN_MS}
sentinel failover-timeout {SERVICE} 5000
",
        folder.display()
    );
    std::fs::write(&file, settings).expect("the directory is ours");
    vec![file.display().to_string(), "--sentinel".to_owned()]
}
