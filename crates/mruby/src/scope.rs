//! The scope in which Rust makes, reads and calls Ruby values. When it ends the collector may have them again.
//!
//! `native`, `scope` and `vm` refer to each other: a VM owns its natives, a native is called with a scope, a scope borrows its VM.

use std::ffi::{CString, c_char, c_int, c_void};
use std::rc::Rc;

use crate::native::{Native, NativeCall, NativeReply, Suspension};
use crate::report::{ExceptionReport, SyntaxError, SyntaxErrors};
use crate::sys::{self, RawValue};
use crate::value::{Kind, Raise, Result, Symbol, Value};
use crate::vm::{Vm, VmInner, status_is_ok};

/// What the instruction hook says too.
const OVERRUN: &str = "the handler used more CPU time in one turn than its limit allows";

/// Runs one of the shim's functions that can raise. Why it may be called so is said where it is.
macro_rules! protected {
    ($scope:ident, unsafe $function:ident($($argument:expr),*)) => {
        // SAFETY: the VM is open as long as a handle lives; the rest is said at each use.
        $scope.protect(|out| unsafe { $crate::sys::$function($scope.vm.raw(), $($argument,)* out) })
    };
}
pub(crate) use protected;

/// Access to a VM. Obtained from [`Vm::enter`] and handed to natives.
pub struct Scope<'vm> {
    pub(crate) vm: &'vm Vm,
    /// Where its values begin in the arena; `None` when the trampoline of a native releases them.
    arena: Option<c_int>,
    /// How many scopes it is inside of, and itself.
    level: u32,
}

impl<'vm> Scope<'vm> {
    pub(crate) fn open(vm: &'vm Vm) -> Self {
        // SAFETY: the VM is open as long as a handle lives.
        let arena = unsafe { sys::ts_arena_save(vm.raw()) };
        Scope::enter(vm, Some(arena))
    }

    /// For a native: the trampoline has saved the arena already.
    pub(crate) fn borrowed(vm: &'vm Vm) -> Self {
        Scope::enter(vm, None)
    }

    fn enter(vm: &'vm Vm, arena: Option<c_int>) -> Self {
        let level = vm.inner.held.enter();
        Scope { vm, arena, level }
    }

