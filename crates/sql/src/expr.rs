//! Expressions: columns, values, operators, functions, sub-selects, raw fragments. Immutable; a clone shares the whole tree.
//! Conditions that need more than an operator are in `condition.rs`. Rule: building never fails; what is wrong is said by the
//! writer, before any SQL is made.

use std::sync::Arc;
use std::{ops, slice};

use crate::limits::{DEPTH_MAX, NODES_MAX};
use crate::name::Name;
use crate::query::Query;
use crate::value::Value;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(Arc<Tree>);

#[derive(Clone, Debug, PartialEq)]
struct Tree {
    node: Node,
    size: TreeSize,
}

/// How much is written of an expression or a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSize {
    /// Nodes to the deepest one, sub-selects included.
    pub(crate) depth: u16,
    /// All nodes. One that is shared counts as often as it is written.
    pub(crate) nodes: u32,
}

impl TreeSize {
    /// Both beside each other.
    pub(crate) fn and(self, other: TreeSize) -> TreeSize {
        TreeSize {
            depth: self.depth.max(other.depth),
            nodes: self.nodes.saturating_add(other.nodes),
        }
    }

    /// Within a node more.
    pub(crate) fn within(self) -> TreeSize {
        TreeSize {
            depth: self.depth.saturating_add(1),
            nodes: self.nodes.saturating_add(1),
        }
    }

    /// So many times, beside each other.
    fn times(self, count: usize) -> TreeSize {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        TreeSize {
            depth: self.depth,
            nodes: self.nodes.saturating_mul(count),
        }
    }
}

/// Of several expressions beside each other.
pub(crate) fn tree_size<'e>(list: impl IntoIterator<Item = &'e Expr>) -> TreeSize {
    let sizes = list.into_iter().map(Expr::size);
    sizes.fold(TreeSize::default(), TreeSize::and)
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Column(Name),
    /// `*` as an argument of `count`.
    Star,
    /// A column of the row that an upsert could not insert.
    Excluded(Name),
    Value(Value),
    Binary(Expr, Binary, Expr),
    Not(Expr),
    Negate(Expr),
    /// True where all are, so true where there are none.
    All(Vec<Expr>),
    /// True where one is.
    Any(Vec<Expr>),
    Null(Expr, Is),
    /// This condition, which was to narrow the rows down and got a range without ends, or a list of nothing but NULL to leave out: for a
    /// change it is true of every row, or, with [`Is::Not`], of none.
    Unbounded(Expr, Is),
    Between(Expr, Is, Value, Value),
    In(Expr, Is, Vec<Value>),
    InQuery(Expr, Is, Query),
    Like(Expr, Is, Case, String),
    Exists(Query),
    Query(Query),
    Call(Call),
    Raw(Raw),
    /// The number 1.
    One,
    /// The fields together are beyond the values, compared from the first on; `Less` or `Greater`.
    After(Vec<Expr>, Binary, Vec<Value>),
    /// Stands for a tree deeper than [`DEPTH_MAX`].
    TooDeep,
    /// Stands for a tree of more nodes than [`NODES_MAX`], so that whatever walks a tree ends.
    TooLarge,
}

/// Whether a condition is affirmed or negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    Affirmed,
    Not,
}

/// Whether letters of different case differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Matters,
    Ignored,
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Concatenate,
}

/// A function with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) function: Arc<str>,
    pub(crate) distinct: Distinct,
    pub(crate) arguments: Vec<Expr>,
}

/// Whether equal ones count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Distinct {
    #[default]
    No,
    Yes,
}

/// SQL that the caller wrote, with the values for its `?`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Raw {
    pub(crate) sql: Arc<str>,
    pub(crate) values: Vec<Value>,
}

