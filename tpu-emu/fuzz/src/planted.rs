//! Faults on purpose, as targets of custom calls: a net that does not find them would find nothing.
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tpu_emu::custom_call::{
    Call, CallSite, Moment, Progress, Registration, Registry, Stage, Target,
};
use tpu_emu::{Error, Result};

/// The name of the target in programs.
pub const TARGET: &str = "planted";

/// A program that calls the target and is without fault as it stands: what is wrong with the
/// target shows where an extent is 0. The target writes nothing, so its result is its operand. A call
/// without effects would not be run where its result has no element.
pub const PROGRAM: &str = "module @planted {
  func.func public @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %y = stablehlo.custom_call @planted(%x) {mhlo.backend_config = {}, api_version = 4 : i32, has_side_effect = true, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %z = stablehlo.add %y, %x : tensor<4x3xf32>
    return %z : tensor<4x3xf32>
  }
}
";

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A panic while a program is compiled.
    Compile,
    /// A panic while it runs.
    Panic,
    /// The end of the process while it runs.
    Abort,
    /// A run that does not end.
    Hang,
    /// Every second run ends otherwise.
    Unsteady,
}

impl Fault {
    /// Each fault with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("compile", Self::Compile),
        ("panic", Self::Panic),
        ("abort", Self::Abort),
        ("hang", Self::Hang),
        ("unsteady", Self::Unsteady),
    ];

    /// The fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, fault)| fault)
    }
}

/// Targets for a machine, the one with the fault among them.
///
/// # Errors
/// Those of [`Registry::register`].
pub fn registry(fault: Fault) -> Result<Arc<Registry>> {
    let registry = Arc::new(Registry::default());
    registry.register(Registration {
        name: TARGET.into(),
        platform: "TPU".to_owned(),
        typed: true,
        identity: vec![1],
        origin: "a planted fault".to_owned(),
        target: Arc::new(Planted { fault, site: None, odd: Arc::default() }),
    })?;
    Ok(registry)
}

#[derive(Debug, Clone)]
struct Planted {
    fault: Fault,
    site: Option<Arc<CallSite>>,
    odd: Arc<AtomicBool>,
}

impl Target for Planted {
    fn instantiate(&self, site: Arc<CallSite>) -> Result<Arc<dyn Call>> {
        if self.fault == Fault::Compile && is_unlucky(&site) {
            panic!("the planted fault");
        }
        Ok(Arc::new(Self { site: Some(site), ..self.clone() }))
    }
}

fn is_unlucky(site: &CallSite) -> bool {
    site.operands.iter().any(|shape| shape.dims.contains(&0))
}

impl Call for Planted {
    fn site(&self) -> &Arc<CallSite> {
        self.site.as_ref().unwrap_or_else(|| unreachable!("a call has its site"))
    }

    fn has(&self, stage: Stage) -> bool {
        stage == Stage::Execute
    }

    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    #[expect(clippy::disallowed_methods, reason = "the fault is to take time")]
    fn run(&self, _: Stage, _: &Moment<'_>) -> Result<Progress> {
        if !is_unlucky(self.site()) {
            return Ok(Progress::Done);
        }
        match self.fault {
            Fault::Compile => {}
            Fault::Panic => panic!("the planted fault"),
            Fault::Abort => std::process::abort(),
            Fault::Hang => std::thread::sleep(Duration::from_secs(3600)),
            Fault::Unsteady => {
                if self.odd.fetch_xor(true, Ordering::Relaxed) {
                    return Err(Error::bad("the planted fault"));
                }
            }
        }
        Ok(Progress::Done)
    }
}
