//! Formats of texts: email addresses, URLs, UUIDs, dates, moments, and patterns. Pure.
//! Rule: a format says what a text looks like; that an address exists, or a server may be called, it does not say.

use std::fmt;
use std::rc::Rc;

use tsumugi_values::{Date, Time};

use crate::failure::FieldFailure;
use crate::limits::{
    EMAIL_BYTES_MAX, SHAPE_HARD_PATTERN_BYTES_MAX, SHAPE_HARD_PATTERN_TEXTS_MAX,
    SHAPE_PATTERN_STEPS_MAX, SHAPE_PATTERN_TRIALS_MAX, SHAPE_TRIAL_BYTES, URL_BYTES_MAX,
};

/// A format that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// What browsers take in `<input type=email>` (WHATWG HTML, 4.10.5.1.5), of at most 254 bytes.
    Email,
    /// `http` or `https`, a host and whatever follows, without blanks.
    Url,
    /// 32 hexadecimal digits in five groups (RFC 9562).
    Uuid,
    /// `2026-01-31`, a day that there is.
    Date,
    /// `2026-01-31T09:30:00Z`, with a fraction or an offset (RFC 3339).
    Time,
}

/// The formats by their names.
const NAMES: [(&str, Format); 5] = [
    ("email", Format::Email),
    ("url", Format::Url),
    ("uuid", Format::Uuid),
    ("date", Format::Date),
    ("time", Format::Time),
];

impl Format {
    /// The format of this name.
    pub fn by_name(name: &str) -> Option<Format> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, format)| *format)
    }

    /// Its name, which is the key of its message as well.
    pub fn name(self) -> &'static str {
        match self {
            Format::Email => "email",
            Format::Url => "url",
            Format::Uuid => "uuid",
            Format::Date => "date",
            Format::Time => "time",
        }
    }

    /// Whether the text has it.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Format::Email => is_email(text),
            Format::Url => is_url(text),
            Format::Uuid => is_uuid(text),
            Format::Date => is_date(text),
            Format::Time => is_time(text).is_some(),
        }
    }
}

/// A condition on a text that the author has: a regular expression that is found in it, or a function.
#[derive(Clone)]
pub struct TextPattern(Matcher);

#[derive(Clone)]
enum Matcher {
    Function(Rc<dyn Fn(&str) -> bool>),
    /// Of an engine that goes back: within few steps, and within all that are allowed.
    Expression(
        Rc<dyn Fn(&str) -> PatternDecision>,
        Rc<dyn Fn(&str) -> PatternDecision>,
    ),
}

/// Whether a text fits, as far as that was found out: none when the engine gave up.
pub type PatternDecision = Option<bool>;

/// What texts of one request may still cost patterns that go back.
#[derive(Debug)]
pub(crate) struct PatternBudget {
    /// How many may still be hard to decide.
    trials: usize,
    /// Squares of lengths: at each place of a text an engine that goes back may read the rest of it.
    squares: u64,
}

impl Default for PatternBudget {
    fn default() -> PatternBudget {
        PatternBudget {
            trials: SHAPE_PATTERN_TRIALS_MAX,
            squares: square(SHAPE_HARD_PATTERN_BYTES_MAX) * SHAPE_HARD_PATTERN_TEXTS_MAX as u64,
        }
    }
}

impl PatternBudget {
    /// Takes the cost of a text, or says which limit it is beyond.
    fn charge(&mut self, text: &str) -> Result<(), FieldFailure> {
        if text.len() > SHAPE_HARD_PATTERN_BYTES_MAX {
            let limit = SHAPE_HARD_PATTERN_BYTES_MAX;
            return Err(FieldFailure::limit("pattern_bytes", limit));
        }
        let left = self.squares.checked_sub(square(text.len()));
        self.squares =
            left.ok_or_else(|| FieldFailure::limit("pattern_texts", SHAPE_HARD_PATTERN_TEXTS_MAX))?;
        Ok(())
    }

    /// Takes a trial of a text, and one more for each part of it, where there are so many.
    fn try_again(&mut self, text: &str) -> bool {
        let left = self.trials.checked_sub(1 + text.len() / SHAPE_TRIAL_BYTES);
        self.trials = left.unwrap_or(self.trials);
        left.is_some()
    }
}

fn square(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(bytes as u64)
}

impl TextPattern {
    /// A function that says whether a text fits.
    pub fn new(fits: impl Fn(&str) -> bool + 'static) -> TextPattern {
        TextPattern(Matcher::Function(Rc::new(fits)))
    }

