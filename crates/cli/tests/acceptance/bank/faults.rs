//! Which fault comes when. It does none of them. Rule: the schedule follows from its seed, and no kind comes again before all others came.

use tsumugi_testkit::Dice;

/// What is done to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The primary's database and its Patroni die.
    PrimaryKilled,
    /// They stand still and go on later.
    PrimaryStopped,
    /// Nothing passes between the primary and all others, and later all of it does.
    PrimaryCut,
    /// The standby that confirms commits dies.
    StandbyKilled,
    StandbyStopped,
    EtcdKilled,
    EtcdStopped,
    /// One of the bank's own processes.
    ProcessKilled,
    ProcessStopped,
}

impl Fault {
    pub const ALL: [Fault; 9] = [
        Fault::PrimaryKilled,
        Fault::ProcessKilled,
        Fault::EtcdKilled,
        Fault::ProcessStopped,
        Fault::PrimaryCut,
        Fault::PrimaryStopped,
        Fault::StandbyKilled,
        Fault::StandbyStopped,
        Fault::EtcdStopped,
    ];

    /// Each class that is asked for once: killed and stopped, ours and others', and the cut.
    pub const SHORT: [Fault; 5] = [
        Fault::PrimaryKilled,
        Fault::ProcessKilled,
        Fault::EtcdKilled,
        Fault::ProcessStopped,
        Fault::PrimaryCut,
    ];
}

/// So many faults, one for each round.
pub fn schedule(dice: &Dice, rounds: usize, kinds: &[Fault]) -> Vec<Fault> {
    let mut faults = Vec::new();
    while faults.len() < rounds {
        let mut left = kinds.to_vec();
        while !left.is_empty() {
            faults.push(left.swap_remove(dice.place(left.len())));
        }
    }
    faults.truncate(rounds);
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_follows_from_its_seed_and_has_each_kind_in_each_run_of_all() {
        let of = |seed| schedule(&Dice::new(seed), 20, &Fault::ALL);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1).len(), 20);
        for run in of(1).chunks_exact(Fault::ALL.len()) {
            let mut run = run.to_vec();
            run.sort_unstable();
            let mut all = Fault::ALL;
            all.sort_unstable();
            assert_eq!(run, all);
        }
    }
}
