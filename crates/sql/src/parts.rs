//! The parts a query is put together from: what to select, from where, in which order, locked how. Data; the chain of methods is
//! in `query.rs`. Rule: a part is made by `From` out of what authors write, one or several at a time.

use crate::expr::{Expr, Field, Node, Raw, TreeSize, col};
use crate::name::{Name, aliased};
use crate::query::Query;
use crate::record::Record;
use crate::value::Value;

/// One thing to select.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub(crate) expr: Expr,
    pub(crate) alias: Option<Name>,
}

impl Item {
    /// The name it has in the result.
    #[must_use]
    pub fn alias(mut self, name: impl Into<Name>) -> Self {
        self.alias = Some(name.into());
        self
    }
}

/// `id`, `users.id`, `users.*` or `id as number`.
impl From<&str> for Item {
    fn from(text: &str) -> Self {
        let (name, alias) = aliased(text);
        Self {
            expr: col(name),
            alias: alias.map(Name::exact),
        }
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Expr> for Item {
    fn from(expr: Expr) -> Self {
        Self { expr, alias: None }
    }
}

/// A query's one value: it needs an alias.
impl From<Query> for Item {
    fn from(query: Query) -> Self {
        Self::from(Expr::from(query))
    }
}

/// One thing to order by.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub(crate) expr: Expr,
    pub(crate) direction: Direction,
    pub(crate) nulls: Option<Nulls>,
}

/// Which comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

/// Where NULL comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    First,
    Last,
}

impl Order {
    /// The other direction, and NULL at the other end.
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.direction = match self.direction {
            Direction::Ascending => Direction::Descending,
            Direction::Descending => Direction::Ascending,
        };
        self.nulls = self.nulls.map(|nulls| match nulls {
            Nulls::First => Nulls::Last,
            Nulls::Last => Nulls::First,
        });
        self
    }

    /// The column it is by; none of any other expression.
    pub fn column(&self) -> Option<&Name> {
        match self.expr.node() {
            Node::Column(name) => Some(name),
            _ => None,
        }
    }

    /// NULL before everything.
    #[must_use]
    pub fn nulls_first(mut self) -> Self {
        self.nulls = Some(Nulls::First);
        self
    }

    /// NULL after everything.
    #[must_use]
    pub fn nulls_last(mut self) -> Self {
        self.nulls = Some(Nulls::Last);
        self
    }

    /// Where NULL comes: as if it were greater than every value, unless the order says otherwise.
    pub(crate) fn nulls(&self) -> Nulls {
        self.nulls.unwrap_or(match self.direction {
            Direction::Ascending => Nulls::Last,
            Direction::Descending => Nulls::First,
        })
    }
}

/// Smallest first.
pub fn asc(field: impl Field) -> Order {
    field.field().asc()
}

/// Greatest first.
pub fn desc(field: impl Field) -> Order {
    field.field().desc()
}

impl From<Expr> for Order {
    fn from(expr: Expr) -> Self {
        Self {
            expr,
            direction: Direction::Ascending,
            nulls: None,
        }
    }
}

/// A column, smallest first.
impl From<&str> for Order {
    fn from(name: &str) -> Self {
        Self::from(col(name))
    }
}

impl From<String> for Order {
    fn from(name: String) -> Self {
        Self::from(col(name))
    }
}

/// One or several of `T` in any shape: one, an array, a `Vec`, a tuple of different ones.
pub trait Several<T> {
    /// Appends them to a list.
    fn append_to(self, list: &mut Vec<T>);
}

impl<T, A: Into<T>> Several<T> for Vec<A> {
    fn append_to(self, list: &mut Vec<T>) {
        list.extend(self.into_iter().map(Into::into));
    }
}

impl<T, A: Into<T>, const N: usize> Several<T> for [A; N] {
    fn append_to(self, list: &mut Vec<T>) {
        list.extend(self.into_iter().map(Into::into));
    }
}

macro_rules! one {
    ($($source:ty => $($target:ty)*;)*) => {
        $($(impl Several<$target> for $source {
            fn append_to(self, list: &mut Vec<$target>) {
                list.push(self.into());
            }
        })*)*
    };
}

one! {
    &str => Item Order;
    String => Item Order;
    Expr => Item Order;
    Item => Item;
    Order => Order;
}

macro_rules! tuples {
    ($($($letter:ident)*;)*) => {
        $(impl<T, $($letter: Into<T>),*> Several<T> for ($($letter,)*) {
            fn append_to(self, list: &mut Vec<T>) {
                #[allow(non_snake_case)]
                let ($($letter,)*) = self;
                $(list.push($letter.into());)*
            }
        })*
    };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub(crate) of: Origin,
    pub(crate) alias: Option<Name>,
    size: TreeSize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    Table(Name),
    Query(Query),
    Raw(Raw),
}

