//! The fields of a form as an object: the name of an input is a path, `address.city` or `items[0].price`. Not the parsing of a body.
//! Rule: only what a shape asks for is looked for, by a binary search; an index is an order and no place, so a large one costs nothing.

use std::borrow::Cow;
use std::rc::Rc;

use crate::literal::Literal;
use crate::values::{IndexedItems, InputKind, Values};

/// The fields of a form by their names; those of one name in the order they were sent.
#[derive(Clone, Debug)]
pub struct FormFields<T> {
    sorted: Vec<(Box<str>, T)>,
}

impl<T> FormFields<T> {
    /// Of these pairs, in the order they were sent.
    pub fn new(pairs: impl IntoIterator<Item = (impl Into<Box<str>>, T)>) -> FormFields<T> {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value));
        let mut sorted: Vec<(Box<str>, T)> = pairs.collect();
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        FormFields { sorted }
    }

    /// The same fields with their values lent.
    pub fn by_reference(&self) -> FormFields<&T> {
        let fields = self.sorted.iter();
        let sorted = fields.map(|(name, value)| (name.clone(), value)).collect();
        FormFields { sorted }
    }

    /// The first value of this name.
    pub fn first(&self, name: &str) -> Option<&T> {
        let start = self.sorted.partition_point(|(known, _)| **known < *name);
        let (known, value) = self.sorted.get(start)?;
        (**known == *name).then_some(value)
    }

    /// Those of this name, from where to where.
    fn exact(&self, name: &str) -> (usize, usize) {
        let start = self.sorted.partition_point(|(known, _)| **known < *name);
        let same = self.sorted.get(start..).unwrap_or_default();
        let count = same
            .iter()
            .take_while(|(known, _)| **known == *name)
            .count();
        (start, start + count)
    }

    /// Those whose names begin so.
    fn below(&self, prefix: &str) -> &[(Box<str>, T)] {
        let start = self.sorted.partition_point(|(known, _)| **known < *prefix);
        let rest = self.sorted.get(start..).unwrap_or_default();
        let count = rest.partition_point(|(known, _)| known.starts_with(prefix));
        rest.get(..count).unwrap_or_default()
    }

    /// The indices below `path`, in their order.
    fn indices(&self, path: &str) -> Vec<u64> {
        let prefix = format!("{path}[");
        let names = self.below(&prefix).iter().map(|(name, _)| name);
        let indices = names.filter_map(|name| {
            let (digits, _) = name.get(prefix.len()..)?.split_once(']')?;
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            // Only one way to write an index, so that it is found again.
            let is_shortest = digits == "0" || !digits.starts_with('0');
            (is_number && is_shortest)
                .then(|| digits.parse().ok())
                .flatten()
        });
        let mut indices: Vec<u64> = indices.collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}

/// What stands at a path of a form.
#[derive(Clone, Debug)]
pub enum FormNode {
    /// Fields of one name, from where to where.
    Values(usize, usize),
    /// Fields whose names go on behind this path.
    Below(Rc<str>),
}

impl FormNode {
    /// The form as a whole.
    pub fn root() -> FormNode {
        FormNode::Below("".into())
    }
}

/// A form whose single values are of other values: texts, and files.
#[derive(Debug)]
pub struct FormValues<'f, V: Values> {
    fields: &'f FormFields<V::Input>,
    values: &'f V,
}

impl<'f, V: Values> FormValues<'f, V> {
    /// Of these fields.
    pub fn new(fields: &'f FormFields<V::Input>, values: &'f V) -> FormValues<'f, V> {
        FormValues { fields, values }
    }

    fn at(&self, path: &str) -> Option<FormNode> {
        let (start, end) = match self.fields.exact(path) {
            (start, end) if start == end => self.fields.exact(&format!("{path}[]")),
            found => found,
        };
        if end > start {
            return Some(FormNode::Values(start, end));
        }
        let begins = |sign: char| !self.fields.below(&format!("{path}{sign}")).is_empty();
        (begins('.') || begins('[')).then(|| FormNode::Below(path.into()))
    }

    /// The first value of what has one.
    fn single(&self, node: &FormNode) -> Option<&V::Input> {
        match node {
            FormNode::Values(start, _) => self.fields.sorted.get(*start).map(|(_, value)| value),
            FormNode::Below(_) => None,
        }
    }
}

impl<V: Values> Values for FormValues<'_, V> {
    type Input = FormNode;
    type Output = V::Output;
    type Error = V::Error;

    fn kind(&self, node: &FormNode) -> Result<InputKind, V::Error> {
        match self.single(node) {
            Some(value) => self.values.kind(value),
            None => Ok(InputKind::Object),
        }
    }

    fn text<'a>(&'a self, node: &'a FormNode) -> Result<Cow<'a, str>, V::Error> {
        match self.single(node) {
            Some(value) => self.values.text(value),
            None => Ok(Cow::Borrowed("")),
        }
    }

    fn field(&self, node: &FormNode, name: &str) -> Result<Option<FormNode>, V::Error> {
        let FormNode::Below(prefix) = node else {
            return Ok(None);
        };
        Ok(match prefix.is_empty() {
            true => self.at(name),
            false => self.at(&format!("{prefix}.{name}")),
        })
    }

    fn items(
        &self,
        node: &FormNode,
        max: usize,
    ) -> Result<Option<IndexedItems<FormNode>>, V::Error> {
        let max = max.saturating_add(1);
        match node {
            FormNode::Values(start, end) => {
                let mut items = Vec::new();
                for i in *start..*end {
                    let item = FormNode::Values(i, i + 1);
                    // A form sends an empty text for what was left empty.
                    if self.kind(&item)? != (InputKind::Text { is_empty: true }) {
                        items.push((items.len() as u64, item));
                    }
                    if items.len() >= max {
                        break;
                    }
                }
                Ok(Some(items))
            }
            FormNode::Below(path) => {
                let indices = self.fields.indices(path);
                let items = indices.into_iter().take(max);
                let items = items.filter_map(|index| {
                    let node = self.at(&format!("{path}[{index}]"))?;
                    Some((index, node))
                });
                Ok(Some(items.collect()))
            }
        }
    }

    fn keep(&self, node: &FormNode) -> Result<V::Output, V::Error> {
        match self.single(node) {
            Some(value) => self.values.keep(value),
            None => Ok(self.values.nothing()),
        }
    }

    fn literal(&self, literal: &Literal) -> Result<V::Output, V::Error> {
        self.values.literal(literal)
    }

    fn list(&self, items: Vec<V::Output>) -> Result<V::Output, V::Error> {
        self.values.list(items)
    }

    fn object(&self, fields: Vec<(&str, V::Output)>) -> Result<V::Output, V::Error> {
        self.values.object(fields)
    }

    fn nothing(&self) -> V::Output {
        self.values.nothing()
    }
}
