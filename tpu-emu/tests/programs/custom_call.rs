// UNSAFETY: a handler reads and writes the memory whose addresses a call is given, as handlers in
// C do. The machine keeps that memory until the stage is over.
//! Custom calls: stages, memory, layouts, order, errors, calls that end later.
#![expect(unsafe_code, reason = "a handler works on addresses")]
use super::machine::{Array, compile, f32s, get, launch, put};
use std::any::Any;
use std::slice;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tpu_emu::custom_call::{
    Backend, Call, CallMemory, CallSite, Moment, Progress, Registration, Services, Stage, Target,
};
use tpu_emu::{Buffer, Code, Config, Emulator, Error, Event, Memory, MemoryKind, Result};

type Body = fn(&Handler, &Moment<'_>) -> Result<Progress>;

/// A target whose execute stage is a function of Rust, and that takes its stages down.
#[derive(Debug, Clone)]
struct Handler {
    site: Option<Arc<CallSite>>,
    stages: Arc<Mutex<Vec<String>>>,
    later: Event,
    execute: Body,
}

impl Target for Handler {
    fn instantiate(&self, site: Arc<CallSite>) -> Result<Arc<dyn Call>> {
        self.note(Stage::Instantiate, &site.target);
        Ok(Arc::new(Self { site: Some(site), ..self.clone() }))
    }
}

impl Handler {
    fn note(&self, stage: Stage, target: &str) {
        self.stages.lock().unwrap().push(format!("{} {target}", stage.name()));
    }
}

impl Call for Handler {
    fn site(&self) -> &Arc<CallSite> {
        self.site.as_ref().unwrap()
    }

    fn has(&self, _: Stage) -> bool {
        true
    }

    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    fn run(&self, stage: Stage, moment: &Moment<'_>) -> Result<Progress> {
        self.note(stage, &self.site().target);
        if stage == Stage::Execute { (self.execute)(self, moment) } else { Ok(Progress::Done) }
    }
}

fn values(place: &CallMemory) -> &[f32] {
    let first = std::ptr::with_exposed_provenance(place.address);
    // SAFETY: the machine's memory of an array of f32, for the stage.
    unsafe { slice::from_raw_parts(first, place.bytes / 4) }
}

fn set(place: &CallMemory, at: usize, value: f32) {
    assert!(at * 4 < place.bytes);
    let first = std::ptr::with_exposed_provenance_mut::<f32>(place.address);
    // SAFETY: inside of the result's memory, which is this call's.
    unsafe { first.add(at).write(value) };
}

/// Twice the operand, element by element as they lie in memory, plus the element's number.
fn doubled(_: &Handler, moment: &Moment<'_>) -> Result<Progress> {
    for at in 0..moment.results[0].bytes / 4 {
        let number = f32::from(u16::try_from(at).unwrap());
        set(&moment.results[0], at, 2.0 * values(&moment.operands[0])[at] + number);
    }
    Ok(Progress::Done)
}

/// A machine that knows one target.
fn machine_with(name: &str, execute: Body) -> (Arc<Emulator>, Handler) {
    let patience = Duration::from_millis(20);
    let machine = Emulator::new(Config { call_timeout: patience, ..Config::plain() }).unwrap();
    let handler = Handler { site: None, stages: Arc::default(), later: Event::pending(), execute };
    let registration = Registration {
        name: name.into(),
        platform: "TPU".to_owned(),
        typed: true,
        identity: vec![1],
        origin: "a test".to_owned(),
        target: Arc::new(handler.clone()),
    };
    machine.custom_calls().register(registration).unwrap();
    (machine, handler)
}

fn run(machine: &Arc<Emulator>, text: &str, arguments: &[Array]) -> Result<Vec<Array>> {
    let program = compile(machine, text)?;
    let arguments: Vec<Arc<Buffer>> = arguments.iter().map(|array| put(machine, array)).collect();
    launch(machine, &program, &arguments)?.results.into_iter().map(get).collect()
}

fn call(attributes: &str, of: &str) -> String {
    format!(
        "func.func public @main(%x: {of}) -> {of} {{
            %y = stablehlo.custom_call @f(%x) {{mhlo.backend_config = {{}}{attributes}}} : ({of}) -> {of}
            return %y : {of}
        }}"
    )
}

