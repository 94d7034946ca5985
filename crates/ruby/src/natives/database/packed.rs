//! The packed rows of a result, as a `DB::Rows` carries them. Makes no value of Ruby.

use tsumugi_db::Rows;
use tsumugi_mruby::{Kind, Scope, Value};

/// The rows of a `DB::Rows`.
pub(crate) fn packed<'c>(scope: &'c Scope<'_>, value: Value<'c>) -> Option<&'c Rows> {
    if value.kind() != Kind::Data {
        return None;
    }
    scope.data::<Rows>(value)
}
