//! A kernel that takes more than its core has, in the compiler's words.
//!
//! Source: texts of libtpu of 2026 in public reports, error E1001 and the list of the largest
//! allocations; for scalar memory those without a number.
use std::fmt::Write;
use tpu_base::error::short;
use tpu_base::units::Bytes;
use tpu_mosaic::ir::{Cell, MemorySpace, Memref};
use tpu_mosaic::memory::{Budget, Role, Taken};

/// How many allocations are listed.
const LISTED: usize = 16;

/// The text for a kernel that needs more of a memory than its limit. `may_ask` is how much a
/// kernel may ask for, if that is more.
pub(super) fn too_large(
    name: &str,
    line: Option<&str>,
    budget: &Budget,
    (memory, limit): (MemorySpace, u64),
    may_ask: Option<u64>,
) -> String {
    let total = budget.total(memory);
    let (needed, had, over) = (size(total), size(limit), size(total - limit));
    let word = memory.word();
    let place = line.map_or_else(String::new, |line| format!(" at {line}"));
    let call = format!("%{name} = custom-call, custom_call_target=\"tpu_custom_call\"");
    // Writing to a string cannot fail.
    let mut text = String::new();
    if memory == MemorySpace::Vmem {
        let _ = write!(
            text,
            "E1001: CompileTimeScopedVmemOom: Ran out of memory in memory space vmem while \
             allocating on stack for {call}{place}. Scoped allocation with size {needed} and \
             limit {had} exceeded scoped vmem limit by {over}.\n\
             See https://openxla.org/xla/errors/error_1001 for more details."
        );
        if let Some(most) = may_ask {
            let most = size(most);
            let _ = write!(text, "\nvmem_limit_bytes of the kernel's parameters can be {most}.");
        }
    } else {
        let _ = write!(
            text,
            "XLA:TPU compile permanent error. Ran out of memory in memory space {word} for \
             {call}{place}. Used {needed} of {had} {word}. Exceeded {word} capacity by {over}."
        );
    }
    let _ = write!(
        text,
        "\n\nProgram {word} requirement {needed}:\n    scoped           {needed}\n\n  \
         Largest program allocations in {word}:\n"
    );
    let all = budget.largest(memory);
    for (number, taken) in all.iter().take(LISTED).enumerate() {
        allocation(&mut text, number + 1, taken, &call);
    }
    if let Some(more) = all.get(LISTED..).filter(|more| !more.is_empty()) {
        let rest = more.iter().fold(0_u64, |sum, taken| sum.saturating_add(taken.size));
        let _ = writeln!(text, "\n  and {} more of {} together", more.len(), size(rest));
    }
    text.truncate(text.trim_end().len());
    text
}

/// The text for a call that leaves the compiler too little scratch of its own.
pub(super) fn internal_scratch(name: &str, line: Option<&str>, size: u64, least: u64) -> String {
    let place = line.map_or_else(String::new, |line| format!("{line}: "));
    format!(
        "{place}kernel {name}: Requested internal scratch size {size} needs to be at least \
         {least} bytes."
    )
}

fn allocation(text: &mut String, number: usize, taken: &Taken, call: &str) {
    let _ = write!(text, "\n  {number}. Size: {}\n", size(taken.size));
    let _ = writeln!(text, "     Shape: {}", shape(&taken.of, &taken.of.dims));
    let _ = writeln!(text, "     Unpadded size: {}", size(taken.unpadded));
    if taken.size > taken.unpadded && taken.unpadded > 0 {
        let tenths = u128::from(taken.size) * 10 / u128::from(taken.unpadded);
        let _ = writeln!(
            text,
            "     Extra memory due to padding: {} ({}.{}x expansion)",
            size(taken.size - taken.unpadded),
            tenths / 10,
            tenths % 10
        );
    }
    let _ = writeln!(text, "     Tag: {}", tag(taken));
    let _ = writeln!(text, "     XLA label: {call}");
    let _ = writeln!(text, "     Allocation type: scoped");
    let _ = writeln!(text, "     ==========================");
}

/// What an allocation is for.
fn tag(taken: &Taken) -> String {
    let buffers = match taken.buffers {
        1 => "This allocation is single buffered.".to_owned(),
        levels => format!("This allocation has {levels} buffering levels."),
    };
    let window = |what: String| {
        let window = shape(&taken.of, &taken.of.dims);
        let full = taken.whole.as_ref().map_or_else(
            || format!("The window shape is {window}."),
            |whole| {
                let full = shape(&taken.of, whole);
                format!("The window shape is {window}, while the full shape is {full}.")
            },
        );
        format!("{what}. {full} {buffers}")
    };
    match taken.role {
        Role::Input(operand) => {
            window(format!("input window allocation for operator input {operand}"))
        }
        Role::Output(result) => {
            window(format!("output window allocation for operator output {result}"))
        }
        Role::Scalar(operand) => format!("scalar operand {operand}"),
        Role::Scratch(number) => format!("scratch operand {number}"),
        Role::Allocated => "allocated inside of the kernel".to_owned(),
        Role::Internal => "internal scratch".to_owned(),
    }
}

/// A type and extents, as XLA writes them.
fn shape(of: &Memref, dims: &[i64]) -> String {
    let element = match of.cell {
        Cell::Element(element) => xla_name(element),
        Cell::Semaphore => "semaphore".to_owned(),
        Cell::DmaSemaphore => "dma_semaphore".to_owned(),
    };
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    format!("{element}[{}]", dims.join(","))
}

