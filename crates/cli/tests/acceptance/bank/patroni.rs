//! The faults of a cluster under Patroni, and how long the bank was silent beside Patroni's own failover. Knows no client.
//! Rule: each fault is healed before the next, and the cluster is whole again by then.

use std::time::{Duration, Instant};

use tsumugi_testkit::Dice;
use tsumugi_testkit::patroni::PatroniCluster;

use super::faults::Fault;
use super::process::BankProcess;
use crate::rig::pause;

/// How long something stands still.
const STOPPED: Duration = Duration::from_secs(20);

/// Until a cluster has another primary, and until it is whole. Not a promise: a machine may be crowded.
const FAILOVER_MAX: Duration = Duration::from_secs(120);

/// Does a fault and heals it; how long it took until there was another primary, where one was to come.
pub fn inflict(
    fault: Fault,
    cluster: &PatroniCluster,
    processes: &mut [BankProcess],
    dice: &Dice,
) -> Option<Duration> {
    let primary = cluster.wait_primary(FAILOVER_MAX);
    let end = Instant::now() + STOPPED;
    let at = dice.place(3);
    let failover = match fault {
        Fault::PrimaryKilled | Fault::PrimaryStopped | Fault::PrimaryCut => {
            Some(inflict_on_primary(fault, cluster, primary))
        }
        Fault::StandbyKilled | Fault::StandbyStopped => {
            inflict_on_standby(fault, cluster);
            None
        }
        Fault::EtcdKilled => {
            cluster.etcd().kill(at);
            pause(5_000);
            cluster.etcd().start_again(at);
            None
        }
        Fault::EtcdStopped => {
            cluster.etcd().freeze(at);
            pause_until(end);
            cluster.etcd().thaw(at);
            None
        }
        Fault::ProcessKilled => {
            processes[at].kill();
            pause(3_000);
            processes[at].start_again();
            None
        }
        Fault::ProcessStopped => {
            processes[at].freeze();
            pause_until(end);
            processes[at].thaw();
            None
        }
    };
    cluster.wait_whole(FAILOVER_MAX);
    failover
}

fn inflict_on_primary(fault: Fault, cluster: &PatroniCluster, primary: usize) -> Duration {
    let begun = Instant::now();
    match fault {
        Fault::PrimaryKilled => cluster.kill(primary),
        Fault::PrimaryStopped => cluster.freeze(primary),
        _ => cluster.cut(primary),
    }
    cluster.wait_other_primary(primary, FAILOVER_MAX);
    let failover = begun.elapsed();
    if fault != Fault::PrimaryKilled {
        pause_until(begun + STOPPED);
    }
    match fault {
        Fault::PrimaryKilled => cluster.start_again(primary),
        Fault::PrimaryStopped => cluster.thaw(primary),
        _ => cluster.heal(primary),
    }
    failover
}

fn inflict_on_standby(fault: Fault, cluster: &PatroniCluster) {
    let standby = cluster.synchronous().expect("it was whole");
    match fault {
        Fault::StandbyKilled => {
            cluster.kill(standby);
            pause(2_000);
            cluster.start_again(standby);
        }
        _ => {
            cluster.freeze(standby);
            pause_until(Instant::now() + STOPPED);
            cluster.thaw(standby);
        }
    }
}

fn pause_until(time: Instant) {
    while Instant::now() < time {
        pause(50);
    }
}

/// Holds back what one standby replays, and what the others have held back is let go: reads of a session's own changes have to find that out.
pub fn hold_back(cluster: &PatroniCluster, primary: usize, dice: &Dice) {
    let standby = (primary + 1 + dice.place(2)) % cluster.members();
    for at in 0..cluster.members() {
        let delay = match at == standby {
            true => "alter system set recovery_min_apply_delay = '700ms'",
            false => "alter system reset recovery_min_apply_delay",
        };
        cluster.psql(at, "postgres", delay);
        cluster.psql(at, "postgres", "select pg_reload_conf()");
    }
}
