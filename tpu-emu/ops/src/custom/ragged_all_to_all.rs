//! Slices of each member's operand for each member of a group, of lengths that the data tells:
//! `ragged_all_to_all`.
use crate::{CollectiveKind, Cost, Cx, DeviceDependence, Entry, Kernel, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::matmul::widen::widen;

/// The operands of each member.
const OPERANDS: usize = 6;

/// The types of numbers in lists.
const NUMBERS: [DType; 8] =
    [DType::S8, DType::S16, DType::S32, DType::S64, DType::U8, DType::U16, DType::U32, DType::U64];

/// Each member has an operand, an output to write into, and four lists with as many numbers for
/// each member of the group: where the slices for that member begin in the operand, how many rows
/// they have, where they go in that member's output, and how many rows come from that member.
/// The result is the output with what was received. Where slices overlap, the later member's stay.
///
/// Shapes: that of the output.
/// Errors: `BadArgument` for operands that do not fit each other, and at run time for slices past
/// the ends of arrays and for counts on which sender and receiver differ.
/// Source: JAX, `jax.lax.ragged_all_to_all`.
pub(super) const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::RaggedAllToAll),
    ..Entry::target("ragged_all_to_all", infer, lower)
};

/// The exchange among devices with these shapes; the results of those at `places` are made.
///
/// The kernel takes all operands of the first member, then those of the second, and so on.
///
/// # Errors
/// `BadArgument` for shapes that do not fit each other.
pub fn ragged(
    name: &str,
    operands: &[Shape],
    devices: &[usize],
    places: Vec<usize>,
) -> Result<Box<dyn Kernel>> {
    let shapes = checked(name, operands)?;
    let [operand, output, lists @ ..] = shapes;
    let (slices, members) = (lists[0].elements(), devices.len());
    if members == 0 || !slices.is_multiple_of(members) {
        let what = format!("{name}: {slices} slices for {members} devices");
        return Err(Error::bad(what));
    }
    let row: usize = output.dims[1..].iter().product();
    Ok(Box::new(Ragged {
        name: name.into(),
        row: row * output.dtype.host_bytes(),
        rows: [operand.dims[0], output.dims[0]],
        numbers: lists.each_ref().map(|list| list.dtype),
        each: slices / members,
        devices: devices.into(),
        places,
    }))
}