#[test]
fn stages_run_in_order_and_the_earlier_ones_once_a_launch() {
    let (machine, handler) = machine_with("f", doubled);
    let text = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %n:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<2xf32>
          cond { %three = stablehlo.constant dense<3> : tensor<i32>
                 %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %c : tensor<i1> }
          do { %one = stablehlo.constant dense<1> : tensor<i32>
               %j = stablehlo.add %i, %one : tensor<i32>
               %z = stablehlo.custom_call @f(%y) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
               stablehlo.return %j, %z : tensor<i32>, tensor<2xf32> }
        return %n#1 : tensor<2xf32>
    }";
    let program = compile(&machine, text).unwrap();
    assert_eq!(*handler.stages.lock().unwrap(), ["instantiate f"]);
    for _ in 0..2 {
        handler.stages.lock().unwrap().clear();
        let x = put(&machine, &f32s(&[2], &[1.0, 10.0]));
        let mut results = launch(&machine, &program, &[x]).unwrap().results;
        assert_eq!(get(results.remove(0)).unwrap(), f32s(&[2], &[8.0, 87.0]));
        let stages = ["prepare f", "initialize f", "execute f", "execute f", "execute f"];
        assert_eq!(*handler.stages.lock().unwrap(), stages);
    }
}

#[test]
fn a_handler_sees_the_order_of_axes_that_the_call_asks_for() {
    let (machine, _) = machine_with("f", doubled);
    let x = f32s(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let layouts = |operand: &str, result: &str| {
        format!(
            ", operand_layouts = [dense<{operand}> : tensor<2xindex>], \
             result_layouts = [dense<{result}> : tensor<2xindex>]"
        )
    };
    let rows =
        run(&machine, &call(&layouts("[1, 0]", "[1, 0]"), "tensor<2x3xf32>"), slice::from_ref(&x));
    assert_eq!(rows.unwrap(), [f32s(&[2, 3], &[0.0, 3.0, 6.0, 9.0, 12.0, 15.0])]);
    // In memory 0 3 1 4 2 5, and so the numbers are added.
    let columns =
        run(&machine, &call(&layouts("[0, 1]", "[0, 1]"), "tensor<2x3xf32>"), slice::from_ref(&x));
    assert_eq!(columns.unwrap(), [f32s(&[2, 3], &[0.0, 4.0, 8.0, 7.0, 11.0, 15.0])]);
    let wrong = run(&machine, &call(&layouts("[0, 0]", "[0, 1]"), "tensor<2x3xf32>"), &[x]);
    let text = wrong.unwrap_err().to_string();
    assert!(text.contains("is no order of the axes of f32[2,3]"), "{text}");
}

#[test]
fn a_result_may_share_the_memory_of_an_operand_that_others_still_read() {
    fn in_place(handler: &Handler, moment: &Moment<'_>) -> Result<Progress> {
        assert_eq!(moment.operands[0].address, moment.results[0].address);
        doubled(handler, moment)
    }
    let (machine, _) = machine_with("f", in_place);
    let text = "func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
        %y = stablehlo.custom_call @f(%x) {mhlo.backend_config = {}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<2xf32>
        return %x, %y : tensor<2xf32>, tensor<2xf32>
    }";
    let results = run(&machine, text, &[f32s(&[2], &[1.0, 2.0])]).unwrap();
    assert_eq!(results, [f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[2.0, 5.0])]);
}

