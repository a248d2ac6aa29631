//! A trace's bytes, record by record, borrowed from a buffer as long as the largest record.
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are asked for at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of an input, in the order in which they stand there.
pub(crate) struct Input<R> {
    from: R,
    buffer: Vec<u8>,
    /// Where in the buffer the next byte is.
    next: usize,
    /// Where in the input the buffer begins.
    before: u64,
    is_over: bool,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), next: 0, before: 0, is_over: false }
    }

    /// How many bytes were taken.
    pub(crate) fn at(&self) -> u64 {
        self.before + self.next as u64
    }

    /// So many of the next bytes, or those that are left, which stay there.
    ///
    /// # Errors
    /// Those of the input.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.buffer.len() - self.next < count {
            self.fill(count)?;
        }
        let end = self.buffer.len().min(self.next.saturating_add(count));
        Ok(&self.buffer[self.next..end])
    }

    /// Takes so many bytes of those that were looked at, and gives them.
    ///
    /// # Panics
    /// Where `peek` did not give as many.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.next;
        self.next += count;
        &self.buffer[from..self.next]
    }

    /// Reads until the buffer has so many, or the input is over. Nothing is set aside for what a
    /// damaged length promises.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        self.before += self.next as u64;
        self.buffer.drain(..self.next);
        self.next = 0;
        while self.buffer.len() < count && !self.is_over {
            let limit = CHUNK_BYTES as u64;
            self.is_over = self.from.by_ref().take(limit).read_to_end(&mut self.buffer)? == 0;
        }
        Ok(())
    }
}

impl<R: Read + Seek> Input<R> {
    /// Forgets what was looked at and not taken: a writer may have written there since.
    ///
    /// # Errors
    /// Those of the input.
    pub(crate) fn again(&mut self) -> io::Result<()> {
        let at = self.at();
        self.from.seek(SeekFrom::Start(at))?;
        self.buffer.clear();
        (self.next, self.before, self.is_over) = (0, at, false);
        Ok(())
    }
}
