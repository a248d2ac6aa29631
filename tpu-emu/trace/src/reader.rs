//! From bytes to a trace, record by record.
use crate::checked::Checked;
use crate::event::{ChangeKind, Event};
use crate::fields::{Fields, text_of};
use crate::format::{FORMAT_MAJOR, FORMAT_MINOR, MAGIC, RecordKind};
use crate::input::Input;
use crate::numbers::{Names, Numbers};
use crate::recorded::KeepingName;
use crate::tables::{ArraySpec, Fault, FramePart, Header, Loss, Space, Trace, Usage, place};
use std::fmt;
use std::io::{self, Read, Seek};

/// Why bytes are no trace that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input could not be read.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// The bytes begin like no trace.
    #[error("no trace: {0}")]
    Foreign(&'static str),
    /// Another major version of the format.
    #[error("format version {0}.{1}; this reader takes {FORMAT_MAJOR}.x")]
    Version(u16, u16),
    /// A record does not say what it must.
    #[error("{message}, at byte {at}")]
    Damaged {
        /// What is wrong.
        message: String,
        /// Where in the input.
        at: u64,
    },
}

/// Reads a trace to its end, or to the record at which it is cut off.
///
/// Kinds of records of later minor versions are skipped, and fields that they added. The input
/// needs no buffer of its own.
///
/// # Errors
/// `Input` where the input cannot be read, the others for bytes that are no trace or a damaged one.
pub fn read(input: impl Read) -> Result<Trace, ReadError> {
    let mut input = Input::new(input);
    let format = begin(&mut input)?;
    let mut tables = Builder::new(format);
    let stop = records(&mut input, &mut tables)?;
    tables.trace.is_cut = match stop {
        Stop::Over => false,
        // A writer that was killed in the middle of a record had not written its kind.
        Stop::Nothing => !is_of_zeros(&mut input)?,
        Stop::Part => true,
    };
    tables.end()
}

/// Why records end.
enum Stop {
    /// The input ends behind a record.
    Over,
    /// There is the room behind the last record of a file that is mapped.
    Nothing,
    /// The input ends within a record.
    Part,
}

/// Takes all records that are whole.
fn records(input: &mut Input<impl Read>, tables: &mut Builder) -> Result<Stop, ReadError> {
    loop {
        let (kind, length) = match *input.peek(HEAD_BYTES)? {
            [] => return Ok(Stop::Over),
            [0, ..] => return Ok(Stop::Nothing),
            [kind, a, b, c, d] => (kind, u32::from_le_bytes([a, b, c, d]) as usize),
            _ => return Ok(Stop::Part),
        };
        if input.peek(HEAD_BYTES + length)?.len() < HEAD_BYTES + length {
            return Ok(Stop::Part);
        }
        let end = input.at() + (HEAD_BYTES + length) as u64;
        let record = input.take(HEAD_BYTES + length);
        let mut fields = Fields::new(&record[HEAD_BYTES..], end);
        match RecordKind::of(kind) {
            Some(RecordKind::Check) => {
                let found = fields.number()?;
                let damaged = tables.checked.compare(found, fields.at());
                tables.trace.damaged = tables.trace.damaged.or(damaged);
            }
            kind => {
                tables.checked.add(record);
                tables.record(kind, &mut fields)?;
            }
        }
        tables.is_known(RecordKind::of(kind), &fields)?;
    }
}

/// Reads a trace while it is written.
pub struct Follower<R> {
    input: Input<R>,
    /// Since the first bytes were there.
    tables: Option<Builder>,
}

impl<R: Read + Seek> Follower<R> {
    /// A reader that stands at the beginning of an input.
    pub fn new(input: R) -> Self {
        Self { input: Input::new(input), tables: None }
    }

    /// Reads what was written since the last call, and gives the trace so far; `None` as long as
    /// it does not say which process writes it. Counts of calls are as they were when their record
    /// was read first.
    ///
    /// # Errors
    /// As those of [`read`]; nothing more can be read then.
    pub fn more(&mut self) -> Result<Option<&Trace>, ReadError> {
        self.input.again()?;
        if self.tables.is_none() {
            if self.input.peek(12)?.len() < 12 {
                return Ok(None);
            }
            self.tables = Some(Builder::new(begin(&mut self.input)?));
        }
        let Some(tables) = &mut self.tables else { return Ok(None) };
        records(&mut self.input, tables)?;
        if let Some(header) = &tables.header {
            tables.trace.header.clone_from(header);
        }
        Ok(tables.header.is_some().then_some(&tables.trace))
    }

    /// How many bytes were read.
    pub fn position(&self) -> u64 {
        self.input.at()
    }
}

impl<R> fmt::Debug for Follower<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

/// Kind and length of a record.
const HEAD_BYTES: usize = 5;