    /// Hands out a value that the shim has just protected.
    pub(crate) fn hold(&self, raw: RawValue) -> Value<'_> {
        self.note_held();
        Value::new(raw)
    }

    /// What is protected now is this scope's, which an inner one may be inside of.
    pub(crate) fn note_held(&self) {
        if self.level != self.vm.inner.held.innermost() {
            // SAFETY: the VM is open as long as a handle lives.
            let top = unsafe { sys::ts_arena_save(self.vm.raw()) };
            self.vm.inner.held.extend(self.level, top);
        }
    }

    /// The VM this scope is of.
    pub fn vm(&self) -> &Vm {
        self.vm
    }

    /// Runs `f` in a scope of its own: for loops that make many values.
    pub fn nested<R>(&self, f: impl FnOnce(&Scope<'_>) -> R) -> R {
        f(&Scope::open(self.vm))
    }

    /// Runs one of the shim's functions that can raise.
    pub(crate) fn protect(&self, f: impl FnOnce(*mut RawValue) -> c_int) -> Result<'_, Value<'_>> {
        assert!(
            !self.vm.inner.borrowed.get(),
            "the VM was entered while Rust read a string's bytes"
        );
        let mut out = Value::nil().raw;
        if status_is_ok(f(&raw mut out)) {
            Ok(self.hold(out))
        } else {
            Err(Raise(self.hold(out)))
        }
    }

    // ---- values ----

    /// An Integer.
    pub fn integer(&self, i: i64) -> Value<'_> {
        // SAFETY: an unboxed VM stores the number in the value; nothing is allocated.
        Value::new(unsafe { sys::ts_integer(self.vm.raw(), i) })
    }

    /// A count as an Integer; beyond 64 bits it is the largest.
    pub fn count(&self, count: impl TryInto<i64>) -> Value<'_> {
        self.integer(count.try_into().unwrap_or(i64::MAX))
    }

    /// A Float.
    pub fn float(&self, f: f64) -> Value<'_> {
        // SAFETY: as for integers.
        Value::new(unsafe { sys::ts_float(self.vm.raw(), f) })
    }

    /// A String with a copy of `bytes`. Raises when it is beyond the VM's limits.
    pub fn string(&self, bytes: impl AsRef<[u8]>) -> Result<'_, Value<'_>> {
        let bytes = bytes.as_ref();
        // SAFETY: the shim copies `len` bytes.
        protected!(self, unsafe ts_string(bytes.as_ptr().cast(), bytes.len()))
    }

    /// A String, or nil for none.
    pub fn string_or_nil(&self, bytes: Option<impl AsRef<[u8]>>) -> Result<'_, Value<'_>> {
        bytes.map_or(Ok(Value::nil()), |bytes| self.string(bytes))
    }

    /// An empty Array with room for `capacity` elements.
    pub fn array(&self, capacity: usize) -> Result<'_, Value<'_>> {
        let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
        // SAFETY: an array is allocated or an exception answered.
        protected!(self, unsafe ts_array(capacity))
    }

    /// An empty Hash with room for `capacity` entries.
    pub fn hash(&self, capacity: usize) -> Result<'_, Value<'_>> {
        let capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
        // SAFETY: a hash is allocated or an exception answered.
        protected!(self, unsafe ts_hash(capacity))
    }

    /// The symbol of this name. Symbols are never freed: for names of the program only.
    pub fn intern(&self, name: &str) -> Symbol {
        self.vm.inner.names.symbol(name, || {
            // Names of the program are few; without them not even the error for a full VM can be made.
            let symbol = self.vm.exempt(|| {
                // SAFETY: the shim copies the name.
                protected!(self, unsafe ts_intern(name.as_ptr().cast(), name.len()))
            });
            let symbol = symbol.ok().and_then(Value::as_symbol);
            symbol.expect("a symbol's memory is not limited")
        })
    }

    /// A symbol's name.
    pub fn symbol_name(&self, symbol: Symbol) -> String {
        self.with_symbol_name(symbol, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Lends a symbol's name to `f`, which must not enter the VM (asserted).
    pub fn with_symbol_name<R>(&self, symbol: Symbol, f: impl FnOnce(&[u8]) -> R) -> R {
        let mut len = 0;
        // SAFETY: the symbol came from this VM, whose symbol table owns the bytes; the VM cannot run, hence not make another
        // symbol in their place, while they are lent.
        let bytes = unsafe {
            let name = sys::ts_symbol_name(self.vm.raw(), symbol.0, &raw mut len);
            slice(name, len)
        };
        let _lent = self.lend();
        f(bytes)
    }

    /// Keeps all others out of the VM until it is dropped.
    fn lend(&self) -> impl Drop + '_ {
        struct Release<'a>(&'a VmInner, bool);
        impl Drop for Release<'_> {
            fn drop(&mut self) {
                self.0.borrowed.set(self.1);
            }
        }
        Release(&self.vm.inner, self.vm.inner.borrowed.replace(true))
    }

    /// Lends the bytes of a String to `f`; `None` when it is no String. `f` must not enter the VM (asserted).
    pub fn with_bytes<R>(&self, value: Value<'_>, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if value.kind() != Kind::String {
            return None;
        }
        let mut len = 0;
        // SAFETY: the tag was checked; the VM cannot run, hence not move the bytes, while `borrowed` is set.
        let bytes = unsafe { slice(sys::ts_string_bytes(value.raw, &raw mut len), len) };
        let _lent = self.lend();
        Some(f(bytes))
    }

    /// A copy of a String's bytes.
    pub fn bytes(&self, value: Value<'_>) -> Option<Vec<u8>> {
        self.with_bytes(value, <[u8]>::to_vec)
    }

    /// A copy of a String or a Symbol's name as text; invalid UTF-8 is replaced.
    pub fn text(&self, value: Value<'_>) -> Option<String> {
        match value.as_symbol() {
            Some(symbol) => Some(self.symbol_name(symbol)),
            None => self.with_bytes(value, |bytes| crate::text::lossy(bytes).into_owned()),
        }
    }

    // ---- arrays, hashes, instance variables ----

    /// Elements of an Array; 0 for anything else.
    pub fn array_len(&self, array: Value<'_>) -> usize {
        if array.kind() != Kind::Array {
            return 0;
        }
        // SAFETY: the tag was checked.
        usize::try_from(unsafe { sys::ts_array_len(array.raw) }).unwrap_or(0)
    }

    /// The element at `index`, or nil.
    pub fn array_at(&self, array: Value<'_>, index: usize) -> Value<'_> {
        match (array.kind(), i64::try_from(index)) {
            (Kind::Array, Ok(index)) => {
                // SAFETY: the tag was checked; an index beyond the end gives nil.
                self.hold(unsafe { sys::ts_array_at(self.vm.raw(), array.raw, index) })
            }
            _ => Value::nil(),
        }
    }

    /// The elements of an Array, as many as it has now; none of anything else.
    pub fn elements<'s>(
        &'s self,
        array: Value<'s>,
    ) -> impl ExactSizeIterator<Item = Value<'s>> + DoubleEndedIterator {
        (0..self.array_len(array)).map(move |index| self.array_at(array, index))
    }

    /// Copies of an Array's Strings, and of the names of Symbols in it; of anything else an empty text.
    pub fn texts(&self, array: Value<'_>) -> Vec<String> {
        let elements = self.elements(array);
        elements
            .map(|element| self.text(element).unwrap_or_default())
            .collect()
    }

    /// Appends to an Array.
    pub fn push(&self, array: Value<'_>, element: Value<'_>) -> Result<'_, ()> {
        assert_eq!(array.kind(), Kind::Array, "push onto what is no Array");
        // SAFETY: the tag was checked; both values are live.
        protected!(self, unsafe ts_array_push(array.raw, element.raw)).map(drop)
    }

    /// Entries of a Hash; 0 for anything else.
    pub fn hash_len(&self, hash: Value<'_>) -> usize {
        if hash.kind() != Kind::Hash {
            return 0;
        }
        // SAFETY: the tag was checked.
        usize::try_from(unsafe { sys::ts_hash_len(self.vm.raw(), hash.raw) }).unwrap_or(0)
    }

    /// Sets an entry of a Hash.
    pub fn hash_set(&self, hash: Value<'_>, key: Value<'_>, value: Value<'_>) -> Result<'_, ()> {
        assert_eq!(hash.kind(), Kind::Hash, "hash_set on what is no Hash");
        // SAFETY: the tag was checked; all values are live.
        protected!(self, unsafe ts_hash_set(hash.raw, key.raw, value.raw)).map(drop)
    }

    /// The entry of `key`, or nil; default procs are not called.
    pub fn hash_fetch(&self, hash: Value<'_>, key: Value<'_>) -> Result<'_, Value<'_>> {
        if hash.kind() != Kind::Hash {
            return Ok(Value::nil());
        }
        let nil = Value::nil().raw;
        // SAFETY: the tag was checked; all values are live.
        protected!(self, unsafe ts_hash_fetch(hash.raw, key.raw, nil))
    }

    /// The entry of the Symbol `name`, or nil: for keyword arguments.
    pub fn keyword(&self, hash: Value<'_>, name: &str) -> Result<'_, Value<'_>> {
        self.hash_fetch(hash, Value::symbol(self.intern(name)))
    }

    /// An instance variable of an object, or nil. `name` begins with `@` if Ruby shall see it.
    pub fn ivar(&self, object: Value<'_>, name: Symbol) -> Value<'_> {
        // SAFETY: mrb_iv_get answers nil for what has no variables.
        self.hold(unsafe { sys::ts_ivar(self.vm.raw(), object.raw, name.0) })
    }

    /// Sets an instance variable. Raises for immediates and frozen objects.
    pub fn set_ivar(&self, object: Value<'_>, name: Symbol, value: Value<'_>) -> Result<'_, ()> {
        // SAFETY: all values are live; what cannot have variables raises.
        protected!(self, unsafe ts_ivar_set(object.raw, name.0, value.raw)).map(drop)
    }

    // ---- classes and natives ----

    /// A top-level or nested constant's value, by path: `"DB::Error"`.
    pub fn constant(&self, path: &str) -> Result<'_, Value<'_>> {
        path.split("::")
            .try_fold(self.object_class(), |holder, name| {
                let name = self.intern(name);
                // SAFETY: what is no class or module raises TypeError.
                protected!(self, unsafe ts_constant(holder.raw, name.0))
            })
    }

    /// `Object`.
    pub fn object_class(&self) -> Value<'_> {
        // SAFETY: lives as long as the VM.
        Value::new(unsafe { sys::ts_object_class(self.vm.raw()) })
    }

    /// The main object of programs.
    pub fn main(&self) -> Value<'_> {
        // SAFETY: lives as long as the VM.
        Value::new(unsafe { sys::ts_top_self(self.vm.raw()) })
    }

    /// Defines or reopens a module; `under` nil means top level.
    pub fn define_module(&self, under: Value<'_>, name: &str) -> Result<'_, Value<'_>> {
        let name = c_name(name);
        // SAFETY: the name is copied.
        protected!(self, unsafe ts_define_module(under.raw, name.as_ptr()))
    }

    /// Defines or reopens a class; `under` nil means top level.
    pub fn define_class(
        &self,
        under: Value<'_>,
        name: &str,
        parent: Value<'_>,
    ) -> Result<'_, Value<'_>> {
        assert_eq!(parent.kind(), Kind::Class, "a class's parent is a class");
        let name = c_name(name);
        // SAFETY: the tag was checked; the name is copied.
        protected!(self, unsafe ts_define_class(under.raw, name.as_ptr(), parent.raw))
    }

    /// Defines an instance method of `class` in Rust.
    pub fn define_method<F>(
        &self,
        class: Value<'_>,
        name: &str,
        waits: Suspension,
        native: F,
    ) -> Result<'_, ()>
    where
        F: for<'s> Fn(&'s Scope<'s>, &NativeCall<'s>) -> Result<'s, NativeReply<'s>> + 'static,
    {
        self.define(class, name, waits, Rc::new(native), 0)
    }

    /// Defines a method of the class or module itself (or of any object) in Rust.
    pub fn define_singleton<F>(
        &self,
        object: Value<'_>,
        name: &str,
        waits: Suspension,
        native: F,
    ) -> Result<'_, ()>
    where
        F: for<'s> Fn(&'s Scope<'s>, &NativeCall<'s>) -> Result<'s, NativeReply<'s>> + 'static,
    {
        self.define(object, name, waits, Rc::new(native), 1)
    }

    fn define(
        &self,
        holder: Value<'_>,
        name: &str,
        waits: Suspension,
        native: Rc<Native>,
        singleton: c_int,
    ) -> Result<'_, ()> {
        let index = {
            let mut natives = self.vm.inner.natives.borrow_mut();
            natives.push(native);
            i64::try_from(natives.len() - 1).unwrap_or(i64::MAX)
        };
        let waits = c_int::from(waits == Suspension::Maybe);
        let name = c_name(name);
        // SAFETY: `holder` is a live object (a class, unless singleton); the name is copied.
        let name = name.as_ptr();
        protected!(self, unsafe ts_define_native(holder.raw, name, index, waits, singleton))
            .map(drop)
    }

    /// Is `value` an instance of `class` or of a subclass?
    pub fn is_a(&self, value: Value<'_>, class: Value<'_>) -> bool {
        assert_eq!(class.kind(), Kind::Class, "is_a takes a class");
        // SAFETY: the tag was checked.
        unsafe { sys::ts_is_a(self.vm.raw(), value.raw, class.raw) != 0 }
    }

    /// Does `value` have a method of this name?
    pub fn responds_to(&self, value: Value<'_>, name: &str) -> bool {
        // SAFETY: both are of this VM.
        unsafe { sys::ts_responds_to(self.vm.raw(), value.raw, self.intern(name).0) != 0 }
    }

    /// The class of a value.
    pub fn class_of(&self, value: Value<'_>) -> Value<'_> {
        // SAFETY: every value has a class.
        self.hold(unsafe { sys::ts_class_of(self.vm.raw(), value.raw) })
    }

    /// The name of a value's class.
    pub fn class_name(&self, value: Value<'_>) -> String {
        let name = self.call(self.class_of(value), "to_s", &[]);
        name.ok()
            .and_then(|name| self.text(name))
            .unwrap_or_else(|| "(anonymous)".to_owned())
    }

    // ---- calls ----

    /// Calls a method. Ruby code called so cannot wait (FiberError).
    pub fn call(
        &self,
        this: Value<'_>,
        method: &str,
        arguments: &[Value<'_>],
    ) -> Result<'_, Value<'_>> {
        self.call_symbol(this, self.intern(method), arguments)
    }

    /// What a method without arguments answers as text, such as `to_s` or `inspect`.
    pub fn text_by(&self, this: Value<'_>, method: &str) -> Result<'_, String> {
        let text = self.call(this, method, &[])?;
        Ok(self.text(text).unwrap_or_default())
    }

    /// Calls a method by its symbol.
    pub fn call_symbol(
        &self,
        this: Value<'_>,
        method: Symbol,
        arguments: &[Value<'_>],
    ) -> Result<'_, Value<'_>> {
        let raw: Vec<RawValue> = arguments.iter().map(|value| value.raw).collect();
        let argc = i64::try_from(raw.len()).unwrap_or(i64::MAX);
        let block = Value::nil().raw;
        // SAFETY: all values are live; the arguments are copied onto the VM's stack.
        protected!(self, unsafe ts_call(this.raw, method.0, argc, raw.as_ptr(), block))
    }

    /// Compiles a file to a Proc for `Tsumugi.run_program` (in a fibre) or [`run`](Self::run). `line` is the first
    /// line's number.
    pub fn compile(
        &self,
        source: &[u8],
        file: &str,
        line: u16,
    ) -> std::result::Result<Value<'_>, Vec<SyntaxError>> {
        let mut errors = SyntaxErrors {
            file: file.to_owned(),
            errors: Vec::new(),
        };
        let name = c_name(file);
        let context = (&raw mut errors).cast::<c_void>();
        // SAFETY: source, name and context are alive during the call; the compiler copies what it keeps.
        let compiled = protected!(
            self,
            unsafe ts_compile(source.as_ptr().cast(), source.len(), name.as_ptr(), line.into(), context)
        );
        match compiled {
            Ok(program) if program.kind() == Kind::Proc => Ok(program),
            Ok(_) => Err(errors.errors),
            Err(raised) => {
                let message = self.report(raised).to_string();
                Err(vec![SyntaxError {
                    file: file.to_owned(),
                    line: line.into(),
                    column: 0,
                    message,
                }])
            }
        }
    }

    /// Runs a compiled file at once, outside of any fibre: it cannot wait. For preludes.
    pub fn run(&self, program: Value<'_>) -> Result<'_, Value<'_>> {
        let module = self.constant("Tsumugi")?;
        self.call(module, "run_program", &[program])
    }

    /// File and line of the application's innermost frame, for messages.
    pub fn location(&self) -> Option<(String, u32)> {
        let (mut file, mut line) = (std::ptr::null(), 0);
        // SAFETY: the file's name belongs to the VM and is copied at once.
        unsafe {
            sys::ts_where(self.vm.raw(), &raw mut file, &raw mut line);
            (!file.is_null()).then(|| {
                let file = std::ffi::CStr::from_ptr(file)
                    .to_string_lossy()
                    .into_owned();
                (file, line.try_into().unwrap_or(0))
            })
        }
    }

    // ---- exceptions ----

    /// A new exception of a named class, to return from a native.
    pub fn error(&self, class: &str, message: impl AsRef<[u8]>) -> Raise<'_> {
        match self.constant(class) {
            Ok(class) => self.error_of(class, message),
            Err(raised) => raised,
        }
    }

    /// A new exception of a class.
    pub fn error_of(&self, class: Value<'_>, message: impl AsRef<[u8]>) -> Raise<'_> {
        let message = message.as_ref();
        // SAFETY: the message is copied; what is no exception class raises TypeError instead.
        let (bytes, len) = (message.as_ptr().cast(), message.len());
        let made = protected!(self, unsafe ts_exception(class.raw, bytes, len));
        made.map_or_else(|raised| raised, Raise)
    }

    /// Raises `Tsumugi::Overrun` when an [`Interrupter`](crate::Interrupter) has asked this entry to stop. For loops of
    /// the host's own over what Ruby made, which the VM's instructions cannot see.
    pub fn check_interrupt(&self) -> Result<'_, ()> {
        // SAFETY: reads and stores atomics of the open VM.
        if unsafe { sys::ts_overran(self.vm.raw()) } == 0 {
            return Ok(());
        }
        Err(self.error("Tsumugi::Overrun", OVERRUN))
    }

    /// Class, message and backtrace of an exception.
    pub fn report(&self, raised: Raise<'_>) -> ExceptionReport {
        let exception = raised.0;

        let backtrace = self
            .call(exception, "backtrace", &[])
            .unwrap_or_else(|_| Value::nil());
        let frames = self.elements(backtrace);
        let frames = frames.filter_map(|frame| self.text(frame));
        ExceptionReport {
            class: self.class_name(exception),
            message: self.message(exception),
            backtrace: frames.collect(),
        }
    }

    /// An exception's message, however its class defines `message`.
    fn message(&self, exception: Value<'_>) -> String {
        match self.call(exception, "message", &[]) {
            Ok(message) => self.text(message).unwrap_or_else(|| {
                format!("(its message is no String: {})", self.class_name(message))
            }),
            Err(Raise(raised)) => format!("(its message raised {})", self.class_name(raised)),
        }
    }

    /// Collects everything that is not reachable. Costs milliseconds with many parked fibres.
    pub fn collect(&self) {
        // SAFETY: a full collection at a point where every live value is rooted or protected.
        let _ = protected!(self, unsafe ts_collect());
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        let outer = self.vm.inner.held.leave(self.level);
        if let Some(arena) = self.arena {
            // SAFETY: scopes nest, so this is the innermost arena mark; what outer scopes hold lies below `outer`.
            unsafe { sys::ts_arena_restore(self.vm.raw(), arena.max(outer)) };
        }
    }
}

fn c_name(name: &str) -> CString {
    CString::new(name.replace('\0', "")).unwrap_or_default()
}

/// # Safety
/// `bytes` points to `len` bytes that stay as they are for `'a`.
unsafe fn slice<'a>(bytes: *const c_char, len: i64) -> &'a [u8] {
    let len = usize::try_from(len).unwrap_or(0);
    if len == 0 || bytes.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(bytes.cast(), len) }
}
