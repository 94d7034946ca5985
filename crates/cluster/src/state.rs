//! What a holder may believe of its lease: a function of events and times. Asks no clock and no engine.
//! Rule: a lease is believed for less than its time, counted from before it was asked for; so it has ended here before it has there.

use std::time::Duration;

use crate::clock::BootTime;

/// The part of a lease's time that is not used: clocks that run at different speeds, and what is under way when it ends.
const MARGIN: u32 = 10;
/// A lease is renewed when this part of its time has passed.
const RENEWAL: u32 = 3;
/// A renewal that failed is repeated after this part of the lease's time.
const REPETITION: u32 = 10;

/// One lease of one holder, from the first question to its end.
#[derive(Clone, Debug)]
pub struct LeaseState {
    ttl: Duration,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not asked for, or refused.
    Free,
    /// Asked for at this time; it may be held.
    Taking { sent: BootTime },
    /// The answer was lost; it may be held until then.
    InDoubt { until: BootTime },
    Held {
        token: i64,
        deadline: BootTime,
        renew_at: BootTime,
        /// When the renewal was sent that is under way.
        renewing: Option<BootTime>,
    },
    /// It was held, and its time is over or another one has it.
    Lost,
    /// It was given back.
    Ended,
}

impl LeaseState {
    /// One that is not asked for.
    #[must_use]
    pub fn new(ttl: Duration) -> LeaseState {
        LeaseState {
            ttl,
            phase: Phase::Free,
        }
    }

    /// For how long the holder believes in a lease that was asked for at a time.
    #[must_use]
    pub fn usable(ttl: Duration) -> Duration {
        ttl - ttl / MARGIN
    }

    /// It will be asked for, after this call.
    pub fn take_sent(&mut self, now: BootTime) {
        debug_assert!(
            matches!(self.phase, Phase::Free | Phase::InDoubt { .. }),
            "a lease that is held or was lost is not taken again"
        );
        self.phase = Phase::Taking { sent: now };
    }

    /// It was granted. Whether it is held: an answer that comes too late is worth nothing, and leaves in doubt what the engine counts.
    pub fn take_granted(&mut self, now: BootTime, token: i64) -> bool {
        let Phase::Taking { sent } = self.phase else {
            return false;
        };
        let deadline = sent.plus(LeaseState::usable(self.ttl));
        if now >= deadline {
            self.take_unanswered(now);
            return false;
        }
        self.phase = Phase::Held {
            token,
            deadline,
            renew_at: sent.plus(self.ttl / RENEWAL),
            renewing: None,
        };
        true
    }

    /// Another one has it.
    pub fn take_refused(&mut self) {
        if matches!(self.phase, Phase::Taking { .. }) {
            self.phase = Phase::Free;
        }
    }

    /// There will be no answer: it may be held until its time has passed from now, for the question may have been heard just now.
    pub fn take_unanswered(&mut self, now: BootTime) {
        if matches!(self.phase, Phase::Taking { .. }) {
            let until = now.plus(self.ttl);
            self.phase = Phase::InDoubt { until };
        }
    }

    /// Whether the engine may count this one as the holder, although it is not known here.
    #[must_use]
    pub fn is_in_doubt(&self, now: BootTime) -> bool {
        match self.phase {
            Phase::Taking { .. } => true,
            Phase::InDoubt { until } => now < until,
            _ => false,
        }
    }

    /// The token, while it is held. Once its deadline has passed it is lost, whatever is answered later.
    pub fn token(&mut self, now: BootTime) -> Option<i64> {
        match self.phase {
            Phase::Held {
                token, deadline, ..
            } if now < deadline => Some(token),
            Phase::Held { .. } => {
                self.phase = Phase::Lost;
                None
            }
            _ => None,
        }
    }

    /// Whether it was held and is not any more, without having been given back.
    pub fn is_lost(&mut self, now: BootTime) -> bool {
        self.token(now).is_none() && self.phase == Phase::Lost
    }

