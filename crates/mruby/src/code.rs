//! The instructions of a method written in Ruby, as plain data: what is put into which register, and what is called with it. Nothing is run,
//! and what a name will mean is not known here.
//! Rule: no more than the limits say is read; [`MethodCode::is_whole`] says whether that was all.

use std::ffi::{c_int, c_void};

use crate::limits::{CODE_DEPTH_MAX, CODE_INSTRUCTIONS_MAX};
use crate::scope::{Scope, protected};
use crate::sys::RawInstruction;
use crate::value::{Kind, Value};

/// A method, or a block in one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodCode {
    /// How many registers it has.
    pub registers: usize,
    /// Its instructions, in the order of the text.
    pub instructions: Vec<Instruction>,
    /// The blocks in it.
    pub blocks: Vec<MethodCode>,
    /// Whether it is the product's own, and no application's.
    pub is_own: bool,
    /// Whether nothing of it, and of its blocks, was beyond a limit.
    pub is_whole: bool,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Where it stands; jumps name this.
    pub at: u32,
    /// The register that it is about: as a rule the one that it writes.
    pub register: usize,
    /// What it does.
    pub step: Step,
}

/// What an instruction does with its register `R`.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Something else: `R` and those above it have other values then.
    Other,
    /// Nothing to any register.
    Nothing,
    /// `R` has another value then, which is not known.
    Write,
    /// `R` is what this register is.
    Move(usize),
    /// `R` is this Integer.
    Integer(i64),
    /// `R` is this Float.
    Float(f64),
    /// `R` is a String.
    Text(Box<str>),
    /// `R` is a Symbol.
    Symbol(Box<str>),
    /// `R` is nil.
    Nil,
    /// `R` is true.
    True,
    /// `R` is false.
    False,
    /// `R` is the receiver.
    Receiver,
    /// `R` is a constant.
    Constant(Box<str>),
    /// `R` is a constant of the module in `R`.
    Member(Box<str>),
    /// `R` is a variable of the block or method around this block; level 0 is the next one.
    Upvalue {
        /// Its register there.
        register: usize,
        /// How many blocks further out.
        level: usize,
    },
    /// Such a variable is what `R` is.
    UpvalueSet {
        /// Its register there.
        register: usize,
        /// How many blocks further out.
        level: usize,
    },
    /// `R` is `R[R + 1]`.
    Index,
    /// Goes on there.
    Jump(i64),
    /// Goes on there, or behind this.
    Branch(i64),
    /// Ends the method or block here.
    Return,
    /// Ends the method around this block here.
    ReturnOut,
    /// `R` is what a call answers. Its arguments are in the registers behind, keywords as pairs behind them, a block behind these.
    Call {
        /// The method's name.
        name: Box<str>,
        /// Whether it has no receiver; else that is in `R`.
        is_own: bool,
        /// How many positional arguments; [`Step::PACKED`] when one Array has them.
        arguments: usize,
        /// How many keywords; [`Step::PACKED`] when one Hash has them.
        keywords: usize,
        /// Whether a block is given.
        has_block: bool,
    },
    /// `R` is an Array of so many registers from `R` on.
    Array(usize),
    /// `R` is an Array of so many registers from another one on.
    ArrayOf {
        /// The first.
        first: usize,
        /// How many.
        count: usize,
    },
    /// So many registers behind `R` are added to the Array in it.
    ArrayAdd(usize),
    /// `R` is a Hash of so many pairs from `R` on.
    Hash(usize),
    /// So many pairs behind `R` are added to the Hash in it.
    HashAdd(usize),
    /// `R` is the Range from `R` to `R + 1`.
    Range {
        /// Whether its end is not of it.
        is_exclusive: bool,
    },
    /// `R` is a block, by its index in [`MethodCode::blocks`].
    Block(usize),
    /// The parameters are in the registers from 1 on.
    Enter {
        /// How many there are before others.
        required: usize,
        /// Whether there are no others.
        is_plain: bool,
    },
}

impl Step {
    /// As a count of arguments: they are in one Array, or keywords in one Hash.
    pub const PACKED: usize = 15;
}

/// Where the shim shows what it reads.
struct CodeReader {
    /// What is being read, the innermost last.
    open: Vec<MethodCode>,
    /// The method, when it has been read.
    method: Option<MethodCode>,
    left: usize,
}

impl CodeReader {
    fn begin(&mut self, registers: usize, is_own: bool) -> bool {
        if self.open.len() >= CODE_DEPTH_MAX || (self.left == 0 && !self.open.is_empty()) {
            // It has its place, so that those behind it have theirs.
            if let Some(outer) = self.open.last_mut() {
                outer.blocks.push(MethodCode::default());
                outer.is_whole = false;
            }
            return false;
        }
        self.open.push(MethodCode {
            registers,
            is_own,
            is_whole: true,
            ..MethodCode::default()
        });
        true
    }

