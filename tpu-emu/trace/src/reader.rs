//! From bytes to a trace, record by record.
use crate::event::{ChangeKind, Event};
use crate::fields::Fields;
use crate::format::{FORMAT_MAJOR, MAGIC, RecordKind};
use crate::tables::{
    Argument, ArraySpec, Dispatch, Fault, FramePart, Header, Loss, Space, Trace, Usage, place,
};
use std::collections::HashMap;
use std::io::{self, Read};

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
/// Kinds of records of later minor versions are skipped, and fields that they added.
///
/// # Errors
/// `Input` where the input cannot be read, the others for bytes that are no trace or a damaged one.
pub fn read(input: impl Read) -> Result<Trace, ReadError> {
    let mut reader = Reader {
        input,
        at: 0,
        header: None,
        trace: Trace {
            labels: vec![String::new()],
            entries: vec![String::new()],
            ..Trace::default()
        },
        spaces: HashMap::new(),
        specs: HashMap::new(),
        frames: HashMap::new(),
        stacks: HashMap::from([(0, 0)]),
        labels: HashMap::from([(0, 0)]),
        entries: HashMap::from([(String::new(), 0)]),
    };
    let format = reader.begin()?;
    let mut payload = Vec::new();
    while let Some(kind) = reader.record(&mut payload)? {
        let mut fields = Fields::new(&payload, reader.at);
        if reader.header.is_none() && kind != Some(RecordKind::Process) {
            return Err(fields.damaged("the first record is not that of the process"));
        }
        if let Some(kind) = kind {
            reader.take(kind, format, &mut fields)?;
        }
    }
    match reader.header {
        Some(header) => Ok(Trace { header, ..reader.trace }),
        None => Err(ReadError::Foreign("it ends before it says which process wrote it")),
    }
}

/// A reader between two records. The maps have places in the tables by the numbers of the trace.
struct Reader<R> {
    input: R,
    /// How many bytes were read.
    at: u64,
    header: Option<Header>,
    trace: Trace,
    spaces: HashMap<u64, u32>,
    specs: HashMap<u64, u32>,
    frames: HashMap<u64, u32>,
    stacks: HashMap<u64, u32>,
    labels: HashMap<u64, u32>,
    entries: HashMap<String, u32>,
}

impl<R: Read> Reader<R> {
    /// Magic and version.
    fn begin(&mut self) -> Result<(u16, u16), ReadError> {
        let mut head = Vec::new();
        match self.bytes(12, &mut head)? {
            0 => return Err(ReadError::Foreign("it is empty")),
            12 if head[..8] == MAGIC => {}
            _ => return Err(ReadError::Foreign("it does not begin with TPUEMUTR")),
        }
        let [major, minor] = [8, 10].map(|from| u16::from_le_bytes([head[from], head[from + 1]]));
        if major != FORMAT_MAJOR {
            return Err(ReadError::Version(major, minor));
        }
        Ok((major, minor))
    }

