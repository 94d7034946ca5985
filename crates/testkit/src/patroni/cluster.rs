//! Three members and their etcd: started, asked who is the primary, and their members killed, stopped, cut off and started again.
//! It ends with its value, and with the process; see the guard. What is asked here is what a client or an operator could ask.

use std::time::{Duration, Instant};

use super::configuration::{APPLICATION, SynchronousMode};
use super::limits::{START_S_MAX, START_TRIES_MAX, TTL_S, TTL_S_MIN};
use super::member::{PatroniMember, name};
use crate::etcd::{EtcdCluster, EtcdOptions};
use crate::{NetworkGate, log_of, pause};

const MEMBERS: usize = 3;

/// How a cluster is to be.
#[derive(Clone, Debug)]
pub struct PatroniOptions {
    synchronous: SynchronousMode,
    ttl_s: u32,
}

impl Default for PatroniOptions {
    fn default() -> PatroniOptions {
        PatroniOptions {
            synchronous: SynchronousMode::default(),
            ttl_s: TTL_S,
        }
    }
}

impl PatroniOptions {
    /// Commits wait for a synchronous standby even where there is none (`synchronous_mode_strict`).
    #[must_use]
    pub fn strict(mut self) -> PatroniOptions {
        self.synchronous = SynchronousMode::Strict;
        self
    }

    /// Seconds that the leader's key outlives its holder: 8 unless given, 7 at least.
    #[must_use]
    pub fn ttl(mut self, seconds: u32) -> PatroniOptions {
        assert!(seconds >= TTL_S_MIN, "Patroni takes {TTL_S_MIN} s at least");
        self.ttl_s = seconds;
        self
    }

    /// Starts it, and waits until it is whole.
    #[must_use]
    pub fn start(self) -> PatroniCluster {
        PatroniCluster::make(&self)
    }
}

/// A running cluster in synchronous mode: of two standbys one has what was acknowledged, and only that one is promoted.
pub struct PatroniCluster {
    members: Vec<PatroniMember>,
    etcd: EtcdCluster,
    ttl_s: u32,
}

impl PatroniCluster {
    /// Three members that are not strict.
    #[must_use]
    pub fn start() -> PatroniCluster {
        PatroniOptions::default().start()
    }

    fn make(options: &PatroniOptions) -> PatroniCluster {
        let mut log = String::new();
        for _ in 0..START_TRIES_MAX {
            let cluster = PatroniCluster::prepare(options);
            cluster.members.iter().for_each(PatroniMember::start);
            match cluster.begin() {
                Ok(()) => return cluster,
                Err(text) => log = text,
            }
        }
        panic!("Patroni did not start in START_TRIES_MAX ({START_TRIES_MAX}) tries\n{log}");
    }

    fn prepare(options: &PatroniOptions) -> PatroniCluster {
        let etcd = EtcdOptions::default().with_v2().start();
        let gates: Vec<NetworkGate> = (0..MEMBERS).map(|_| NetworkGate::default()).collect();
        let members = (0..MEMBERS)
            .map(|at| PatroniMember::prepare(at, &gates, &etcd))
            .collect();
        let cluster = PatroniCluster {
            members,
            etcd,
            ttl_s: options.ttl_s,
        };
        for member in &cluster.members {
            member.configure(options.ttl_s, options.synchronous);
        }
        cluster
    }

    /// Waits until it is whole, and makes the role of applications; or the log of the member that ended.
    fn begin(&self) -> Result<(), String> {
        let primary = self.look(Duration::from_secs(START_S_MAX), || {
            if let Some(member) = self.members.iter().find(|it| it.ended().is_some()) {
                return Some(Err(log_of([member.log().as_path()])));
            }
            self.whole().map(Ok)
        })??;
        let (role, password) = APPLICATION;
        self.try_psql(
            primary,
            "postgres",
            &format!(
                "create role {role} login createdb password '{password}';
                 grant all on schema public to {role}"
            ),
        )?;
        Ok(())
    }

    /// How many members it has.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Its etcd.
    #[must_use]
    pub fn etcd(&self) -> &EtcdCluster {
        &self.etcd
    }