    fn instruction(&mut self, instruction: Instruction) -> bool {
        let Some(code) = self.open.last_mut() else {
            return false;
        };
        if self.left == 0 {
            code.is_whole = false;
            return false;
        }
        self.left -= 1;
        code.instructions.push(instruction);
        true
    }

    fn end(&mut self) {
        let Some(code) = self.open.pop() else {
            return;
        };
        match self.open.last_mut() {
            Some(outer) => {
                outer.is_whole &= code.is_whole;
                outer.blocks.push(code);
            }
            None => self.method = Some(code),
        }
    }
}

impl Scope<'_> {
    /// The instructions of the method that objects of a class have under this name. None when there is no such method, or it is not written in Ruby, or
    /// the VM has no room to look.
    pub fn method_code(&self, class: Value<'_>, name: &str) -> Option<MethodCode> {
        assert_eq!(class.kind(), Kind::Class, "a method of what is no class");
        let mut reader = CodeReader {
            open: Vec::new(),
            method: None,
            left: CODE_INSTRUCTIONS_MAX,
        };
        let name = self.intern(name);
        let context = (&raw mut reader).cast::<c_void>();
        // SAFETY: the tag was checked; `reader` is alive during the call.
        let read = protected!(self, unsafe ts_method_code(class.raw, name.0, context));
        read.is_ok().then_some(reader.method).flatten()
    }
}

/// A count or a register; the shim's are of 32 bits.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What an instruction does, in the order of `enum ts_step`.
fn step(raw: &RawInstruction, text: &str) -> Step {
    let (second, third) = (index(raw.second), index(raw.third));
    match raw.step {
        1 => Step::Nothing,
        2 => Step::Write,
        3 => Step::Move(second),
        4 => Step::Integer(raw.integer),
        5 => Step::Float(raw.number),
        6 => Step::Text(text.into()),
        7 => Step::Symbol(text.into()),
        8 => Step::Nil,
        9 => Step::True,
        10 => Step::False,
        11 => Step::Receiver,
        12 => Step::Constant(text.into()),
        13 => Step::Member(text.into()),
        14 => Step::Upvalue {
            register: second,
            level: third,
        },
        15 => Step::UpvalueSet {
            register: second,
            level: third,
        },
        16 => Step::Index,
        17 => Step::Jump(raw.integer),
        18 => Step::Branch(raw.integer),
        19 | 20 => Step::Call {
            name: text.into(),
            is_own: raw.step == 19,
            arguments: second,
            keywords: third,
            has_block: raw.integer != 0,
        },
        21 => Step::Array(second),
        22 => Step::ArrayOf {
            first: second,
            count: third,
        },
        23 => Step::ArrayAdd(second),
        24 => Step::Hash(second),
        25 => Step::HashAdd(second),
        26 | 27 => Step::Range {
            is_exclusive: raw.step == 27,
        },
        28 => Step::Block(second),
        29 => Step::Enter {
            required: second,
            is_plain: third != 0,
        },
        30 => Step::Return,
        31 => Step::ReturnOut,
        _ => Step::Other,
    }
}

/// # Safety
/// `reader` is the one handed to `ts_method_code`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_code_begin(
    reader: *mut c_void,
    registers: u32,
    is_own: c_int,
) -> c_int {
    // SAFETY: it comes from the `ts_method_code` call that is running.
    let reader = unsafe { &mut *reader.cast::<CodeReader>() };
    reader.begin(index(registers), is_own != 0).into()
}

/// # Safety
/// `reader` is the one handed to `ts_method_code`; the text of the instruction has as many bytes as it says.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_code_instruction(
    reader: *mut c_void,
    raw: *const RawInstruction,
) -> c_int {
    // SAFETY: both come from the `ts_method_code` call that is running; a text is the VM's, which runs nothing meanwhile.
    let (reader, raw, bytes) = unsafe {
        let raw = &*raw;
        let bytes = match raw.text.is_null() {
            true => &[][..],
            false => std::slice::from_raw_parts(raw.text.cast::<u8>(), raw.len),
        };
        (&mut *reader.cast::<CodeReader>(), raw, bytes)
    };
    let instruction = Instruction {
        at: raw.at,
        register: index(raw.first),
        step: step(raw, &String::from_utf8_lossy(bytes)),
    };
    reader.instruction(instruction).into()
}

/// # Safety
/// `reader` is the one handed to `ts_method_code`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_code_end(reader: *mut c_void) {
    // SAFETY: it comes from the `ts_method_code` call that is running.
    let reader = unsafe { &mut *reader.cast::<CodeReader>() };
    reader.end();
}