    /// Reads the next record's payload, and gives its kind: `Some(None)` for one of a later version,
    /// `None` at the end of the input, or where the record is cut off there.
    fn record(&mut self, payload: &mut Vec<u8>) -> Result<Option<Option<RecordKind>>, ReadError> {
        let found = self.bytes(5, payload)?;
        let &[kind, a, b, c, d] = &payload[..] else {
            self.trace.is_cut = found != 0;
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]);
        if self.bytes(length.into(), payload)? < length as usize {
            self.trace.is_cut = true;
            return Ok(None);
        }
        Ok(Some(RecordKind::of(kind)))
    }

    /// Reads so many bytes, or those that are left; gives how many there were. Nothing is set
    /// aside for what a damaged length promises.
    fn bytes(&mut self, count: u64, into: &mut Vec<u8>) -> Result<usize, ReadError> {
        into.clear();
        let found = self.input.by_ref().take(count).read_to_end(into)?;
        self.at += found as u64;
        Ok(found)
    }

    fn take(
        &mut self,
        kind: RecordKind,
        format: (u16, u16),
        fields: &mut Fields<'_>,
    ) -> Result<(), ReadError> {
        match kind {
            RecordKind::Process => self.process(format, fields),
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
        }
    }

    fn process(&mut self, format: (u16, u16), fields: &mut Fields<'_>) -> Result<(), ReadError> {
        if self.header.is_some() {
            return Err(fields.damaged("a second process"));
        }
        let (process, started) = (fields.number()?, fields.number()?);
        let (version, topology) = (fields.text()?.to_owned(), fields.text()?.to_owned());
        self.header = Some(Header { format, process, started, version, topology });
        Ok(())
    }

    fn space(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let (number, device) = (fields.number()?, fields.number()?);
        self.trace.spaces.push(Space {
            number,
            device: device.checked_sub(1),
            owner: fields.text()?.to_owned(),
            kind: fields.text()?.to_owned(),
            capacity: fields.number()?,
        });
        define(&mut self.spaces, "space", number, place(self.trace.spaces.len()), fields)
    }

    fn spec(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let number = fields.number()?;
        self.trace.specs.push(ArraySpec {
            dtype: fields.text()?.to_owned(),
            shape: fields.list(Fields::number)?,
            layout: fields.text()?.to_owned(),
            logical: fields.number()?,
            padded: fields.number()?,
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
            address: fields.number()?,
            size: fields.number()?,
            spec: known(&self.specs, "array type", fields)?,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.small()?,
            time: fields.number()?,
            entry: self.entry(fields)?,
            // Since version 1.1.
            label: if fields.is_empty() { 0 } else { known(&self.labels, "label", fields)? },
        };
        if self.trace.events.len() >= u32::MAX as usize {
            return Err(fields.damaged("a trace of more than 2³² changes"));
        }
        self.trace.events.push(&event);
        Ok(())
    }

    /// The place of an API function's name.
    fn entry(&mut self, fields: &mut Fields<'_>) -> Result<u32, ReadError> {
        let name = fields.text()?;
        if let Some(&at) = self.entries.get(name) {
            return Ok(at);
        }
        self.trace.entries.push(name.to_owned());
        let at = place(self.trace.entries.len());
        self.entries.insert(name.to_owned(), at);
        Ok(at)
    }

    fn usage(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        self.trace.usages.push(Usage {
            space: known(&self.spaces, "space", fields)?,
            in_use: fields.number()?,
            peak: fields.number()?,
            allocations: fields.number()?,
            largest_hole: fields.number()?,
        });
        Ok(())
    }

    fn dispatch(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let dispatch = Dispatch {
            device: fields.number()?,
            stage: fields.number()?,
            run: fields.number()?,
            target: fields.text()?.to_owned(),
            program: fields.text()?.to_owned(),
            line: fields.text()?.to_owned(),
            operands: fields.list(argument)?,
            results: fields.list(argument)?,
            attributes: fields
                .list(|fields| Ok((fields.text()?.to_owned(), fields.text()?.to_owned())))?,
            opaque: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.number()?,
            entry: fields.text()?.to_owned(),
            duration: fields.number()?,
            scratch: fields.list(|fields| Ok((fields.number()?, fields.number()?)))?,
            error: fields.text()?.to_owned(),
        };
        self.trace.dispatches.push(dispatch);
        Ok(())
    }

    fn fault(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let fault = Fault {
            message: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.number()?,
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

fn argument(fields: &mut Fields<'_>) -> Result<Argument, ReadError> {
    Ok(Argument {
        dtype: fields.text()?.to_owned(),
        shape: fields.list(Fields::number)?,
        address: fields.number()?.checked_sub(1),
        size: fields.number()?,
    })
}

/// Notes where in its table the thing of a number is; each is defined once.
fn define(
    places: &mut HashMap<u64, u32>,
    what: &str,
    number: u64,
    place: u32,
    fields: &Fields<'_>,
) -> Result<(), ReadError> {
    match places.insert(number, place) {
        None => Ok(()),
        Some(_) => Err(fields.damaged(format!("{what} {number} is defined twice"))),
    }
}

/// Where in its table the thing of the next number is.
fn known(
    places: &HashMap<u64, u32>,
    what: &str,
    fields: &mut Fields<'_>,
) -> Result<u32, ReadError> {
    let at = fields.at();
    let number = fields.number()?;
    places.get(&number).copied().ok_or_else(|| ReadError::Damaged {
        message: format!("{what} {number} is used before it is defined"),
        at,
    })
}
