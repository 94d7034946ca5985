//! When the next order is due, and when the next try after one that failed. Knows no authority and asks no clock.
//! Rule: pauses double, part of each is chance, and a try that the authority counts is followed by a longer one.

use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use tsumugi_http::CertificateDates;

use crate::limits::{
    REFUSED_REST, REFUSED_REST_MAX, SUCCESS_REST_MAX, UNREACHED_REST, UNREACHED_REST_MAX,
};

/// What a try that failed cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryCost {
    /// Nothing that an authority counts, so that the next one may come soon.
    Nothing,
    /// The authority counts it.
    Counted,
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(f64);

impl Chance {
    /// One by chance; the middle where the system gives none.
    pub fn draw() -> Chance {
        let mut bytes = [0; 2];
        match SystemRandom::new().fill(&mut bytes) {
            Ok(()) => Chance(f64::from(u16::from_be_bytes(bytes)) / f64::from(u16::MAX)),
            Err(_) => Chance(0.5),
        }
    }
}

/// When a certificate is to be renewed, in seconds since 1970: after two thirds of its lifetime, and up to a thirtieth of it earlier, so that those
/// that were issued together are not renewed together.
pub(crate) fn renewal_at(dates: &CertificateDates, chance: Chance) -> i64 {
    let lifetime = dates.lifetime().max(0);
    let earlier = (lifetime as f64 / 30.0 * chance.0) as i64;
    let two_thirds = lifetime / 3 * 2;
    dates.not_before.saturating_add(two_thirds - earlier)
}

/// The pause after this many failures in a row, of which there is one at least.
pub(crate) fn rest_after(failures: u32, cost: TryCost, chance: Chance) -> Duration {
    let (first, longest) = match cost {
        TryCost::Nothing => (UNREACHED_REST, UNREACHED_REST_MAX),
        TryCost::Counted => (REFUSED_REST, REFUSED_REST_MAX),
    };
    let doublings = failures.clamp(1, 16) - 1;
    let whole = first.saturating_mul(1 << doublings).min(longest);
    whole.mul_f64(1.0 + chance.0 / 10.0)
}

/// How long nothing more is ordered after a success.
pub(crate) fn rest_after_success(dates: &CertificateDates) -> Duration {
    let sixth = u64::try_from(dates.lifetime() / 6).unwrap_or(0);
    Duration::from_secs(sixth).min(SUCCESS_REST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    #[test]
    fn renewal_is_after_two_thirds_or_a_thirtieth_earlier() {
        let dates = CertificateDates {
            not_before: 1_000,
            not_after: 1_000 + 90 * DAY,
        };
        assert_eq!(renewal_at(&dates, Chance(0.0)), 1_000 + 60 * DAY);
        assert_eq!(renewal_at(&dates, Chance(1.0)), 1_000 + 57 * DAY);
        let broken = CertificateDates {
            not_before: 10,
            not_after: 0,
        };
        assert_eq!(renewal_at(&broken, Chance(1.0)), 10);
        let drawn = Chance::draw().0;
        assert!((0.0..=1.0).contains(&drawn));
    }

    #[test]
    fn pauses_double_and_keep_to_five_failures_an_hour() {
        let rest = |failures, cost| rest_after(failures, cost, Chance(0.0)).as_secs();
        let cheap: Vec<u64> = [1, 2, 3, 7, 100]
            .map(|failures| rest(failures, TryCost::Nothing))
            .into();
        assert_eq!(cheap, [10, 20, 40, 600, 600]);
        let refused: Vec<u64> = [1, 2, 3, 4, 5]
            .map(|failures| rest(failures, TryCost::Counted))
            .into();
        assert_eq!(refused, [120, 240, 480, 960, 1_920]);
        // The first is at once, the sixth after the pauses of five.
        assert!(refused.iter().sum::<u64>() > 3_600);
        assert_eq!(rest(u32::MAX, TryCost::Counted), 6 * 3_600);
        assert_eq!(rest_after(1, TryCost::Nothing, Chance(1.0)).as_secs(), 11);
    }

    #[test]
    fn success_is_followed_by_a_rest_of_at_most_an_hour() {
        let of = |lifetime| {
            let dates = CertificateDates {
                not_before: 0,
                not_after: lifetime,
            };
            rest_after_success(&dates).as_secs()
        };
        assert_eq!([of(60), of(90 * DAY), of(-1)], [10, 3_600, 0]);
    }
}