    /// A regular expression with an engine that goes back: `quick` gives up after [`SHAPE_PATTERN_STEPS_MAX`] steps, `whole` after as many as one
    /// text may cost. Steps bound no time, since each may read all of the text, so a text beyond [`SHAPE_HARD_PATTERN_BYTES_MAX`] is not looked at; and of
    /// one request only few texts get to `whole`, so that a long list of hard ones costs no more than those.
    pub fn expression(
        quick: impl Fn(&str) -> PatternDecision + 'static,
        whole: impl Fn(&str) -> PatternDecision + 'static,
    ) -> TextPattern {
        TextPattern(Matcher::Expression(Rc::new(quick), Rc::new(whole)))
    }

    /// A regular expression that has to be found in the text: `^` and `$` say that it is the whole. One with look-around or backreferences is looked for in
    /// texts of [`SHAPE_HARD_PATTERN_BYTES_MAX`] at most.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn regex(source: &str) -> Result<TextPattern, Box<fancy_regex::Error>> {
        let whole = fancy_regex::Regex::new(source)?;
        if !goes_back(&mut fancy_regex::RegexBuilder::new(source)) {
            return Ok(TextPattern::new(move |text| {
                whole.is_match(text).unwrap_or(false)
            }));
        }
        let quick = fancy_regex::RegexBuilder::new(source)
            .backtrack_limit(SHAPE_PATTERN_STEPS_MAX)
            .build()?;
        Ok(TextPattern::expression(
            move |text| quick.is_match(text).ok(),
            move |text| whole.is_match(text).ok(),
        ))
    }

    /// Whether the text fits. One on which the engine gives up does not.
    pub fn fits(&self, text: &str) -> bool {
        self.failure(&mut PatternBudget::default(), text).is_none()
    }

    /// What is wrong with one of many texts.
    pub(crate) fn failure(&self, budget: &mut PatternBudget, text: &str) -> Option<FieldFailure> {
        let fits = match &self.0 {
            Matcher::Function(fits) => fits(text),
            Matcher::Expression(quick, whole) => {
                if let Err(failure) = budget.charge(text) {
                    return Some(failure);
                }
                let decision = quick(text);
                let is_hard = decision.is_none() && budget.try_again(text);
                let decision = if is_hard { whole(text) } else { decision };
                decision.unwrap_or(false)
            }
        };
        (!fits).then(|| FieldFailure::key("pattern"))
    }
}

/// Whether the expression needs the engine that goes back, and not only the one whose time grows with the text. To be asked of a builder whose expression
/// can be built.
pub fn goes_back(builder: &mut fancy_regex::RegexBuilder) -> bool {
    // Only a program of that engine has instructions.
    builder.max_prog_size(0).build().is_err()
}

impl fmt::Debug for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pattern")
    }
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let of_local =
        |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    text.len() <= EMAIL_BYTES_MAX
        && !local.is_empty()
        && local.bytes().all(of_local)
        && domain.split('.').all(is_label)
}

/// A part of a host's name.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_url(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let head = text.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme)
            .then(|| text.get(scheme.len()..))
            .flatten()
    });
    let Some(rest) = rest else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    let shown = |c: char| !c.is_whitespace() && !c.is_control() && !"<>\"\\^`{|}".contains(c);
    text.len() <= URL_BYTES_MAX && text.chars().all(shown) && is_place(place)
}

/// A host, with a port behind it or none.
fn is_place(place: &str) -> bool {
    let (host, port) = match place
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((address, port)) => match address.parse::<std::net::Ipv6Addr>() {
            Ok(_) if port.is_empty() => return true,
            Ok(_) => ("v6", port.strip_prefix(':')),
            Err(_) => return false,
        },
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, Some("1")),
        },
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let of_label = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let labels = |label: &str| !label.is_empty() && label.chars().all(of_label);
    host.split('.').all(labels) && port.is_some_and(|port| port.parse::<u16>().is_ok())
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let groups = text.split('-');
    text.len() == 36
        && groups.clone().count() == lengths.len()
        && groups.zip(lengths).all(|(group, length)| {
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

/// `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    day_of(text).is_some()
}

fn day_of(text: &str) -> Option<Date> {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let year = digits(year)?;
    Date::from_ymd(
        i32::try_from(year).ok()?,
        u8::try_from(digits(month)?).ok()?,
        u8::try_from(digits(day)?).ok()?,
    )
}

fn digits(text: &str) -> Option<u32> {
    let all = text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// `YYYY-MM-DDThh:mm:ss`, a fraction or none, `Z` or an offset.
fn is_time(text: &str) -> Option<()> {
    let (day, rest) = text.split_at_checked(10)?;
    day_of(day)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    clock_of(clock)?;
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let end = fraction
                .find(|c: char| !c.is_ascii_digit())
                .filter(|end| *end > 0)?;
            fraction.get(end..)?
        }
        None => rest,
    };
    if rest == "Z" || rest == "z" {
        return Some(());
    }
    let offset = rest.strip_prefix(['+', '-'])?;
    (offset.len() == 5)
        .then(|| clock_of(&format!("{offset}:00")))
        .flatten()
}