/// Magic and version.
fn begin(input: &mut Input<impl Read>) -> Result<(u16, u16), ReadError> {
    let head = input.peek(12)?;
    match head.len() {
        0 => return Err(ReadError::Foreign("it is empty")),
        12 if head[..8] == MAGIC => {}
        _ => return Err(ReadError::Foreign("it does not begin with TPUEMUTR")),
    }
    let [major, minor] = [8, 10].map(|from| u16::from_le_bytes([head[from], head[from + 1]]));
    if major != FORMAT_MAJOR {
        return Err(ReadError::Version(major, minor));
    }
    input.take(12);
    Ok((major, minor))
}

/// Whether nothing but zeros is left.
fn is_of_zeros(input: &mut Input<impl Read>) -> Result<bool, ReadError> {
    loop {
        let bytes = input.peek(1 << 16)?;
        let count = bytes.len();
        if bytes.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        input.take(count);
    }
}

/// A trace as far as it was read. The numbers are places in its tables.
pub(crate) struct Builder {
    format: (u16, u16),
    header: Option<Header>,
    pub(crate) trace: Trace,
    pub(crate) spaces: Numbers,
    specs: Numbers,
    frames: Numbers,
    pub(crate) stacks: Numbers,
    labels: Numbers,
    pub(crate) programs: Numbers,
    entries: Names,
    pub(crate) names: Vec<KeepingName>,
    pub(crate) sums: Sums,
    checked: Checked,
}

/// What sums over all records come to. A sum over some of them is no larger.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Bytes of blocks that were taken and given back.
    sizes: u64,
    /// Bytes of the arrays in them, as their types say.
    elements: u64,
    /// Nanoseconds of the stages of custom calls.
    pub(crate) times: u64,
    /// Bytes that these took.
    pub(crate) scratch: u64,
    pub(crate) calls: u64,
    pub(crate) call_times: u64,
    pub(crate) call_bytes: u64,
    pub(crate) call_errors: u64,
    pub(crate) launch_times: u64,
}

impl Builder {
    fn new(format: (u16, u16)) -> Self {
        Self {
            format,
            header: None,
            trace: Trace {
                labels: vec![String::new()],
                entries: vec![String::new()],
                ..Trace::default()
            },
            spaces: Numbers::default(),
            specs: Numbers::default(),
            frames: Numbers::default(),
            stacks: Numbers::with(0, 0),
            labels: Numbers::with(0, 0),
            programs: Numbers::default(),
            entries: Names::default(),
            names: Vec::new(),
            sums: Sums::default(),
            checked: Checked::new(format),
        }
    }

    fn record(
        &mut self,
        kind: Option<RecordKind>,
        fields: &mut Fields<'_>,
    ) -> Result<(), ReadError> {
        if self.header.is_none() && kind != Some(RecordKind::Process) {
            return Err(fields.damaged("the first record is not that of the process"));
        }
        let Some(kind) = kind else { return Ok(()) };
        match kind {
            RecordKind::Process => self.process(fields),
            RecordKind::Nothing | RecordKind::Check => Ok(()),
            RecordKind::Space => self.space(fields),
            RecordKind::Spec => self.spec(fields),
            RecordKind::Frame => self.frame(fields),
            RecordKind::Stack => self.stack(fields),
            RecordKind::Allocate => self.change(ChangeKind::Allocate, fields),
            RecordKind::Free => self.change(ChangeKind::Free, fields),
            RecordKind::Refused => self.change(ChangeKind::Refused, fields),
            RecordKind::Usage => self.usage(fields),
            RecordKind::Label => self.label(fields),
            RecordKind::Dispatch => self.dispatch(fields),
            RecordKind::Fault => self.fault(fields),
            RecordKind::Loss => self.loss(fields),
            RecordKind::Calls => self.calls(fields),
            RecordKind::Call => self.call(fields),
            RecordKind::Mark => self.mark(fields),
            RecordKind::Program => self.program(fields),
            RecordKind::Holes => self.holes(fields),
            RecordKind::ClientEnd => self.client_end(fields),
            RecordKind::Launch => self.launch(fields),
            RecordKind::RefusedProgram => self.refused_program(fields),
            RecordKind::Name => self.name(fields),
        }
    }

    /// Whether a record has what its version has, and no more: who skips what later versions added
    /// must not skip what a damaged length made of the records behind it.
    fn is_known(&self, kind: Option<RecordKind>, fields: &Fields<'_>) -> Result<(), ReadError> {
        match (self.format.1 > FORMAT_MINOR, kind) {
            (false, None) => Err(fields.damaged("a record of no kind")),
            (false, Some(_)) if !fields.is_empty() => {
                Err(fields.damaged("a record is longer than what it says"))
            }
            _ => Ok(()),
        }
    }

    fn end(self) -> Result<Trace, ReadError> {
        let names = self.names_of_blocks();
        match self.header {
            Some(header) => Ok(Trace { header, names, ..self.trace }),
            None => Err(ReadError::Foreign("it ends before it says which process wrote it")),
        }
    }

    fn process(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        if self.header.is_some() {
            return Err(fields.damaged("a second process"));
        }
        let (process, started) = (fields.number()?, fields.nanos()?);
        let (version, topology) = (fields.text()?.to_owned(), fields.text()?.to_owned());
        self.header = Some(Header { format: self.format, process, started, version, topology });
        Ok(())
    }

