//! A prepared statement: what the server says of its parameters and its columns. Not its execution.
//! Rule: a description belongs to one connection; a statement of another connection is prepared there again.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::rc::Rc;

use tsumugi_pg_proto::backend::{Field, RowDescription};
use tsumugi_pg_proto::connection::StatementName;
#[cfg(feature = "typed")]
use tsumugi_pg_proto::typed;
use tsumugi_pg_proto::types::{Format, Kind, Oid, Type, TypeRef};

/// What the server said when the statement was prepared.
#[derive(Debug)]
pub struct Description {
    /// None where statements are sent anew with each execution.
    pub(crate) name: Option<StatementName>,
    /// The name as text, so that it need not be looked at again with each execution.
    text: Box<str>,
    /// For typed statements.
    #[cfg(feature = "typed")]
    typed: OnceCell<Rc<[typed::Column]>>,
    /// The server is asked to forget the name with the next request.
    pub(crate) let_go: Cell<bool>,
    pub(crate) parameters: Box<[TypeRef]>,
    /// The numbers of those types.
    pub(crate) oids: Box<[Oid]>,
    pub(crate) columns: Rc<Columns>,
    /// The result formats for Bind, one for each column.
    pub(crate) formats: Box<[Format]>,
    /// Whether there are rows within the rows.
    pub(crate) holds_rows: bool,
}

impl Description {
    /// Of a statement that the server knows as `name`.
    pub(crate) fn new(
        name: Option<StatementName>,
        parameters: Vec<TypeRef>,
        columns: Vec<Column>,
    ) -> Self {
        Description {
            name,
            text: name.as_deref().unwrap_or_default().into(),
            #[cfg(feature = "typed")]
            typed: OnceCell::new(),
            let_go: Cell::new(false),
            oids: parameters.iter().map(|ty| ty.oid()).collect(),
            parameters: parameters.into(),
            formats: columns.iter().map(|column| column.format).collect(),
            holds_rows: columns.iter().any(|column| holds_rows(&column.ty)),
            columns: Rc::new(Columns::new(columns.into())),
        }
    }

    /// One without a name, parameters and columns.
    #[cfg(test)]
    pub(crate) fn unnamed() -> Self {
        Description::new(None, Vec::new(), Vec::new())
    }

    /// The same statement with other columns, which no name stands for.
    pub(crate) fn with_columns(&self, columns: Vec<Column>) -> Self {
        let described = Description::new(None, self.parameters.to_vec(), columns);
        described.let_go.set(true);
        described
    }

    /// The name that the server knows it by; `""` when it has to be sent with each execution.
    pub(crate) fn usable_name(&self) -> &str {
        if self.let_go.get() { "" } else { &self.text }
    }

    /// The columns as typed rows want them.
    #[cfg(feature = "typed")]
    pub(crate) fn typed_columns(&self) -> Rc<[typed::Column]> {
        let column = |column: &Column| typed::Column {
            name: column.name.clone().into(),
            ty: column.ty.clone(),
            format: column.format,
        };
        let typed = self
            .typed
            .get_or_init(|| self.columns.iter().map(column).collect());
        Rc::clone(typed)
    }

    /// The types of the parameters.
    pub fn parameters(&self) -> &[TypeRef] {
        &self.parameters
    }

    /// The columns; none for a statement that returns no rows.
    pub fn columns(&self) -> &Rc<Columns> {
        &self.columns
    }
}

/// Whether values of this type hold rows, whose fields the catalogue describes.
pub(crate) fn holds_rows(ty: &Type) -> bool {
    match ty.kind() {
        Kind::Composite(_) => true,
        Kind::Array(part) | Kind::Range(part) | Kind::Multirange(part) | Kind::Domain(part) => {
            holds_rows(part)
        }
        _ => false,
    }
}

/// What the server says of the rows of a portal; none for a statement that returns no rows.
pub(crate) struct PortalColumns<'a>(pub(crate) Option<RowDescription<'a>>);

impl PortalColumns<'_> {
    /// Whether they are rows of these columns.
    pub(crate) fn is(&self, columns: &Columns) -> bool {
        let fields = || self.0.iter().flat_map(|row| row.fields());
        let same = |(field, column): (Field<'_>, &Column)| {
            field.name() == *column.name
                && field.type_oid == column.ty.oid()
                && field.format == column.format
        };
        fields().count() == columns.len() && fields().zip(columns.iter()).all(same)
    }

    pub(crate) fn columns(&self) -> Vec<(String, Oid, Format)> {
        let fields = self.0.iter().flat_map(|row| row.fields());
        let columns = fields.map(|field| (field.name().into_owned(), field.type_oid, field.format));
        columns.collect()
    }
}

/// The columns of a result.
pub struct Columns {
    columns: Box<[Column]>,
    derived: OnceCell<Box<dyn Any>>,
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.columns).finish()
    }
}

/// One column of a result.
#[derive(Debug, PartialEq)]
pub struct Column {
    /// Its name, as the server gives it.
    pub name: Box<str>,
    /// The column's type.
    pub ty: TypeRef,
    /// How its values come.
    pub format: Format,
}

impl Columns {
    pub(crate) fn new(columns: Box<[Column]>) -> Self {
        Columns {
            columns,
            derived: OnceCell::new(),
        }
    }

    /// Those of the simple protocol, where no type is looked up.
    pub(crate) fn of_text(row: &RowDescription<'_>) -> Self {
        let column = |field: Field<'_>| Column {
            name: field.name().into(),
            ty: Type::from_oid(field.type_oid)
                .map_or_else(|| Type::unknown(field.type_oid).into(), TypeRef::from),
            format: Format::Text,
        };
        Columns::new(row.fields().map(column).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether the statement returns no rows at all.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The column at `index`, counted from 0.
    pub fn column(&self, index: usize) -> Option<&Column> {
        self.columns.get(index)
    }

    /// The columns in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.columns.iter()
    }

    /// What a user of the driver makes of the columns, once for all results of a statement. The first type that is asked for is
    /// kept; another is made each time.
    pub fn derived<T: Clone + 'static>(&self, make: impl FnOnce(&Columns) -> T) -> T {
        if let Some(kept) = self.derived.get() {
            return match kept.downcast_ref::<T>() {
                Some(kept) => kept.clone(),
                None => make(self),
            };
        }
        let made = make(self);
        // Another may have been kept by `make` itself.
        let _ = self.derived.set(Box::new(made.clone()));
        made
    }

    /// The position of the last column called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .rposition(|column| &*column.name == name)
    }
}
