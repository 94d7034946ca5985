//! What Patroni reads, as YAML. It starts nothing.
//! Rule: all passwords are public, because the servers live for minutes; all addresses are on loopback.

use std::fmt::Write as _;
use std::path::Path;

use super::limits::{LOOP_WAIT_S, REPLICATION_SILENCE_MS, RETRY_TIMEOUT_S};

/// The cluster's name.
const SCOPE: &str = "tsumugi";

/// The role of applications, and its password.
pub const APPLICATION: (&str, &str) = ("app", "app-secret");

/// What becomes of a commit where no standby is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SynchronousMode {
    /// The primary goes on alone.
    #[default]
    Usual,
    /// It waits.
    Strict,
}

/// What one member is told.
pub struct MemberConfiguration<'a> {
    pub name: &'a str,
    pub folder: &'a Path,
    pub programs: &'a Path,
    /// Ports it listens on: PostgreSQL, REST.
    pub listens: [u16; 2],
    /// Ports by which others reach it: the same.
    pub reached: [u16; 2],
    /// Its ways to the members of etcd.
    pub etcd: &'a [u16],
    pub ttl_s: u32,
    pub synchronous: SynchronousMode,
}

impl MemberConfiguration<'_> {
    /// The file.
    pub fn text(&self) -> String {
        let mut text = self.member();
        text += &self.bootstrap();
        text += &self.postgresql();
        text
    }

    fn member(&self) -> String {
        let (name, [_, rest], [_, rest_reached]) = (self.name, self.listens, self.reached);
        let mut hosts = String::new();
        for port in self.etcd {
            let _ = writeln!(hosts, "  - 127.0.0.1:{port}");
        }
        // Over etcd's version 3, Patroni before 3.0.3 writes the leader's key whoever has it when it comes to itself after its lease has ended
        // (its pull request 2689): a primary that was stopped takes its place back from the next one, whose commits are lost. Over version 2
        // it compares. Without `use_proxies` it would ask etcd for its members, and go past the ways that lead to them.
        format!(
            "scope: {SCOPE}
name: {name}
restapi:
  listen: 127.0.0.1:{rest}
  connect_address: 127.0.0.1:{rest_reached}
etcd:
  use_proxies: true
  hosts:
{hosts}watchdog:
  mode: 'off'
"
        )
    }

    /// What the first member writes to etcd, for all. Nothing is synced: what is killed is a process, and the system keeps what it wrote.
    fn bootstrap(&self) -> String {
        let ttl = self.ttl_s;
        let is_strict = self.synchronous == SynchronousMode::Strict;
        format!(
            "bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: {LOOP_WAIT_S}
    retry_timeout: {RETRY_TIMEOUT_S}
    primary_start_timeout: 10
    synchronous_mode: true
    synchronous_mode_strict: {is_strict}
    postgresql:
      use_pg_rewind: true
      use_slots: true
      parameters:
        synchronous_commit: 'on'
        fsync: 'off'
        full_page_writes: 'off'
        wal_log_hints: 'on'
        wal_keep_size: 256MB
        max_wal_size: 512MB
        max_connections: 200
        max_wal_senders: 10
        max_replication_slots: 10
        shared_buffers: 32MB
        autovacuum: 'off'
        jit: 'off'
        timezone: UTC
        log_timezone: UTC
        wal_sender_timeout: {REPLICATION_SILENCE_MS}
        wal_receiver_timeout: {REPLICATION_SILENCE_MS}
        wal_retrieve_retry_interval: 500
  initdb:
  - encoding: UTF8
  - locale: C
  - wal-segsize: '1'
"
        )
    }

    fn postgresql(&self) -> String {
        let (folder, programs) = (self.folder.display(), self.programs.display());
        let ([port, _], [reached, _]) = (self.listens, self.reached);
        // An encrypted connection would hide who makes it from the proxies.
        format!(
            "postgresql:
  listen: 127.0.0.1:{port}
  connect_address: 127.0.0.1:{reached}
  bin_dir: {programs}
  data_dir: {folder}/data
  pgpass: {folder}/pgpass
  use_unix_socket: true
  use_unix_socket_repl: true
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser:
      username: postgres
      password: postgres-secret
      sslmode: disable
      gssencmode: disable
    replication:
      username: replicator
      password: replicator-secret
      sslmode: disable
      gssencmode: disable
  parameters:
    unix_socket_directories: {folder}
  basebackup:
  - checkpoint: fast
  - no-sync
  pg_hba:
  - local all all trust
  - local replication all trust
  - host replication replicator 127.0.0.1/32 scram-sha-256
  - host all all 127.0.0.1/32 scram-sha-256
"
        )
    }
}
