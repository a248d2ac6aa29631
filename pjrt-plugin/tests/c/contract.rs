//! What every function of the interface promises, checked on one of them.
// UNSAFETY: calls C functions with structs of every size.
use super::{Failure, Function, INVALID, assert_refused, blank, outcome};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr;
use std::slice;

/// Checks a function against the promises that all of them make.
///
/// `contract!(function(handle, last), field: value, …)`, where `handle` is the object that the
/// function belongs to (`-` for none) and `last` the last field that it needs. The values are
/// made anew for every call. `=> |args| …` gives back what a call made.
macro_rules! contract {
    ($($what:tt)*) => {
        $crate::c::contract::contract_of!($crate::c::api(), $($what)*)
    };
}
pub(crate) use contract;

/// [`contract!`] of a function in another table: that of an extension.
macro_rules! contract_of {
    ($table:expr, $function:ident($handle:tt, $last:ident)
        $(, $field:ident: $value:expr)* $(=> $release:expr)? $(,)?) => {
        $crate::c::contract::check(
            $crate::c::contract::Checked {
                name: stringify!($function),
                function: $table.$function,
                end: |args| $crate::c::contract::end(args, &args.$last),
                handle: $crate::c::contract::handle!($handle),
            },
            &mut |args| { $(args.$field = $value;)* let _ = args; },
            &mut $crate::c::contract::or_nothing!($($release)?),
        )
    };
}
pub(crate) use contract_of;

/// How to read and write the bits of a handle field; `-` is none.
macro_rules! handle {
    (-) => {
        None
    };
    ($handle:ident) => {
        Some((
            |args| args.$handle.addr(),
            |args, bits| args.$handle = std::ptr::without_provenance_mut(bits),
        ))
    };
}
pub(crate) use handle;

/// What to do with a struct after a call that succeeded: nothing, unless somebody says more.
macro_rules! or_nothing {
    () => {
        |_| {}
    };
    ($release:expr) => {
        $release
    };
}
pub(crate) use or_nothing;

/// Reads and writes the bits of a handle field.
pub(crate) type Handle<A> = (fn(&A) -> usize, fn(&mut A, usize));

/// A function to check.
pub(crate) struct Checked<A> {
    pub(crate) name: &'static str,
    pub(crate) function: Function<A>,
    /// Where the last field that it needs ends.
    pub(crate) end: fn(&A) -> usize,
    pub(crate) handle: Option<Handle<A>>,
}

/// Where a field ends, in bytes from the start of its struct.
pub(crate) fn end<A, T>(args: &A, field: &T) -> usize {
    ptr::from_ref(field).addr() - ptr::from_ref(args).addr() + size_of::<T>()
}

/// Fills what a C caller does not own, to see that nobody writes there.
const PATTERN: u8 = 0xa5;
/// Bytes behind a struct of ours in the struct of a newer header.
const NEWER: usize = 64;

pub(crate) fn check<A: Copy>(
    checked: Checked<A>,
    fill: &mut dyn FnMut(&mut A),
    release: &mut dyn FnMut(&A),
) {
    let Checked { name, function, end, handle } = checked;
    let needed = end(&blank());
    let mut fresh = || {
        let mut args = blank();
        fill(&mut args);
        args
    };

    // SAFETY: null is what every function must refuse.
    let error = unsafe { function.unwrap()(ptr::null_mut()) };
    assert_refused(outcome(error), INVALID, &["null", name]);

    let empty: A = blank();
    for short in [0, 8, needed - 1] {
        let (answer, _) = call_sized(function, &empty, short);
        let short = format!("struct_size {short} ");
        assert_refused(answer, INVALID, &[&short, &needed.to_string(), name]);
    }

    if let Some((get, set)) = handle {
        let args = fresh();
        for (bits, words) in strangers(get(&args)) {
            let mut wrong = args;
            set(&mut wrong, bits);
            let (answer, _) = call_sized(function, &wrong, size_of::<A>());
            assert_refused(answer, INVALID, &[words, name]);
        }
        release_later(function, &args, release);
    }

    for given in [needed, size_of::<A>(), size_of::<A>() + NEWER] {
        let (answer, args) = call_sized(function, &fresh(), given);
        if let Err(failure) = answer {
            panic!("{name} with struct_size {given}: {failure:?}");
        }
        release(&args);
    }
}

/// Bits that are no handle of the right kind, with a word of the answer to each.
fn strangers(live: usize) -> [(usize, &'static str); 3] {
    let kind = live >> 56;
    // An id has its kind in the top byte; a memory is an address, and has none there.
    let other_kind = live & !(0xff << 56) | (if kind == 7 { 6 } else { 7 }) << 56;
    let other_epoch = live ^ (1 << 55);
    [(0, "null"), (other_kind, "stale"), (other_epoch, "stale")]
}

/// Uses up what a struct was filled with.
fn release_later<A: Copy>(function: Function<A>, args: &A, release: &mut dyn FnMut(&A)) {
    let (answer, args) = call_sized(function, args, size_of::<A>());
    if answer.is_ok() {
        release(&args);
    }
}

/// Calls with the first `size` bytes of a struct, and nothing readable of it behind them.
/// Panics if a byte behind them was written.
fn call_sized<A: Copy>(function: Function<A>, args: &A, size: usize) -> (Result<(), Failure>, A) {
    // A caller whose struct is shorter than a pointer still has its size to show.
    let given = size.max(size_of::<usize>());
    let room = given + NEWER;
    let layout = Layout::from_size_align(room, 16).unwrap();
    let shared = given.min(size_of::<A>());
    // SAFETY: `room` bytes of our own, of which no more are read or written; an argument struct
    // is numbers and pointers, so that zeros and copied bytes make one.
    unsafe {
        let place = alloc(layout);
        place.write_bytes(PATTERN, room);
        place.copy_from_nonoverlapping(ptr::from_ref(args).cast(), shared);
        place.cast::<usize>().write(size);
        let answer = outcome(function.unwrap()(place.cast()));
        let behind = slice::from_raw_parts(place.add(given), NEWER);
        assert!(behind.iter().all(|&byte| byte == PATTERN), "written behind struct_size {size}");
        if given > shared {
            let newer = slice::from_raw_parts(place.add(shared), given - shared);
            assert!(newer.iter().all(|&byte| byte == PATTERN), "a newer header's field written");
        }
        let mut back: A = blank();
        ptr::from_mut(&mut back).cast::<u8>().copy_from_nonoverlapping(place, shared);
        dealloc(place, layout);
        (answer, back)
    }
}
