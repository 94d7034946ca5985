//! Words for what does not fit, in English and Japanese, in other languages and other words where an application gives them.
//! Which of the languages a client wants. Rule: a key that a language lacks is said in English, and a message never fails.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::failure::{Failures, FieldFailure};
use crate::limits::{ACCEPT_LANGUAGES_MAX, SHAPE_LANGUAGES_MAX};

/// A tag such as `en` or `ja`, in lower case.
pub type Language = Rc<str>;

/// The key of what was not sent.
const MISSING: &str = "missing";
/// The key of what was sent as an empty text.
pub(crate) const EMPTY: &str = "empty";

/// The keys with their words. `{limit}` is the bound; `{s}` is an English plural's ending, absent behind 1.
const TABLE: [(&str, &str, &str); 28] = [
    (MISSING, "is missing", "入力してください"),
    (EMPTY, "is empty", "入力してください"),
    ("text", "must be a string", "文字列にしてください"),
    ("integer", "must be an integer", "整数にしてください"),
    ("number", "must be a number", "数値にしてください"),
    (
        "boolean",
        "must be true or false",
        "true か false にしてください",
    ),
    ("list", "must be a list", "リストにしてください"),
    ("object", "must be an object", "オブジェクトにしてください"),
    ("file", "must be a file", "ファイルを選んでください"),
    (
        "min",
        "must be at least {limit}",
        "{limit}以上にしてください",
    ),
    (
        "max",
        "must be at most {limit}",
        "{limit}以下にしてください",
    ),
    (
        "length",
        "must have {limit} character{s}",
        "{limit}文字にしてください",
    ),
    (
        "length_min",
        "must have at least {limit} character{s}",
        "{limit}文字以上にしてください",
    ),
    (
        "length_max",
        "must have at most {limit} character{s}",
        "{limit}文字以内にしてください",
    ),
    (
        "items",
        "must have {limit} item{s}",
        "{limit}件にしてください",
    ),
    (
        "items_min",
        "must have at least {limit} item{s}",
        "{limit}件以上にしてください",
    ),
    (
        "items_max",
        "must have at most {limit} item{s}",
        "{limit}件以内にしてください",
    ),
    (
        "choice",
        "must be one of {limit}",
        "次のどれかにしてください: {limit}",
    ),
    ("pattern", "has a wrong format", "形式が正しくありません"),
    (
        "pattern_bytes",
        "is too long for its format to be checked: {limit} bytes at most (SHAPE_HARD_PATTERN_BYTES_MAX)",
        "長すぎて形式を確かめられません。{limit}バイト以内にしてください(SHAPE_HARD_PATTERN_BYTES_MAX)",
    ),
    (
        "pattern_texts",
        "is not checked: the long texts before it were as many as one request may have (SHAPE_HARD_PATTERN_TEXTS_MAX, {limit})",
        "確かめられません。1つのリクエストで形式を確かめられる長いテキストの数を超えています(SHAPE_HARD_PATTERN_TEXTS_MAX、{limit})",
    ),
    (
        "email",
        "must be an email address",
        "メールアドレスにしてください",
    ),
    (
        "url",
        "must be a URL that begins with http:// or https://",
        "http:// または https:// で始まるURLにしてください",
    ),
    ("uuid", "must be a UUID", "UUIDにしてください"),
    (
        "date",
        "must be a date such as 2026-01-31",
        "日付にしてください(例: 2026-01-31)",
    ),
    (
        "time",
        "must be a time such as 2026-01-31T09:30:00Z",
        "日時にしてください(例: 2026-01-31T09:30:00Z)",
    ),
    ("taken", "is taken", "すでに使われています"),
    (
        "more",
        "and more that does not fit",
        "ほかにも誤りがあります",
    ),
];

/// The language that every key has words in.
const ENGLISH: &str = "en";
/// The other one.
const JAPANESE: &str = "ja";

/// The words of an application, over those that are built in.
#[derive(Clone, Debug, Default)]
pub struct MessageCatalog {
    own: BTreeMap<Language, BTreeMap<Box<str>, Rc<str>>>,
    /// The language of all messages, whatever clients want.
    fixed: Option<Language>,
}

/// Messages that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// More languages than `SHAPE_LANGUAGES_MAX`.
    #[error(
        "messages are in more than {SHAPE_LANGUAGES_MAX} languages, which is SHAPE_LANGUAGES_MAX"
    )]
    Languages,
    /// No tag of a language.
    #[error("{0:?} is no language: give a tag such as \"ja\" or \"pt-BR\"")]
    Tag(String),
}

