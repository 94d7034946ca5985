//! Whether a query calls code that the database keeps, which may write: a function that is not one of the server's own.
//! What views and computed columns call is not in the text, and a function of the database's that has the name of one of the server's is
//! taken for that. Rule: what is not known counts as a call.

use std::cmp::Ordering;

use tsumugi_sql::FIREBIRD;
use tsumugi_sql::scan::{self, Kind};

/// The functions of Firebird 3, 4 and 5, and the other words that stand before a parenthesis. Sorted, because it is searched by halves.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "abs", "acos", "acosh", "all", "and", "any", "as", "asc", "ascii_char", "ascii_val", "asin", "asinh", "atan",
    "atan2", "atanh", "avg", "base64_decode", "base64_encode", "between", "bin_and", "bin_not", "bin_or", "bin_shl",
    "bin_shr", "bin_xor", "binary", "bit_length", "blob", "blob_append", "both", "by", "case", "cast", "ceil",
    "ceiling", "char", "char_length", "char_to_uuid", "character", "character_length", "check", "coalesce",
    "compare_decfloat", "containing", "corr", "cos", "cosh", "cot", "count", "covar_pop", "covar_samp", "crypt_hash",
    "cume_dist", "current_time", "current_timestamp", "dateadd", "datediff", "dec", "decfloat", "decimal", "decode",
    "decrypt", "dense_rank", "distinct", "else", "encrypt", "escape", "except", "exists", "exp", "extract", "fetch",
    "filter", "first", "first_day", "first_value", "float", "floor", "for", "from", "gen_id", "gen_uuid", "greatest",
    "group", "hash", "having", "hex_decode", "hex_encode", "if", "iif", "in", "into", "is", "join", "lag", "last_day",
    "last_value", "lateral", "lead", "leading", "least", "left", "like", "list", "ln", "localtime", "localtimestamp",
    "log", "log10", "lower", "lpad", "ltrim", "make_dbkey", "max", "maxvalue", "merge", "min", "minvalue", "mod",
    "national", "nchar", "normalize_decfloat", "not", "nth_value", "ntile", "null", "nullif", "numeric",
    "octet_length", "of", "offset", "on", "or", "order", "over", "overlay", "partition", "percent_rank", "pi",
    "placing", "plan", "position", "power", "quantize", "rand", "range", "rank", "rdb$error", "rdb$get_context",
    "rdb$get_transaction_cn", "rdb$role_in_use", "rdb$system_privilege", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "replace", "returning", "reverse",
    "right", "round", "row_number", "rows", "rpad", "rsa_decrypt", "rsa_encrypt", "rsa_private", "rsa_public",
    "rsa_sign_hash", "rsa_verify_hash", "rtrim", "select", "set", "sign", "similar", "sin", "singular", "sinh",
    "skip", "some", "sort", "sqrt", "starting", "stddev_pop", "stddev_samp", "substring", "sum", "tan", "tanh",
    "then", "time", "timestamp", "to", "totalorder", "trailing", "trim", "trunc", "unicode_char", "unicode_val",
    "union", "unique", "upper", "using", "uuid_to_char", "values", "var_pop", "var_samp", "varbinary", "varchar",
    "varying", "when", "where", "window", "with", "zone",
];

/// What stands before a parenthesis.
#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a str,
    /// It is that of a package's function.
    is_qualified: bool,
}

impl Name<'_> {
    fn is_known(self) -> bool {
        let lower = || self.text.bytes().map(|byte| byte.to_ascii_lowercase());
        let order = |known: &&str| -> Ordering { known.bytes().cmp(lower()) };
        !self.is_qualified && KNOWN.binary_search_by(order).is_ok()
    }
}

/// Whether a text that begins with SELECT or WITH calls such a function.
pub(super) fn calls_stored_code(query: &str) -> bool {
    let mut name: Option<Name<'_>> = None;
    let (mut depth, mut after_dot) = (0, false);
    // The queries before the main one have names with columns in parentheses.
    let mut in_names: Option<bool> = None;
    for piece in scan::pieces(query, FIREBIRD.lexicon) {
        let text = piece.text.trim();
        if piece.kind == Kind::Comment || text.is_empty() {
            continue;
        }
        let is_quoted_name = piece.kind == Kind::Quoted && text.starts_with('"');
        if is_quoted_name || (piece.kind == Kind::Code && text.starts_with(is_of_name)) {
            in_names.get_or_insert(text.eq_ignore_ascii_case("with"));
            if depth == 0 && text.eq_ignore_ascii_case("select") {
                in_names = Some(false);
            }
            name = Some(Name {
                text,
                is_qualified: after_dot,
            });
            after_dot = false;
            continue;
        }
        let named = name.take();
        if piece.kind == Kind::Quoted {
            continue;
        }
        let names_query = depth == 0 && in_names == Some(true);
        if text.starts_with('(') && !names_query && named.is_some_and(|name| !name.is_known()) {
            return true;
        }
        for sign in text.chars() {
            match sign {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        after_dot = text.ends_with('.');
    }
    false
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphabetic() || sign == '_' || !sign.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: bool) {
        assert_eq!(calls_stored_code(query), expected, "{query}");
    }

    #[test]
    fn known_words_are_sorted() {
        assert!(KNOWN.is_sorted());
    }

    #[test]
    fn functions_of_the_server_are_no_stored_code() {
        for query in [
            "select 1 from t",
            "select (a), ((b)) from t where (a = 1) and not (b in (1, 2))",
            "select COUNT(*), Coalesce(max(a), 0) over (partition by (b)) from t",
            "select cast(? as varchar(20)), extract(year from (a)) from t",
            "with recursive n (i) as (select 1 from t union all select i + 1 from n), m (j) as (select (1) from n) select i from n",
            "select first (5) skip (1) a from t order by (a) rows (1) to (2)",
            "select rdb$get_context('SYSTEM', 'f(1)') -- f(1)\n from t /* f(1) */",
            "select q'{f(1)}' from t where exists (select 1 from u) group by (a) having (1 = 1)",
        ] {
            check(query, false);
        }
    }

    #[test]
    fn call_of_an_unknown_function_is_stored_code() {
        for query in [
            "select f(1) from t",
            "select F (1) from t",
            "select a from t where 1=f /* */ ((1))",
            "select \"F\"(1) from t",
            "select \"count\"(1) from t",
            "select p.count(1) from t",
            "select a||f(1) from t",
            "select first (5) f(a) from t",
            "with n as (select f(1) as a from t) select a from n",
            "with n (a) as (select 1 from t) select f(a) from n",
            "select 名(1) from t",
            "select * from p(1)",
            "select rdb$set_context('USER_TRANSACTION', 'a', 1) from t",
        ] {
            check(query, true);
        }
    }
}
