//! Whether what a kernel gives depends on memory that nobody has written.
//!
//! To read such memory is no mistake by itself: kernels load whole tiles and mask what is behind
//! the end. So a kernel that has read some is run once more with other numbers there; where its
//! results differ, it is told. Results that nobody writes are told likewise.
use crate::kernel::PallasKernel;
use crate::machine::memory::Place;
use crate::machine::watch::{Checks, Fill, OTHERS};
use crate::machine::{Failure, Machine};
use crate::outside::Outside;
use std::sync::Arc;
use tpu_kernels::aligned::Aligned;
use tpu_mosaic::ir::user_line;

impl PallasKernel {
    /// What results begin with that share the memory of operands, before a run.
    pub(crate) fn kept(&self, results: &[Place]) -> Vec<Option<Aligned>> {
        let made = self.aliases.len().max(1);
        let keep = |(number, place): (usize, &Place)| {
            self.aliases.get(number % made)?.map(|_| Aligned::of(place.bytes()))
        };
        results.iter().enumerate().map(keep).collect()
    }

    /// Fails where the results of a run depend on memory that nobody has written.
    ///
    /// # Errors
    /// A result that nobody writes, or the first read of such memory that changes something.
    pub(crate) fn is_determined(
        &self,
        run: &Machine<'_>,
        (device, operands): (Option<usize>, &[&[u8]]),
        (results, kept): (&[Place], &[Option<Aligned>]),
    ) -> Result<(), Failure> {
        run.are_written()?;
        let suspects = run.suspects();
        if suspects.is_empty() {
            return Ok(());
        }
        let made = self.aliases.len().max(1);
        let silent = Outside { prints: Arc::new(|_| {}), ..self.outside.clone() };
        let differs = |byte, only| {
            let mut own: Vec<Aligned> = results
                .iter()
                .zip(kept)
                .map(|(place, kept)| match kept {
                    Some(kept) => Aligned::of(kept.bytes()),
                    None => Aligned::zeros(place.len()),
                })
                .collect();
            let places: Vec<Place> =
                own.iter_mut().map(|bytes| Place::of_mut(bytes.bytes_mut())).collect();
            let how = (self.settings.order, Checks::default(), Fill::Other(byte, only));
            let arrays = self.arrays(device, operands, &places);
            let mut again = Machine::new(&self.program, arrays, &silent, how);
            if let Err(failure) = again.run() {
                return if again.is_interrupted() { Err(failure) } else { Ok(true) };
            }
            Ok(results.iter().zip(&places).enumerate().any(|(number, (first, second))| {
                let (first, second) = (first.bytes(), second.bytes());
                let mut at = 0;
                run.written(number / made, number % made).into_iter().any(|(bytes, written)| {
                    let part = at..at + bytes;
                    at += bytes;
                    written && first[part.clone()] != second[part]
                })
            }))
        };
        // A maximum hides small numbers, a comparison with zero those of one sign.
        let mut changes = None;
        for byte in OTHERS {
            if changes.is_none() && differs(byte, None)? {
                changes = Some(byte);
            }
        }
        let Some(byte) = changes else { return Ok(()) };
        let mut culprit = &suspects[0];
        for suspect in &suspects {
            if differs(byte, Some(suspect.0))? {
                culprit = suspect;
                break;
            }
        }
        let (whose, places) = culprit;
        let line =
            |place| user_line(&self.program.locations, place).unwrap_or_else(|| "?".to_owned());
        let mut what = format!(
            "reads memory that nobody has written, and what the kernel gives depends on it: {}",
            run.called_memory(*whose)
        );
        if places.len() > 1 {
            let others: Vec<String> = places[1..].iter().take(8).map(|&of| line(of)).collect();
            what.push_str(&format!("; it is read so at {}, too", others.join(", ")));
        }
        Err(Failure { what, place: places[0] })
    }
}
