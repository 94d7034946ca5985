//! The reserved words of Firebird, which have to be quoted: those that 3.0 refuses as the name of a column, and those added by 4.0 and 5.0.
//! Not its key words: most of those are names as well. Rule: sorted, because it is searched by halves.

/// The words as texts.
macro_rules! words {
    ($($word:ident)*) => {
        &[$(stringify!($word)),*]
    };
}

pub(crate) const WORDS: &[&str] = words! {
    add admin all alter and any as at avg
    begin between bigint binary bit_length blob boolean both by
    case cast char char_length character character_length check close collate column commit connect constraint corr count covar_pop
    covar_samp create cross current current_connection current_date current_role current_time current_timestamp current_transaction
    current_user cursor
    date day dec decfloat decimal declare default delete deleting deterministic disconnect distinct double drop
    else end escape execute exists external extract
    false fetch filter float for foreign from full function
    gdscode global grant group
    having hour
    in index inner insensitive insert inserting int int128 integer into is
    join
    lateral leading left like local localtime localtimestamp long lower
    max merge min minute month
    national natural nchar no not null numeric
    octet_length of offset on only open or order outer over
    parameter plan position post_event precision primary procedure publication
    real record_version recreate recursive references regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy release resetting return returning_values revoke right rollback row row_count rows
    savepoint scroll second select sensitive set similar smallint some sqlcode sqlstate start stddev_pop stddev_samp sum
    table then time timestamp timezone_hour timezone_minute to trailing trigger trim true
    unbounded union unique unknown update updating upper user using
    value values var_pop var_samp varbinary varchar variable varying view
    when where while window with without
    year
};

#[cfg(test)]
mod tests {
    use super::WORDS;

    #[test]
    fn the_words_are_sorted() {
        assert!(WORDS.is_sorted());
    }
}
