//! Decompositions of matrices of every kind: what they give multiplies to the matrix, and bases
//! are orthonormal. Both are asked of vectors, so that a test costs less than what it tests.
use super::eigh;
use super::factor::{Triangle, cholesky, cholesky_workspace, solve_left, solve_right};
use super::householder::{product, qr, workspace};
use super::lu;
use super::scalar::Scalar;
use crate::matmul::accumulate::Work;
use crate::matmul::widen::Widen;
use crate::{parallel, simd};
use num_complex::Complex;
use num_traits::{Float, ToPrimitive, cast};

type Z = Complex<f64>;

/// A matrix in double precision, by rows.
#[derive(Clone)]
struct Dense {
    rows: usize,
    columns: usize,
    data: Vec<Z>,
}

/// Numbers between -1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1 << 30) - 1.0
    }

    fn complex(&mut self) -> Z {
        Z::new(self.next(), self.next())
    }
}

fn size(x: &[Z]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |largest, z| largest.max(z.re.abs()).max(z.im.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * x.iter().map(|z| (z / largest).norm_sqr()).sum::<f64>().sqrt()
}

impl Dense {
    fn new(rows: usize, columns: usize, entry: impl FnMut(usize) -> Z) -> Self {
        Self { rows, columns, data: (0..rows * columns).map(entry).collect() }
    }

    fn of<T: Scalar>(rows: usize, columns: usize, data: &[T]) -> Self {
        let part = |part: T::Real| part.to_f64().unwrap();
        Self::new(rows, columns, |at| Z::new(part(data[at].re()), part(data[at].im())))
    }

    /// The numbers of the type, rounded; a real type drops imaginary parts.
    fn to<T: Scalar>(&self) -> Vec<T> {
        let part = |part: f64| cast::<f64, T::Real>(part).unwrap();
        self.data.iter().map(|z| T::of(part(z.re), part(z.im))).collect()
    }

    fn times(&self, x: &[Z]) -> Vec<Z> {
        let row = |row: &[Z]| row.iter().zip(x).map(|(a, x)| a * x).sum();
        self.data.chunks(self.columns.max(1)).take(self.rows).map(row).collect()
    }

    /// The conjugated transpose.
    fn turned(&self) -> Self {
        let Self { rows, columns, .. } = *self;
        Self::new(columns, rows, |at| self.data[at % rows * columns + at / rows].conj())
    }

    fn scaled(&self, by: f64) -> Self {
        Self { data: self.data.iter().map(|z| z * by).collect(), ..*self }
    }

    fn first(&self, rows: usize, columns: usize) -> Self {
        Self::new(rows, columns, |at| self.data[at / columns * self.columns + at % columns])
    }
}

/// What a matrix is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    /// Values that differ in the tenth digit.
    Clustered,
    /// Half of the values are zero.
    Singular,
    Zero,
    /// Values over twelve powers of ten.
    Graded,
    Identity,
}

const KINDS: [Kind; 6] =
    [Kind::Any, Kind::Clustered, Kind::Singular, Kind::Zero, Kind::Graded, Kind::Identity];

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

/// `(I - 2·v·vᴴ/|v|²)·a`.
fn reflected(a: &Dense, v: &[Z]) -> Dense {
    let whole: f64 = v.iter().map(Z::norm_sqr).sum();
    let sums = a.turned().times(v);
    let entry = |at: usize| {
        let (row, column) = (at / a.columns, at % a.columns);
        a.data[at] - v[row] * sums[column].conj() * 2.0 / whole
    };
    Dense::new(a.rows, a.columns, entry)
}

/// A square matrix of a kind; a Hermitian one turns both sides alike.
fn square<T: Scalar>(n: usize, kind: Kind, hermitian: bool) -> Dense {
    let mut numbers = Numbers(7);
    let is_real = T::of(T::Real::ZERO, T::Real::of_i64(1)) == T::ZERO;
    let mut number = || if is_real { Z::new(numbers.next(), 0.0) } else { numbers.complex() };
    if kind == Kind::Any {
        let any = Dense::new(n, n, |_| number());
        let both = any.turned();
        let entry = |at: usize| (any.data[at] + both.data[at]) / 2.0;
        return if hermitian { Dense::new(n, n, entry) } else { any };
    }
    let value = |k: usize| match kind {
        Kind::Clustered => 1.0 + 1e-10 * count(k),
        Kind::Singular if k < n / 2 => 0.0,
        Kind::Singular => 1.0 + count(k),
        Kind::Graded => 10.0_f64.powf(-12.0 * count(k) / count(n)),
        Kind::Zero => 0.0,
        _ => 1.0,
    };
    let zero = Z::new(0.0, 0.0);
    let mut a =
        Dense::new(n, n, |at| if at / n == at % n { Z::new(value(at / n), 0.0) } else { zero });
    if matches!(kind, Kind::Zero | Kind::Identity) {
        return a;
    }
    for _ in 0..3 {
        let left: Vec<Z> = (0..n).map(|_| number()).collect();
        let right: Vec<Z> = (0..n).map(|_| number()).collect();
        a = reflected(&reflected(&a, &left).turned(), if hermitian { &left } else { &right });
        a = a.turned();
    }
    a
}

