//! Lines of a paragraph in Japanese, put together. Browsers show the end of a line as a space, which no sentence in Japanese has.
//! Rule: a line of a paragraph goes on in the next where both sides are of Japanese, or one is a mark of its sentences; every other end of a line stays.

use pulldown_cmark::{Event, Options, Parser};

/// The text without the ends of lines that would be seen as spaces.
pub fn join(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    let mut whole = String::with_capacity(text.len());
    let mut done = 0;
    for (event, range) in parser.into_offset_iter() {
        if !matches!(event, Event::SoftBreak) || range.start < done {
            continue;
        }
        let line = text[..range.start].trim_end_matches([' ', '\t', '\r']);
        let next = text[range.start..].trim_start();
        let (Some(last), Some(first)) = (line.chars().last(), next.chars().next()) else {
            continue;
        };
        let is_sentence = is_japanese(last) && is_japanese(first);
        // Behind `>` a quotation goes on.
        if first != '>' && (is_sentence || is_mark(last) || is_mark(first)) {
            whole.push_str(&text[done..line.len()]);
            done = text.len() - next.len();
        }
    }
    whole.push_str(&text[done..]);
    whole
}

fn is_japanese(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}')
}

/// Full stops, commas and brackets of full width.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{3000}'
            ..='\u{301f}'
                | '\u{ff01}'
                | '\u{ff08}'
                | '\u{ff09}'
                | '\u{ff0c}'
                | '\u{ff1a}'
                | '\u{ff1f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(join(text), expected);
    }

    #[test]
    fn sentence_in_japanese_goes_on_without_a_space() {
        check("一行目の\n二行目。\n", "一行目の二行目。\n");
        check(
            "- 項目の\n  続き、\n  `code` は\n",
            "- 項目の続き、`code` は\n",
        );
    }

    #[test]
    fn words_of_other_languages_stay_apart() {
        for text in ["a\nb\n", "表の\nSQL\n", "SQL\nの表\n"] {
            check(text, text);
        }
    }

    #[test]
    fn blocks_code_tables_and_quotations_stay() {
        for text in [
            "# 題\n\n文。\n\n文。\n",
            "```\n文、\n文\n```\n",
            "|甲|乙|\n|---|---|\n|一|二|\n|三|四|\n",
            "> 文、\n> 文\n",
        ] {
            check(text, text);
        }
    }
}
