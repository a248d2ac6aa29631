//! Tables of which rows are looked up, and to which rows are added.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::search::RelayoutSearch;
use super::stored::Stored;
use crate::executable::stored_array::{Array, CORE_BYTES, TableUse, bytes_of};
use std::collections::BTreeSet;
use tpu_base::tensor::DType;
use tpu_ops::{Operator, Relayout};

/// Fewer rows are added to an array in another one; so many are added in place.
const FEW_ROWS: u64 = 16_384;
/// Operations between rows that are looked up and the products that read them.
const STEPS: usize = 4;

impl<'m> RelayoutSearch<'m> {
    /// Rows that are taken of a table. What reads the table later reads it as it lies for them, but
    /// where products alone read the rows, and the core has room for the table in 16 bits: then it
    /// is laid so for these only.
    pub(super) fn looked_up(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let rules = self.rules;
        let (Some(table), Some(rows)) = (of.operand(0), of.result()) else { return };
        let Some(result) = body.result(&of) else { return };
        let at_once = body.is_returned(result);
        if takes_columns(&of, &table) {
            return self.columns_taken(body, of, (&table, &rows, result));
        }
        if takes_matrices(&of, &table) {
            return self.slices_taken(body, of, (&table, &rows, result));
        }
        let stored = if at_once { rows.in_padded_rows(rules) } else { rows.in_rows(rules) };
        let (Some(value), Some(lies_so)) = (body.operands(&of).next(), table.in_padded_rows(rules))
        else {
            return self.kept(of, (&rows, result), stored, 0);
        };
        if body.is_given(value) && takes_one_of_a_row(&of) {
            return self.kept(of, (&rows, result), stored, 0);
        }
        let is_updated = body.is_given(value) && body.is_read_by_elements(value);
        let use_of = if is_updated { TableUse::Updated } else { TableUse::LookedUp };
        let bytes = table.as_table(rules, use_of);
        let multiplied = || {
            let narrow = Array { dtype: DType::Bf16, ..table.clone() }.in_rows(rules);
            narrow.is_some_and(|(bytes, _)| bytes.0 < CORE_BYTES)
                && body.ends_in(result, Relayout::Multiplied, STEPS)
        };
        if bytes != lies_so.0.0 || (is_updated && multiplied()) {
            return self.kept(of, (&rows, result), stored, bytes);
        }
        self.kept(of, (&rows, result), stored, 0);
        if self.tables.insert(value) {
            self.kept(of, (&table, value), Some(lies_so), 0);
            self.updated.extend(is_updated.then_some(value));
        }
    }

    /// Whole matrices of a table, such as images of a set or what a cache has of a sequence: table and
    /// result have the first axis as the slowest, and are laid anew where their default is another
    /// order, if the core has no room for them. A result that is one at once is none of them if it
    /// lies so by default.
    fn slices_taken(
        &mut self,
        body: &WrittenOut<'m>,
        of: CallOperation<'m>,
        (table, rows, result): (&Array, &Array, CallValue),
    ) {
        let rules = self.rules;
        let lies_so = |array: &Array| {
            let default = array.by_default(rules);
            default.is_some_and(|(_, layout)| layout.minor_to_major.last() == Some(&0))
        };
        let stored = |array: &Array| array.as_slices(rules).filter(|(of, _)| of.0 >= CORE_BYTES);
        if let (Some(value), false) = (body.operands(&of).next(), lies_so(table))
            && self.tables.insert(value)
        {
            self.passing(of, table, stored(table), 0);
        }
        if !body.is_returned(result) {
            self.kept(of, (rows, result), rows.as_slices(rules), 0);
        } else if !lies_so(rows) {
            self.passing(of, rows, stored(rows), 0);
        }
    }

    /// Columns of a table: it has its last axis as the slowest one for these, and so has what is
    /// taken, if the core has no room for it.
    fn columns_taken(
        &mut self,
        body: &WrittenOut<'m>,
        of: CallOperation<'m>,
        (table, columns, result): (&Array, &Array, CallValue),
    ) {
        let rules = self.rules;
        let taken = bytes_of(columns.by_default(rules).as_ref());
        let taken = if taken >= CORE_BYTES && body.is_returned(result) { taken } else { 0 };
        self.passing(of, table, table.by_default(rules), taken);
    }

