//! How long after a failure a job is begun again. Knows no job. Rule: it doubles, and half of it is by chance, so that what failed together does not
//! come again together.

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::kind::millis;
use crate::limits::{BACK_OFF_MAX, BACK_OFF_MIN};

/// Milliseconds after so many failures, of which there is one at least.
pub(crate) fn back_off(failures: i64) -> i64 {
    let mut byte = [0; 2];
    // Without chance it is the middle.
    let chance = match SystemRandom::new().fill(&mut byte) {
        Ok(()) => u16::from_be_bytes(byte),
        Err(_) => u16::MAX / 2,
    };
    back_off_by(failures, chance)
}

fn back_off_by(failures: i64, chance: u16) -> i64 {
    let doublings = u32::try_from(failures.clamp(1, 32) - 1).unwrap_or_default();
    let (least, most) = (millis(BACK_OFF_MIN), millis(BACK_OFF_MAX));
    let whole = least.saturating_mul(1 << doublings).min(most);
    let half = whole / 2;
    half + half * i64::from(chance) / i64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::back_off_by;

    #[test]
    fn pause_doubles_up_to_an_hour_and_half_of_it_is_chance() {
        let of = |failures| (back_off_by(failures, 0), back_off_by(failures, u16::MAX));
        assert_eq!(of(1), (1_000, 2_000));
        assert_eq!(of(2), (2_000, 4_000));
        assert_eq!(of(5), (16_000, 32_000));
        assert_eq!(of(30), (1_800_000, 3_600_000));
        assert_eq!(of(i64::MAX), (1_800_000, 3_600_000));
        assert_eq!(of(0), of(1));
    }
}
