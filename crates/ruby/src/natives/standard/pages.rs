//! What compiled templates call: values and literal pieces appended to the page in place, and which method a template became.
//! Not the translation of templates (templates.rs). Rule: what is no HTML by its class is escaped. A page is Rust's memory, which
//! is free as soon as it is sent; the VM would keep it until it collects. It counts against the same limit.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_mruby::{Kind, Result, Scope, Symbol, Value};
use tsumugi_server::Mode;

use super::encodings::{escape, escape_into};
use crate::limits::PAGE_BYTES;
use crate::natives::arguments::{data, wrong_type};
use crate::natives::definitions::Natives;

/// The text of a template that is being rendered.
pub(crate) struct TemplatePage {
    text: RefCell<Vec<u8>>,
    /// Bytes of all pages of this VM.
    open: Rc<Cell<usize>>,
}

impl TemplatePage {
    /// Its text; it begins again.
    pub fn take(&self) -> Vec<u8> {
        let text = self.text.take();
        self.open.set(self.open.get() - text.len());
        text
    }
}

impl Drop for TemplatePage {
    fn drop(&mut self) {
        self.take();
    }
}

/// Methods of templates by their names: one for each list of locals.
type TemplateMethods = RefCell<HashMap<Box<[u8]>, Vec<(Vec<Symbol>, Symbol)>>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    appending(natives)?;
    let known = Rc::new(TemplateMethods::default());
    let learnt = Rc::clone(&known);
    // In development a template is looked at each time.
    natives.plain("view_known", move |host, scope, call| {
        if host.settings.mode == Mode::Development {
            return Ok(Value::nil());
        }
        let locals = locals(scope, call.argument(1))?;
        let method = scope.with_bytes(call.argument(0), |name| {
            let known = learnt.borrow();
            let mut methods = known.get(name)?.iter();
            methods.find_map(|(names, method)| (*names == locals).then_some(*method))
        });
        Ok(method.flatten().map_or_else(Value::nil, Value::symbol))
    })?;
    natives.plain("view_learn", move |_, scope, call| {
        let locals = locals(scope, call.argument(1))?;
        let name: Box<[u8]> = scope.bytes(call.argument(0)).unwrap_or_default().into();
        if let Some(method) = call.argument(2).as_symbol() {
            let mut known = known.borrow_mut();
            let methods = known.entry(name).or_default();
            methods.retain(|(names, _)| *names != locals);
            methods.push((locals, method));
        }
        Ok(Value::nil())
    })
}

/// The names of a Hash of locals, in order.
fn locals<'s>(scope: &'s Scope<'s>, hash: Value<'s>) -> Result<'s, Vec<Symbol>> {
    let entries = scope.entries(hash)?.into_iter();
    Ok(entries.filter_map(|(name, _)| name.as_symbol()).collect())
}

fn appending<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let class = natives.scope().root(natives.data_class("TemplatePage")?)?;
    let open = Rc::new(Cell::new(0));
    natives.plain("page", move |_, scope, _| {
        let page = TemplatePage {
            text: RefCell::new(Vec::with_capacity(PAGE_BYTES)),
            open: Rc::clone(&open),
        };
        scope.wrap(scope.rooted(&class), page)
    })?;
    natives.plain("page_string", |_, scope, call| {
        scope.string(page(scope, call.argument(0))?.take())
    })?;
    natives.plain("page_piece", |host, scope, call| {
        let bytes_max = host.settings.limits.vm_bytes_max;
        let page = page(scope, call.argument(0))?;
        append(scope, page, bytes_max, |_| {}, call.argument(1))?;
        Ok(Value::nil())
    })?;
    // What `<%= %>` writes: text, value, text, value, …, text, each text as a Symbol or nil.
    natives.plain("page_text", |host, scope, call| {
        let bytes_max = host.settings.limits.vm_bytes_max;
        let page = page(scope, call.argument(0))?;
        append(scope, page, bytes_max, |_| {}, call.argument(1))?;
        let pairs = call.arguments().get(2..).unwrap_or_default().chunks(2);
        for pair in pairs {
            if let [written, behind @ ..] = pair {
                let piece = behind.first().copied().unwrap_or_else(Value::nil);
                value(scope, page, bytes_max, *written, piece)?;
            }
        }
        Ok(Value::nil())
    })?;
    // What `<%== %>` writes.
    natives.plain("page_raw", |host, scope, call| {
        let html = string(scope, call.argument(1))?;
        let copied = |out: &mut Vec<u8>| with(scope, html, |bytes| out.extend(bytes));
        let bytes_max = host.settings.limits.vm_bytes_max;
        let page = page(scope, call.argument(0))?;
        append(scope, page, bytes_max, copied, Value::nil())?;
        Ok(Value::nil())
    })?;
    // The same text as `<%= %>` writes, by itself.
    natives.plain("html_text", |_, scope, call| {
        match string_of(scope, call.argument(0))? {
            PageValue::Integer(integer) => scope.string(integer.to_string()),
            PageValue::Text(text) => escape(scope, text),
            PageValue::Html(html) => Ok(html),
        }
    })
}