    /// Until when it is held unless it is renewed.
    #[must_use]
    pub fn deadline(&self) -> Option<BootTime> {
        match self.phase {
            Phase::Held { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    /// When something is to be done about it: it is to be renewed, or its deadline has passed.
    #[must_use]
    pub fn next_event(&self) -> Option<BootTime> {
        match self.phase {
            Phase::Held {
                deadline, renew_at, ..
            } => Some(renew_at.min(deadline)),
            _ => None,
        }
    }

    /// A renewal will be sent, after this call. False where there is none to be sent: it is not due, one is under way, or the lease is lost.
    pub fn renew_sent(&mut self, now: BootTime) -> bool {
        if self.token(now).is_none() {
            return false;
        }
        match &mut self.phase {
            Phase::Held {
                renew_at, renewing, ..
            } if now >= *renew_at && renewing.is_none() => {
                *renewing = Some(now);
                true
            }
            _ => false,
        }
    }

    /// It was renewed. An answer that comes after the deadline is worth nothing.
    pub fn renewed(&mut self, now: BootTime) {
        if self.token(now).is_none() {
            return;
        }
        if let Phase::Held {
            deadline,
            renew_at,
            renewing,
            ..
        } = &mut self.phase
            && let Some(sent) = renewing.take()
        {
            *deadline = sent.plus(LeaseState::usable(self.ttl)).max(*deadline);
            *renew_at = sent.plus(self.ttl / RENEWAL);
        }
    }

    /// Another one has it, or its time was over.
    pub fn renew_refused(&mut self) {
        if matches!(self.phase, Phase::Held { .. }) {
            self.phase = Phase::Lost;
        }
    }

    /// There was no answer: it is asked again, and the deadline is what it was.
    pub fn renew_unanswered(&mut self, now: BootTime) {
        if let Phase::Held {
            renew_at, renewing, ..
        } = &mut self.phase
        {
            *renewing = None;
            *renew_at = now.plus(self.ttl / REPETITION);
        }
    }

    /// It is given back: nothing is believed any more.
    pub fn end(&mut self) {
        self.phase = Phase::Ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_millis(1_000);

    fn at(milliseconds: u64) -> BootTime {
        BootTime::since_start(Duration::from_millis(milliseconds))
    }

    fn held_from(sent: u64) -> LeaseState {
        let mut state = LeaseState::new(TTL);
        state.take_sent(at(sent));
        assert!(state.take_granted(at(sent + 100), 7));
        state
    }

    #[test]
    fn lease_ends_before_its_time_counted_from_the_question() {
        let mut state = held_from(1_000);
        assert_eq!(state.token(at(1_899)), Some(7));
        assert!(state.is_lost(at(1_900)));
        // What was lost stays lost, even by an earlier time.
        assert_eq!(state.token(at(1_000)), None);
    }

    #[test]
    fn answer_after_the_deadline_leaves_the_lease_in_doubt() {
        let mut state = LeaseState::new(TTL);
        state.take_sent(at(0));
        assert!(!state.take_granted(at(900), 1));
        assert_eq!(state.token(at(900)), None);
        assert!(state.is_in_doubt(at(1_899)) && !state.is_in_doubt(at(1_900)));
    }

    #[test]
    fn lost_answer_is_in_doubt_until_its_time_has_passed_and_may_be_asked_again() {
        let mut state = LeaseState::new(TTL);
        state.take_sent(at(0));
        state.take_unanswered(at(50));
        assert!(state.is_in_doubt(at(1_049)) && !state.is_in_doubt(at(1_050)));
        state.take_sent(at(60));
        assert!(state.take_granted(at(70), 2));
        assert_eq!(state.deadline(), Some(at(960)));
    }

    #[test]
    fn renewal_counts_from_when_it_was_sent() {
        let mut state = held_from(0);
        assert!(!state.renew_sent(at(332)));
        assert!(state.renew_sent(at(400)));
        assert!(!state.renew_sent(at(401)), "one is under way");
        state.renewed(at(600));
        assert_eq!(state.deadline(), Some(at(1_300)));
        assert!(state.token(at(1_299)).is_some());
    }

    #[test]
    fn renewal_without_answer_leaves_the_deadline_and_is_repeated() {
        let mut state = held_from(0);
        assert!(state.renew_sent(at(400)));
        state.renew_unanswered(at(500));
        assert_eq!(state.next_event(), Some(at(600)));
        assert_eq!(state.deadline(), Some(at(900)));
        assert!(state.renew_sent(at(600)));
        state.renewed(at(950));
        assert!(state.is_lost(at(950)), "the answer came too late");
    }

    #[test]
    fn refused_renewal_loses_the_lease_at_once() {
        let mut state = held_from(0);
        assert!(state.renew_sent(at(400)));
        state.renew_refused();
        assert!(state.is_lost(at(401)));
    }

    #[test]
    fn lease_given_back_is_not_lost() {
        let mut state = held_from(0);
        state.end();
        assert!(!state.is_lost(at(5_000)));
        assert_eq!(state.token(at(1)), None);
    }
}
