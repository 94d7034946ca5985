//! The standard pieces that CRuby has and mruby lacks, one file per subject. Same names and semantics as CRuby's; what
//! differs is said where it is defined in Ruby (prelude/std).

mod digests;
mod encodings;
mod files;
mod hints;
mod json;
pub(crate) mod last_match;
mod match_data;
mod numbers;
pub(crate) mod pages;
mod pattern;
mod pattern_engine;
mod regexp;
mod regexp_syntax;
mod sorting;
mod strings;
mod substitution;
mod templates;
mod times;
mod translation;

use tsumugi_mruby::Result;

pub(crate) use json::{read as read_json, read_with_symbols as read_json_with_symbols};
pub(crate) use pattern::Pattern;

use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    digests::install(natives)?;
    encodings::install(natives)?;
    templates::install(natives)?;
    times::install(natives)?;
    files::install(natives)?;
    hints::install(natives)?;
    json::install(natives)?;
    numbers::install(natives)?;
    pages::install(natives)?;
    sorting::install(natives)?;
    strings::install(natives)?;
    translation::install(natives)?;
    regexp::install(natives)
}