impl MessageCatalog {
    /// The words of one key in a language; `key` may be new. A language that is new can be chosen by clients from now on.
    ///
    /// # Errors
    /// When the tag is none, or there are too many languages.
    pub fn say(&mut self, language: &str, key: &str, words: &str) -> Result<(), MessageError> {
        let language = tag(language)?;
        if !self.own.contains_key(&language) && self.own.len() >= SHAPE_LANGUAGES_MAX {
            return Err(MessageError::Languages);
        }
        let words_of = self.own.entry(language).or_default();
        words_of.insert(key.into(), words.into());
        Ok(())
    }

    /// Has all messages in one language, whatever clients want.
    ///
    /// # Errors
    /// When the tag is none.
    pub fn fix(&mut self, language: &str) -> Result<(), MessageError> {
        self.fixed = Some(tag(language)?);
        Ok(())
    }

    /// The language of a client that sends this `Accept-Language`: the first of those it likes best that there are words in, else English.
    pub fn language(&self, accept: Option<&str>) -> Language {
        if let Some(fixed) = &self.fixed {
            return Rc::clone(fixed);
        }
        let mut best: Option<(u32, Language)> = None;
        let ranges = accept.unwrap_or_default().split(',');
        for range in ranges.take(ACCEPT_LANGUAGES_MAX) {
            let (range, weight) = match range.split_once(';') {
                Some((range, weight)) => (range, thousandths(weight)),
                None => (range, 1_000),
            };
            let better = best.as_ref().is_none_or(|(known, _)| weight > *known);
            if let Some(language) = self.nearest(range.trim())
                && weight > 0
                && better
            {
                best = Some((weight, language));
            }
        }
        best.map_or_else(|| ENGLISH.into(), |(_, language)| language)
    }

    /// The language of this range, or that of its first part: `pt-BR`, else `pt`.
    fn nearest(&self, range: &str) -> Option<Language> {
        let range = range.to_ascii_lowercase();
        let first = range.split('-').next().unwrap_or_default();
        [&*range, first].into_iter().find_map(|tag| {
            if tag == ENGLISH || tag == JAPANESE {
                return Some(tag.into());
            }
            let known = self.own.get_key_value(tag)?;
            Some(Rc::clone(known.0))
        })
    }

    /// The words for one failure.
    pub fn words(&self, language: &str, failure: &FieldFailure) -> String {
        match failure {
            FieldFailure::Text(text) => text.as_ref().to_owned(),
            FieldFailure::Key { key, limit } => {
                let words = self.template(language, key);
                let plural = if limit == "1" { "" } else { "s" };
                words.replace("{s}", plural).replace("{limit}", limit)
            }
        }
    }

    fn template(&self, language: &str, key: &str) -> Rc<str> {
        let own = |language: &str| {
            let words = self.own.get(language)?;
            // An application that says what is missing says it of what is empty as well.
            let more_general = || words.get(MISSING).filter(|_| key == EMPTY);
            words.get(key).or_else(more_general).cloned()
        };
        let built_in = TABLE.iter().find(|(known, ..)| *known == key);
        let english = || Some(built_in?.1.into());
        let japanese = || Some(built_in?.2.into());
        let found = match language {
            JAPANESE => own(language).or_else(japanese),
            _ => own(language),
        };
        let found = found.or_else(|| own(ENGLISH)).or_else(english);
        found.unwrap_or_else(|| key.replace('_', " ").into())
    }

    /// The messages of each path, in the order in which the paths were found. What is about the whole stands under `whole`.
    pub fn messages(
        &self,
        language: &str,
        failures: &Failures,
        whole: &str,
    ) -> Vec<(Box<str>, Vec<String>)> {
        let mut messages: Vec<(Box<str>, Vec<String>)> = Vec::new();
        let mut add = |path: &str, words: String| {
            let path = if path.is_empty() { whole } else { path };
            match messages.iter_mut().find(|(known, _)| **known == *path) {
                Some((_, texts)) => texts.push(words),
                None => messages.push((path.into(), vec![words])),
            }
        };
        for place in failures.places() {
            add(&place.path, self.words(language, &place.failure));
        }
        if failures.is_cut() {
            add("", self.words(language, &FieldFailure::key("more")));
        }
        messages
    }
}

