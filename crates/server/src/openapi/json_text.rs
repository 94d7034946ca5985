//! JSON text of a tree of values, indented for people. Rule: fields stand in the order of the tree.

use tsumugi_shapes::SchemaNode;
use tsumugi_values::json;

const INDENT: &str = "  ";

/// The text, with a line break at its end.
pub(super) fn pretty(root: &SchemaNode) -> String {
    let mut out = Vec::new();
    write(root, 0, &mut out);
    out.push(b'\n');
    String::from_utf8_lossy(&out).into_owned()
}

fn write(node: &SchemaNode, depth: usize, out: &mut Vec<u8>) {
    match node {
        SchemaNode::Null => out.extend_from_slice(b"null"),
        SchemaNode::Boolean(truth) => out.extend_from_slice(truth.to_string().as_bytes()),
        SchemaNode::Integer(integer) => json::write_integer(*integer, out),
        SchemaNode::Number(number) => json::write_f64(*number, out),
        SchemaNode::Text(text) => json::write_string(text, out),
        SchemaNode::List(items) => {
            let items = items.iter();
            let items = items.map(|item| move |out: &mut Vec<u8>| write(item, depth + 1, out));
            between(b"[]", items, depth, out);
        }
        SchemaNode::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                move |out: &mut Vec<u8>| {
                    json::write_string(name, out);
                    out.extend_from_slice(b": ");
                    write(value, depth + 1, out);
                }
            });
            between(b"{}", fields, depth, out);
        }
    }
}

/// Each on a line of its own; nothing between the signs when there is none.
fn between<W: FnOnce(&mut Vec<u8>)>(
    signs: &[u8; 2],
    items: impl ExactSizeIterator<Item = W>,
    depth: usize,
    out: &mut Vec<u8>,
) {
    let [begin, end] = *signs;
    out.push(begin);
    let is_empty = items.len() == 0;
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        line(depth + 1, out);
        item(out);
    }
    if !is_empty {
        line(depth, out);
    }
    out.push(end);
}

fn line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend_from_slice(INDENT.repeat(depth).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_indented_and_escaped() {
        let node = SchemaNode::new()
            .with("a\"b", SchemaNode::List(vec![true.into(), 1_i64.into()]))
            .with("c", SchemaNode::new())
            .with("d", SchemaNode::Number(0.5))
            .with("e", SchemaNode::Null);
        let expected = "{\n  \"a\\\"b\": [\n    true,\n    1\n  ],\n  \"c\": {},\n  \"d\": 0.5,\n  \"e\": null\n}\n";
        assert_eq!(pretty(&node), expected);
    }
}