/// The operands of a member, if they fit each other.
fn checked<'a>(name: &str, operands: &'a [Shape]) -> Result<&'a [Shape; OPERANDS]> {
    let bad = |what: String| Err(Error::bad(format!("{name}: {what}")));
    let Ok(shapes) = <&[Shape; OPERANDS]>::try_from(operands) else {
        return bad(format!("{} operands, and it takes {OPERANDS}", operands.len()));
    };
    let [operand, output, lists @ ..] = shapes;
    let alike = operand.dtype == output.dtype
        && operand.rank() > 0
        && operand.rank() == output.rank()
        && operand.dims[1..] == output.dims[1..];
    if !alike {
        return bad(format!("rows of {operand} into {output}"));
    }
    let list = |list: &&Shape| list.rank() == 1 && NUMBERS.contains(&list.dtype);
    if let Some(other) = lists.iter().find(|other| !list(other)) {
        return bad(format!("{other} is no list of integers"));
    }
    if let Some(other) = lists.iter().find(|other| other.dims != lists[0].dims) {
        return bad(format!("lists of {} and of {} numbers", lists[0].dims[0], other.dims[0]));
    }
    Ok(shapes)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    checked(site.name, site.operands).map(|shapes| vec![shapes[1].clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    ragged(site.name, site.operands, &[0], vec![0]).map(Lowered::Kernel)
}

#[derive(Debug)]
struct Ragged {
    name: Box<str>,
    /// Bytes of a row.
    row: usize,
    /// Rows of the operand and of the output.
    rows: [usize; 2],
    /// The types of the four lists.
    numbers: [DType; 4],
    /// Slices from each member for each.
    each: usize,
    /// The members of the group.
    devices: Box<[usize]>,
    /// The members whose results are made.
    places: Vec<usize>,
}

/// The numbers of one member.
struct Lists {
    from: Vec<i64>,
    sent: Vec<i64>,
    to: Vec<i64>,
    expected: Vec<i64>,
}

impl Ragged {
    fn lists(&self, operands: &[&[u8]], member: usize) -> Result<Lists> {
        let list = |at: usize| {
            let dtype = self.numbers[at];
            let mut wide = vec![0_u64; self.each * self.devices.len()];
            if !widen(dtype, operands[member * OPERANDS + 2 + at], &mut wide) {
                let what = format!("{}: numbers of {}", self.name, dtype.name());
                return Err(Error::Unimplemented(what));
            }
            Ok(wide.into_iter().map(u64::cast_signed).collect())
        };
        Ok(Lists { from: list(0)?, sent: list(1)?, to: list(2)?, expected: list(3)? })
    }

    /// So many rows from a place on, in bytes, of an array of so many rows.
    fn range(
        &self,
        (start, count, rows): (i64, i64, usize),
        what: &dyn Fn() -> String,
    ) -> Result<std::ops::Range<usize>> {
        let place = || {
            let (start, count) = (usize::try_from(start).ok()?, usize::try_from(count).ok()?);
            let end = start.checked_add(count).filter(|&end| end <= rows)?;
            Some(start * self.row..end * self.row)
        };
        let past = || {
            let rows = format!("{count} rows from row {start} of the {rows} of its");
            Error::bad(format!("{}: {rows} {}", self.name, what()))
        };
        place().ok_or_else(past)
    }
}

impl Kernel for Ragged {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let lists = (0..self.devices.len()).map(|member| self.lists(operands, member));
        let lists = lists.collect::<Result<Vec<Lists>>>()?;
        for (sender, mine) in lists.iter().enumerate() {
            for (receiver, theirs) in lists.iter().enumerate() {
                let place = self.places.iter().position(|&place| place == receiver);
                for slice in 0..self.each {
                    let at = receiver * self.each + slice;
                    let sent = mine.sent[at];
                    let expected = theirs.expected[sender * self.each + slice];
                    if sent != expected {
                        return Err(Error::bad(format!(
                            "{}: device {} sends {sent} rows to device {}, whose recv_sizes \
                             expect {expected}",
                            self.name, self.devices[sender], self.devices[receiver]
                        )));
                    }
                    if sent == 0 {
                        continue;
                    }
                    let (here, there) = (self.devices[sender], self.devices[receiver]);
                    let who = || format!("from device {here} to device {there}");
                    let from = self.range((mine.from[at], sent, self.rows[0]), &|| {
                        format!("operand, {}", who())
                    })?;
                    let to = self.range((mine.to[at], sent, self.rows[1]), &|| {
                        format!("output, {}", who())
                    })?;
                    if let Some(place) = place {
                        results[place][to].copy_from_slice(&operands[sender * OPERANDS][from]);
                    }
                }
            }
        }
        Ok(())
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        self.places.get(result).map(|place| place * OPERANDS + 1)
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, TestValue, execute};

    fn list(numbers: &[i32]) -> TestValue {
        TestValue::of(DType::S32, &[numbers.len()], numbers)
    }

    fn member(operand: &[u8], output: &[u8], lists: [&[i32]; 4]) -> Vec<TestValue> {
        let array = |bytes: &[u8]| TestValue::of(DType::U8, &[bytes.len()], bytes);
        let mut all = vec![array(operand), array(output)];
        all.extend(lists.map(list));
        all
    }

    fn exchanged(members: &[Vec<TestValue>], places: &[usize]) -> Result<Vec<Vec<u8>>> {
        let shapes: Vec<Shape> = members[0].iter().map(|value| value.shape.clone()).collect();
        let kernel =
            ragged("ragged_all_to_all", &shapes, &[4, 6][..members.len()], places.to_vec())?;
        let operands: Vec<&TestValue> = members.iter().flatten().collect();
        let made: Vec<Shape> = places.iter().map(|_| shapes[1].clone()).collect();
        let results = execute(&*kernel, &operands, &made)?;
        Ok(results.iter().map(TestValue::elements).collect())
    }

    fn two(
        sizes: [[i32; 2]; 2],
        expected: [[i32; 2]; 2],
        to: [[i32; 2]; 2],
    ) -> [Vec<TestValue>; 2] {
        let lists = |at: usize| [&[0, 1][..], &sizes[at][..], &to[at][..], &expected[at][..]];
        [member(&[1, 2, 2], &[0, 0, 0, 9], lists(0)), member(&[3, 4, 0], &[0, 0, 0, 8], lists(1))]
    }

    #[test]
    fn slices_go_where_their_senders_say() {
        let members = two([[1, 2], [1, 1]], [[1, 1], [2, 1]], [[0, 0], [1, 2]]);
        assert_eq!(exchanged(&members, &[0, 1]).unwrap(), [[1, 3, 0, 9], [2, 2, 4, 8]]);
        assert_eq!(exchanged(&members, &[1]).unwrap(), [[2, 2, 4, 8]]);
    }

    #[test]
    fn slices_without_rows_may_begin_anywhere() {
        let members = two([[0, 3], [0, 0]], [[0, 0], [3, 0]], [[-9, 0], [77, 5]]);
        let error = exchanged(&members, &[0, 1]).unwrap_err().to_string();
        assert!(error.contains("3 rows from row 1 of the 3 of its operand"), "{error}");
        let members = two([[0, 2], [0, 0]], [[0, 0], [2, 0]], [[-9, 2], [77, 5]]);
        assert_eq!(exchanged(&members, &[0, 1]).unwrap(), [[0, 0, 0, 9], [0, 0, 2, 2]]);
    }

    #[test]
    fn slices_past_the_end_and_counts_that_differ_are_refused() {
        let refused =
            |members: [Vec<TestValue>; 2]| exchanged(&members, &[0, 1]).unwrap_err().to_string();
        let past = refused(two([[1, 2], [1, 1]], [[1, 1], [2, 1]], [[0, 3], [1, 2]]));
        assert!(past.contains("2 rows from row 3 of the 4 of its output, from device 4"), "{past}");
        let past = refused(two([[-1, 0], [0, 0]], [[-1, 0], [0, 0]], [[0, 0], [0, 0]]));
        assert!(past.contains("-1 rows from row 0"), "{past}");
        let other = refused(two([[1, 2], [1, 1]], [[1, 1], [1, 1]], [[0, 0], [1, 2]]));
        assert!(other.contains("sends 2 rows to device 6, whose recv_sizes expect 1"), "{other}");
    }

    #[test]
    fn a_member_alone_sends_to_itself() {
        let alone = member(&[1, 2, 3], &[9, 9], [&[1, 0], &[1, 1], &[0, 1], &[1, 1]]);
        let case = Case::new(OP.mnemonic).given(&alone);
        assert_eq!(case.eval::<u8>(&OP), [2, 1]);
    }

    #[test]
    fn operands_must_fit() {
        let case = |dims: &[usize], lists: [usize; 4]| {
            let case = Case::new(OP.mnemonic).operand(DType::F32, &[3, 2]);
            let case = case.operand(DType::F32, dims);
            lists.iter().fold(case, |case, &list| case.operand(DType::S32, &[list])).shapes(&OP)
        };
        assert_eq!(case(&[5, 2], [1; 4]), "f32[5,2]");
        assert!(case(&[5, 3], [1; 4]).contains("rows of f32[3,2] into f32[5,3]"));
        assert!(case(&[5, 2], [2, 2, 1, 2]).contains("lists of 2 and of 1 numbers"));
        let floats = Case::new(OP.mnemonic).operand(DType::F32, &[1]).operand(DType::F32, &[1]);
        let floats = (0..4).fold(floats, |case, _| case.operand(DType::F32, &[1])).shapes(&OP);
        assert!(floats.contains("f32[1] is no list of integers"), "{floats}");
        let shapes = vec![Shape::new(DType::S32, [3]); OPERANDS];
        let error = ragged("r", &shapes, &[0, 1], vec![0]).unwrap_err().to_string();
        assert!(error.contains("3 slices for 2 devices"), "{error}");
    }
}