/// Fails where `left - right` is more than what rounding leaves of numbers of a size.
#[track_caller]
fn near<T: Scalar>(left: &[Z], right: &[Z], whole: f64, n: usize, what: &str) {
    let difference: Vec<Z> = left.iter().zip(right).map(|(left, right)| left - right).collect();
    let rounding = T::Real::epsilon().to_f64().unwrap() * count(n.max(10)) * 2.0;
    let off = size(&difference);
    // Written so that NaN fails.
    assert!(off <= rounding * whole, "{what} of {n}: off by {off}, of {whole}");
}

/// Some vectors to ask with.
fn questions(n: usize) -> impl Iterator<Item = Vec<Z>> {
    let mut numbers = Numbers(99);
    (0..3).map(move |_| (0..n).map(|_| numbers.complex()).collect())
}

#[track_caller]
fn orthonormal<T: Scalar>(q: &Dense, what: &str) {
    let turned = q.turned();
    for x in questions(q.columns) {
        near::<T>(&turned.times(&q.times(&x)), &x, size(&x), q.rows, what);
    }
}

#[track_caller]
fn multiplies<T: Scalar>(factors: &[&Dense], a: &Dense, whole: f64, what: &str) {
    for x in questions(a.columns) {
        let through = factors.iter().rev().fold(x.clone(), |x, factor| factor.times(&x));
        near::<T>(&through, &a.times(&x), whole * size(&x), a.rows.max(a.columns), what);
    }
}

fn check_qr<T: Scalar>(a: &Dense, what: &str) {
    let Dense { rows: m, columns: n, .. } = *a;
    let (mut both, rank) = (a.to::<T>(), m.min(n));
    let a = Dense::of(m, n, &both);
    let (mut taus, mut room) = (vec![T::ZERO; rank], vec![T::missing(); workspace([m, n])]);
    qr([m, n], &mut both, &mut taus, &mut room);
    let r = Dense::of(m, n, &both).first(rank, n);
    let upper = |at: usize| if at / n <= at % n { r.data[at] } else { Z::new(0.0, 0.0) };
    let r = Dense::new(rank, n, upper);
    let stored = Dense::of(m, n, &both).first(m, rank).to::<T>();
    for reflectors in [rank, rank / 2] {
        let mut q = vec![T::ZERO; m * rank];
        product([m, rank], &stored, &taus[..reflectors], &mut q, &mut room);
        let q = Dense::of(m, rank, &q);
        orthonormal::<T>(&q, what);
        if reflectors == rank {
            multiplies::<T>(&[&q, &r], &a, size(&a.data), what);
        }
    }
}

fn check_lu<T: Scalar>(a: &Dense, what: &str) {
    let Dense { rows: m, columns: n, .. } = *a;
    let (mut both, rank) = (a.to::<T>(), m.min(n));
    let a = Dense::of(m, n, &both);
    let (mut pivots, mut permutation) = (vec![0; rank], vec![0; m]);
    let mut room = vec![T::missing(); lu::workspace([m, n])];
    lu::lu([m, n], &mut both, &mut pivots, &mut permutation, &mut room);
    let both = Dense::of(m, n, &both);
    let (zero, one) = (Z::new(0.0, 0.0), Z::new(1.0, 0.0));
    let lower = Dense::new(m, rank, |at| match (at / rank).cmp(&(at % rank)) {
        std::cmp::Ordering::Less => zero,
        std::cmp::Ordering::Equal => one,
        std::cmp::Ordering::Greater => both.data[at / rank * n + at % rank],
    });
    let upper = |at: usize| if at / n <= at % n { both.data[at] } else { zero };
    let upper = Dense::new(rank, n, upper);
    // Pivots are the largest by the sum of their parts.
    let most = if T::IS_REAL { 1.0 } else { 2.0_f64.sqrt() };
    assert!(lower.data.iter().all(|z| z.norm() < most + 1e-6), "{what} {m} {n}: a pivot is small");
    let row = |at: usize| usize::try_from(permutation[at]).unwrap();
    let permuted = Dense::new(m, n, |at| a.data[row(at / n) * n + at % n]);
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq((0..).take(m)), "{what}: a permutation");
    let whole = size(&lower.data) * size(&upper.data);
    multiplies::<T>(&[&lower, &upper], &permuted, whole, what);
}

