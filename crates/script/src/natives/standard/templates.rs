//! Templates in the manner of ERB, rewritten as Ruby: `<%= escaped %> <%== raw %> <% code %> <%# comment %> <%% -%>`.
//! Text to text; line numbers stay, so that errors name the template's lines. What the Ruby calls is in pages.rs.

use tsumugi_mruby::Result;

use crate::limits::TEMPLATE_PIECE_BYTES_MAX;
use crate::natives::{Natives, text};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("template_translate", |_, scope, call| {
        let name = text(scope, call.argument(0), "the template's name")?;
        let template = text(scope, call.argument(1), "the template")?;
        match translate(&template) {
            Ok(body) => scope.string(body),
            Err((line, what)) => Err(scope.error("SyntaxError", format!("{name}:{line}: {what}"))),
        }
    })
}

/// The Ruby of a template. Its values go to `__out` by calls of `__html`, the module of natives, and take the literal that
/// follows them along. A literal is a Symbol: that is there once, where a String would be made each time.
struct Translation {
    out: String,
    /// Literal text that is not in `out` yet.
    literal: String,
    /// Is a call open whose last argument is to be the literal?
    open: bool,
    /// Lines of the template that `out` has still to begin.
    lines: usize,
}

fn translate(template: &str) -> std::result::Result<String, (usize, &'static str)> {
    let mut translation = Translation {
        out: String::with_capacity(template.len() * 2),
        literal: String::new(),
        open: false,
        lines: 0,
    };
    let mut rest = template;
    while let Some((before, tag)) = rest.split_once("<%") {
        translation.literal.push_str(before);
        if let Some(after) = tag.strip_prefix('%') {
            translation.literal.push_str("<%");
            rest = after;
            continue;
        }
        let Some((code, after)) = tag.split_once("%>") else {
            let line = template.matches('\n').count() - tag.matches('\n').count() + 1;
            return Err((line, "<% without %>"));
        };
        let (code, eaten) = match code.strip_suffix('-') {
            Some(code) => (code, newline(after)),
            None => (code, 0),
        };
        let code = match code.strip_prefix('-') {
            Some(code) => {
                let kept = translation.literal.trim_end_matches([' ', '\t']).len();
                translation.literal.truncate(kept);
                code
            }
            None => code,
        };
        translation.flush();
        translation.statement(code);
        translation.lines += usize::from(eaten > 0);
        rest = after.get(eaten..).unwrap_or_default();
    }
    translation.literal.push_str(rest);
    translation.flush();
    Ok(translation.out)
}

impl Translation {
    fn statement(&mut self, code: &str) {
        if let Some(comment) = code.strip_prefix('#') {
            self.lines += comment.matches('\n').count();
        } else if let Some(raw) = code.strip_prefix("==") {
            self.begin("page_raw", raw);
        } else if let Some(escaped) = code.strip_prefix('=') {
            self.begin("page_text", escaped);
        } else {
            self.out.push_str(code);
            self.out.push(';');
        }
    }

    fn begin(&mut self, native: &str, value: &str) {
        self.out.push_str("__html.");
        self.out.push_str(native);
        self.out.push_str("(__out, (");
        self.out.push_str(value.trim_end());
        self.out.push(')');
        self.lines += value[value.trim_end().len()..].matches('\n').count();
        self.open = true;
    }

    /// Ends the open call, with the literal as its last argument; writes the literal by a call of its own when none is open.
    fn flush(&mut self) {
        let mut rest = self.literal.as_str();
        while !rest.is_empty() {
            let mut end = rest.len().min(TEMPLATE_PIECE_BYTES_MAX);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, after) = rest.split_at(end);
            self.out.push_str(if self.open {
                ", "
            } else {
                "__html.page_piece(__out, "
            });
            symbol(&mut self.out, piece);
            self.out.push_str(");");
            self.open = false;
            rest = after;
        }
        if self.open {
            self.out.push_str(");");
            self.open = false;
        }
        self.lines += self.literal.matches('\n').count();
        self.literal.clear();
        self.out.extend(std::iter::repeat_n('\n', self.lines));
        self.lines = 0;
    }
}

/// Bytes of the newline that `-%>` eats.
fn newline(after: &str) -> usize {
    match after.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// A literal as one Symbol.
fn symbol(out: &mut String, literal: &str) {
    out.push_str(":\"");
    for char in literal.chars() {
        match char {
            '"' | '\\' | '#' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(char),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        assert_eq!(translate(template).as_deref(), Ok(expected), "{template:?}");
    }

    #[test]
    fn expressions_are_escaped_unless_raw() {
        check(
            "a<%= b %>",
            "__html.page_piece(__out, :\"a\");__html.page_text(__out, ( b));",
        );
        check("<%== b %>", "__html.page_raw(__out, ( b));");
    }

    #[test]
    fn a_value_takes_the_text_behind_it_along() {
        check(
            "<%= a -%>\nb<%= c %>",
            "__html.page_text(__out, ( a), :\"b\");\n__html.page_text(__out, ( c));",
        );
    }

    #[test]
    fn long_text_is_several_pieces() {
        let text = "あ".repeat(TEMPLATE_PIECE_BYTES_MAX / 3 + 1);
        let body = translate(&text).expect("a template");
        assert_eq!(body.matches("page_piece").count(), 2);
        assert_eq!(body.matches("あ").count(), text.chars().count());
    }

    #[test]
    fn lines_stay_where_they_are() {
        check(
            "a\n<% b -%>\nc",
            "__html.page_piece(__out, :\"a\\n\");\n b ;__html.page_piece(__out, :\"c\");\n",
        );
        check("<%# a\nb %><% c %>", "\n c ;");
        check(
            "<%= a\n %>\n<% b %>",
            "__html.page_text(__out, ( a), :\"\\n\");\n\n b ;",
        );
    }

    #[test]
    fn text_is_no_code() {
        check(
            "#{x}\"\\ <%% y",
            "__html.page_piece(__out, :\"\\#{x}\\\"\\\\ <% y\");",
        );
    }

    #[test]
    fn an_open_tag_is_an_error_of_its_line() {
        assert_eq!(translate("a\n\n<% b\nc"), Err((3, "<% without %>")));
    }
}
