//! Allocations of a VM that fail on demand: how tests bring it to every place where memory can end.
//! Rule: a VM that was opened without faults calls nothing of this; the choice is made once, by the function it allocates with.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Which allocations fail. They are counted from 1 since the plan was made; giving memory back never fails.
///
/// mruby collects after a refusal and asks once more: one failure makes it collect at that place, two in a row make it raise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPlan {
    /// None.
    #[default]
    Never,
    /// `count` of them from number `first` on.
    Run {
        /// The first that fails.
        first: u64,
        /// How many fail.
        count: u64,
    },
    /// One in `one_in`, each with the one after it, as `seed` has it.
    Random {
        /// The same seed fails the same allocations.
        seed: u64,
        /// 1 fails all of them.
        one_in: u64,
    },
}

/// What the VMs that are opened on this thread obey while its [`FaultGuard`] lives.
#[derive(Clone, Debug, Default)]
pub struct Faults(Rc<State>);

#[derive(Debug, Default)]
struct State {
    plan: Cell<FaultPlan>,
    seen: Cell<u64>,
    failed: Cell<u64>,
    random: Cell<u64>,
    /// The allocation before failed by chance, so this one does.
    again: Cell<bool>,
}

thread_local! {
    static OPENED_WITH: RefCell<Option<Faults>> = const { RefCell::new(None) };
}

/// While it lives, VMs are opened with faults. Those that were opened keep them.
#[derive(Debug)]
pub struct FaultGuard(());

impl Drop for FaultGuard {
    fn drop(&mut self) {
        OPENED_WITH.set(None);
    }
}

impl Faults {
    /// Faults for the VMs that this thread opens while the guard lives.
    pub fn for_this_thread(&self) -> FaultGuard {
        OPENED_WITH.set(Some(self.clone()));
        FaultGuard(())
    }

    pub(crate) fn of_this_thread() -> Option<Faults> {
        OPENED_WITH.with_borrow(Clone::clone)
    }

    /// Makes a plan and counts from the beginning.
    pub fn plan(&self, plan: FaultPlan) {
        self.0.plan.set(plan);
        self.0.seen.set(0);
        self.0.failed.set(0);
        self.0.again.set(false);
        if let FaultPlan::Random { seed, .. } = plan {
            self.0.random.set(seed);
        }
    }

    /// Allocations since the plan was made.
    pub fn allocations(&self) -> u64 {
        self.0.seen.get()
    }

    /// Those of them that failed.
    pub fn failed(&self) -> u64 {
        self.0.failed.get()
    }

    /// Counts one allocation; does it fail?
    pub(crate) fn fails(&self) -> bool {
        let number = self.0.seen.get() + 1;
        self.0.seen.set(number);
        let fails = match self.0.plan.get() {
            FaultPlan::Never => false,
            FaultPlan::Run { first, count } => number >= first && number - first < count,
            FaultPlan::Random { one_in, .. } => {
                let chosen = self.0.again.get() || self.next().is_multiple_of(one_in.max(1));
                self.0.again.set(chosen && !self.0.again.get());
                chosen
            }
        };
        if fails {
            self.0.failed.set(self.0.failed.get() + 1);
        }
        fails
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn next(&self) -> u64 {
        let state = self.0.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plan: FaultPlan, expected: &str) {
        let faults = Faults::default();
        faults.plan(plan);
        let fails: String = (0..expected.len())
            .map(|_| if faults.fails() { 'x' } else { '.' })
            .collect();
        assert_eq!(fails, expected, "{plan:?}");
        assert_eq!(faults.failed() as usize, fails.matches('x').count());
    }

    #[test]
    fn a_run_fails_its_allocations_and_no_other() {
        check(FaultPlan::Never, "......");
        check(FaultPlan::Run { first: 1, count: 2 }, "xx....");
        check(FaultPlan::Run { first: 4, count: 1 }, "...x..");
    }

    #[test]
    fn chance_fails_pairs_and_the_same_ones_again() {
        let all = FaultPlan::Random { seed: 1, one_in: 1 };
        check(all, "xxxxxx");
        let some = |seed| {
            let faults = Faults::default();
            faults.plan(FaultPlan::Random { seed, one_in: 10 });
            (0..1_000).map(|_| faults.fails()).collect::<Vec<bool>>()
        };
        assert_eq!(some(7), some(7));
        assert_ne!(some(7), some(8));
        let failed = some(7).into_iter().filter(|fails| *fails).count();
        assert!((100..400).contains(&failed), "{failed}");
    }
}