fn xla_name(element: tpu_mosaic::ir::Element) -> String {
    let names = tpu_mosaic::ir::Element::NAMES;
    let name = names.iter().find(|(of, _)| *of == element).map_or("?", |(_, name)| *name);
    match name.strip_prefix('i').filter(|width| width.bytes().all(|byte| byte.is_ascii_digit())) {
        Some("1") => "pred".to_owned(),
        Some(width) => format!("s{width}"),
        None => {
            name.strip_prefix("ui").map_or_else(|| name.to_lowercase(), |width| format!("u{width}"))
        }
    }
}

fn size(bytes: u64) -> String {
    short(Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::{CalledKernel, CoreMemories};
    use std::path::Path;
    use std::sync::Arc;
    use tpu_mosaic::Config;

    const V5E: CoreMemories = CoreMemories {
        vmem: 128 << 20,
        scoped_vmem: 16 << 20,
        smem: 1 << 20,
        subcore_vmem: 0,
        least_words: 1,
    };

    fn kernel(name: &str, config: Config) -> CalledKernel {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mosaic/tests/golden");
        let body = std::fs::read(golden.join(name).with_extension("mlirbc")).unwrap();
        CalledKernel {
            name: "matmul".into(),
            configuration: "{}".into(),
            config: Arc::new(config),
            module: Arc::new(tpu_mosaic::read(&body, None).unwrap()),
            operands: vec![vec![256, 256], vec![256, 256]],
            results: vec![vec![256, 256]],
            line: Some("model.py:12:5".into()),
        }
    }

    fn refusal(name: &str, config: Config, cores: &CoreMemories) -> Option<String> {
        kernel(name, config).memory(cores).too_large(cores)
    }

    #[test]
    fn a_kernel_that_takes_too_much_vector_memory_is_refused_with_a_table() {
        assert_eq!(refusal("matmul_0_10_2", Config::default(), &V5E), None);
        let config = Config { vmem_limit_bytes: Some(256 << 10), ..Config::default() };
        assert_eq!(refusal("matmul_0_10_2", config, &V5E), None);
        let config = Config { vmem_limit_bytes: Some(200 << 10), ..Config::default() };
        let text = refusal("matmul_0_10_2", config, &V5E).unwrap();
        let expected = "\
E1001: CompileTimeScopedVmemOom: Ran out of memory in memory space vmem while allocating on stack \
for %matmul = custom-call, custom_call_target=\"tpu_custom_call\" at model.py:12:5. Scoped \
allocation with size 256.00K and limit 200.00K exceeded scoped vmem limit by 56.00K.
See https://openxla.org/xla/errors/error_1001 for more details.
vmem_limit_bytes of the kernel's parameters can be 128.00M.

Program vmem requirement 256.00K:
    scoped           256.00K

  Largest program allocations in vmem:

  1. Size: 64.00K
     Shape: bf16[128,128]
     Unpadded size: 64.00K
     Tag: input window allocation for operator input 0. The window shape is bf16[128,128], while \
the full shape is bf16[256,256]. This allocation has 2 buffering levels.
     XLA label: %matmul = custom-call, custom_call_target=\"tpu_custom_call\"
     Allocation type: scoped
     ==========================
";
        let end = text.find("\n  2. Size").unwrap();
        assert_eq!(&text[..end], expected);
        assert!(text.contains("Tag: output window allocation for operator output 0."), "{text}");
        assert!(text.contains("Shape: f32[128,128]"), "{text}");
        assert!(text.contains("Tag: scratch operand 0\n"), "{text}");
    }

    #[test]
    fn a_kernel_may_not_ask_for_more_than_there_is() {
        let config = Config { vmem_limit_bytes: Some(1 << 40), ..Config::default() };
        let cores = CoreMemories { vmem: 128 << 10, ..V5E };
        let text = refusal("matmul_0_10_2", config, &cores).unwrap();
        assert!(text.contains("with size 256.00K and limit 128.00K"), "{text}");
        assert!(!text.contains("vmem_limit_bytes"), "{text}");
    }

    #[test]
    fn scalar_memory_has_its_own_words() {
        let cores = CoreMemories { smem: 100, ..V5E };
        let text = refusal("loop_0_10_2", Config::default(), &cores).unwrap();
        let first = "XLA:TPU compile permanent error. Ran out of memory in memory space smem for \
                     %matmul = custom-call, custom_call_target=\"tpu_custom_call\" at \
                     model.py:12:5. Used 512B of 100B smem. Exceeded smem capacity by 412B.\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("Shape: s32[1]\n     Unpadded size: 4B\n"), "{text}");
        assert!(text.contains("(128.0x expansion)\n     Tag: scalar operand 0\n"), "{text}");
    }

    #[test]
    fn too_little_scratch_for_the_compiler_is_refused() {
        let config = |bytes| Config { internal_scratch_bytes: Some(bytes), ..Config::default() };
        let text = refusal("add_0_10_2", config(512), &V5E).unwrap();
        assert!(
            text.contains("Requested internal scratch size 512 needs to be at least"),
            "{text}"
        );
        assert!(text.starts_with("model.py:12:5: kernel matmul: "), "{text}");
        assert_eq!(refusal("add_0_10_2", config(4096), &V5E), None);
    }

    #[test]
    fn a_compiled_call_says_what_it_takes() {
        let memory = kernel("matmul_0_10_2", Config::default()).memory(&V5E);
        assert_eq!((memory.vmem(), memory.smem(), memory.semaphores()), (256 << 10, 0, 0));
        assert!(memory.described().unwrap().contains("\"size\":\"262144\""));
    }
}
