//! Goes through the instructions of a handler once, from the first to the last, and keeps what is known of each register. Runs no Ruby; what a call
//! means is for `words.rs` beside it.
//! Rule: every instruction is looked at once for each way into its method, within limits; where ways meet only what both know is known. What stands
//! behind an end that may come early may be passed over; what an exception passes over is not seen.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tsumugi_mruby::{Instruction, MethodCode, Step};

use super::abstract_value::{AbstractRange, AbstractValue};
use super::words::{Call, Words};
use crate::limits::{HANDLER_REGISTERS_MAX, HANDLER_STEPS_MAX, HELPER_DEPTH_MAX};

/// A method of the application's by its name, if there is one.
pub(super) type Methods<'m> = dyn Fn(&str) -> Option<Rc<MethodCode>> + 'm;

/// Reads one handler after its filters.
pub(super) struct Interpreter<'m> {
    methods: &'m Methods<'m>,
    words: Words<'m>,
    steps: usize,
    helpers: usize,
}

/// The registers of a method or block.
struct Frame {
    registers: Vec<AbstractValue>,
    /// As far as this the instructions may be passed over.
    conditional_until: i64,
    /// Whether all of it may be.
    is_conditional: bool,
}

impl Frame {
    /// Whether the instruction there may be passed over.
    fn may_pass(&self, at: i64) -> bool {
        self.is_conditional || at < self.conditional_until
    }

    fn at(&self, register: usize) -> AbstractValue {
        self.registers.get(register).cloned().unwrap_or_default()
    }

    fn set(&mut self, register: usize, value: AbstractValue) {
        if let Some(place) = self.registers.get_mut(register) {
            *place = value;
        }
    }

    fn forget_from(&mut self, register: usize) {
        let forgotten = self.registers.iter_mut().skip(register);
        forgotten.for_each(|place| *place = AbstractValue::Nothing);
    }

    fn many(&self, first: usize, count: usize) -> Vec<AbstractValue> {
        (first..first.saturating_add(count))
            .map(|register| self.at(register))
            .collect()
    }

    fn pairs(&self, first: usize, count: usize) -> Vec<(AbstractValue, AbstractValue)> {
        let pair = |i: usize| (self.at(first + 2 * i), self.at(first + 2 * i + 1));
        (0..count).map(pair).collect()
    }

    /// What is known on this way and on another.
    fn meet(&mut self, other: Vec<AbstractValue>) {
        for (place, other) in self.registers.iter_mut().zip(other) {
            if *place != other {
                *place = AbstractValue::Nothing;
            }
        }
    }
}

/// Where ways meet within a method.
struct Ways {
    /// What is known on those that come from above.
    waiting: HashMap<i64, Vec<AbstractValue>>,
    /// Where loops begin.
    heads: HashSet<i64>,
    /// Whether the instruction before goes on to the next.
    is_reached: bool,
}

impl Ways {
    fn of(code: &MethodCode) -> Ways {
        let backwards = code.instructions.iter().filter_map(|each| match each.step {
            Step::Jump(target) | Step::Branch(target) if target <= i64::from(each.at) => {
                Some(target)
            }
            _ => None,
        });
        Ways {
            waiting: HashMap::new(),
            heads: backwards.collect(),
            is_reached: true,
        }
    }

    /// Makes of the frame what is known here.
    fn arrive(&mut self, at: i64, frame: &mut Frame) {
        match (self.waiting.remove(&at), self.is_reached) {
            (Some(other), true) => frame.meet(other),
            (Some(other), false) => frame.registers = other,
            (None, true) => {}
            // A rescue clause, as a rule.
            (None, false) => frame.forget_from(0),
        }
        if self.heads.contains(&at) {
            frame.forget_from(0);
        }
        self.is_reached = true;
    }

    /// Notes a way from `at` to `target`.
    fn leave(&mut self, at: i64, target: i64, frame: &mut Frame) {
        if target <= at {
            return;
        }
        frame.conditional_until = frame.conditional_until.max(target);
        match self.waiting.get_mut(&target) {
            Some(known) => {
                for (place, other) in known.iter_mut().zip(&frame.registers) {
                    if place != other {
                        *place = AbstractValue::Nothing;
                    }
                }
            }
            None => {
                self.waiting.insert(target, frame.registers.clone());
            }
        }
    }
}

