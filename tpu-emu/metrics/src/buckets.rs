//! How long runs took, in buckets that grow.
use tpu_proto::runtime_metrics::Distribution;
use tpu_proto::runtime_metrics::distribution::BucketOptions;
use tpu_proto::runtime_metrics::distribution::bucket_options::{Exponential, Options};

/// Finite buckets, of which two double the time.
pub const FINITE: usize = 64;
/// How much wider each bucket is than the one before it.
pub const GROWTH: f64 = std::f64::consts::SQRT_2;
/// Where the first finite bucket begins, in microseconds.
pub const SCALE: f64 = 1.0;

/// How many runs took how long.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    /// All of them.
    pub count: u64,
    /// Microseconds of all together.
    pub sum: f64,
    /// Microseconds of the shortest.
    pub min: f64,
    /// Microseconds of the longest.
    pub max: f64,
    /// What was below the first finite bucket, the finite ones, what was above the last.
    pub buckets: Vec<u64>,
}

impl Timings {
    /// Takes a run of so many microseconds.
    pub fn add(&mut self, micros: f64) {
        self.buckets.resize(FINITE + 2, 0);
        self.min = if self.count == 0 { micros } else { self.min.min(micros) };
        self.max = self.max.max(micros);
        self.count += 1;
        self.sum += micros;
        let mut bound = SCALE;
        let mut bucket = 0;
        while micros >= bound && bucket <= FINITE {
            bound *= GROWTH;
            bucket += 1;
        }
        self.buckets[bucket] += 1;
    }

    pub(crate) fn message(&self) -> Distribution {
        let exponential = Exponential {
            num_finite_buckets: i32::try_from(FINITE).unwrap_or(i32::MAX),
            growth_factor: GROWTH,
            scale: SCALE,
        };
        let options = Some(Options::ExponentialBuckets(exponential));
        let runs = u32::try_from(self.count).unwrap_or(u32::MAX);
        let number = |count: &u64| i64::try_from(*count).unwrap_or(i64::MAX);
        let mut bucket_counts: Vec<i64> = self.buckets.iter().map(number).collect();
        bucket_counts.resize(FINITE + 2, 0);
        Distribution {
            count: number(&self.count),
            mean: if runs == 0 { 0.0 } else { self.sum / f64::from(runs) },
            min: self.min,
            max: self.max,
            sum_of_squared_deviation: 0.0,
            bucket_options: Some(BucketOptions { options }),
            bucket_counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_into_the_bucket_that_begins_at_it_or_before() {
        let mut timings = Timings::default();
        for micros in [0.5, 1.0, 1.41, 1.42, 1e30] {
            timings.add(micros);
        }
        assert_eq!(timings.buckets[..3], [1, 2, 1]);
        assert_eq!(timings.buckets[FINITE + 1], 1);
        assert_eq!((timings.count, timings.min, timings.max), (5, 0.5, 1e30));
        assert_eq!(timings.message().bucket_counts.len(), FINITE + 2);
    }
}
