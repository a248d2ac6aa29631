//! The one switch from an element's width, known when a program runs, to a type of that width.

/// Evaluates an expression with `$T` standing for an unsigned type of `$width` bytes: 1, 2, 4, 8
/// or 16. What moves elements asks for no more than that.
///
/// Other widths evaluate what stands behind `else`; without it, every other width counts as 16.
#[macro_export]
macro_rules! for_width {
    (@arm $T:ident = $rust:ty, $body:expr) => {{
        type $T = $rust;
        $body
    }};
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            1 => $crate::for_width!(@arm $T = u8, $body),
            2 => $crate::for_width!(@arm $T = u16, $body),
            4 => $crate::for_width!(@arm $T = u32, $body),
            8 => $crate::for_width!(@arm $T = u64, $body),
            _ => $crate::for_width!(@arm $T = [u64; 2], $body),
        }
    };
    ($width:expr, $T:ident => $body:expr, else $other:expr) => {
        match $width {
            1 | 2 | 4 | 8 | 16 => $crate::for_width!($width, $T => $body),
            _ => $other,
        }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_width_has_a_type_of_its_size() {
        for width in [1, 2, 4, 8, 16] {
            assert_eq!(for_width!(width, T => size_of::<T>()), width);
            assert_eq!(for_width!(width, T => size_of::<T>(), else 0), width);
        }
        for width in [0, 3, 12, 32] {
            assert_eq!(for_width!(width, T => size_of::<T>(), else 0), 0, "{width}");
        }
    }
}
