//! What the routes of an application in Ruby ask for and answer, read from their compiled handlers. Nothing of the application is run, and the document is
//! that of `tsumugi_server::openapi`.
//! Rule: a handler that says nothing, or says it in a way that is not read, is a route without parameters; it is never an error.

mod abstract_value;
mod interpreter;
mod words;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_mruby::{MethodCode, Scope, Value};
use tsumugi_server::commands::RouteLine;
use tsumugi_server::openapi::{OperationShape, RouteOperation};
use tsumugi_shapes::InputShape;

use crate::error::Error;
use crate::natives::input_shape;
use abstract_value::AbstractValue;
use interpreter::Interpreter;
use words::Words;

/// The methods that hold what is in a route: the block between filters, or the block.
const HANDLERS: [&str; 2] = ["__handle", "__run"];

/// The routes in the order of the file; `lines` are those that were read when it was loaded.
pub(crate) fn operations(
    scope: &Scope<'_>,
    lines: &[RouteLine],
) -> Result<Vec<RouteOperation>, Error> {
    let raised = |raised| Error::raised(scope, raised);
    let declared = scope.constant("Tsumugi::ROUTES").map_err(raised)?;
    let context = scope.constant("Tsumugi::Context").map_err(raised)?;
    let methods = HelperMethods::new(scope, context);
    let operations = lines.iter().enumerate().map(|(i, line)| {
        let route = scope.array_at(declared, i);
        RouteOperation {
            method: line.method.clone(),
            pattern: line.pattern.clone(),
            types: line.types.clone(),
            location: line.location.clone(),
            shape: shape_of(scope, route, &methods),
        }
    });
    Ok(operations.collect())
}

/// What a route asks for: its filters and its handler, in the order in which they run.
fn shape_of(scope: &Scope<'_>, route: Value<'_>, methods: &HelperMethods<'_>) -> OperationShape {
    let helper = |name: &str| methods.find(name);
    let shapes = |known: &AbstractValue| scope.nested(|scope| named_shape(scope, known));
    let mut interpreter = Interpreter::new(&helper, Words::new(&shapes));
    let filters = |name: &str| {
        let within = scope.ivar(route, scope.intern("@scope"));
        scope.texts(scope.ivar(within, scope.intern(name)))
    };
    let read = |interpreter: &mut Interpreter<'_>, names: Vec<String>| {
        for code in names.iter().filter_map(|name| methods.find(name)) {
            interpreter.read(&code);
        }
    };
    read(&mut interpreter, filters("@before"));
    let class = scope.ivar(route, scope.intern("@handler"));
    let code = HANDLERS.iter().find_map(|name| {
        let code = scope.method_code(class, name)?;
        (!code.is_own).then_some(code)
    });
    if let Some(code) = code {
        interpreter.read(&code);
    }
    read(&mut interpreter, filters("@after"));
    interpreter.finish().into_shape()
}

/// The methods that handlers call on themselves and that are the application's: those of `helpers`, and filters.
struct HelperMethods<'s> {
    scope: &'s Scope<'s>,
    context: Value<'s>,
    known: RefCell<HashMap<Box<str>, Option<Rc<MethodCode>>>>,
}

impl<'s> HelperMethods<'s> {
    fn new(scope: &'s Scope<'s>, context: Value<'s>) -> HelperMethods<'s> {
        HelperMethods {
            scope,
            context,
            known: RefCell::default(),
        }
    }

    fn find(&self, name: &str) -> Option<Rc<MethodCode>> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let code = self.scope.method_code(self.context, name);
        let code = code.filter(|code| !code.is_own).map(Rc::new);
        self.known.borrow_mut().insert(name.into(), code.clone());
        code
    }
}

/// The shape that a handler names, by a Symbol or by a constant.
fn named_shape(scope: &Scope<'_>, known: &AbstractValue) -> Option<Rc<InputShape>> {
    let value = match known {
        AbstractValue::Symbol(name) => {
            let declared = scope.constant("Tsumugi::Shape::KNOWN").ok()?;
            scope
                .hash_fetch(declared, Value::symbol(scope.intern(name)))
                .ok()?
        }
        AbstractValue::Constant(path) => scope.constant(path).ok()?,
        _ => return None,
    };
    input_shape(scope, value)
}