impl<'m> Interpreter<'m> {
    pub fn new(methods: &'m Methods<'m>, words: Words<'m>) -> Interpreter<'m> {
        Interpreter {
            methods,
            words,
            steps: 0,
            helpers: 0,
        }
    }

    /// Reads a method that answers a request, or a filter of one.
    pub fn read(&mut self, code: &MethodCode) {
        self.run(code, &[], &mut Vec::new(), false);
    }

    /// What was found.
    pub fn finish(self) -> Words<'m> {
        self.words
    }

    fn run(
        &mut self,
        code: &MethodCode,
        arguments: &[AbstractValue],
        frames: &mut Vec<Frame>,
        is_conditional: bool,
    ) {
        let count = code.registers.min(HANDLER_REGISTERS_MAX);
        frames.push(Frame {
            registers: vec![AbstractValue::Nothing; count],
            conditional_until: 0,
            is_conditional,
        });
        let mut ways = Ways::of(code);
        for instruction in &code.instructions {
            if self.steps >= HANDLER_STEPS_MAX {
                break;
            }
            self.steps += 1;
            let at = i64::from(instruction.at);
            if let Some(frame) = frames.last_mut() {
                ways.arrive(at, frame);
                match instruction.step {
                    Step::Jump(target) => {
                        ways.leave(at, target, frame);
                        ways.is_reached = false;
                    }
                    Step::Branch(target) => ways.leave(at, target, frame),
                    _ => {}
                }
            }
            self.step(code, instruction, arguments, frames);
        }
        frames.pop();
    }

    fn step(
        &mut self,
        code: &MethodCode,
        instruction: &Instruction,
        arguments: &[AbstractValue],
        frames: &mut Vec<Frame>,
    ) {
        let register = instruction.register;
        if let Step::Upvalue { .. } | Step::UpvalueSet { .. } = instruction.step {
            return reach_out(instruction, frames);
        }
        if let Step::Return | Step::ReturnOut = instruction.step {
            return end_early(instruction, frames);
        }
        if let Step::Block(index) = instruction.step {
            return self.block(code, index, instruction, frames);
        }
        let Some(frame) = frames.last_mut() else {
            return;
        };
        let value = match &instruction.step {
            Step::Nothing | Step::Jump(_) | Step::Branch(_) => return,
            Step::Other => return frame.forget_from(register),
            Step::Enter { required, is_plain } => {
                if *is_plain && *required == arguments.len() {
                    for (place, value) in (1..).zip(arguments) {
                        frame.set(place, value.clone());
                    }
                }
                return;
            }
            Step::Move(from) => frame.at(*from),
            Step::Member(name) => match frame.at(register) {
                AbstractValue::Constant(module) => {
                    AbstractValue::Constant(format!("{module}::{name}").into())
                }
                _ => AbstractValue::Nothing,
            },
            Step::Array(count) => AbstractValue::list(frame.many(register, *count)),
            Step::ArrayOf { first, count } => AbstractValue::list(frame.many(*first, *count)),
            Step::ArrayAdd(count) => match frame.at(register) {
                AbstractValue::List(list) => {
                    let added = frame.many(register + 1, *count);
                    AbstractValue::list(list.items.iter().cloned().chain(added).collect())
                }
                _ => AbstractValue::Nothing,
            },
            Step::Hash(count) => AbstractValue::table(frame.pairs(register, *count)),
            Step::HashAdd(count) => match frame.at(register) {
                AbstractValue::Table(table) => {
                    let added = frame.pairs(register + 1, *count);
                    AbstractValue::table(table.items.iter().cloned().chain(added).collect())
                }
                _ => AbstractValue::Nothing,
            },
            Step::Range { is_exclusive } => AbstractValue::range(AbstractRange {
                first: frame.at(register),
                last: frame.at(register + 1),
                is_exclusive: *is_exclusive,
            }),
            Step::Index | Step::Call { .. } => {
                let call = call_of(instruction, frame);
                self.call(&call)
            }
            other => literal(other),
        };
        if let Some(frame) = frames.last_mut() {
            frame.set(register, value);
        }
    }

    /// A block is read where it is made, with what is known there.
    fn block(
        &mut self,
        code: &MethodCode,
        index: usize,
        instruction: &Instruction,
        frames: &mut Vec<Frame>,
    ) {
        let at = i64::from(instruction.at);
        let is_conditional = frames.last().is_some_and(|frame| frame.may_pass(at));
        if let Some(block) = code.blocks.get(index) {
            self.run(block, &[], frames, is_conditional);
        }
        if let Some(frame) = frames.last_mut() {
            frame.set(instruction.register, AbstractValue::Nothing);
        }
    }