/// Appends a value and then the name of the Symbol `piece`, if it is one.
fn value<'s>(
    scope: &'s Scope<'s>,
    page: &TemplatePage,
    bytes_max: usize,
    value: Value<'s>,
    piece: Value<'s>,
) -> Result<'s, ()> {
    match string_of(scope, value)? {
        PageValue::Integer(integer) => {
            let mut digits = itoa::Buffer::new();
            let digits = digits.format(integer).as_bytes();
            let copied = |out: &mut Vec<u8>| out.extend_from_slice(digits);
            append(scope, page, bytes_max, copied, piece)
        }
        PageValue::Text(text) => {
            let escaped = |out: &mut Vec<u8>| with(scope, text, |bytes| escape_into(out, bytes));
            append(scope, page, bytes_max, escaped, piece)
        }
        PageValue::Html(html) => {
            let copied = |out: &mut Vec<u8>| with(scope, html, |bytes| out.extend(bytes));
            append(scope, page, bytes_max, copied, piece)
        }
    }
}

/// A value on its way into a page.
enum PageValue<'s> {
    Integer(i64),
    /// A String to be escaped.
    Text(Value<'s>),
    /// A String that `raw` has marked as HTML.
    Html(Value<'s>),
}

fn string_of<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, PageValue<'s>> {
    match value.kind() {
        Kind::String => return Ok(PageValue::Text(value)),
        Kind::Integer => {
            if let Some(integer) = value.as_integer() {
                return Ok(PageValue::Integer(integer));
            }
        }
        Kind::Object if scope.is_a(value, scope.constant("Tsumugi::Views::Safe")?) => {
            return Ok(PageValue::Html(scope.ivar(value, scope.intern("@text"))));
        }
        _ => {}
    }
    string(scope, value).map(PageValue::Text)
}

/// A value as a String.
fn string<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, Value<'s>> {
    if value.kind() == Kind::String {
        return Ok(value);
    }
    let text = scope.call(value, "to_s", &[])?;
    match text.kind() {
        Kind::String => Ok(text),
        _ => Err(wrong_type(scope, text, "the text", "a String")),
    }
}

/// Reads a String; one that is none reads as nothing.
fn with(scope: &Scope<'_>, string: Value<'_>, read: impl FnOnce(&[u8])) {
    scope.with_bytes(string, read);
}

fn page<'s>(scope: &'s Scope<'s>, value: Value<'s>) -> Result<'s, &'s TemplatePage> {
    data(scope, value, "the page", "one of `page`")
}

/// Appends to a page what `write` writes, and then the name of the Symbol `piece`, if it is one.
fn append<'s>(
    scope: &'s Scope<'s>,
    page: &TemplatePage,
    bytes_max: usize,
    write: impl FnOnce(&mut Vec<u8>),
    piece: Value<'s>,
) -> Result<'s, ()> {
    let mut text = page.text.borrow_mut();
    let before = text.len();
    write(&mut text);
    if let Some(piece) = piece.as_symbol() {
        scope.with_symbol_name(piece, |name| text.extend_from_slice(name));
    }
    let open = page.open.get() + (text.len() - before);
    page.open.set(open);
    if open > bytes_max {
        let message =
            format!("the pages that are being rendered are larger than vm_bytes_max ({bytes_max})");
        return Err(scope.error("NoMemoryError", message));
    }
    Ok(())
}
