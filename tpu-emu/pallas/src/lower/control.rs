//! Control: loops and branches become jumps, calls are written out.
use super::code::{Refused, storage};
use super::values::{Home, Val, shape};
use super::{Lowering, scalar_integer};
use crate::form::{Int, Output, Register, ScalarOp, SlotId, Step};
use tpu_mosaic::ir::{Block, Op, Operation, Type, Value};

/// Where a value goes that is another one on each way through the code.
#[derive(Debug, Clone, Copy)]
enum Place {
    Register(Register),
    Slot(SlotId),
}

impl<'m> Lowering<'m> {
    /// Control flow, and what only says where code is; whether it is that.
    pub(super) fn control(&mut self, operation: &'m Operation) -> Refused<bool> {
        match operation.op {
            Op::ScfFor => self.counted_loop(operation)?,
            Op::ScfWhile => self.while_loop(operation)?,
            Op::ScfIf => self.branch(operation)?,
            Op::FuncCall => self.call(operation)?,
            Op::TpuRegion | Op::TpuTrace => {
                let block = Self::inside(operation.regions.first())?;
                self.scoped(block, |lowering, last| lowering.hand_on(last, &operation.results))?;
            }
            Op::TpuTraceStart | Op::TpuTraceStop | Op::TpuDelay | Op::TpuTraceValue => {
                for &operand in &operation.operands {
                    self.read(operand)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Code with memory of its own.
    fn scoped(
        &mut self,
        block: &'m Block,
        end: impl FnOnce(&mut Self, &'m Operation) -> Refused<()>,
    ) -> Refused<()> {
        self.regions.push(Vec::new());
        let outcome = self.block(block).and_then(|last| end(self, last));
        let memory = self.regions.pop().unwrap_or_default();
        outcome?;
        if !memory.is_empty() {
            self.close()?;
            self.step(Step::Free(memory.into()));
        }
        Ok(())
    }

    /// The values that a block ends with, under other names.
    fn hand_on(&mut self, last: &'m Operation, results: &[Value]) -> Refused<()> {
        if last.operands.len() != results.len() {
            return Err(format!("{} results of {}", results.len(), last.operands.len()));
        }
        for (&operand, &result) in last.operands.iter().zip(results) {
            let val = self.peek(operand)?;
            self.bind(result, val)?;
            self.read(operand)?;
        }
        Ok(())
    }

    fn call(&mut self, operation: &'m Operation) -> Refused<()> {
        let callee = operation.attributes.get("callee").and_then(|callee| callee.text());
        let callee = callee.ok_or("a call of nothing")?;
        let module = self.module;
        let function = module.function(callee);
        let function =
            function.ok_or_else(|| format!("a call of @{callee}, which is not there"))?;
        let given = self.given(function, &operation.operands)?;
        if given.len() != operation.results.len() {
            let (gives, wants) = (given.len(), operation.results.len());
            return Err(format!("@{callee} gives {gives} results where {wants} are expected"));
        }
        for (&result, val) in operation.results.iter().zip(given) {
            self.bind(result, val)?;
            if let Val::Vector(id) = val {
                self.used(id);
            }
        }
        Ok(())
    }

    /// What a function gives for arguments. A vector is held, for whoever binds it.
    fn given(
        &mut self,
        function: &'m tpu_mosaic::ir::Function,
        arguments: &[Value],
    ) -> Refused<Vec<Val>> {
        let mut vals = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            vals.push(self.peek(argument)?);
        }
        self.enter(function, vals)?;
        let outer = self.scopes.len() - 1;
        let inner = self.scopes.pop();
        let outcome = arguments.iter().try_for_each(|&argument| self.read(argument).map(|_| ()));
        self.scopes.extend(inner);
        outcome?;
        let mut given = Vec::new();
        let outcome = self.block(&function.body).and_then(|last| {
            for &operand in &last.operands {
                let val = self.peek(operand)?;
                if let Val::Vector(id) = val {
                    self.wanted(id, 1);
                }
                self.read(operand)?;
                given.push(val);
            }
            Ok(())
        });
        self.scopes.truncate(outer);
        outcome.map(|()| given)
    }

    /// What an index map gives: integers.
    pub(super) fn indices(
        &mut self,
        function: &'m tpu_mosaic::ir::Function,
        arguments: Vec<Val>,
    ) -> Refused<Vec<Int>> {
        self.enter(function, arguments)?;
        let outer = self.scopes.len() - 1;
        let outcome = self.block(&function.body).and_then(|last| self.ints(&last.operands));
        self.scopes.truncate(outer);
        outcome
    }

    fn branch(&mut self, operation: &'m Operation) -> Refused<()> {
        let condition = operation.operand("condition").ok_or("scf.if without a condition")?;
        let condition = self.int(condition)?;
        let blocks: Vec<Option<&'m Block>> =
            operation.regions.iter().map(|region| region.block.as_ref()).collect();
        let (then, other) = (blocks.first().copied().flatten(), blocks.get(1).copied().flatten());
        if let Int::Known(value) = condition {
            let (taken, left) = if value != 0 { (then, other) } else { (other, then) };
            if let Some(block) = left {
                self.skip(block);
            }
            let Some(block) = taken else { return Ok(()) };
            return self.scoped(block, |lowering, last| lowering.hand_on(last, &operation.results));
        }
        self.close()?;
        let mut places = Vec::new();
        for &result in &operation.results {
            places.push(self.place_for(self.type_of(result)?)?);
        }
        let to_other = self.step(Step::JumpUnless(condition, 0));
        self.arm(then, &places)?;
        let to_end = self.step(Step::Jump(0));
        self.jump_here(to_other);
        self.arm(other, &places)?;
        self.jump_here(to_end);
        for (&result, place) in operation.results.iter().zip(places) {
            let val = self.placed(place, result)?;
            self.bind(result, val)?;
        }
        Ok(())
    }

    fn arm(&mut self, block: Option<&'m Block>, places: &[Place]) -> Refused<()> {
        let Some(block) = block else { return Ok(()) };
        self.enter_region();
        let outcome = self.scoped(block, |lowering, last| lowering.assign(places, &last.operands));
        let closed = self.close();
        self.leave_region();
        outcome.and(closed)
    }

    /// Code that is not lowered: what it reads is read no more.
    fn skip(&mut self, block: &'m Block) {
        for operation in &block.operations {
            for &operand in &operation.operands {
                if self.peek(operand).is_ok() {
                    let _ = self.read(operand);
                }
            }
            operation
                .regions
                .iter()
                .filter_map(|region| region.block.as_ref())
                .for_each(|block| self.skip(block));
        }
    }

    fn jump_here(&mut self, step: usize) {
        let here = self.here();
        if let Some(Step::Jump(to) | Step::JumpUnless(_, to)) = self.program.steps.get_mut(step) {
            *to = here;
        }
    }

    /// A place for values of a type.
    fn place_for(&mut self, of: &Type) -> Refused<Place> {
        if scalar_integer(of).is_some() {
            return Ok(Place::Register(self.register()));
        }
        let shape = match of {
            Type::Scalar(element) => shape(*element, &[])?,
            Type::Vector(vector) => shape(storage(vector.element), &vector.dims)?,
            other => return Err(format!("a value that changes of type {other:?}")),
        };
        Ok(Place::Slot(self.slot(&shape)))
    }

    /// What a value is that lies in a place.
    fn placed(&mut self, place: Place, value: Value) -> Refused<Val> {
        Ok(match (place, self.type_of(value)?) {
            (Place::Register(register), _) => Val::Int(Int::In(register)),
            (Place::Slot(slot), Type::Scalar(element)) => {
                Val::Vector(self.vector(*element, Vec::new(), Home::Slot(slot)))
            }
            (Place::Slot(slot), Type::Vector(of)) => {
                Val::Vector(self.vector(storage(of.element), of.dims.clone(), Home::Slot(slot)))
            }
            (Place::Slot(_), other) => {
                return Err(format!("a value that changes of type {other:?}"));
            }
        })
    }

    /// Brings values to places, all at once.
    fn assign(&mut self, places: &[Place], values: &[Value]) -> Refused<()> {
        if places.len() != values.len() {
            return Err(format!("{} values for {}", values.len(), places.len()));
        }
        let mut scalars = Vec::new();
        for (place, &value) in places.iter().zip(values) {
            if let Place::Register(register) = place {
                scalars.push((self.int(value)?, *register));
            }
        }
        self.close()?;
        let mut moves = Vec::new();
        for (place, &value) in places.iter().zip(values) {
            let Place::Slot(to) = *place else { continue };
            let Val::Vector(id) = self.peek(value)? else {
                return Err("a vector is expected".to_owned());
            };
            let made_here = self.vectors[id.0].depth == self.depth;
            let (from, own) = match self.vectors[id.0].home.clone() {
                Home::Slot(slot) => (slot, made_here && self.vectors[id.0].pending == 1),
                Home::Known(_) | Home::Open(_) | Home::Gone => (self.copy_of(id)?, true),
            };
            self.read(value)?;
            moves.push((from, own, to));
        }
        let targets: Vec<SlotId> = moves.iter().map(|(_, _, to)| *to).collect();
        // What is a target itself is put aside first.
        for (from, own, to) in &mut moves {
            if *from != *to && targets.contains(from) {
                let bytes = self.program.slots[from.0 as usize];
                let aside = self.new_slot(bytes);
                self.step(Step::Copy(*from, aside));
                self.give(aside);
                (*from, *own) = (aside, true);
            }
        }
        for (from, own, to) in moves {
            match own {
                _ if from == to => {}
                true => drop(self.step(Step::Exchange(from, to))),
                false => drop(self.step(Step::Copy(from, to))),
            }
        }
        let registers: Vec<Register> = scalars.iter().map(|(_, register)| *register).collect();
        for (from, to) in &mut scalars {
            let read = matches!(*from, Int::In(from) if from != *to && registers.contains(&from));
            if read {
                let aside = self.register();
                self.step(Step::Move { from: *from, to: aside });
                *from = Int::In(aside);
            }
        }
        for (from, to) in scalars {
            if from != Int::In(to) {
                self.step(Step::Move { from, to });
            }
        }
        Ok(())
    }

    fn new_slot(&mut self, bytes: usize) -> SlotId {
        self.program.slots.push(bytes);
        SlotId(u32::try_from(self.program.slots.len() - 1).unwrap_or(u32::MAX))
    }

    /// A vector in a slot of its own.
    fn copy_of(&mut self, id: super::values::VectorId) -> Refused<SlotId> {
        let vector = &self.vectors[id.0];
        let shape = shape(vector.element, &vector.dims)?;
        let value = self.vector_in_piece(id)?;
        let slot = self.slot(&shape);
        self.close_with(vec![(Output::Slot(slot), value)])?;
        self.give(slot);
        Ok(slot)
    }

    /// Places for values that change from one iteration to the next, with their first values.
    fn carried(&mut self, initial: &[Value]) -> Refused<Vec<Place>> {
        let mut places = Vec::new();
        for &value in initial {
            places.push(self.place_for(self.type_of(value)?)?);
        }
        self.assign(&places, initial)?;
        Ok(places)
    }

    /// Names for what lies in places, which stay as long as the places do.
    fn name_places(&mut self, places: &[Place], names: &[Value]) -> Refused<()> {
        if places.len() != names.len() {
            return Err(format!("{} values for {} names", places.len(), names.len()));
        }
        for (&place, &name) in places.iter().zip(names) {
            let val = self.placed(place, name)?;
            if let Val::Vector(id) = val {
                self.wanted(id, 1);
            }
            self.bind(name, val)?;
        }
        Ok(())
    }

    fn counted_loop(&mut self, operation: &'m Operation) -> Refused<()> {
        let [low, high, step] = ["low", "high", "step"].map(|name| operation.operand(name));
        let (low, high, step) = (
            low.ok_or("a loop without a start")?,
            high.ok_or("a loop without an end")?,
            step.ok_or("a loop without a step")?,
        );
        let bits = if matches!(self.type_of(low)?, Type::Scalar(tpu_mosaic::ir::Element::S32)) {
            32
        } else {
            64
        };
        let (low, high, step) = (self.int(low)?, self.int(high)?, self.int(step)?);
        if matches!(step, Int::Known(step) if step <= 0) {
            return Err("a loop with a step that is not positive".to_owned());
        }
        let initial = operation.group("initial");
        let places = self.carried(initial)?;
        let body = Self::inside(operation.regions.first())?;
        let Some((&index, names)) = body.arguments.split_first() else {
            return Err("a loop without an index".to_owned());
        };
        let counter = self.register();
        self.step(Step::Move { from: low, to: counter });
        self.enter_region();
        let head = self.here();
        let less = if operation.flag("unsignedCmp") { ScalarOp::LtU } else { ScalarOp::LtS };
        let go_on = self.emit(less, bits, Int::In(counter), high);
        let exit = self.step(Step::JumpUnless(go_on, 0));
        self.bind(index, Val::Int(Int::In(counter)))?;
        self.name_places(&places, names)?;
        let outcome = self.scoped(body, |lowering, last| lowering.assign(&places, &last.operands));
        let closed = self.close();
        let next = self.emit(ScalarOp::Add, bits, Int::In(counter), step);
        self.step(Step::Move { from: next, to: counter });
        self.step(Step::Jump(head));
        self.leave_region();
        self.jump_here(exit);
        outcome.and(closed)?;
        for (&result, place) in operation.results.iter().zip(places) {
            let val = self.placed(place, result)?;
            self.bind(result, val)?;
        }
        Ok(())
    }

    fn while_loop(&mut self, operation: &'m Operation) -> Refused<()> {
        let places = self.carried(&operation.operands)?;
        let test = Self::inside(operation.regions.first())?;
        let body = Self::inside(operation.regions.get(1))?;
        let mut given = Vec::new();
        for &result in &operation.results {
            given.push(self.place_for(self.type_of(result)?)?);
        }
        self.enter_region();
        let head = self.here();
        self.name_places(&places, &test.arguments)?;
        let mut condition = Int::Known(0);
        let outcome = self.scoped(test, |lowering, last| {
            let [first, rest @ ..] = &last.operands[..] else {
                return Err("a loop without a condition".to_owned());
            };
            let found = lowering.int(*first)?;
            // What was tested may be moved by the assignment.
            let kept = lowering.register();
            lowering.step(Step::Move { from: found, to: kept });
            condition = Int::In(kept);
            lowering.assign(&given, rest)
        });
        let closed = self.close();
        let exit = self.step(Step::JumpUnless(condition, 0));
        self.name_places(&given, &body.arguments)?;
        let ran = self.scoped(body, |lowering, last| lowering.assign(&places, &last.operands));
        let ended = self.close();
        self.step(Step::Jump(head));
        self.leave_region();
        self.jump_here(exit);
        outcome.and(closed).and(ran).and(ended)?;
        for (&result, place) in operation.results.iter().zip(given) {
            let val = self.placed(place, result)?;
            self.bind(result, val)?;
        }
        Ok(())
    }
}