    /// Rows that are added to a table.
    pub(super) fn added_to(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let rules = self.rules;
        let (into, added) = (of.operand(0), of.operand(of.operation.operands.len() - 1));
        let (Some(into), Some(added)) = (into, added) else { return };
        let stored = added.in_padded_rows(rules);
        let table = into.as_table(rules, TableUse::Updated);
        let rows = added.dims.iter().rev().skip(1).fold(1_u64, |all, &of| all.saturating_mul(of));
        let few = into.dims.len() == 2 && rows < FEW_ROWS;
        self.passing(of, &added, stored, if few { table.saturating_mul(2) } else { table });
        let rows = into.in_padded_rows(rules).filter(|_| table == 0);
        if let Some(result) = body.result(&of).filter(|&of| !body.is_returned(of)) {
            self.kept(of, (&into, result), rows, 0);
        }
    }
}

/// Whether one element each of the last axis of a table is taken, and all of the others.
fn takes_columns(of: &CallOperation<'_>, table: &Array) -> bool {
    let taken = of.operation.attributes.integers("slice_sizes").unwrap_or_default();
    let whole = |(&dim, &taken): (&u64, &i64)| u64::try_from(taken) == Ok(dim);
    let Some((&last, others)) = taken.split_last() else { return false };
    table.dims.len() > 1
        && taken.len() == table.dims.len()
        && last == 1
        && table.dims.iter().zip(others).all(whole)
        && table.dims.last().is_some_and(|&dim| dim > 1)
}

/// Whether one element of each row is taken, as a loss takes the label's: the table stays as it is.
fn takes_one_of_a_row(of: &CallOperation<'_>) -> bool {
    let list = |name: &str| of.operation.attributes.integers(name).unwrap_or_default();
    let taken = list("slice_sizes");
    !list("operand_batching_dims").is_empty() && taken.iter().all(|&taken| taken == 1)
}

/// Whether whole matrices of a table are taken, along its first axis.
fn takes_matrices(of: &CallOperation<'_>, table: &Array) -> bool {
    let taken = of.operation.attributes.integers("slice_sizes").unwrap_or_default();
    let mut axes = table.dims.iter().zip(&taken).rev().take(2);
    table.dims.len() > 2
        && taken.len() == table.dims.len()
        && axes.all(|(&dim, &taken)| u64::try_from(taken) == Ok(dim))
}

