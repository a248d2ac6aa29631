//! Operations that need what lies next to an element.
use super::{Writer, list, tensor};

impl Writer {
    /// Elements around, and between; or some fewer at the ends.
    pub(super) fn padded(&mut self, name: &str, dims: &[usize]) {
        let fill = self.random.pick(&["0.0", "2.0"]);
        let fill = self.constant(fill);
        let axis = self.random.below(dims.len());
        let (low, high) = self.random.pick(&[(2, 1), (1, 0), (0, 1), (1, 1), (-1, 1), (0, 3)]);
        let between = self.random.pick(&[0, 0, 1, 2]);
        let size = i64::try_from(dims[axis]).unwrap();
        let size = low + high + size + between * (size - 1).max(0);
        let Ok(size) = usize::try_from(size) else { return };
        let mut to = dims.to_vec();
        to[axis] = size;
        let at = |number: i64| {
            let all = (0..dims.len()).map(|at| if at == axis { number } else { 0 });
            all.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
        };
        let code = format!(
            "stablehlo.pad {name}, {fill}, low = [{}], high = [{}], interior = [{}] : ({}, tensor<f32>) ->",
            at(low),
            at(high),
            at(between),
            tensor("f32", dims)
        );
        self.put(&to, &code);
    }

    /// Sums or largest elements of windows along an axis.
    pub(super) fn windows(&mut self, name: &str, dims: &[usize]) {
        let axis = self.random.below(dims.len());
        let (word, first) = self.random.pick(&[("add", "0.0"), ("maximum", "0xFF800000")]);
        let (window, stride) = (self.random.pick(&[1, 2, 3]), self.random.pick(&[1, 1, 2]));
        let (apart, holes) = (self.random.pick(&[1, 1, 2]), self.random.pick(&[1, 1, 1, 2]));
        let (low, high) = self.random.pick(&[(0, 0), (1, 1), (0, 1), (2, 0)]);
        let extent = match dims[axis] {
            0 => return,
            size => low + high + (size - 1) * holes + 1,
        };
        let Some(room) = extent.checked_sub((window - 1) * apart + 1) else { return };
        let mut to = dims.to_vec();
        to[axis] = room / stride + 1;
        let start = self.constant(first);
        let at = |number: usize, other: usize| {
            let all: Vec<usize> =
                (0..dims.len()).map(|at| if at == axis { number } else { other }).collect();
            list(&all)
        };
        let pads: Vec<String> = (0..dims.len())
            .map(|at| if at == axis { format!("[{low}, {high}]") } else { "[0, 0]".to_owned() })
            .collect();
        let (x, y, z) = (self.name(), self.name(), self.name());
        let code = format!(
            "\"stablehlo.reduce_window\"({name}, {start}) ({{\n    ^bb0({x}: tensor<f32>, {y}: tensor<f32>):\n      {z} = stablehlo.{word} {x}, {y} : tensor<f32>\n      stablehlo.return {z} : tensor<f32>\n    }}) {{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, base_dilations = array<i64: {}>, window_dilations = array<i64: {}>, padding = dense<[{}]> : tensor<{}x2xi64>}} : ({}, tensor<f32>) ->",
            at(window, 1),
            at(stride, 1),
            at(holes, 1),
            at(apart, 1),
            pads.join(", "),
            dims.len(),
            tensor("f32", dims)
        );
        let made = self.put(&to, &code);
        self.bounded(&made);
    }

    /// A convolution along the second axis, whose window is short, or as long as the axis.
    pub(super) fn convolution(&mut self, name: &str, dims: &[usize]) {
        let &[batch, along, features] = dims else { return };
        let window = self.random.pick(&[1, 3, 4, along]);
        let (low, high) = self.random.pick(&[(0, 0), (1, 1), (0, 1), (2, 1)]);
        let stride = self.random.pick(&[1, 1, 2]);
        let holes = self.random.pick(&[1, 1, 2]);
        let apart = self.random.pick(&[1, 1, 2]);
        if along * window * batch * features == 0 || batch * along * features * window > 20_000 {
            return;
        }
        let extent = low + high + (along - 1) * holes + 1;
        let Some(room) = extent.checked_sub((window - 1) * apart + 1) else { return };
        let out = self.random.pick(&[1, 4]);
        let (with, _) = self.like(&[window, features, out]);
        let to = [batch, room / stride + 1, out];
        let code = format!(
            "stablehlo.convolution({name}, {with}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride = [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{holes}], rhs_dilate = [{apart}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({}, {}) ->",
            tensor("f32", dims),
            tensor("f32", &[window, features, out])
        );
        let made = self.put(&to, &code);
        self.bounded(&made);
    }

