//! Texts of others, cut to what the dashboard shows. Rule: what is left out leaves a mark.

use crate::limits::DASHBOARD_TEXT_CHARACTERS_MAX;

/// A text that is not longer than what is shown of one.
pub(crate) fn cut(text: &str) -> String {
    cut_to(text, DASHBOARD_TEXT_CHARACTERS_MAX)
}

/// A text with its end left out when it has more characters than `max`.
pub(crate) fn cut_to(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_one_character_more_than_the_limit_is_cut() {
        let fits = "日".repeat(DASHBOARD_TEXT_CHARACTERS_MAX);
        assert_eq!(cut(&fits), fits);
        assert_eq!(cut(&format!("{fits}本")), format!("{fits}…"));
    }
}