/// A tag of a language in lower case.
fn tag(language: &str) -> Result<Language, MessageError> {
    let fits = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match language.len() <= 35 && language.split('-').all(fits) {
        true => Ok(language.to_ascii_lowercase().into()),
        false => Err(MessageError::Tag(language.to_owned())),
    }
}

/// A weight `q=0.8`; what is none weighs nothing.
fn thousandths(weight: &str) -> u32 {
    let value = weight.trim().strip_prefix("q=").unwrap_or_default();
    let share = value.parse::<f64>().unwrap_or(0.0);
    (share.clamp(0.0, 1.0) * 1_000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_the_one_that_the_client_likes_best_of_those_there_are() {
        let mut catalog = MessageCatalog::default();
        catalog.say("pt-BR", "missing", "falta").unwrap();
        for (accept, expected) in [
            ("", "en"),
            ("ja", "ja"),
            ("ja-JP,ja;q=0.9,en-US;q=0.8", "ja"),
            ("en;q=0.2,ja;q=0.1", "en"),
            ("en;q=0.1,ja;q=0.2", "ja"),
            ("fr,de;q=0.5", "en"),
            ("fr,pt-br;q=0.5,ja;q=0.1", "pt-br"),
            ("pt", "en"),
            ("ja;q=0,en", "en"),
            ("ja;q=NaN", "en"),
            ("*", "en"),
            (";;,,ja", "ja"),
        ] {
            assert_eq!(&*catalog.language(Some(accept)), expected, "{accept}");
        }
        catalog.fix("ja").unwrap();
        assert_eq!(&*catalog.language(Some("en")), "ja");
    }

    #[test]
    fn languages_beyond_their_number_are_not_looked_at() {
        let others = vec!["fr"; ACCEPT_LANGUAGES_MAX - 1].join(",");
        let catalog = MessageCatalog::default();
        assert_eq!(&*catalog.language(Some(&format!("{others},ja"))), "ja");
        assert_eq!(&*catalog.language(Some(&format!("{others},fr,ja"))), "en");
    }

    #[test]
    fn application_has_the_last_word_and_english_the_rest() {
        let mut catalog = MessageCatalog::default();
        catalog.say("de", "missing", "fehlt").unwrap();
        catalog.say("en", "min", "not below {limit}").unwrap();
        catalog.say("fr", "empty", "vide").unwrap();
        catalog.say("ja", "odd_price", "奇数です").unwrap();
        let words = |language: &str, failure: FieldFailure| catalog.words(language, &failure);
        assert_eq!(words("de", FieldFailure::key("missing")), "fehlt");
        assert_eq!(words("de", FieldFailure::key("empty")), "fehlt");
        assert_eq!(words("fr", FieldFailure::key("empty")), "vide");
        assert_eq!(words("fr", FieldFailure::key("missing")), "is missing");
        assert_eq!(words("en", FieldFailure::key("empty")), "is empty");
        assert_eq!(words("de", FieldFailure::limit("min", 3)), "not below 3");
        assert_eq!(
            words("ja", FieldFailure::limit("min", 3)),
            "3以上にしてください"
        );
        assert_eq!(words("ja", FieldFailure::key("odd_price")), "奇数です");
        assert_eq!(words("en", FieldFailure::key("odd_price")), "odd price");
        assert_eq!(
            words("en", FieldFailure::limit("length_min", 1)),
            "must have at least 1 character"
        );
        assert_eq!(
            words("en", FieldFailure::limit("items_max", 2)),
            "must have at most 2 items"
        );
    }

    #[test]
    fn each_key_has_words_in_both_languages() {
        for (key, english, japanese) in TABLE {
            assert_eq!(
                english.contains("{limit}"),
                japanese.contains("{limit}"),
                "{key}"
            );
            assert!(!japanese.is_empty() && !japanese.contains("{s}"), "{key}");
        }
    }

    #[test]
    fn tags_that_are_none_and_languages_beyond_the_limit_are_refused() {
        let mut catalog = MessageCatalog::default();
        for wrong in ["", "a b", "ja_JP", "toolongtag"] {
            let error = catalog.say(wrong, "missing", "x").unwrap_err();
            assert_eq!(error, MessageError::Tag(wrong.to_owned()));
        }
        for i in 0..SHAPE_LANGUAGES_MAX {
            catalog.say(&format!("x{i}"), "missing", "x").unwrap();
        }
        let error = catalog.say("y", "missing", "x").unwrap_err();
        assert!(error.to_string().contains("SHAPE_LANGUAGES_MAX"));
        catalog.say("x0", "min", "x").unwrap();
    }
}
