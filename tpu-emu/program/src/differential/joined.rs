//! Operations that join or place elements of arrays of every type: scatters, products, windows.
use super::writer::{ProgramWriter, Value, tensor};
use std::fmt::Write;

impl ProgramWriter {
    /// Rows put to places of an array, some of them outside of it.
    pub(super) fn scattered(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let Some((_, row)) = a.2.split_first() else { return };
        let count = self.random.pick(&[0, 1, 1, 2, 5]);
        let at = self.get(seen, "i32", &[count, 1]);
        let dims: Vec<usize> = std::iter::once(count).chain(row.iter().copied()).collect();
        let by = self.get(seen, a.1, &dims);
        let (name, one) = (self.combiner(a.1), tensor(a.1, &[]));
        let [x, y, z] = [(); 3].map(|()| self.name());
        let axes: Vec<String> = (1..dims.len()).map(|axis| axis.to_string()).collect();
        let code = format!(
            "\"stablehlo.scatter\"({}, {}, {}) ({{\n\
             ^bb0({x}: {one}, {y}: {one}):\n\
             {z} = stablehlo.{name} {x}, {y} : {one}\n\
             stablehlo.return {z} : {one}\n\
             }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : ({}, {}, {}) -> {}",
            a.0,
            at.0,
            by.0,
            axes.join(", "),
            a.of(),
            at.of(),
            by.of(),
            a.of()
        );
        self.put(seen, a.1, &a.2.clone(), &code);
    }

    /// One update to a row of an array of one number, at an index that may lie outside of it.
    pub(super) fn one_to_a_row(&mut self, seen: &mut Vec<Value>, a: &Value) {
        if a.2.is_empty() {
            return;
        }
        let axis = self.random.below(a.2.len());
        // Of the other axes, the first ones have rows of their own, the last ones lie in windows.
        let others: Vec<usize> = (0..a.2.len()).filter(|&other| other != axis).collect();
        let (rows, windows) = others.split_at(self.random.below(others.len() + 1));
        let extents = |axes: &[usize]| axes.iter().map(|&axis| a.2[axis]).collect::<Vec<usize>>();
        let element = self.random.pick(&["i32", "i64", "i8", "ui8", "ui32"]);
        let mut dims = extents(rows);
        dims.push(1);
        let at = self.get(seen, element, &dims);
        let by = self.get(seen, a.1, &extents(&others));
        let number = self.number(a.1);
        let (name, one) = (self.combiner(a.1), tensor(a.1, &[]));
        let [x, y, z, held] = [(); 4].map(|()| self.name());
        let of = a.of();
        writeln!(self.text, "{held} = stablehlo.constant dense<{number}> : {of}").unwrap();
        let list = |axes: &[usize]| {
            axes.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
        };
        let count = rows.len();
        let given = if self.random.below(3) == 0 { &y } else { &z };
        let code = format!(
            "\"stablehlo.scatter\"({held}, {}, {}) ({{\n\
             ^bb0({x}: {one}, {y}: {one}):\n\
             {z} = stablehlo.{name} {x}, {y} : {one}\n\
             stablehlo.return {given} : {one}\n\
             }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{axis}], input_batching_dims = [{}], scatter_indices_batching_dims = [{}], scatter_dims_to_operand_dims = [{axis}], index_vector_dim = {count}>}} : ({of}, {}, {}) -> {of}",
            at.0,
            by.0,
            list(&(count..count + windows.len()).collect::<Vec<usize>>()),
            list(rows),
            list(&(0..count).collect::<Vec<usize>>()),
            at.of(),
            by.of(),
        );
        self.put(seen, a.1, &a.2.clone(), &code);
    }

    /// A product, or a convolution, of small extents.
    pub(super) fn product(&mut self, seen: &mut Vec<Value>, a: &Value) {
        if a.1 == "i1" || a.2.len() < 2 || a.2.len() > 4 {
            return;
        }
        let columns = self.random.pick(&[0, 1, 1, 2, 3]);
        if a.2.len() == 3 && self.random.below(2) == 0 {
            return self.convolved(seen, a, columns);
        }
        let batches = self.random.below(a.2.len() - 1);
        let (last, rows) = (a.2[a.2.len() - 1], &a.2[batches..a.2.len() - 1]);
        let dims: Vec<usize> = a.2[..batches].iter().copied().chain([columns, last]).collect();
        let b = self.get(seen, a.1, &dims);
        let result: Vec<usize> =
            a.2[..batches].iter().chain(rows).copied().chain([columns]).collect();
        let batch: Vec<String> = (0..batches).map(|axis| axis.to_string()).collect();
        let batch = batch.join(", ");
        let code = format!(
            "\"stablehlo.dot_general\"({}, {}) {{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{batch}], rhs_batching_dimensions = [{batch}], lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>}} : ({}, {}) -> {}",
            a.0,
            b.0,
            a.2.len() - 1,
            batches + 1,
            a.of(),
            b.of(),
            tensor(a.1, &result)
        );
        self.put(seen, a.1, &result, &code);
    }

    fn convolved(&mut self, seen: &mut Vec<Value>, a: &Value, columns: usize) {
        let taps = self.random.pick(&[0, 1, 1, 2, 3]);
        let b = self.get(seen, a.1, &[taps, a.2[2], columns]);
        let [low, high] = [(); 2].map(|()| self.random.below(3));
        let step = self.random.pick(&[1, 2]);
        let room = a.2[1] + low + high;
        // Windows of nothing fit between and around all places.
        let windows = if room < taps || room == 0 { 0 } else { (room - taps) / step + 1 };
        let result = [a.2[0], windows, columns];
        let code = format!(
            "\"stablehlo.convolution\"({}, {}) {{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<[[{low}, {high}]]> : tensor<1x2xi64>, window_strides = array<i64: {step}>}} : ({}, {}) -> {}",
            a.0,
            b.0,
            a.of(),
            b.of(),
            tensor(a.1, &result)
        );
        self.put(seen, a.1, &result, &code);
    }

    /// A reduction over windows, with something around the array.
    pub(super) fn windows(&mut self, seen: &mut Vec<Value>, a: &Value) {
        if a.2.is_empty() {
            return;
        }
        let (init, name, one) = (self.get(seen, a.1, &[]), self.combiner(a.1), tensor(a.1, &[]));
        let (mut dims, mut sizes, mut steps, mut padding) = (vec![], vec![], vec![], vec![]);
        for &dim in &a.2 {
            let [low, high] = [(); 2].map(|()| self.random.below(3));
            let (size, step) = (1 + self.random.below(3), self.random.pick(&[1, 1, 2]));
            let room = dim + low + high;
            dims.push(if room < size || room == 0 { 0 } else { (room - size) / step + 1 });
            sizes.push(size.to_string());
            steps.push(step.to_string());
            padding.push(format!("[{low}, {high}]"));
        }
        let [x, y, z] = [(); 3].map(|()| self.name());
        let code = format!(
            "\"stablehlo.reduce_window\"({}, {}) ({{\n\
             ^bb0({x}: {one}, {y}: {one}):\n\
             {z} = stablehlo.{name} {x}, {y} : {one}\n\
             stablehlo.return {z} : {one}\n\
             }}) {{padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}} : ({}, {}) -> {}",
            a.0,
            init.0,
            padding.join(", "),
            a.2.len(),
            sizes.join(", "),
            steps.join(", "),
            a.of(),
            init.of(),
            tensor(a.1, &dims)
        );
        self.put(seen, a.1, &dims, &code);
    }
}