/// Of several tables that are updated, those are in padded rows together of which rows are looked
/// up for the update of one of them: the largest group from where rows are looked up, the others
/// while that happens.
pub(super) fn one_group_at_a_time(
    body: &WrittenOut<'_>,
    stored: &mut [Stored<'_>],
    updated: &BTreeSet<CallValue>,
) {
    if updated.len() < 2 {
        return;
    }
    let is_added_to = |of: &&CallOperation<'_>| matches!(of.operator, Operator::Row(row) if row.relayout == Relayout::Scattered);
    let needed = |of: &CallOperation<'_>| body.needed(of).intersection(updated).copied().collect();
    let groups: Vec<BTreeSet<CallValue>> =
        body.operations.iter().filter(is_added_to).map(needed).collect();
    let bytes = |group: &BTreeSet<CallValue>| -> u64 {
        let of = stored.iter().filter(|one| one.value.is_some_and(|of| group.contains(&of)));
        of.fold(0, |sum, one| sum.saturating_add(one.own))
    };
    let Some(largest) = groups.iter().max_by_key(|group| bytes(group)) else { return };
    let others = stored
        .iter_mut()
        .filter(|one| one.value.is_some_and(|of| updated.contains(&of) && !largest.contains(&of)));
    for table in others {
        (table.passing, table.own, table.value) = (table.bytes(), 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// A line that looks up rows of a table, of these types.
    fn gathered(rows: &str, table: &str, [from, to]: [&str; 2]) -> String {
        let (count, columns) = extents(to);
        format!(
            "{rows} = \"stablehlo.gather\"({table}, %i) <{{dimension_numbers = \
             #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], \
             index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, \
             {columns}>}}> : ({from}, tensor<{count}x1xi32>) -> {to}\n"
        )
    }

    /// A line that adds rows to a table `%z`, of these types.
    fn scattered(sum: &str, rows: &str, [into, from]: [&str; 2]) -> String {
        let (count, _) = extents(from);
        format!(
            "{sum} = \"stablehlo.scatter\"(%z, %i, {rows}) <{{scatter_dimension_numbers = \
             #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], \
             scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, \
             unique_indices = false}}> ({{\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %m = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %m : tensor<f32>\n}}) : \
             ({into}, tensor<{count}x1xi32>, {from}) -> {into}\n"
        )
    }

    #[test]
    fn a_table_of_which_columns_are_taken_is_turned() {
        let taken = |rows: u64, columns: u64, count: u64| {
            let (table, result) =
                (format!("tensor<{rows}x{columns}xf32>"), format!("tensor<{rows}x{count}xf32>"));
            let body = format!(
                "%r = \"stablehlo.gather\"(%a, %i) <{{dimension_numbers = \
                 #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = \
                 [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: \
                 {rows}, 1>}}> : ({table}, tensor<{count}x1xi32>) -> {result}"
            );
            charged(&format!("%a: {table}, %i: tensor<{count}x1xi32>"), &body, &result)
        };
        // As libtpu 0.0.51 says of temporaries on a v5e.
        assert_eq!(taken(4096, 8192, 4096), 4096 * 8192 * 4);
        assert_eq!(taken(16_384, 8192, 128), 16_384 * 8192 * 4);
        assert_eq!(taken(16_384, 8192, 8192), 2 * 16_384 * 8192 * 4);
    }

    /// Rows and columns of a matrix of numbers.
    fn extents(of: &str) -> (&str, &str) {
        let of = of.trim_start_matches("tensor<").trim_end_matches("xf32>");
        of.split_once('x').unwrap()
    }

    /// What a step of training a table of so many rows and columns lays anew.
    fn descended(rows: u64, columns: u64) -> u64 {
        let table = format!("tensor<{rows}x{columns}xf32>");
        let taken = format!("tensor<65536x{columns}xf32>");
        let types = [&table[..], &taken];
        let body = [
            gathered("%g", "%a", types),
            format!("%h = stablehlo.sine %g : {taken}\n"),
            scattered("%s", "%h", types),
            format!("%r = stablehlo.subtract %a, %s : {table}"),
        ];
        let parameters = format!("%a: {table}, %i: tensor<65536x1xi32>, %z: {table}");
        charged(&parameters, &body.concat(), &table)
    }

    const TAKEN: u64 = 65_536 * 128 * 4;

    #[test]
    fn a_table_that_is_read_again_lies_in_rows_until_then() {
        // As libtpu 0.0.51 says of a step of training on a v5e: the table and its gradient.
        for (rows, columns) in [(1_048_576, 64), (1_048_576, 32), (1_048_576, 16), (262_144, 64)] {
            assert_eq!(
                descended(rows, columns),
                2 * rows * 128 * 4 + 2 * TAKEN,
                "{rows} {columns}"
            );
        }
        // Without padding they have room in the core.
        assert_eq!(descended(2_097_152, 16), 2_097_152 * 16 * 4 + 2 * TAKEN);
    }

    #[test]
    fn a_table_of_which_rows_are_only_looked_up_lies_in_the_core_if_padding_is_most_of_it() {
        let looked = |rows: u64, columns: u64| {
            let table = format!("tensor<{rows}x{columns}xf32>");
            let taken = format!("tensor<65536x{columns}xf32>");
            let once = gathered("%g", "%a", [&table, &taken])
                + &format!("%h = stablehlo.sine %g : {taken}\n%r = stablehlo.negate %h : {taken}");
            charged(&format!("%a: {table}, %i: tensor<65536x1xi32>"), &once, &taken)
        };
        for (rows, columns) in [(1_048_576, 64), (393_216, 64), (262_144, 64), (307_200, 32)] {
            assert_eq!(looked(rows, columns), rows * 128 * 4 + TAKEN, "{rows} {columns}");
        }
        assert_eq!(looked(614_400, 32), 614_400 * 32 * 4 + TAKEN);
        assert_eq!(looked(204_800, 64), TAKEN, "padded rows have room in the core");
    }

    /// How many tables of so many rows a step lays anew that trains two of them, by these lines on
    /// rows `%g` of the one and `%k` of the other, so many of each.
    fn both_descended(rows: u64, lines: &str, count: u64) -> u64 {
        let (table, taken) = (format!("tensor<{rows}x64xf32>"), format!("tensor<{count}x64xf32>"));
        let (given, types) = (format!("tensor<{count}x1xi32>"), [&table[..], &taken]);
        let body = [
            gathered("%g", "%a", types),
            gathered("%k", "%b", types),
            lines.replace("ROWS", &taken),
            scattered("%s", "%h", types),
            scattered("%t", "%l", types),
            format!("%u = stablehlo.subtract %a, %s : {table}\n"),
            format!("%v = stablehlo.subtract %b, %t : {table}\n"),
            format!("%r = stablehlo.add %u, %v : {table}"),
        ];
        let parameters = format!("%a: {table}, %b: {table}, %i: {given}, %z: {table}");
        charged(&parameters, &body.concat(), &table) / (rows * 128 * 4)
    }

    #[test]
    fn tables_are_padded_together_where_one_is_updated_by_rows_of_the_other() {
        let apart = "%h = stablehlo.sine %g : ROWS\n%l = stablehlo.sine %k : ROWS\n";
        let together = "%h = stablehlo.multiply %g, %k : ROWS\n%l = stablehlo.add %g, %k : ROWS\n";
        let tables = |lines: &str, count| both_descended(524_288, lines, count);
        // Of libtpu 0.0.51: three tables and their updates one by one, and two of which products of
        // rows are learned.
        assert_eq!(tables(apart, 65_536), 2);
        assert_eq!(tables(together, 65_536), 3);
        // A few rows are added beside zeros.
        assert_eq!(tables(together, 8192), 4);
        let multiplied = "%q = stablehlo.dot_general %g, %g, contracting_dims = [1] x [1] : (ROWS, ROWS) -> tensor<8192x8192xf32>\n\
             %h = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<8192x8192xf32>, ROWS) -> ROWS\n\
             %l = stablehlo.cosine %k : ROWS\n";
        // Products read rows of a table in 16 bits, which is not what its update reads.
        assert_eq!(both_descended(400_000, multiplied, 8192), 3);
        assert_eq!(tables(multiplied, 8192), 4, "the core has no room for them");
    }

    /// What is laid anew where so many matrices are taken of a table of these extents, and that is a
    /// result at once or not.
    fn taken(count: u64, dims: [u64; 4], at_once: bool) -> u64 {
        let extents = |dims: &[u64]| dims.iter().map(|dim| format!("{dim}x")).collect::<String>();
        let slice = extents(&dims[1..]);
        let (table, taken) =
            (format!("tensor<{}x{slice}f32>", dims[0]), format!("tensor<{count}x{slice}f32>"));
        let name = if at_once { "%r" } else { "%g" };
        let mut body = format!(
            "{name} = \"stablehlo.gather\"(%a, %i) <{{dimension_numbers = \
             #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = \
             [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, {}, \
             {}, {}>}}> : ({table}, tensor<{count}x1xi32>) -> {taken}\n",
            dims[1], dims[2], dims[3]
        );
        if !at_once {
            body += &format!("%r = stablehlo.sine %g : {taken}");
        }
        charged(&format!("%a: {table}, %i: tensor<{count}x1xi32>"), &body, &taken)
    }

    #[test]
    fn matrices_that_are_taken_lie_in_rows_of_their_own() {
        // As libtpu 0.0.51 says of 4,096 images, of which 1,024 are taken: rows of 64 in 128 lanes.
        assert_eq!(taken(1024, [4096, 64, 64, 3], true), 4096 * 64 * 128 * 3 * 4);
        assert_eq!(taken(2048, [4096, 64, 64, 3], false), (4096 + 2048) * 64 * 128 * 3 * 4);
        // What a cache has of a sequence lies so in the table.
        assert_eq!(taken(64, [64, 512, 8, 128], true), 0);
        assert_eq!(taken(64, [64, 512, 8, 128], false), 64 * 512 * 8 * 128 * 4);
    }
}