impl Expr {
    pub(crate) fn new(node: Node) -> Self {
        let size = node.size().within();
        let stands = if size.depth > DEPTH_MAX {
            Node::TooDeep
        } else if size.nodes > NODES_MAX {
            Node::TooLarge
        } else {
            return Self(Arc::new(Tree { node, size }));
        };
        let (node, size) = (stands, TreeSize { depth: 0, nodes: 1 });
        Self(Arc::new(Tree { node, size }))
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    pub(crate) fn size(&self) -> TreeSize {
        self.0.size
    }

    /// The conditions of a group, which are copied if it is shared.
    pub(crate) fn into_list(self) -> Vec<Expr> {
        match Arc::unwrap_or_clone(self.0).node {
            Node::All(list) | Node::Any(list) => list,
            _ => Vec::new(),
        }
    }

    fn binary(self, operator: Binary, right: Expr) -> Self {
        Self::new(Node::Binary(self, operator, right))
    }

    /// `=`. With NULL it is `is null`, so that it finds what it names.
    pub fn eq(self, other: impl Into<Expr>) -> Self {
        let other = other.into();
        match other.node() {
            Node::Value(Value::Null) => self.is_null(),
            _ => self.binary(Binary::Equal, other),
        }
    }

    /// `<>`. With NULL it is `is not null`. A row where this expression is NULL is not found, as in SQL.
    pub fn ne(self, other: impl Into<Expr>) -> Self {
        let other = other.into();
        match other.node() {
            Node::Value(Value::Null) => self.is_not_null(),
            _ => self.binary(Binary::NotEqual, other),
        }
    }

    /// `<`.
    pub fn lt(self, other: impl Into<Expr>) -> Self {
        self.binary(Binary::Less, other.into())
    }

    /// `<=`.
    pub fn le(self, other: impl Into<Expr>) -> Self {
        self.binary(Binary::LessOrEqual, other.into())
    }

    /// `>`.
    pub fn gt(self, other: impl Into<Expr>) -> Self {
        self.binary(Binary::Greater, other.into())
    }

    /// `>=`.
    pub fn ge(self, other: impl Into<Expr>) -> Self {
        self.binary(Binary::GreaterOrEqual, other.into())
    }

    /// `||`, text after text.
    pub fn concat(self, other: impl Into<Expr>) -> Self {
        self.binary(Binary::Concatenate, other.into())
    }

    /// `is null`.
    pub fn is_null(self) -> Self {
        Self::new(Node::Null(self, Is::Affirmed))
    }

    /// `is not null`.
    pub fn is_not_null(self) -> Self {
        Self::new(Node::Null(self, Is::Not))
    }

    /// Names the expression in a list of what to select.
    pub fn alias(self, name: impl Into<Name>) -> crate::Item {
        crate::Item::from(self).alias(name)
    }

    /// Smallest first; NULL comes last.
    pub fn asc(self) -> crate::Order {
        crate::Order::from(self)
    }

    /// Greatest first; NULL comes first.
    pub fn desc(self) -> crate::Order {
        crate::Order::from(self).reverse()
    }
}

impl Node {
    /// Of all branches.
    fn size(&self) -> TreeSize {
        let children = tree_size(self.children());
        match self {
            // Without row values each field is compared once for every field that it follows.
            Node::After(list, ..) => children.times(list.len()),
            Node::InQuery(_, _, query) | Node::Exists(query) | Node::Query(query) => {
                children.and(query.size())
            }
            _ => children,
        }
    }

    /// The expressions that it is made of; those in its queries are the queries'.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Expr> {
        let (first, others): (Option<&Expr>, &[Expr]) = match self {
            Node::Binary(left, _, right) => (Some(left), slice::from_ref(right)),
            Node::Not(of)
            | Node::Negate(of)
            | Node::Null(of, _)
            | Node::Unbounded(of, _)
            | Node::Between(of, ..)
            | Node::In(of, ..)
            | Node::InQuery(of, ..)
            | Node::Like(of, ..) => (Some(of), &[]),
            Node::All(list) | Node::Any(list) | Node::After(list, ..) => (None, list),
            Node::Call(call) => (None, &call.arguments),
            Node::Column(_)
            | Node::Star
            | Node::Excluded(_)
            | Node::Value(_)
            | Node::Exists(_)
            | Node::Query(_)
            | Node::Raw(_)
            | Node::One
            | Node::TooDeep
            | Node::TooLarge => (None, &[]),
        };
        first.into_iter().chain(others)
    }
}

