//! Templates in the manner of ERB, rewritten as Ruby: `<%= escaped %> <%== raw %> <% code %> <%# comment %> <%% -%>`.
//! Text to text; line numbers stay, so that errors name the template's lines.

use tsumugi_mruby::Result;

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

/// Statements that append to `__out`; `__html` is the module of natives, so that a page does not look it up for each of its texts.
fn translate(template: &str) -> std::result::Result<String, (usize, &'static str)> {
    let mut out = String::with_capacity(template.len() * 2);
    let mut literal = String::new();
    let mut rest = template;
    while let Some((before, tag)) = rest.split_once("<%") {
        literal.push_str(before);
        if let Some(after) = tag.strip_prefix('%') {
            literal.push_str("<%");
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
                let kept = literal.trim_end_matches([' ', '\t']).len();
                literal.truncate(kept);
                code
            }
            None => code,
        };
        append(&mut out, &literal);
        literal.clear();
        statement(&mut out, code);
        if eaten > 0 {
            out.push('\n');
        }
        rest = after.get(eaten..).unwrap_or_default();
    }
    literal.push_str(rest);
    append(&mut out, &literal);
    Ok(out)
}

/// Bytes of the newline that `-%>` eats.
fn newline(after: &str) -> usize {
    match after.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

fn statement(out: &mut String, code: &str) {
    if let Some(comment) = code.strip_prefix('#') {
        out.extend(comment.matches('\n'));
    } else if let Some(raw) = code.strip_prefix("==") {
        out.push_str("__out << (");
        out.push_str(raw.trim_end());
        out.push_str(").to_s;");
    } else if let Some(escaped) = code.strip_prefix('=') {
        out.push_str("__out << __html.html_text((");
        out.push_str(escaped.trim_end());
        out.push_str("));");
    } else {
        out.push_str(code);
        out.push(';');
    }
}

/// A literal as one string, followed by as many newlines as it has.
fn append(out: &mut String, literal: &str) {
    if literal.is_empty() {
        return;
    }
    out.push_str("__out << \"");
    for char in literal.chars() {
        match char {
            '"' | '\\' | '#' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(char),
        }
    }
    out.push_str("\";");
    out.extend(literal.matches('\n'));
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn check(template: &str, expected: &str) {
        assert_eq!(translate(template).as_deref(), Ok(expected), "{template:?}");
    }

    #[test]
    fn expressions_are_escaped_unless_raw() {
        check(
            "a<%= b %>",
            "__out << \"a\";__out << __html.html_text(( b));",
        );
        check("<%== b %>", "__out << ( b).to_s;");
    }

    #[test]
    fn lines_stay_where_they_are() {
        check(
            "a\n<% b -%>\nc",
            "__out << \"a\\n\";\n b ;\n__out << \"c\";",
        );
        check("<%# a\nb %>c", "\n__out << \"c\";");
    }

    #[test]
    fn text_is_no_code() {
        check("#{x}\"\\ <%% y", "__out << \"\\#{x}\\\"\\\\ <% y\";");
    }

    #[test]
    fn an_open_tag_is_an_error_of_its_line() {
        assert_eq!(translate("a\n\n<% b\nc"), Err((3, "<% without %>")));
    }
}