    fn space(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let (number, device) = (fields.number()?, fields.number()?);
        self.trace.spaces.push(Space {
            number,
            device: device.checked_sub(1),
            owner: fields.text()?.to_owned(),
            kind: fields.text()?.to_owned(),
            capacity: fields.size()?,
        });
        define(&mut self.spaces, "space", number, place(self.trace.spaces.len()), fields)
    }

    fn spec(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let number = fields.number()?;
        self.trace.specs.push(ArraySpec {
            dtype: fields.text()?.to_owned(),
            shape: fields.list(Fields::number)?,
            layout: fields.text()?.to_owned(),
            logical: fields.size()?,
            padded: fields.size()?,
        });
        define(&mut self.specs, "array type", number, place(self.trace.specs.len()), fields)
    }

    fn frame(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let number = fields.number()?;
        let parts = fields.list(|fields| {
            let flags = fields.number()?;
            Ok(FramePart {
                function: fields.text()?.to_owned(),
                file: fields.text()?.to_owned(),
                line: fields.number()?,
                module: fields.text()?.to_owned(),
                is_python: flags & 1 != 0,
            })
        })?;
        let at = self.trace.stacks.add_frame(parts);
        define(&mut self.frames, "frame", number, at, fields)
    }

    fn stack(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let number = fields.number()?;
        let caller = known(&self.stacks, "stack", fields)?;
        let frame = known(&self.frames, "frame", fields)?;
        let at = self.trace.stacks.add(caller, frame);
        define(&mut self.stacks, "stack", number, at, fields)
    }

    fn label(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let number = fields.number()?;
        self.trace.labels.push(fields.text()?.to_owned());
        define(&mut self.labels, "label", number, place(self.trace.labels.len()), fields)
    }

    fn change(&mut self, kind: ChangeKind, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let event = Event {
            kind,
            space: known(&self.spaces, "space", fields)?,
            sequence: fields.number()?,
            address: fields.size()?,
            size: fields.size()?,
            spec: known(&self.specs, "array type", fields)?,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.small()?,
            time: fields.nanos()?,
            entry: self.entry(fields)?,
            // Since version 1.1.
            label: if fields.is_empty() { 0 } else { known(&self.labels, "label", fields)? },
        };
        if self.trace.events.len() >= u32::MAX as usize {
            return Err(fields.damaged("a trace of more than 2³² changes"));
        }
        // Of a refusal nothing is summed up: no memory has what it asked for.
        if kind != ChangeKind::Refused {
            let spec = &self.trace.specs[event.spec as usize];
            fields.add(&mut self.sums.sizes, event.size, "blocks")?;
            fields.add(&mut self.sums.elements, spec.logical.max(spec.padded), "arrays")?;
        }
        if kind == ChangeKind::Refused {
            let refusal = place(self.trace.events.len() + 1);
            let last = self.trace.refusal_holes.iter_mut().rev();
            let mut open = last.take_while(|holes| holes.refusal.is_none());
            if let Some(holes) = open.find(|holes| holes.space == event.space) {
                holes.refusal = Some(refusal);
            }
        }
        self.trace.events.push(&event);
        Ok(())
    }

    /// The place of an API function's name.
    pub(crate) fn entry(&mut self, fields: &mut Fields<'_>) -> Result<u32, ReadError> {
        let start = fields.at();
        let bytes = fields.bytes()?;
        if let Some(at) = self.entries.recent(bytes, &self.trace.entries) {
            return Ok(at);
        }
        let name = text_of(bytes).map_err(|message| ReadError::Damaged { message, at: start })?;
        Ok(self.entries.intern(name, &mut self.trace.entries))
    }

    fn usage(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        self.trace.usages.push(Usage {
            space: known(&self.spaces, "space", fields)?,
            in_use: fields.size()?,
            peak: fields.size()?,
            allocations: fields.number()?,
            largest_hole: fields.size()?,
        });
        Ok(())
    }

    fn fault(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let fault = Fault {
            message: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.nanos()?,
            entry: fields.text()?.to_owned(),
        };
        self.trace.faults.push(fault);
        Ok(())
    }

    fn loss(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let loss = Loss { records: fields.number()?, error: fields.number()? };
        // A file of which nothing is lost has the record too.
        self.trace.loss = (loss.records != 0).then_some(loss);
        Ok(())
    }
}

/// Notes where in its table the thing of a number is; each is defined once.
fn define(
    places: &mut Numbers,
    what: &str,
    number: u64,
    place: u32,
    fields: &Fields<'_>,
) -> Result<(), ReadError> {
    match places.define(number, place) {
        true => Ok(()),
        false => Err(fields.damaged(format!("{what} {number} is defined twice"))),
    }
}

/// Where in its table the thing of the next number is.
pub(crate) fn known(
    places: &Numbers,
    what: &str,
    fields: &mut Fields<'_>,
) -> Result<u32, ReadError> {
    let at = fields.at();
    let number = fields.number()?;
    places.get(number).ok_or_else(|| ReadError::Damaged {
        message: format!("{what} {number} is used before it is defined"),
        at,
    })
}