/// `users`, `app.users` or `users as u`.
impl From<&str> for Source {
    fn from(text: &str) -> Self {
        let (name, alias) = aliased(text);
        Self::new(Origin::Table(name.into()), alias.map(Name::exact))
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Name> for Source {
    fn from(name: Name) -> Self {
        Self::new(Origin::Table(name), None)
    }
}

impl Source {
    fn new(of: Origin, alias: Option<Name>) -> Self {
        let size = match &of {
            Origin::Query(query) => query.size(),
            Origin::Table(_) | Origin::Raw(_) => TreeSize::default(),
        };
        Self { of, alias, size }
    }

    /// The rows of a query, under a name.
    pub fn query(query: Query, alias: impl Into<Name>) -> Self {
        Self::new(Origin::Query(query), Some(alias.into()))
    }

    /// SQL as it stands, such as a call of a function that answers rows, under a name.
    pub fn raw(sql: &str, values: impl IntoIterator<Item = Value>, alias: impl Into<Name>) -> Self {
        let (sql, values) = (sql.into(), values.into_iter().collect());
        Self::new(Origin::Raw(Raw { sql, values }), Some(alias.into()))
    }

    /// The name by which its columns are qualified.
    pub fn name(&self) -> Option<&Name> {
        match (&self.alias, &self.of) {
            (Some(alias), _) => Some(alias),
            (None, Origin::Table(name)) => Some(name),
            (None, Origin::Query(_) | Origin::Raw(_)) => None,
        }
    }

    pub(crate) fn size(&self) -> TreeSize {
        self.size
    }
}

/// A table beside the first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Join {
    pub(crate) kind: JoinKind,
    pub(crate) source: Source,
    /// None in a cross join only.
    pub(crate) on: Option<Expr>,
}

impl Join {
    pub(crate) fn size(&self) -> TreeSize {
        let on = self.on.as_ref().map(Expr::size);
        self.source.size().and(on.unwrap_or_default())
    }
}

/// Whose rows stay that have none on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Right,
    Cross,
}

/// A named query before the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cte {
    pub(crate) name: Name,
    pub(crate) columns: Vec<Name>,
    pub(crate) body: Body,
    size: TreeSize,
}

impl Cte {
    pub(crate) fn new(name: Name, columns: Vec<Name>, body: Body) -> Self {
        let size = match &body {
            Body::Query(query) => query.size(),
            Body::Raw(_) => TreeSize::default(),
        };
        Self {
            name,
            columns,
            body,
            size,
        }
    }

    pub(crate) fn size(&self) -> TreeSize {
        self.size
    }
}

/// What a named query is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Query(Query),
    Raw(Raw),
}

/// A query, or `raw("…", values)`.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryOrRaw(pub(crate) Body);

impl From<Query> for QueryOrRaw {
    fn from(query: Query) -> Self {
        Self(Body::Query(query))
    }
}

/// A raw expression is the whole text of the query; any other selects that expression.
impl From<Expr> for QueryOrRaw {
    fn from(expr: Expr) -> Self {
        match expr.node() {
            Node::Raw(raw) => Self(Body::Raw(raw.clone())),
            _ => Self(Body::Query(Query::of_nothing().select(expr))),
        }
    }
}

/// What else sees of the selected rows until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) wait: Wait,
}

/// What to do about rows that another transaction has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Block,
    Skip,
    Fail,
}

/// What an insert does where a row with the same key exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    pub(crate) target: Vec<Name>,
    pub(crate) action: Action,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Ignore,
    /// Sets every inserted column that is not part of the key.
    Replace,
    Update(Record),
}

impl Conflict {
    /// Leaves the row that is there, whichever key is the same.
    pub fn ignore() -> Self {
        let (target, action) = (Vec::new(), Action::Ignore);
        Self { target, action }
    }

    /// Where the key of these columns is the same: leaves the row that is there.
    pub fn on<N: Into<Name>>(columns: impl IntoIterator<Item = N>) -> Self {
        let target = columns.into_iter().map(Into::into).collect();
        let action = Action::Ignore;
        Self { target, action }
    }

    /// Sets every column that was to be inserted, but those of the key.
    #[must_use]
    pub fn replace(mut self) -> Self {
        self.action = Action::Replace;
        self
    }

    /// Sets these. `excluded("n")` is what was to be inserted, `col("table.n")` what is there.
    #[must_use]
    pub fn update(mut self, record: impl Into<Record>) -> Self {
        self.action = Action::Update(record.into());
        self
    }

    pub(crate) fn size(&self) -> TreeSize {
        match &self.action {
            Action::Update(record) => record.size(),
            Action::Ignore | Action::Replace => TreeSize::default(),
        }
    }
}
