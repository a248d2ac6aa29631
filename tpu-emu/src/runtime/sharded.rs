//! One run of a program over several devices: the program sees whole arrays, the devices have
//! their parts.
use super::custom_call::Launch;
use super::emulator::Emulator;
use super::job::{Job, Ready, aligned};
use super::loaded::LoadedExecutable;
use super::run_memory::RunMemory;
use crate::buffer::Hold;
use crate::executable::OtherCompiler;
use crate::hbm::Region;
use crate::memory::Content;
use crate::memory::spare::Spare;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::pack::{pack, unpack};
use tpu_base::tensor::{DType, Shape};
use tpu_base::units::{Bytes, to_u64, to_usize};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_program::interpret::frame::Frame;
use tpu_program::plan::Slot;
use tpu_program::sharding::io_shardings::{IoSharding, IoShardings};

impl Job {
    /// Runs the program over whole arrays and splits its results.
    pub(super) fn run_whole(mut self, sources: &[Option<Hold>]) -> Result<()> {
        let own_copies = self.own_copies(sources)?;
        self.executable = self.machine.reading_own_copies(&self.executable, &own_copies)?;
        if self.executable.classes().is_some() {
            return self.run_in_parts(sources);
        }
        let executable = &self.executable;
        let Some(IoShardings { parameters, results, .. }) = &executable.io_shardings else {
            return Err(Error::bad(format!("{} is on one device", executable.name)));
        };
        let plan = &executable.plan;
        self.room_beside()?;
        let mut arena = self.machine.spare.take(plan.arena)?;
        self.machine.poison(arena.memory().bytes_mut());
        let mut memories = vec![RunMemory::Lent(arena), RunMemory::Own(Aligned::of(&plan.pool))];
        let made = results.iter().enumerate().filter(|&(index, io)| !self.is_direct(index, io));
        let joined = parameters.iter().filter(|io| !io.is_whole()).map(|io| io.whole.bytes());
        let all =
            joined.chain(made.map(|(_, io)| io.bytes())).fold(plan.arena, usize::saturating_add);
        // Memory that is lent is not given back while the results are taken apart.
        let take = |bytes| {
            if Spare::keeps(all) {
                self.machine.spare.take(bytes).map(RunMemory::Lent)
            } else {
                Aligned::try_zeros(bytes).map(RunMemory::Own)
            }
        };
        for (index, io) in parameters.iter().enumerate() {
            memories.push(self.whole((index, io), sources, take)?);
        }
        for (index, io) in results.iter().enumerate() {
            let own = !self.is_direct(index, io);
            memories.push(if own {
                let mut whole = take(io.bytes())?;
                self.machine.poison(whole.own_bytes());
                whole
            } else {
                RunMemory::Held(self.results[index].clone())
            });
        }
        let (name, devices) = (&executable.name, (self.devices.clone(), self.number));
        let (context, calls) = (self.context.clone(), plan.calls);
        let mut launch = Launch::new(&self.machine, devices, self.origin, name, context, calls);
        launch.transfers.clone_from(&self.transfers);
        launch.remote = self.remote.as_ref().map(|remote| remote.calls(own_copies));
        let frame = Frame::new(memories).with_windows(plan.windows);
        let (program, seed) = (Arc::clone(&self.executable), self.seed.into());
        let ready = Ready {
            executable: program,
            frame,
            launch: Some(launch),
            seed,
            watch: self.watch.take(),
        };
        ready.early()?;
        ready.rest(0)?;
        let frame = &ready.frame;
        // What is left of the run is its results. They are taken apart one after the other, and
        // the memory behind each goes as the devices get theirs.
        frame.forget(Slot { base: 0, offset: 0, bytes: plan.arena });
        for (base, io) in (2..).zip(parameters) {
            frame.forget(Slot { base, offset: 0, bytes: io.whole.bytes() });
        }
        for ((index, io), base) in results.iter().enumerate().zip(plan.results()..) {
            let whole = Slot { base, offset: 0, bytes: io.bytes() };
            let direct = self.is_direct(index, io);
            let run = if whole.bytes >= CHUNK_BYTES { run_of(io) } else { None };
            let places = self.device_results(index).map(Hold::region).enumerate();
            for (device, region) in places.skip(usize::from(direct)) {
                if let (Some(to), Some(element)) = (region, &io.element) {
                    repeat_element(io, element, to)?;
                    continue;
                }
                match (region, run) {
                    (None, _) => {}
                    (Some(to), None) => scatter_shard(io, device, frame.bytes(whole), to)?,
                    (Some(to), Some(run)) => {
                        let (start, _) = shard_place(io, device);
                        let from = Slot { offset: whole.offset + start, bytes: run, ..whole };
                        scatter_run(frame, from, to)?;
                    }
                }
            }
            frame.forget(whole);
            self.note_contents(index, io);
        }
        Ok(())
    }