fn check_eigh<T: Scalar>(n: usize, kind: Kind, what: &str) {
    let mut vectors = square::<T>(n, kind, true).to::<T>();
    for row in 0..n {
        vectors[row * n + row] = T::of(vectors[row * n + row].re(), T::Real::ZERO);
        for column in 0..row {
            vectors[column * n + row] = vectors[row * n + column].conjugate();
        }
    }
    let a = Dense::of(n, n, &vectors);
    let [workspace, reals] = eigh::workspace(n);
    let (mut workspace, mut reals) = (vec![T::ZERO; workspace], vec![T::Real::ZERO; reals]);
    eigh::eigen(n, &mut vectors, &mut workspace, &mut reals);
    let values: Vec<f64> = reals[..n].iter().map(|value| value.to_f64().unwrap()).collect();
    assert!(values.is_sorted(), "{what} {n}: {values:?}");
    // Vectors are rows, and not conjugated.
    let rows = Dense::of(n, n, &vectors);
    let columns = Dense::new(n, n, |at| rows.data[at % n * n + at / n]);
    orthonormal::<T>(&columns, what);
    let scaled = Dense::new(n, n, |at| columns.data[at] * values[at % n]);
    let whole = size(&a.data);
    multiplies::<T>(&[&scaled, &columns.turned()], &a, whole, what);
}

fn check_cholesky<T: Scalar>(n: usize, kind: Kind, what: &str) {
    let root = square::<T>(n, kind, false);
    let other = root.turned();
    let mut a = Dense::new(n, n, |_| Z::new(0.0, 0.0));
    for (row, to) in a.data.chunks_mut(n).enumerate() {
        for (k, &left) in root.data[row * n..][..n].iter().enumerate() {
            let from = &other.data[k * n..][..n];
            to.iter_mut().zip(from).for_each(|(to, right)| *to += left * right);
        }
        to[row] += 1e-2 * count(n);
    }
    let mut factor = a.to::<T>();
    let a = Dense::of(n, n, &factor);
    let mut workspace = vec![T::ZERO; cholesky_workspace(n)];
    cholesky(n, &mut factor, &mut workspace);
    let lower = Dense::of(n, n, &factor);
    let above = |&(at, z): &(usize, &Z)| at / n < at % n && z.norm() != 0.0;
    assert!(lower.data.iter().enumerate().find(above).is_none(), "{what}: {n}");
    multiplies::<T>(&[&lower, &lower.turned()], &a, size(&a.data), what);
    // One without a factor, for its last pivot alone, and one that is zero.
    for pivot in [-1.0, 0.0] {
        let mut factor = a.scaled(if pivot == 0.0 { 0.0 } else { 1.0 }).to::<T>();
        factor[n * n - 1] = T::of(cast(pivot).unwrap(), T::Real::ZERO);
        cholesky(n, &mut factor, &mut workspace);
        assert!(factor.iter().all(|value| value.re().is_nan()), "{what}: {n}");
    }
}

