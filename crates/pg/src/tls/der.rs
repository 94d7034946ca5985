//! What is read of certificates beside the verifier of chains: elements of DER, and from when to when a certificate is valid.
//! Rule: lengths are checked before they are trusted; what cannot be read is nothing, never a guess.

use std::time::Duration;

use rustls_pki_types::UnixTime;
use tsumugi_pg_proto::types::Date;

pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0]` of a certificate that says its version.
const VERSION: u8 = 0xa0;

/// When a certificate is valid, both ends included (RFC 5280, section 4.1.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) from: UnixTime,
    pub(super) to: UnixTime,
}

impl Validity {
    /// Of a certificate in DER.
    pub(super) fn of(certificate: &[u8]) -> Option<Validity> {
        let (fields, _) = element(certificate, SEQUENCE)?;
        let (signed, _) = element(fields, SEQUENCE)?;
        let after = element(signed, VERSION).map_or(signed, |(_, after)| after);
        let (_, after) = element(after, INTEGER)?;
        let (_, after) = element(after, SEQUENCE)?;
        let (_, after) = element(after, SEQUENCE)?;
        let (validity, _) = element(after, SEQUENCE)?;
        let (from, after) = time(validity)?;
        let (to, _) = time(after)?;
        Some(Validity { from, to })
    }
}

/// The time that `bytes` begin with, and what follows it. What is before 1970 counts as then.
fn time(bytes: &[u8]) -> Option<(UnixTime, &[u8])> {
    let (year, digits, after) = match element(bytes, UTC_TIME) {
        Some((text, after)) => {
            let (year, rest) = text.split_at_checked(2)?;
            // RFC 5280, section 4.1.2.5.1: the years from 1950 to 2049.
            let year = number(year)?;
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                rest,
                after,
            )
        }
        None => {
            let (text, after) = element(bytes, GENERALIZED_TIME)?;
            let (year, rest) = text.split_at_checked(4)?;
            (number(year)?, rest, after)
        }
    };
    let digits = digits
        .strip_suffix(b"Z")
        .filter(|digits| digits.len() == 10)?;
    let part = |index: usize| number(digits.get(2 * index..2 * index + 2)?);
    let (month, day) = (part(0)?, part(1)?);
    let (hour, minute, second) = (part(2)?, part(3)?, part(4)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let day = Date::from_ymd(
        i32::try_from(year).ok()?,
        u8::try_from(month).ok()?,
        u8::try_from(day).ok()?,
    )?;
    let days = i64::from(day.days()) - i64::from(Date::from_ymd(1970, 1, 1)?.days());
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some((UnixTime::since_unix_epoch(since), after))
}

fn number(digits: &[u8]) -> Option<i64> {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let all = digits.iter().all(is_digit);
    all.then(|| {
        digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    })
}

/// The contents of the element with this tag that `bytes` begin with, and what follows it.
pub(super) fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = match usize::from(*length) {
        short @ 0..=0x7f => (short, rest),
        // Four bytes of length are more than any handshake carries.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            let length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tag: u8, text: &str, expected: Option<u64>) {
        let bytes = [&[tag, text.len() as u8][..], text.as_bytes()].concat();
        let found = time(&bytes).map(|(time, _)| time.as_secs());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn time_has_two_forms() {
        check(UTC_TIME, "700101000000Z", Some(0));
        check(UTC_TIME, "240229235960Z", Some(1_709_251_200));
        check(UTC_TIME, "491231235959Z", Some(2_524_607_999));
        check(UTC_TIME, "500101000000Z", Some(0));
        check(GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000));
        check(GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799));
    }

    #[test]
    fn other_forms_of_a_time_are_none() {
        for text in [
            "",
            "Z",
            "240229Z",
            "2402292359Z",
            "240229235959",
            "241329235959Z",
            "24022923595xZ",
            "240229245959Z",
        ] {
            check(UTC_TIME, text, None);
        }
        check(GENERALIZED_TIME, "20240229235959.5Z", None);
        check(SEQUENCE, "240229235959Z", None);
    }
}