    /// What a call answers. A helper of the application's is read like the handler itself.
    fn call(&mut self, call: &Call) -> AbstractValue {
        if call.receiver == AbstractValue::Context
            && let Some(helper) = (self.methods)(&call.name)
        {
            if self.helpers < HELPER_DEPTH_MAX {
                self.helpers += 1;
                let arguments: &[AbstractValue] = match (&call.arguments, call.keywords.is_empty())
                {
                    (Some(arguments), true) => arguments,
                    _ => &[],
                };
                self.run(&helper, arguments, &mut Vec::new(), call.is_conditional);
                self.helpers -= 1;
            }
            return AbstractValue::Nothing;
        }
        self.words.call(call)
    }
}

/// What stands in the program itself; nothing is known of anything else.
fn literal(step: &Step) -> AbstractValue {
    match step {
        Step::Integer(integer) => AbstractValue::Integer(*integer),
        Step::Float(float) => AbstractValue::Float(*float),
        Step::Text(text) => AbstractValue::Text((**text).into()),
        Step::Symbol(name) => AbstractValue::Symbol((**name).into()),
        Step::Nil => AbstractValue::Nil,
        Step::True => AbstractValue::Boolean(true),
        Step::False => AbstractValue::Boolean(false),
        Step::Receiver => AbstractValue::Context,
        Step::Constant(name) => AbstractValue::Constant((**name).into()),
        _ => AbstractValue::Nothing,
    }
}

/// What stands behind the end of a method or block that may be passed over itself may not be reached, nor what stands behind a block that ends its
/// method: how often it runs is not known.
fn end_early(instruction: &Instruction, frames: &mut [Frame]) {
    let Some((inner, outer)) = frames.split_last_mut() else {
        return;
    };
    inner.is_conditional = inner.may_pass(instruction.at.into());
    if let Step::ReturnOut = instruction.step {
        outer
            .iter_mut()
            .for_each(|frame| frame.is_conditional = true);
    }
}

/// A variable of what is around a block is read or set.
fn reach_out(instruction: &Instruction, frames: &mut [Frame]) {
    let inner = frames.len().saturating_sub(1);
    let outer = |level: usize| inner.checked_sub(level.saturating_add(1));
    match instruction.step {
        Step::Upvalue { register, level } => {
            let found = outer(level).and_then(|outer| frames.get(outer));
            let value = found.map(|frame| frame.at(register)).unwrap_or_default();
            if let Some(frame) = frames.get_mut(inner) {
                frame.set(instruction.register, value);
            }
        }
        Step::UpvalueSet { register, level } => {
            let found = outer(level).and_then(|outer| frames.get_mut(outer));
            if let Some(frame) = found {
                frame.set(register, AbstractValue::Nothing);
            }
        }
        _ => {}
    }
}

/// The call of an instruction, with what is known of its receiver and arguments.
fn call_of(instruction: &Instruction, frame: &Frame) -> Call {
    let register = instruction.register;
    let is_conditional = frame.may_pass(instruction.at.into());
    let Step::Call {
        name,
        is_own,
        arguments,
        keywords,
        ..
    } = &instruction.step
    else {
        return Call {
            name: "[]".into(),
            receiver: frame.at(register),
            arguments: Some(vec![frame.at(register + 1)]),
            keywords: Vec::new(),
            is_conditional,
        };
    };
    let receiver = match is_own {
        true => AbstractValue::Context,
        false => frame.at(register),
    };
    let (given, behind) = match *arguments {
        Step::PACKED => match frame.at(register + 1) {
            AbstractValue::List(list) => (Some(list.items.clone()), register + 2),
            _ => (None, register + 2),
        },
        count => (Some(frame.many(register + 1, count)), register + 1 + count),
    };
    let keywords = match *keywords {
        Step::PACKED => match frame.at(behind) {
            AbstractValue::Table(table) => table.items.clone(),
            _ => Vec::new(),
        },
        count => frame.pairs(behind, count),
    };
    Call {
        name: Rc::from(&**name),
        receiver,
        arguments: given,
        keywords,
        is_conditional,
    }
}
