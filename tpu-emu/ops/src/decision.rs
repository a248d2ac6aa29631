//! What devices that wait for one another have decided.
use std::sync::Arc;
use tpu_base::error::{Error, Result};

/// A choice of control flow with collectives inside: whoever goes another way than the others
/// waits for them in other collectives than they for it, or not at all.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// The operation's name.
    pub what: Arc<str>,
    /// What devices do that decide for a number, from 0 on; those that decide for another one do
    /// what those for the last one do.
    pub ways: Vec<String>,
}

impl Decision {
    /// What devices have decided, if all have decided alike.
    ///
    /// # Errors
    /// `BadArgument` that says who decides what, and what they do then.
    pub(crate) fn agreed<'d>(
        &self,
        decisions: impl Iterator<Item = &'d [u8]>,
        devices: &[Vec<usize>],
        result: &mut [u8],
    ) -> Result<()> {
        let mut sides: Vec<(&[u8], Vec<usize>)> = Vec::new();
        for (decision, devices) in decisions.zip(devices) {
            match sides.iter_mut().find(|(known, _)| *known == decision) {
                Some((_, side)) => side.extend(devices),
                None => sides.push((decision, devices.clone())),
            }
        }
        match &sides[..] {
            [(decision, _)] => result.copy_from_slice(decision),
            [] => {}
            _ => return Err(self.disagreement(&sides)),
        }
        Ok(())
    }

    /// The report of devices that decide differently.
    fn disagreement(&self, sides: &[(&[u8], Vec<usize>)]) -> Error {
        let side = |(decision, devices): &(&[u8], Vec<usize>)| {
            let mut devices = devices.clone();
            devices.sort_unstable();
            let one = devices.len() == 1;
            let (noun, verb) = if one { ("device", "decides") } else { ("devices", "decide") };
            let (text, number) = match **decision {
                [0] => ("false".to_owned(), 0),
                [_] => ("true".to_owned(), 1),
                [a, b, c, d] => {
                    let number = i32::from_le_bytes([a, b, c, d]);
                    (number.to_string(), usize::try_from(number).unwrap_or(usize::MAX))
                }
                _ => (format!("{decision:?}"), usize::MAX),
            };
            let way = self.ways.get(number).or(self.ways.last());
            let way = way.map_or_else(String::new, |way| format!(" ({way})"));
            format!("{noun} {} {verb} {text}{way}", listed(&devices))
        };
        let sides: Vec<String> = sides.iter().map(side).collect();
        let (what, sides) = (&self.what, sides.join(", "));
        Error::bad(format!(
            "{what} has collectives inside, in which devices wait for one another, and they \
             decide differently: {sides}"
        ))
    }
}

/// Numbers in ascending order, runs of them as their ends; the beginning of many.
fn listed(numbers: &[usize]) -> String {
    const MOST: usize = 16;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            Some((_, last)) if *last == number => {}
            _ => runs.push((number, number)),
        }
    }
    let run = |&(first, last): &(usize, usize)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let mut text: Vec<String> = runs.iter().take(MOST).map(run).collect();
    if runs.len() > MOST {
        text.push(format!("… ({} in all)", numbers.len()));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_decide_differently_are_named() {
        let ways = vec!["leave".to_owned(), "wait in a sum".to_owned()];
        let decision = Decision { what: "a loop".into(), ways };
        let devices = [vec![0, 3], vec![1, 2]];
        let mut result = [7];
        decision.agreed([&[1][..], &[1]].into_iter(), &devices, &mut result).unwrap();
        assert_eq!(result, [1]);
        let error = decision.agreed([&[1][..], &[0]].into_iter(), &devices, &mut result);
        let error = error.unwrap_err();
        assert!(matches!(error, Error::BadArgument(_)), "{error}");
        let said = "devices 0, 3 decide true (wait in a sum), devices 1, 2 decide false (leave)";
        assert!(error.to_string().ends_with(said), "{error}");
    }
}
