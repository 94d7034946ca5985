//! From when and until when a certificate is valid. Checks no signature and no name.
//! Rule: each length is checked before it is believed; what is no certificate has no dates.

use rustls::pki_types::CertificateDer;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The dates of a certificate, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateDates {
    /// The first second.
    pub not_before: i64,
    /// The last second.
    pub not_after: i64,
}

impl CertificateDates {
    /// What a certificate says (RFC 5280, 4.1).
    pub fn of(certificate: &CertificateDer<'_>) -> Option<CertificateDates> {
        let (whole, _) = element(certificate, SEQUENCE)?;
        let (mut fields, _) = element(whole, SEQUENCE)?;
        if fields.first() == Some(&VERSION) {
            fields = element(fields, VERSION)?.1;
        }
        // Serial number, algorithm, issuer.
        for tag in [INTEGER, SEQUENCE, SEQUENCE] {
            fields = element(fields, tag)?.1;
        }
        let (validity, _) = element(fields, SEQUENCE)?;
        let (not_before, rest) = moment(validity)?;
        let (not_after, _) = moment(rest)?;
        Some(CertificateDates {
            not_before,
            not_after,
        })
    }

    /// How long it is valid in all, in seconds.
    pub fn lifetime(&self) -> i64 {
        self.not_after.saturating_sub(self.not_before)
    }
}

/// The contents of the element that begins here, which must have this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match *length {
        length if length < 0x80 => (usize::from(length), rest),
        // As many bytes as the rest of it says; more than four are no certificate's.
        count @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(count & 0x7f))?;
            let length = digits
                .iter()
                .fold(0_u64, |length, digit| length << 8 | u64::from(*digit));
            (usize::try_from(length).ok()?, rest)
        }
        _ => return None,
    };
    (*first == tag).then_some(())?;
    rest.split_at_checked(length)
}

/// A moment in either form, and what follows it.
fn moment(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let tag = *bytes.first()?;
    let (text, rest) = element(bytes, tag)?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest_of_text) = match tag {
        UTC_TIME => {
            let year: i64 = digits(text.get(..2)?)?;
            // RFC 5280, 4.1.2.5.1.
            let century = if year < 50 { 2000 } else { 1900 };
            (century + year, text.get(2..)?)
        }
        GENERALIZED_TIME => (digits(text.get(..4)?)?, text.get(4..)?),
        _ => return None,
    };
    if rest_of_text.len() != 10 {
        return None;
    }
    let part = |at: usize| digits(rest_of_text.get(at..at + 2)?);
    let (month, day) = (part(0)?, part(2)?);
    let (hour, minute, second) = (part(4)?, part(6)?, part(8)?);
    let days = days(year, month, day)?;
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then_some((days * 86_400 + hour * 3_600 + minute * 60 + second, rest))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Days from 1970-01-01.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let (year, day) = (i32::try_from(year).ok()?, u8::try_from(day).ok()?);
    let date = time::Date::from_calendar_date(year, month, day).ok()?;
    Some(i64::from(date.to_julian_day()) - 2_440_588)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate as far as its dates: with a version or without, and the dates in these elements.
    fn certificate(version: &[u8], dates: &[&[u8]]) -> CertificateDer<'static> {
        let wrap = |tag: u8, inner: &[u8]| {
            let length = u8::try_from(inner.len()).unwrap();
            match length {
                ..0x80 => [&[tag, length][..], inner].concat(),
                _ => [&[tag, 0x81, length][..], inner].concat(),
            }
        };
        let validity = wrap(SEQUENCE, &dates.concat());
        let before = [
            version.to_vec(),
            wrap(INTEGER, &[7]),
            wrap(SEQUENCE, &[0; 40]),
            wrap(SEQUENCE, &[0; 30]),
        ];
        let fields = [before.concat(), validity].concat();
        CertificateDer::from(wrap(SEQUENCE, &wrap(SEQUENCE, &fields)))
    }

    fn time(tag: u8, text: &str) -> Vec<u8> {
        [&[tag, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    #[test]
    fn dates_are_read_in_both_forms_and_with_or_without_a_version() {
        let old = time(UTC_TIME, "700101000000Z");
        let short = time(UTC_TIME, "261127041600Z");
        let long = time(GENERALIZED_TIME, "20561127041601Z");
        for version in [&[][..], &[VERSION, 3, 2, 1, 2]] {
            let dates = CertificateDates::of(&certificate(version, &[&short, &long])).unwrap();
            assert_eq!(dates.not_before, 1_795_752_960);
            assert_eq!(dates.not_after, 2_742_524_161);
            let dates = CertificateDates::of(&certificate(version, &[&old, &short])).unwrap();
            assert_eq!(dates.not_before, 0);
            assert_eq!(dates.lifetime(), dates.not_after);
        }
    }

    #[test]
    fn certificate_that_is_cut_or_has_no_dates_has_none() {
        let good = time(UTC_TIME, "261127041600Z");
        let whole = certificate(&[], &[&good, &good]);
        for length in 0..whole.len() {
            let cut = CertificateDer::from(whole[..length].to_vec());
            assert_eq!(CertificateDates::of(&cut), None, "{length}");
        }
        for text in [
            "261327041600Z",
            "260230041600Z",
            "261127241600Z",
            "26112704160Z",
            "2611270416xxZ",
            "261127041600+",
        ] {
            let bad = time(UTC_TIME, text);
            let dates = CertificateDates::of(&certificate(&[], &[&good, &bad]));
            assert_eq!(dates, None, "{text}");
        }
    }
}