#[test]
fn a_failing_handler_fails_the_launch_in_its_own_words_with_the_line() {
    fn fail(_: &Handler, _: &Moment<'_>) -> Result<Progress> {
        Err(Error::Verbatim { code: Code::OutOfRange, message: "no such axis".into() })
    }
    let (machine, _) = machine_with("f", fail);
    let text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> {
        %y = stablehlo.custom_call @f(%x) {mhlo.backend_config = {}} : (tensor<f32>) -> tensor<f32> loc(\"train.py\":7:3)
        return %y : tensor<f32>
    }";
    let error = run(&machine, text, &[f32s(&[], &[1.0])]).unwrap_err();
    assert_eq!((error.code(), error.to_string()), {
        (Code::OutOfRange, "train.py:7:3: f: no such axis".to_owned())
    });
}

#[test]
fn calls_with_side_effects_are_kept_and_others_without_readers_are_not() {
    let (machine, handler) = machine_with("f", |_, _| Ok(Progress::Done));
    let text = "func.func public @main() {
        stablehlo.custom_call @f() {mhlo.backend_config = {}, has_side_effect = true} : () -> ()
        %unread = stablehlo.custom_call @f() {mhlo.backend_config = {}} : () -> tensor<f32>
        return
    }";
    let program = compile(&machine, text).unwrap();
    handler.stages.lock().unwrap().clear();
    launch(&machine, &program, &[]).unwrap().done.wait().unwrap();
    let stages = handler.stages.lock().unwrap();
    assert_eq!(stages.iter().filter(|stage| *stage == "execute f").count(), 1);
}

#[test]
fn a_call_may_end_on_another_thread_after_its_handler_has_returned() {
    fn later(handler: &Handler, moment: &Moment<'_>) -> Result<Progress> {
        let (from, to, later) = (moment.operands[0], moment.results[0], handler.later.clone());
        moment.services.schedule(Box::new(move || {
            set(&to, 0, values(&from)[0] + 1.0);
            later.settle(Ok(()));
        }));
        Ok(Progress::Pending(handler.later.clone()))
    }
    let (machine, _) = machine_with("f", later);
    let text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> {
        %y = stablehlo.custom_call @f(%x) {mhlo.backend_config = {}} : (tensor<f32>) -> tensor<f32>
        %z = stablehlo.add %y, %y : tensor<f32>
        return %z : tensor<f32>
    }";
    assert_eq!(run(&machine, text, &[f32s(&[], &[1.0])]).unwrap(), [f32s(&[], &[4.0])]);
}

#[test]
fn a_call_that_never_ends_fails_and_its_memory_stays_until_it_does() {
    fn never(handler: &Handler, _: &Moment<'_>) -> Result<Progress> {
        Ok(Progress::Pending(handler.later.clone()))
    }
    let (machine, handler) = machine_with("f", never);
    let error = run(&machine, &call("", "tensor<64xf32>"), &[f32s(&[64], &[1.0; 64])]);
    let text = error.unwrap_err().to_string();
    assert!(text.contains("custom call \"f\" has not ended 20ms after"), "{text}");
    let hbm = Memory { device: 0, kind: MemoryKind::Device };
    assert_ne!(machine.memory_stats(hbm).live_blocks, 0);
    handler.later.settle(Ok(()));
    assert_eq!(machine.memory_stats(hbm).live_blocks, 0);
}