/// `hh:mm:ss`.
fn clock_of(text: &str) -> Option<()> {
    let mut parts = text.split(':').map(|part| {
        (part.len() == 2)
            .then(|| digits(part))
            .flatten()
            .and_then(|part| u8::try_from(part).ok())
    });
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    (hour < 24 && parts.next().is_none()).then_some(())?;
    Time::from_hms_micro(hour, minute, second, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.fits(text), "{format:?} {text:?}");
        }
        for text in bad {
            assert!(!format.fits(text), "{format:?} {text:?}");
        }
    }

    #[test]
    fn email_is_what_browsers_take() {
        check(
            Format::Email,
            &["a@b", "ada.l+x@example.org", "o'neil@a-b.co.jp"],
            &[
                "", "a", "@b", "a@", "a@-b", "a@b..c", "a b@c", "a@b@c d", "ä@b", "a@b\n",
            ],
        );
        let longest = format!("{}@b.example", "a".repeat(EMAIL_BYTES_MAX - 10));
        check(Format::Email, &[&longest], &[&format!("a{longest}")]);
    }

    #[test]
    fn url_has_a_scheme_of_the_web_and_a_host() {
        check(
            Format::Url,
            &[
                "http://a",
                "HTTPS://user:x@a.example:8443/p?q#f",
                "http://[::1]:80/",
                "http://[::1]",
                "https://日本.example/",
            ],
            &[
                "",
                "a",
                "ftp://a",
                "javascript:alert(1)",
                "http://",
                "http:///p",
                "http://a b/",
                "http://a:99999/",
                "http://a:/",
                "http://[::1/",
                "http://[1]/",
                "http://a..b/",
                "http://a/\n",
            ],
        );
        let longest = format!("http://a/{}", "p".repeat(URL_BYTES_MAX - 9));
        check(Format::Url, &[&longest], &[&format!("{longest}p")]);
    }

    #[test]
    fn uuid_has_five_groups_of_hexadecimal_digits() {
        check(
            Format::Uuid,
            &[
                "00000000-0000-0000-0000-000000000000",
                "0190AbCd-1234-7000-8000-0123456789ef",
            ],
            &[
                "",
                "00000000000000000000000000000000",
                "0000000-00000-0000-0000-000000000000",
                "g0000000-0000-0000-0000-000000000000",
            ],
        );
    }

    #[test]
    fn date_is_a_day_that_there_is() {
        check(
            Format::Date,
            &["2026-01-31", "2024-02-29", "0001-01-01"],
            &[
                "",
                "2026-02-29",
                "2026-13-01",
                "2026-1-1",
                "26-01-01",
                "2026-01-31 ",
                "2026/01/31",
                "+026-01-01",
            ],
        );
    }

    #[test]
    fn time_is_a_moment_with_its_offset() {
        check(
            Format::Time,
            &[
                "2026-01-31T09:30:00Z",
                "2026-01-31T09:30:00.123456+09:00",
                "2026-01-31 23:59:59-00:30",
            ],
            &[
                "",
                "2026-01-31",
                "2026-01-31T09:30:00",
                "2026-01-31T24:00:00Z",
                "2026-01-31T09:60:00Z",
                "2026-01-31T09:30:00.Z",
                "2026-01-31T09:30:00+0900",
                "2026-02-30T09:30:00Z",
            ],
        );
    }

    #[test]
    fn pattern_is_found_anywhere_unless_it_says_otherwise() {
        assert!(TextPattern::regex("b").unwrap().fits("abc"));
        assert!(!TextPattern::regex("^b$").unwrap().fits("abc"));
        assert!(TextPattern::regex("(").is_err());
    }
}