    /// The parameters of which devices were given copies that differ.
    fn own_copies(&self, sources: &[Option<Hold>]) -> Result<Vec<usize>> {
        let Some(IoShardings { parameters, .. }) = &self.executable.io_shardings else {
            return Ok(Vec::new());
        };
        let mut own_copies = Vec::new();
        for (index, io) in parameters.iter().enumerate() {
            if self.differs(index, io, sources)? {
                own_copies.push(index);
            }
        }
        Ok(own_copies)
    }

    /// Whether devices that are to have the same part of an argument have other bytes.
    fn differs(&self, index: usize, io: &IoSharding, sources: &[Option<Hold>]) -> Result<bool> {
        let size = self.executable.parameters[index].spec.logical;
        let owners = &self.executable.owners[index];
        for device in 0..self.devices.len() {
            let owner = owners[io.sharding.part(device)];
            if owner == device {
                continue;
            }
            let holds = [owner, device].map(|device| self.hold(device, index, sources));
            if let [Some(one), Some(other)] = holds
                && !one.equals(&other, size)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes which devices have the same of a result.
    pub(super) fn note_contents(&self, index: usize, io: &IoSharding) {
        let mut contents: HashMap<usize, Content> = HashMap::new();
        for (device, place) in self.device_results(index).enumerate() {
            let content = contents.entry(io.sharding.part(device)).or_insert_with(Content::fresh);
            place.place().into_iter().for_each(|place| place.set_content(Some(*content)));
        }
    }

    /// Where each device has a result.
    fn device_results(&self, index: usize) -> impl Iterator<Item = &Hold> {
        self.results.iter().skip(index).step_by(self.executable.results.len())
    }

    /// A device's argument.
    fn hold(&self, device: usize, index: usize, sources: &[Option<Hold>]) -> Option<Hold> {
        let given = sources[device * self.executable.parameters.len() + index].clone();
        // Memory that a result has taken over holds the argument until the end of the run.
        let taken = || self.executable.results.iter().position(|one| one.alias == Some(index));
        given.or_else(|| Some(self.device_results(taken()?).nth(device)?.clone()))
    }

    /// Whether the program writes a result to where the first device has it.
    fn is_direct(&self, index: usize, io: &IoSharding) -> bool {
        let alias = self.executable.results[index].alias;
        io.is_whole() && io.element.is_none() && alias.is_none()
    }

    /// Refuses a run for whose whole arrays the host has no memory: what the program works on,
    /// and what its results take on the devices while the parts are handed out.
    fn room_beside(&self) -> Result<()> {
        let executable = &self.executable;
        let Some(IoShardings { parameters, results, .. }) = &executable.io_shardings else {
            return Ok(());
        };
        let wholes = parameters.iter().filter(|io| !io.is_whole());
        let mut wanted: usize = wholes.map(|io| io.whole.bytes()).sum();
        let parts = |io: &IoSharding| io.shard.bytes().saturating_mul(self.devices.len());
        let made = |io: &IoSharding| io.bytes().max(io.element.as_ref().map_or(0, |_| parts(io)));
        let most = results.iter().map(made).max();
        if wanted.max(most.unwrap_or(0)).max(executable.plan.arena) < CHUNK_BYTES {
            return Ok(());
        }
        for (io, result) in results.iter().zip(&executable.results) {
            // Of a result in runs, each byte is in the whole or in a part.
            let in_runs = io.element.is_none() && run_of(io).is_some();
            // Whole pages of zeros take no memory.
            let zeros = io.element.as_ref();
            if zeros.is_some_and(|element| element.iter().all(|&byte| byte == 0)) {
                continue;
            }
            if result.alias.is_none() && !in_runs {
                wanted = wanted.saturating_add(parts(io));
            }
            if result.alias.is_some() || !io.is_whole() {
                wanted = wanted.saturating_add(io.bytes());
            }
        }
        let wanted = wanted.saturating_add(executable.plan.arena);
        let held = self.results.iter().filter_map(Hold::region);
        self.machine.room_for(Bytes(to_u64(wanted)), "a run over whole arrays", held)
    }

    /// A parameter as the program sees it.
    fn whole(
        &self,
        (index, io): (usize, &IoSharding),
        sources: &[Option<Hold>],
        take: impl Fn(usize) -> Result<RunMemory>,
    ) -> Result<RunMemory> {
        let hold = |device| self.hold(device, index, sources);
        if io.is_whole() {
            return aligned(hold(0));
        }
        let mut whole = take(io.whole.bytes())?;
        for &device in &self.executable.owners[index] {
            if let Some(region) = hold(device).as_ref().and_then(Hold::region) {
                gather_shard(io, device, region, whole.own_bytes())?;
            }
        }
        Ok(whole)
    }
}

impl Emulator {
    /// The program in which every device reads its own copy of these parameters.
    ///
    /// # Errors
    /// Those of compiling it, and `BadArgument` for a parameter that it does not have.
    pub(super) fn reading_own_copies(
        self: &Arc<Self>,
        executable: &Arc<LoadedExecutable>,
        own_copies: &[usize],
    ) -> Result<Arc<LoadedExecutable>> {
        if own_copies.is_empty() {
            return Ok(Arc::clone(executable));
        }
        if let Some(known) = executable.own_copies.lock().get(own_copies) {
            return Ok(Arc::clone(known));
        }
        let mut in_rows = BTreeMap::new();
        for &index in own_copies {
            let io = executable.io_shardings.as_ref().and_then(|all| all.parameters.get(index));
            let none = || Error::bad(format!("{} has no parameter {index}", executable.name));
            in_rows.insert(index, io.ok_or_else(none)?.in_rows()?);
        }
        let (module, options) = (Arc::clone(&executable.module), executable.options.clone());
        let devices = (executable.devices.clone(), None);
        let other = executable.other.as_ref().map(|other| other as &dyn OtherCompiler);
        let source = executable.source.clone();
        let made = self.compiled(module, source, options, devices, &in_rows, other)?;
        let mut known = executable.own_copies.lock();
        Ok(Arc::clone(known.entry(own_copies.to_vec()).or_insert(made)))
    }
}

/// Where a device's part begins in the whole, in bytes, and how it is copied from there.
fn shard_place(io: &IoSharding, device: usize) -> (usize, [Vec<usize>; 2]) {
    let strides = io.whole.strides();
    let start = io.sharding.start(device, &io.shard_dims);
    let offset: usize = start.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
    let tile = Shape::new(io.whole.dtype, io.shard_dims.clone());
    (offset * io.whole.dtype.host_bytes(), [strides, tile.strides()])
}

/// Copies a device's part into the whole.
fn gather_shard(io: &IoSharding, device: usize, from: &Region, whole: &mut [u8]) -> Result<()> {
    if io.shard.elements() == 0 {
        return Ok(());
    }
    let (start, [outer, inner]) = shard_place(io, device);
    let dtype = io.whole.dtype;
    let copy = BlockCopy::new(dtype.host_bytes(), &io.shard_dims, &inner, &outer);
    let bits = dtype.element().bits;
    if bits >= 8
        && let Some(run) = copy.one_run()
    {
        return from.read(Bytes::ZERO, &mut whole[start..start + run]);
    }
    let mut loose = Aligned::try_zeros(io.shard.bytes())?;
    if bits >= 8 {
        from.read(Bytes::ZERO, loose.bytes_mut())?;
    } else {
        let mut packed = Aligned::try_zeros(packed_bytes(io, bits))?;
        from.read(Bytes::ZERO, packed.bytes_mut())?;
        unpack(bits, packed.bytes(), loose.bytes_mut());
        if matches!(dtype, DType::S1 | DType::S2 | DType::S4) {
            let unused = 8 - bits;
            for byte in loose.bytes_mut() {
                *byte = ((*byte << unused).cast_signed() >> unused).cast_unsigned();
            }
        }
    }
    copy.run(loose.bytes(), &mut whole[start..]);
    Ok(())
}

/// Bytes of a part that are handed out at a time; a smaller array is handed out at once.
const CHUNK_BYTES: usize = 16 << 20;

/// The bytes of a device's part, where every part is a run of its own in the whole.
fn run_of(io: &IoSharding) -> Option<usize> {
    let devices = io.sharding.places.len();
    let alone = io.sharding.owners().len() == devices;
    if !alone || io.whole.dtype.element().bits < 8 || io.shard.elements() == 0 {
        return None;
    }
    let (_, [outer, inner]) = shard_place(io, 0);
    let width = io.whole.dtype.host_bytes();
    BlockCopy::new(width, &io.shard_dims, &inner, &outer).one_run()
}

/// Hands a device its part, which is a run of the whole, and forgets it there.
fn scatter_run(frame: &Frame, from: Slot, to: &Region) -> Result<()> {
    let mut at = 0;
    while at < from.bytes {
        let bytes = CHUNK_BYTES.min(from.bytes - at);
        let chunk = Slot { offset: from.offset + at, bytes, ..from };
        to.write(Bytes(to_u64(at)), frame.bytes(chunk))?;
        frame.forget(chunk);
        at += bytes;
    }
    Ok(())
}

/// Copies a device's part out of the whole.
fn scatter_shard(io: &IoSharding, device: usize, whole: &[u8], to: &Region) -> Result<()> {
    if io.shard.elements() == 0 {
        return Ok(());
    }
    let (start, [outer, inner]) = shard_place(io, device);
    let dtype = io.whole.dtype;
    let copy = BlockCopy::new(dtype.host_bytes(), &io.shard_dims, &outer, &inner);
    let bits = dtype.element().bits;
    if bits >= 8
        && let Some(run) = copy.one_run()
    {
        return to.write(Bytes::ZERO, &whole[start..start + run]);
    }
    let mut loose = Aligned::try_zeros(io.shard.bytes())?;
    copy.run(&whole[start..], loose.bytes_mut());
    if bits >= 8 {
        return to.write(Bytes::ZERO, loose.bytes());
    }
    let mut packed = Aligned::try_zeros(packed_bytes(io, bits))?;
    pack(bits, loose.bytes(), packed.bytes_mut());
    to.write(Bytes::ZERO, packed.bytes())
}

/// Repeats the one element of a result on a device.
fn repeat_element(io: &IoSharding, element: &[u8], to: &Region) -> Result<()> {
    let bits = io.whole.dtype.element().bits;
    if bits >= 8 {
        return to.repeat(element, Bytes(to_u64(io.shard.bytes())));
    }
    let all = element.repeat(8 / to_usize(bits.into()));
    let mut packed = [0];
    pack(bits, &all, &mut packed);
    to.repeat(&packed, Bytes(to_u64(packed_bytes(io, bits))))
}

fn packed_bytes(io: &IoSharding, bits: u32) -> usize {
    let count = to_u64(io.shard.elements()).saturating_mul(bits.into()).div_ceil(8);
    to_usize(count)
}
