//! `DB::Expression` and the words that begin one: `col`, `sum`, `sql`, … Not conditions of a query as a whole; those are `building.rs`.
//! Rule: an operator of Ruby means the operator of SQL of the same name; a value beside it is bound.

use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_sql::{
    Expr, Name, avg, call as function, col, count, count_distinct, count_of, excluded, max, min,
    sum,
};

use super::arguments::Reader;
use super::building::{CONDITIONS, sql};
use super::parts::ExpressionPart;
use crate::natives::arguments::data;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>, db: Value<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let class = scope.define_class(db, "Expression", scope.object_class())?;
    scope.carries_data(class);
    let kernel = scope.constant("Kernel")?;
    words(&Definer {
        natives,
        class: kernel,
    })?;
    let methods = Definer { natives, class };
    comparisons(&methods)?;
    operators(&methods)?;
    patterns(&methods)?;
    naming(&methods)
}

/// Defines methods that answer expressions.
struct Definer<'n, 's> {
    natives: &'n Natives<'s>,
    class: Value<'s>,
}

impl<'s> Definer<'_, 's> {
    /// A method that begins an expression, wherever a handler, a block or a file asks for one.
    fn beginning<F>(&self, name: &'static str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>) -> Result<'c, ExpressionPart> + 'static,
    {
        self.word(name, move |reader, call| {
            refuse_values(reader.scope, call.this, name)?;
            method(reader, call)
        })
    }

    /// A method of anything.
    fn word<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>) -> Result<'c, ExpressionPart> + 'static,
    {
        self.natives
            .uncounted_method(self.class, name, move |host, scope, call| {
                let part = method(&Reader::new(host, scope), call)?;
                scope.wrap_as("DB::Expression", part)
            })
    }

    /// A method of an expression, which an order or an alias does not have.
    fn method<F>(&self, name: &str, method: F) -> Result<'s, ()>
    where
        F: for<'c> Fn(&Reader<'c>, &NativeCall<'c>, Expr) -> Result<'c, Expr> + 'static,
    {
        self.word(name, move |reader, call| {
            let own = own(reader.scope, call.this)?;
            method(reader, call, own).map(ExpressionPart::Expr)
        })
    }
}

fn own<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Expr> {
    match data(scope, value, "the expression", "a DB::Expression")? {
        ExpressionPart::Expr(expr) => Ok(expr.clone()),
        _ => {
            let message =
                "an order, an alias or a source stands for itself: nothing can be made of it";
            Err(scope.error("TypeError", message))
        }
    }
}

/// The words are methods of `Kernel`, so every object has them. A value whose `count` is called has none, and must not answer
/// an expression, which is never false.
fn refuse_values<'c>(scope: &'c Scope<'c>, this: Value<'c>, name: &str) -> Result<'c, ()> {
    let class = scope.class_name(this);
    let shown = match this.kind() {
        Kind::Nil => "nil".to_owned(),
        Kind::True => "true".to_owned(),
        Kind::False => "false".to_owned(),
        Kind::Integer
        | Kind::BigInteger
        | Kind::Float
        | Kind::String
        | Kind::Symbol
        | Kind::Array
        | Kind::Hash => format!("an instance of {class}"),
        // The blocks of a table may say expressions.
        _ if class.starts_with("DB::Schema::") => return Ok(()),
        _ if class == "DB" || class.starts_with("DB::") => format!("an instance of {class}"),
        _ => return Ok(()),
    };
    Err(scope.error(
        "NoMethodError",
        format!("undefined method '{name}' for {shown}"),
    ))
}

fn words<'s>(kernel: &Definer<'_, 's>) -> Result<'s, ()> {
    kernel.beginning("col", |reader, call| {
        Ok(ExpressionPart::Expr(col(reader.name(call.argument(0))?)))
    })?;
    kernel.beginning("sql", |reader, call| {
        sql(reader, call).map(ExpressionPart::Expr)
    })?;
    kernel.beginning("func", |reader, call| {
        let name = reader.name_text(call.argument(0))?;
        let arguments = call.arguments().get(1..).unwrap_or_default().iter();
        let arguments = arguments.map(|argument| argument_of(reader, *argument));
        let arguments = arguments.collect::<Result<'_, Vec<Expr>>>()?;
        Ok(ExpressionPart::Expr(function(&name, arguments)))
    })?;
    kernel.beginning("excluded", |reader, call| {
        Ok(ExpressionPart::Expr(excluded(
            reader.name(call.argument(0))?,
        )))
    })?;
    kernel.beginning("count", |reader, call| {
        let distinct = match call.arguments().last() {
            Some(last) => reader.scope.keyword(*last, "distinct")?.truthy(),
            None => false,
        };
        Ok(ExpressionPart::Expr(match call.argument(0) {
            field if distinct => count_distinct(reader.field(field)?),
            field if field.is_nil() => count(),
            field => count_of(reader.field(field)?),
        }))
    })?;
    type Make = fn(Expr) -> ExpressionPart;
    let of_a_field: [(&str, Make); 6] = [
        ("sum", |field| ExpressionPart::Expr(sum(field))),
        ("avg", |field| ExpressionPart::Expr(avg(field))),
        ("min", |field| ExpressionPart::Expr(min(field))),
        ("max", |field| ExpressionPart::Expr(max(field))),
        ("asc", |field| ExpressionPart::Order(field.asc())),
        ("desc", |field| ExpressionPart::Order(field.desc())),
    ];
    for (name, make) in of_a_field {
        kernel.beginning(name, move |reader, call| {
            Ok(make(reader.field(call.argument(0))?))
        })?;
    }
    Ok(())
}