/// The column `id`, `users.id` or `app.users.id`.
pub fn col(name: impl Into<Name>) -> Expr {
    Expr::new(Node::Column(name.into()))
}

/// A bound value, where an expression is needed.
pub fn value(value: impl Into<Value>) -> Expr {
    Expr::new(Node::Value(value.into()))
}

/// In an upsert, the value of a column that was to be inserted.
pub fn excluded(column: impl Into<Name>) -> Expr {
    Expr::new(Node::Excluded(column.into()))
}

/// SQL as it stands, with a `?` for each value. `??` is the operator `?`. In an expression it gets parentheses around it.
pub fn raw(sql: impl Into<Arc<str>>, values: impl IntoIterator<Item = Value>) -> Expr {
    Expr::new(Node::Raw(Raw {
        sql: sql.into(),
        values: values.into_iter().collect(),
    }))
}

/// A function by its plain name: `call("lower", [col("name")])`.
pub fn call(function: &str, arguments: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::new(Node::Call(Call {
        function: function.into(),
        distinct: Distinct::No,
        arguments: arguments.into_iter().collect(),
    }))
}

/// `count(*)`.
pub fn count() -> Expr {
    aggregate("count", Distinct::No, Expr::new(Node::Star))
}

/// How many rows have a value there.
pub fn count_of(field: impl Field) -> Expr {
    aggregate("count", Distinct::No, field.field())
}

/// How many different values there are.
pub fn count_distinct(field: impl Field) -> Expr {
    aggregate("count", Distinct::Yes, field.field())
}

/// The sum; NULL where there is nothing to add.
pub fn sum(field: impl Field) -> Expr {
    aggregate("sum", Distinct::No, field.field())
}

/// The average, a double; NULL where there is none.
pub fn avg(field: impl Field) -> Expr {
    aggregate("avg", Distinct::No, field.field())
}

/// The smallest; NULL where there is none.
pub fn min(field: impl Field) -> Expr {
    aggregate("min", Distinct::No, field.field())
}

/// The greatest; NULL where there is none.
pub fn max(field: impl Field) -> Expr {
    aggregate("max", Distinct::No, field.field())
}

fn aggregate(function: &str, distinct: Distinct, argument: Expr) -> Expr {
    Expr::new(Node::Call(Call {
        function: function.into(),
        distinct,
        arguments: vec![argument],
    }))
}

/// A column by its name, or any expression.
pub trait Field {
    /// As an expression.
    fn field(self) -> Expr;
}

impl Field for Expr {
    fn field(self) -> Expr {
        self
    }
}

impl<N: Into<Name>> Field for N {
    fn field(self) -> Expr {
        col(self)
    }
}

/// A value to bind.
impl<T: Into<Value>> From<T> for Expr {
    fn from(of: T) -> Self {
        value(of)
    }
}

/// The one value of the one column that the query selects.
impl From<Query> for Expr {
    fn from(query: Query) -> Self {
        Expr::new(Node::Query(query))
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $operator:ident;)*) => {
        $(impl<T: Into<Expr>> ops::$trait<T> for Expr {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                self.binary(Binary::$operator, other.into())
            }
        })*
    };
}

operators! {
    Add, add, Add;
    Sub, sub, Subtract;
    Mul, mul, Multiply;
    Div, div, Divide;
    Rem, rem, Remainder;
}

impl ops::Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        Expr::new(Node::Negate(self))
    }
}

impl ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::new(Node::Not(self))
    }
}