#[test]
fn scratch_memory_is_the_devices_and_is_given_back_with_the_call() {
    fn scratch(handler: &Handler, moment: &Moment<'_>) -> Result<Progress> {
        let services = moment.services;
        let first = services.allocate(100, 64)?;
        let second = services.allocate(0, 1 << 16)?;
        assert_eq!((first % 64, second % (1 << 16)), (0, 0));
        services.free(first)?;
        let again = services.free(first).unwrap_err().to_string();
        assert!(again.contains("none of the 1 blocks of scratch memory"), "{again}");
        assert!(services.allocate(8, 3).is_err());
        let huge = services.allocate(1 << 50, 1).unwrap_err();
        assert_eq!(huge.code(), Code::ResourceExhausted);
        assert!(services.allocate(usize::MAX, 1 << 20).is_err());
        handler.stages.lock().unwrap().push(format!("run {}", services.run_id()));
        KEPT.lock().unwrap().replace(Arc::clone(services));
        doubled(handler, moment)
    }
    static KEPT: Mutex<Option<Arc<dyn Services>>> = Mutex::new(None);
    let (machine, _) = machine_with("f", scratch);
    let results = run(&machine, &call("", "tensor<f32>"), &[f32s(&[], &[1.0])]).unwrap();
    assert_eq!(results, [f32s(&[], &[2.0])]);
    let hbm = Memory { device: 0, kind: MemoryKind::Device };
    assert_eq!(machine.memory_stats(hbm).live_blocks, 0);
    let kept = KEPT.lock().unwrap().take().unwrap();
    assert_eq!(kept.allocate(8, 8).unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn a_target_is_told_what_the_program_says_of_the_call() {
    fn nothing(handler: &Handler, _: &Moment<'_>) -> Result<Progress> {
        let site = handler.site();
        let Backend::Attributes(attributes) = &site.backend else { panic!("{site:?}") };
        let told: Vec<&str> = attributes.0.iter().map(|(name, _)| &**name).collect();
        assert_eq!(told, ["a", "b"]);
        let seen: Vec<String> =
            site.operands.iter().chain(&site.results).map(ToString::to_string).collect();
        assert_eq!(seen, ["f32[2]", "token[]", "s32[3]", "token[]"]);
        Ok(Progress::Done)
    }
    let (machine, handler) = machine_with("f", nothing);
    let text = "func.func public @main(%x: tensor<2xf32>) -> tensor<3xi32> {
        %t = stablehlo.create_token : !stablehlo.token
        %y = stablehlo.custom_call @f(%x, %t) {mhlo.backend_config = {b = 1 : i32, a = \"x\"}} : (tensor<2xf32>, !stablehlo.token) -> tuple<tensor<3xi32>, !stablehlo.token>
        %z = stablehlo.get_tuple_element %y[0] : (tuple<tensor<3xi32>, !stablehlo.token>) -> tensor<3xi32>
        return %z : tensor<3xi32>
    }";
    run(&machine, text, &[f32s(&[2], &[1.0, 2.0])]).unwrap();
    assert!(handler.stages.lock().unwrap().contains(&"execute f".to_owned()));
}

#[test]
fn every_unknown_target_is_named_at_compile_time_with_its_line() {
    let (machine, _) = machine_with("f", doubled);
    let text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> {
        %y = stablehlo.custom_call @g(%x) {mhlo.backend_config = {}} : (tensor<f32>) -> tensor<f32> loc(\"train.py\":7:3)
        %z = stablehlo.custom_call @h(%y) : (tensor<f32>) -> tensor<f32> loc(\"train.py\":8:3)
        return %z : tensor<f32>
    }";
    let text = compile(&machine, text).unwrap_err().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "train.py:7:3: custom call target \"g\" is not registered; registered targets: f",
            "train.py:8:3: custom call target \"h\" is not registered; registered targets: f",
        ]
    );
}

#[test]
fn writing_behind_a_result_is_found_wherever_the_result_lies() {
    fn beyond(_: &Handler, moment: &Moment<'_>) -> Result<Progress> {
        let CallMemory { address, bytes } = moment.results[0];
        set(&CallMemory { address, bytes: bytes + 4 }, bytes / 4, 1.0);
        Ok(Progress::Done)
    }
    let (machine, _) = machine_with("f", beyond);
    let wanted = "custom call \"f\" wrote past the end of result 0: 4 of the 64 bytes behind its";
    let outside = run(&machine, &call("", "tensor<5xf32>"), &[f32s(&[5], &[1.0; 5])]);
    let text = outside.unwrap_err().to_string();
    assert!(text.contains(&format!("{wanted} 20 bytes")), "{text}");
    let inside = "func.func public @main(%x: tensor<16xf32>) -> tensor<f32> {
        %y = stablehlo.custom_call @f(%x) {mhlo.backend_config = {}} : (tensor<16xf32>) -> tensor<16xf32>
        %z = stablehlo.slice %y [0:1] : (tensor<16xf32>) -> tensor<1xf32>
        %w = stablehlo.reshape %z : (tensor<1xf32>) -> tensor<f32>
        return %w : tensor<f32>
    }";
    let text = run(&machine, inside, &[f32s(&[16], &[1.0; 16])]).unwrap_err().to_string();
    assert!(text.contains(&format!("{wanted} 64 bytes")), "{text}");
}