    /// How long the leader's key outlives its holder: a failover takes about that long.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_s.into())
    }

    /// The address of a database for an application: all members, of which it takes the one that writes.
    #[must_use]
    pub fn urls(&self, database: &str) -> String {
        let hosts: Vec<String> = self
            .members
            .iter()
            .map(|member| format!("127.0.0.1:{}", member.port()))
            .collect();
        let ((role, password), hosts) = (APPLICATION, hosts.join(","));
        format!("postgres://{role}:{password}@{hosts}/{database}?target_session_attrs=read-write")
    }

    /// The same database at each member alone, whatever that is at the moment.
    #[must_use]
    pub fn replicas_urls(&self, database: &str) -> Vec<String> {
        let (role, password) = APPLICATION;
        let url = |member: &PatroniMember| {
            let port = member.port();
            format!("postgres://{role}:{password}@127.0.0.1:{port}/{database}")
        };
        self.members.iter().map(url).collect()
    }

    /// Makes a database that belongs to the role of applications, and waits until all members have it: who connects to one that lacks it does not
    /// go on to the next.
    #[track_caller]
    pub fn create_database(&self, database: &str) {
        let primary = self.wait_primary(self.failover_max());
        let sql = format!("create database {database} owner {}", APPLICATION.0);
        self.psql(primary, "postgres", &sql);
        let is_there = format!("select count(*) from pg_database where datname = '{database}'");
        let have_it = || {
            let mut members = self.members.iter().filter(|member| member.runs());
            let has_it =
                |member: &PatroniMember| member.psql("postgres", &is_there) == Ok("1".to_owned());
            members.all(has_it).then_some(())
        };
        self.await_or_panic("the database everywhere", self.failover_max(), have_it);
    }

    /// The member that holds the leader's key, writes, and can be reached by clients; none during a failover.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        self.members.iter().position(PatroniMember::is_primary)
    }

    /// The standby that would be promoted now: it has all that was acknowledged.
    #[must_use]
    pub fn synchronous(&self) -> Option<usize> {
        self.members.iter().position(PatroniMember::is_synchronous)
    }

    /// Waits for a primary.
    #[track_caller]
    pub fn wait_primary(&self, within: Duration) -> usize {
        self.await_or_panic("a primary", within, || self.primary())
    }

    /// Waits for a primary that is another one.
    #[track_caller]
    pub fn wait_other_primary(&self, than: usize, within: Duration) -> usize {
        self.await_or_panic("another primary", within, || {
            self.primary().filter(|at| *at != than)
        })
    }

    /// Waits until two standbys stream from a primary, and one of them is synchronous; the primary.
    #[track_caller]
    pub fn wait_whole(&self, within: Duration) -> usize {
        self.await_or_panic("a whole cluster", within, || self.whole())
    }

    fn whole(&self) -> Option<usize> {
        let primary = self.primary()?;
        let streaming = "select count(*) from pg_stat_replication
            where state = 'streaming' and application_name ~ '^m[0-9]+$'";
        let count = self.members[primary].psql("postgres", streaming).ok()?;
        let are_all = count == (self.members() - 1).to_string();
        (are_all && self.synchronous().is_some_and(|at| at != primary)).then_some(primary)
    }

    /// Runs SQL at a member as the superuser, past the network; rows come as lines, columns divided by `|`.
    #[track_caller]
    pub fn psql(&self, at: usize, database: &str, sql: &str) -> String {
        match self.try_psql(at, database, sql) {
            Ok(printed) => printed,
            Err(reason) => panic!("{sql}: {reason}\n{}", self.log(at)),
        }
    }

    /// The same; what went wrong is the error.
    ///
    /// # Errors
    /// What psql printed.
    pub fn try_psql(&self, at: usize, database: &str, sql: &str) -> Result<String, String> {
        self.members[at].psql(database, sql)
    }

    /// Ends a member as a machine's death does: Patroni and its whole server, at once.
    #[track_caller]
    pub fn kill(&self, at: usize) {
        self.members[at].kill();
    }

    /// Starts a member again that was killed, with what it has on its disk.
    pub fn start_again(&self, at: usize) {
        self.members[at].start();
    }

    /// Stops a member in its tracks: Patroni and its whole server.
    #[track_caller]
    pub fn freeze(&self, at: usize) {
        self.members[at].freeze();
    }

    /// Lets it go on.
    pub fn thaw(&self, at: usize) {
        self.members[at].thaw();
    }

    /// Cuts a member off from clients, from the other members and from etcd: nothing passes either way, and nothing is reset.
    pub fn cut(&self, at: usize) {
        self.members[at].gate().close();
    }

    /// Ends the cut. What was under way arrives.
    pub fn heal(&self, at: usize) {
        self.members[at].gate().open();
    }

    /// Whether a member's Patroni was started and has not ended.
    #[must_use]
    pub fn runs(&self, at: usize) -> bool {
        self.members[at].runs()
    }

    /// The last lines that a member and its server have logged.
    #[must_use]
    pub fn log(&self, at: usize) -> String {
        log_of([self.members[at].log().as_path()])
    }

    /// Longer than a failover takes on a busy machine.
    fn failover_max(&self) -> Duration {
        self.ttl() + Duration::from_secs(60)
    }

    #[track_caller]
    fn await_or_panic<A>(
        &self,
        subject: &str,
        within: Duration,
        look: impl Fn() -> Option<A>,
    ) -> A {
        match self.look(within, look) {
            Ok(found) => found,
            Err(logs) => panic!("there is not {subject} within {within:?}\n{logs}"),
        }
    }

    /// Looks until there is something; else what all have logged.
    fn look<A>(&self, within: Duration, look: impl Fn() -> Option<A>) -> Result<A, String> {
        let until = Instant::now() + within;
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if Instant::now() > until {
                let logs: Vec<String> = (0..self.members())
                    .map(|at| format!("{}\n{}", name(at), self.log(at)))
                    .collect();
                return Err(logs.join("\n"));
            }
            pause();
        }
    }
}

impl Drop for PatroniCluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for at in 0..self.members() {
                eprintln!("{}\n{}", name(at), self.log(at));
            }
        }
    }
}