/// An argument of a function: a Symbol is a column, a String is text.
fn argument_of<'c>(reader: &Reader<'c>, value: Value<'c>) -> Result<'c, Expr> {
    match value.as_symbol() {
        Some(_) => reader.field(value),
        None => reader.expr(value),
    }
}

fn comparisons<'s>(methods: &Definer<'_, 's>) -> Result<'s, ()> {
    for name in ["==", "is"] {
        methods.method(name, |reader, call, own| {
            Ok(own.matches(reader.operand(call.argument(0))?))
        })?;
    }
    for (name, operator) in [
        ("!=", "!="),
        ("is_not", "!="),
        ("<", "<"),
        ("<=", "<="),
        (">", ">"),
        (">=", ">="),
    ] {
        methods.method(name, move |reader, call, own| {
            let operand = reader.operand(call.argument(0))?;
            reader.accept(own.compare(operator, operand))
        })?;
    }
    for (_, name, condition) in CONDITIONS {
        methods.method(name, move |reader, call, own| {
            condition(reader, own, call.arguments())
        })?;
    }
    Ok(())
}

fn operators<'s>(methods: &Definer<'_, 's>) -> Result<'s, ()> {
    type Combine = fn(Expr, Expr) -> Expr;
    let beside: [(&str, Combine); 8] = [
        ("&", |own, other| own.and(other)),
        ("|", |own, other| own.or(other)),
        ("+", |own, other| own + other),
        ("-", |own, other| own - other),
        ("*", |own, other| own * other),
        ("/", |own, other| own / other),
        ("%", |own, other| own % other),
        ("concat", |own, other| own.concat(other)),
    ];
    for (name, combine) in beside {
        methods.method(name, move |reader, call, own| {
            Ok(combine(own, reader.expr(call.argument(0))?))
        })?;
    }
    methods.method("!", |_, _, own| Ok(!own))?;
    methods.method("~", |_, _, own| Ok(!own))?;
    methods.method("-@", |_, _, own| Ok(-own))
}

fn patterns<'s>(methods: &Definer<'_, 's>) -> Result<'s, ()> {
    let define = |name: &str, make: fn(Expr, &str) -> Expr| {
        methods.method(name, move |reader, call, own| {
            let pattern = reader.pattern(call.argument(0))?;
            Ok(make(own, &pattern))
        })
    };
    define("like", |own, pattern| own.like(pattern))?;
    define("not_like", |own, pattern| own.not_like(pattern))?;
    define("ilike", |own, pattern| own.ilike(pattern))?;
    define("not_ilike", |own, pattern| own.not_ilike(pattern))?;
    define("contains", |own, text| own.contains(text))?;
    define("starts_with", |own, text| own.starts_with(text))?;
    define("ends_with", |own, text| own.ends_with(text))
}

fn naming<'s>(methods: &Definer<'_, 's>) -> Result<'s, ()> {
    methods.word("as", |reader, call| {
        let alias = Name::exact(&reader.name_text(call.argument(0))?);
        Ok(ExpressionPart::Item(
            own(reader.scope, call.this)?.alias(alias),
        ))
    })?;
    methods.word("asc", |reader, call| {
        Ok(ExpressionPart::Order(own(reader.scope, call.this)?.asc()))
    })?;
    methods.word("desc", |reader, call| {
        Ok(ExpressionPart::Order(own(reader.scope, call.this)?.desc()))
    })?;
    methods.word("nulls_first", |reader, call| {
        Ok(ExpressionPart::Order(order(reader, call)?.nulls_first()))
    })?;
    methods.word("nulls_last", |reader, call| {
        Ok(ExpressionPart::Order(order(reader, call)?.nulls_last()))
    })
}

/// The receiver as an order.
fn order<'c>(reader: &Reader<'c>, call: &NativeCall<'c>) -> Result<'c, tsumugi_sql::Order> {
    match reader.part(call.this) {
        Some(ExpressionPart::Order(order)) => Ok(order.clone()),
        _ => Ok(own(reader.scope, call.this)?.into()),
    }
}