fn check_triangles<T: Scalar>(n: usize, scale: f64, what: &str) {
    let some = square::<T>(n, Kind::Any, false);
    let full = Dense::new(n, n, |at| {
        let diagonal = if at / n == at % n { 2.0 } else { 0.0 };
        (some.data[at] / count(n) + diagonal) * scale
    });
    let stored = full.to::<T>();
    let columns = n / 3 + 1;
    for (lower, unit) in [(true, false), (false, false), (true, true), (false, true)] {
        let one = |at: usize| unit && at / n == at % n;
        let inside = |at: usize| if lower { at / n >= at % n } else { at / n <= at % n };
        let entries = Dense::of(n, n, &stored);
        let a = Dense::new(n, n, |at| match at {
            at if one(at) => Z::new(1.0, 0.0),
            at if inside(at) => entries.data[at],
            _ => Z::new(0.0, 0.0),
        });
        if unit && scale != 1.0 {
            continue;
        }
        let b = some.first(n, columns).to::<T>();
        let wanted = Dense::of(n, columns, &b);
        let mut x = b.clone();
        solve_left(n, Triangle { lower, unit }, &stored, &mut x, columns);
        let x = Dense::of(n, columns, &x);
        multiplies::<T>(&[&a, &x], &wanted, size(&a.data) * size(&x.data), what);
        let b = some.first(columns, n).to::<T>();
        let wanted = Dense::of(columns, n, &b);
        let mut x = b.clone();
        solve_right(n, Triangle { lower, unit }, &stored, &mut x);
        let x = Dense::of(columns, n, &x);
        multiplies::<T>(&[&x, &a], &wanted, size(&a.data) * size(&x.data), what);
        // A system without a solution ends, and says so.
        let mut singular = stored.clone();
        (singular[0], singular[n * n - 1]) = (T::ZERO, T::ZERO);
        let mut x = b;
        solve_right(n, Triangle { lower, unit }, &singular, &mut x);
        assert_eq!(x.iter().all(|value| value.finite()), unit, "{what}: {n}");
    }
}

fn check_all<T: Scalar>(n: usize, kinds: &[Kind], what: &str) {
    for &kind in kinds {
        let what = format!("{what} {kind:?}");
        let a = square::<T>(n, kind, false);
        for [rows, columns] in [[n, n], [n, n / 2 + 1], [n / 2 + 1, n]] {
            let part = a.first(rows, columns);
            check_qr::<T>(&part, &format!("QR {what}"));
            check_lu::<T>(&part, &format!("LU {what}"));
        }
        check_eigh::<T>(n, kind, &format!("eigh {what}"));
        check_cholesky::<T>(n, kind, &format!("Cholesky {what}"));
    }
    check_triangles::<T>(n, 1.0, &format!("triangle {what}"));
}

#[test]
fn small_matrices_of_every_kind_are_decomposed() {
    for n in [1, 2, 3, 17] {
        check_all::<f32>(n, &KINDS, "f32");
        check_all::<f64>(n, &KINDS, "f64");
        check_all::<Complex<f32>>(n, &KINDS, "c64");
        check_all::<Complex<f64>>(n, &KINDS, "c128");
    }
}

#[test]
fn matrices_of_several_blocks_are_decomposed() {
    check_all::<f64>(100, &KINDS, "f64");
    check_all::<Complex<f32>>(100, &[Kind::Singular, Kind::Clustered], "c64");
    check_all::<f32>(100, &[Kind::Graded], "f32");
    check_all::<Complex<f64>>(100, &[Kind::Any], "c128");
}

#[test]
fn entries_may_be_so_large_or_small_that_their_squares_are_no_numbers() {
    fn check<T: Scalar>(scales: [f64; 2], what: &str) {
        for scale in scales {
            for n in [1, 2, 3, 17] {
                let a = square::<T>(n, Kind::Any, false).scaled(scale);
                check_qr::<T>(&a, &format!("QR {what} {scale}"));
                check_lu::<T>(&a, &format!("LU {what} {scale}"));
                check_triangles::<T>(n, scale, &format!("triangle {what} {scale}"));
            }
        }
    }
    check::<f32>([1e-30, 1e30], "f32");
    check::<Complex<f32>>([1e-30, 1e30], "c64");
    check::<f64>([1e-280, 1e280], "f64");
    check::<Complex<f64>>([1e-280, 1e280], "c128");
}

#[test]
fn quotients_are_those_of_scaled_numbers() {
    let [a, b] = [Complex::new(3.0_f32, -4.0), Complex::new(1.0, 2.0)];
    // Bits do not change where nothing overflows.
    assert_eq!(a.over(b), a / b);
    for (up, down) in [(1e37, 1e37), (1e-37, 1e-37), (1e30, 1e-4), (1e-36, 1e-10), (1e-37, 1.0)] {
        let [big, small] = [a.times(up), b.times(down)];
        let wanted = Complex::new(-1.0, -2.0) * (f64::from(up) / f64::from(down));
        let got = big.over(small);
        let off = Complex::new(f64::from(got.re), f64::from(got.im)) - wanted;
        assert!(off.norm() < wanted.norm() * 1e-6, "{big} {small}: {got}");
    }
    let zero = Complex::new(0.0_f32, 0.0);
    assert_eq!(zero.over(b), zero);
    assert!(!a.over(zero).finite());
    let [largest, least] = [f32::MAX, f32::MIN_POSITIVE].map(|part| Complex::new(part, 0.0));
    let overflow = largest.over(least);
    assert!(overflow.re.is_infinite() && !overflow.im.is_nan(), "{overflow}");
    assert_eq!(least.over(largest), zero);
}

