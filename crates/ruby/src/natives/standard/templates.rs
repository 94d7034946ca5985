//! Templates in the manner of ERB, rewritten as Ruby: `<%= escaped %> <%== raw %> <% code %> <%# comment %> <%% -%>`.
//! Text to text; line numbers stay, so that errors name the template's lines. What the Ruby calls is in pages.rs, how
//! text is escaped in encodings.rs.

use std::collections::HashSet;

use tsumugi_mruby::Result;

use crate::limits::{TEMPLATE_PIECE_BYTES_MAX, TEMPLATE_VALUES_MAX};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

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

/// The Ruby of a template. Its values go to `__out` by calls of `__html`, the module of natives, and take the literals around them
/// along. A literal is a Symbol: that is there once, where a String would be made each time. Variables go together in one call:
/// to read one writes nothing. Any other value may call code that has text of its own, which comes before the value and behind
/// what stands before that; so it begins a call.
struct Translation {
    out: String,
    /// Parameters of the blocks so far.
    parameters: HashSet<String>,
    /// Literal text that is not in `out` yet.
    literal: String,
    /// Values in the call that is open; 0 when none is.
    values: usize,
    /// Lines of the template that `out` has still to begin.
    lines: usize,
}

fn translate(template: &str) -> std::result::Result<String, (usize, &'static str)> {
    let mut translation = Translation {
        out: String::with_capacity(template.len() * 2),
        parameters: HashSet::new(),
        literal: String::new(),
        values: 0,
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
        if !code.starts_with("==")
            && let Some(escaped) = code.strip_prefix('=')
        {
            return self.value(escaped);
        }
        self.flush();
        if let Some(comment) = code.strip_prefix('#') {
            self.lines += comment.matches('\n').count();
        } else if let Some(raw) = code.strip_prefix("==") {
            self.out.push_str("__html.page_raw(__out,");
            self.expression(raw);
            self.out.push_str(");");
        } else {
            self.out.push_str(code);
            self.out.push(';');
            if let Some((block, rest)) = code.split_once('|')
                && matches!(block.trim_end(), block if block.ends_with("do") || block.ends_with('{'))
                && let Some((names, _)) = rest.split_once('|')
            {
                let names = names.split(',').map(|name| name.trim().to_owned());
                self.parameters.extend(names);
            }
        }
    }

    /// A value that is escaped, with the literal before it.
    fn value(&mut self, value: &str) {
        let is_variable = self.is_variable(value.trim());
        let is_short = self.literal.len() <= TEMPLATE_PIECE_BYTES_MAX;
        // An error in a value's `to_s` names the line of the call, so a call stays on one.
        let on_its_line = self.lines == 0 && !self.literal.contains('\n');
        let goes_on = is_variable
            && is_short
            && on_its_line
            && (1..TEMPLATE_VALUES_MAX).contains(&self.values);
        if !goes_on {
            if self.values > 0 || !is_variable || !is_short {
                self.flush();
            }
            self.out.push_str("__html.page_text(__out");
        }
        self.out.push_str(", ");
        match self.literal.as_str() {
            "" => self.out.push_str("nil"),
            literal => symbol(&mut self.out, literal),
        }
        self.out.push(',');
        self.end_lines();
        self.expression(value);
        self.values += 1;
    }

    /// A block's parameter or an instance variable.
    fn is_variable(&self, value: &str) -> bool {
        let name = value.strip_prefix('@').unwrap_or_default();
        let is_name = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        !name.is_empty() && name.bytes().all(is_name) || self.parameters.contains(value)
    }

    fn expression(&mut self, value: &str) {
        let code = value.trim_end();
        self.out.push_str(" (");
        self.out.push_str(code);
        self.out.push(')');
        self.lines += value[code.len()..].matches('\n').count();
    }

    /// Ends the open call, with the literal as its last argument; what does not fit, or has no call, is written by itself.
    fn flush(&mut self) {
        let mut rest = self.literal.as_str();
        while !rest.is_empty() || self.values > 0 {
            let mut end = rest.len().min(TEMPLATE_PIECE_BYTES_MAX);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, after) = rest.split_at(end);
            if self.values == 0 {
                self.out.push_str("__html.page_piece(__out");
            }
            if !piece.is_empty() {
                self.out.push_str(", ");
                symbol(&mut self.out, piece);
            }
            self.out.push_str(");");
            self.values = 0;
            rest = after;
        }
        self.end_lines();
    }

    /// Begins the lines of the literal, which is written, and of the code before it.
    fn end_lines(&mut self) {
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
            "__html.page_piece(__out, :\"a\");__html.page_text(__out, nil, ( b));",
        );
        check("<%== b %>", "__html.page_raw(__out, ( b));");
        check(
            "a<%== b %>c",
            "__html.page_piece(__out, :\"a\");__html.page_raw(__out, ( b));__html.page_piece(__out, :\"c\");",
        );
    }

    #[test]
    fn variables_and_the_text_around_them_go_in_one_call() {
        check(
            "<%= @a %>b<%= @c %>",
            "__html.page_text(__out, nil, ( @a), :\"b\", ( @c));",
        );
        check(
            "<% d.each do |a, b| %><b><%= a %></b><b><%= b %></b><% end %>",
            " d.each do |a, b| ;__html.page_text(__out, :\"<b>\", ( a), :\"</b><b>\", ( b), :\"</b>\"); end ;",
        );
    }

    #[test]
    fn call_stays_on_its_line() {
        check(
            "<%= @a -%>\nb<%= @c %>",
            "__html.page_text(__out, nil, ( @a), :\"b\");\n__html.page_text(__out, nil, ( @c));",
        );
        check(
            "<%= @a %>\n<%= @c %>",
            "__html.page_text(__out, nil, ( @a), :\"\\n\");\n__html.page_text(__out, nil, ( @c));",
        );
    }

    #[test]
    fn code_that_may_write_begins_a_call() {
        check(
            "<%= @a %>b<%= c %>d<%= @e %>",
            "__html.page_text(__out, nil, ( @a), :\"b\");__html.page_text(__out, nil, ( c), :\"d\", ( @e));",
        );
        check(
            "<% d | a | e %>a<%= a %>",
            " d | a | e ;__html.page_piece(__out, :\"a\");__html.page_text(__out, nil, ( a));",
        );
        check(
            "a<%= @b.c %>",
            "__html.page_piece(__out, :\"a\");__html.page_text(__out, nil, ( @b.c));",
        );
    }

    #[test]
    fn call_takes_only_so_many_values() {
        let many = "<%= @a %>".repeat(TEMPLATE_VALUES_MAX);
        let body = translate(&many).expect("a template");
        assert_eq!(body.matches("page_text").count(), 1);
        let body = translate(&format!("{many}b<%= @a %>")).expect("a template");
        assert_eq!(body.matches("page_text").count(), 2);
        assert!(
            body.ends_with(", :\"b\");__html.page_text(__out, nil, ( @a));"),
            "{body}"
        );
    }

    #[test]
    fn long_text_is_several_pieces() {
        let text = "あ".repeat(TEMPLATE_PIECE_BYTES_MAX / 3 + 1);
        let body = translate(&text).expect("a template");
        assert_eq!(body.matches("page_piece").count(), 2);
        assert_eq!(body.matches("あ").count(), text.chars().count());
        let body = translate(&format!("<%= @a %>{text}<%= @b %>")).expect("a template");
        assert_eq!(
            body.matches("page_piece").count(),
            1,
            "one went with the value"
        );
        assert_eq!(body.matches("page_text").count(), 2);
        assert_eq!(body.matches("あ").count(), text.chars().count());
    }

    #[test]
    fn compiled_template_keeps_line_numbers() {
        check(
            "a\n<% b -%>\nc",
            "__html.page_piece(__out, :\"a\\n\");\n b ;__html.page_piece(__out, :\"c\");\n",
        );
        check("<%# a\nb %><% c %>", "\n c ;");
        check(
            "<%= a\n %>\n<% b %>",
            "__html.page_text(__out, nil, ( a), :\"\\n\");\n\n b ;",
        );
    }

    #[test]
    fn template_text_is_quoted_not_interpolated() {
        check(
            "#{x}\"\\ <%% y",
            "__html.page_piece(__out, :\"\\#{x}\\\"\\\\ <% y\");",
        );
    }

    #[test]
    fn open_tag_is_an_error_of_its_line() {
        assert_eq!(translate("a\n\n<% b\nc"), Err((3, "<% without %>")));
    }
}