    /// An axis of which the first elements become the last ones, and the difference to what was.
    pub(super) fn rolled(&mut self, name: &str, dims: &[usize]) {
        let axis = self.random.below(dims.len());
        let size = dims[axis];
        if size < 2 {
            return;
        }
        let at = self.random.pick(&[1, size - 1, size / 2]);
        let of = tensor("f32", dims);
        let mut parts = Vec::new();
        for (begin, end) in [(at, size), (0, at)] {
            let mut to = dims.to_vec();
            to[axis] = end - begin;
            let ranges = (0..dims.len()).map(|other| match other == axis {
                true => format!("{begin}:{end}"),
                false => format!("0:{}", dims[other]),
            });
            let ranges: Vec<String> = ranges.collect();
            let code = format!("stablehlo.slice {name} [{}] : ({of}) ->", ranges.join(", "));
            parts.push(self.put(&to, &code));
        }
        let code = format!(
            "stablehlo.concatenate {}, {}, dim = {axis} : ({}, {}) ->",
            parts[0].0,
            parts[1].0,
            tensor("f32", &parts[0].1),
            tensor("f32", &parts[1].1)
        );
        let (turned, _) = self.put(dims, &code);
        let made = self.put(dims, &format!("stablehlo.subtract {turned}, {name} :"));
        self.bounded(&made);
    }

    /// The sum of all but the first or the last element along an axis, of which none are zeros.
    pub(super) fn summed_but_one(&mut self, name: &str, dims: &[usize]) {
        let axis = self.random.below(dims.len());
        let begin = self.random.below(2);
        if dims[axis] < 2 {
            return;
        }
        let mut to = dims.to_vec();
        to[axis] -= 1;
        let ranges = (0..dims.len()).map(|at| match at == axis {
            true => format!("{begin}:{}", begin + to[axis]),
            false => format!("0:{}", dims[at]),
        });
        let ranges: Vec<String> = ranges.collect();
        let (all, of) = (tensor("f32", dims), tensor("f32", &to));
        let code = format!("stablehlo.slice {name} [{}] : ({all}) ->", ranges.join(", "));
        let (part, _) = self.put(&to, &code);
        let (ones, _) = self.put(&to, "stablehlo.constant dense<9.0> :");
        let (more, _) = self.put(&to, &format!("stablehlo.add {part}, {ones} :"));
        let zero = self.constant("0.0");
        let mut rest = dims.to_vec();
        rest.remove(axis);
        let code = format!(
            "stablehlo.reduce({more} init: {zero}) applies stablehlo.add across dimensions = [{axis}] : ({of}, tensor<f32>) ->"
        );
        self.put(&rest, &code);
        if to.iter().product::<usize>() < 200 {
            // The product with itself along the axis.
            let twice = [&rest[..], &rest[..]].concat();
            let code = format!(
                "stablehlo.dot_general {more}, {more}, contracting_dims = [{axis}] x [{axis}] : ({of}, {of}) ->"
            );
            if twice.len() < 5 {
                self.put(&twice, &code);
            }
        }
    }

    /// Each pair of elements with an element of another array where the larger one is.
    pub(super) fn scattered_back(&mut self, name: &str, dims: &[usize]) {
        let axis = self.random.below(dims.len());
        if !dims[axis].is_multiple_of(2) {
            return;
        }
        let mut fewer = dims.to_vec();
        fewer[axis] /= 2;
        let (source, _) = self.like(&fewer);
        let zero = self.constant("0.0");
        let sizes: Vec<usize> = (0..dims.len()).map(|at| if at == axis { 2 } else { 1 }).collect();
        let (x, y, z) = (self.name(), self.name(), self.name());
        let (a, b, c) = (self.name(), self.name(), self.name());
        let code = format!(
            "\"stablehlo.select_and_scatter\"({name}, {source}, {zero}) ({{\n    ^bb0({x}: tensor<f32>, {y}: tensor<f32>):\n      {z} = stablehlo.compare GE, {x}, {y} : (tensor<f32>, tensor<f32>) -> tensor<i1>\n      stablehlo.return {z} : tensor<i1>\n    }}, {{\n    ^bb0({a}: tensor<f32>, {b}: tensor<f32>):\n      {c} = stablehlo.add {a}, {b} : tensor<f32>\n      stablehlo.return {c} : tensor<f32>\n    }}) {{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}} : ({}, {}, tensor<f32>) ->",
            list(&sizes),
            list(&sizes),
            tensor("f32", dims),
            tensor("f32", &fewer)
        );
        self.put(dims, &code);
    }
}