/// The bits of all that decompositions of an array give.
fn all_bits<T: Scalar>([m, n]: [usize; 2]) -> Vec<u8> {
    let a = square::<T>(m, Kind::Any, true);
    let part = a.first(m, n);
    let mut both = part.to::<T>();
    let rank = m.min(n);
    let (mut taus, mut room) = (vec![T::ZERO; rank], vec![T::ZERO; workspace([m, n])]);
    qr([m, n], &mut both, &mut taus, &mut room);
    let mut q = vec![T::ZERO; m * n];
    product([m, n], &both, &taus, &mut q, &mut room);
    let mut factors = part.to::<T>();
    let (mut pivots, mut permutation) = (vec![0; rank], vec![0; m]);
    let mut room = vec![T::ZERO; lu::workspace([m, n])];
    lu::lu([m, n], &mut factors, &mut pivots, &mut permutation, &mut room);
    let mut x = part.to::<T>();
    solve_left(m, Triangle { lower: true, unit: true }, &a.scaled(0.01).to::<T>(), &mut x, n);
    // Eigenvalues of a large matrix take long without optimisation, and share nothing with threads
    // but blocks of reflectors.
    let m = m.min(100);
    let (mut vectors, [room, reals]) = (a.first(m, m).to::<T>(), eigh::workspace(m));
    let (mut room, mut reals) = (vec![T::ZERO; room], vec![T::Real::ZERO; reals]);
    eigh::eigen(m, &mut vectors, &mut room, &mut reals);
    let numbers = [both, taus, q, factors, x, vectors];
    let bits = numbers.iter().flat_map(|numbers| bytemuck::cast_slice(numbers).to_vec());
    bits.chain(bytemuck::cast_slice(&reals[..m]).to_vec()).collect()
}

#[test]
fn bits_are_the_same_for_any_vectors_and_threads() {
    fn check<T: Scalar>(size: [usize; 2]) {
        let bits = all_bits::<T>(size);
        simd::at_every_level(|level| assert!(all_bits::<T>(size) == bits, "{size:?} {level:?}"));
        let threads = parallel::with_threads(3, || all_bits::<T>(size));
        assert!(threads == bits, "{size:?} on threads");
    }
    check::<f32>([37, 33]);
    check::<f64>([100, 70]);
    check::<Complex<f32>>([70, 70]);
    // Several chunks for threads.
    check::<f32>([400, 240]);
}

#[test]
fn what_is_not_finite_ends_and_says_so() {
    for (bad, n) in [(f32::NAN, 5), (f32::INFINITY, 40), (f32::NEG_INFINITY, 70), (f32::NAN, 70)] {
        let mut a = square::<f32>(n, Kind::Any, false).to::<f32>();
        a[n + 1] = bad;
        let (mut both, mut taus) = (a.clone(), vec![0.0; n]);
        let mut room = vec![0.0; workspace([n, n])];
        qr([n, n], &mut both, &mut taus, &mut room);
        assert!(!both[n * n - 1].is_finite(), "QR with {bad}");
        let (mut pivots, mut permutation) = (vec![0; n], vec![0; n]);
        let mut room = vec![0.0; lu::workspace([n, n])];
        lu::lu([n, n], &mut a, &mut pivots, &mut permutation, &mut room);
        assert!(a.iter().any(|value| !value.is_finite()), "LU with {bad}");
        let mut sorted = permutation.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq((0..).take(n)), "LU with {bad}");
    }
}

#[test]
fn zeros_at_the_end_of_columns_stay_out_of_a_block() {
    let n = 70;
    let half = square::<f64>(n, Kind::Any, false);
    let entry = |at: usize| match (at / n, at % n) {
        (row, column) if row < n => half.data[row * n + column],
        (row, column) => Z::new(f64::from(u8::from(row - n == column)), 0.0),
    };
    let a = Dense::new(2 * n, n, entry);
    check_qr::<f64>(&a, "QR over an identity");
    let mut both = a.to::<f64>();
    let mut room = vec![0.0; workspace([2 * n, n])];
    qr([2 * n, n], &mut both, &mut vec![0.0; n], &mut room);
    // The reflectors of the first block end where its part of the identity does.
    let below = both.chunks(n).skip(n + 32).map(|row| &row[..32]);
    assert!(below.flatten().all(|&value| value == 0.0));
}
