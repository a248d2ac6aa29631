//! A bundle of handlers as a target of the machine.
use super::api::table_of;
use super::attributes::Decoded;
use super::context::Context;
use super::frame::{Frame, Frames, HandlerFunction};
use super::state::{LaunchStates, StageState};
use super::{error, future, metadata};
use std::any::Any;
use std::sync::Arc;
use tpu_emu::custom_call::{
    Backend, Call, CallMemory, CallSite, Moment, Progress, Services, Stage, Target,
};
use tpu_emu::{Error, Event, Result};

/// A handler of one stage, with the minor version that it speaks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handler {
    pub(super) function: HandlerFunction,
    pub(super) minor: i32,
}

/// The handlers of a target, by stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handlers {
    pub(super) instantiate: Option<Handler>,
    pub(super) prepare: Option<Handler>,
    pub(super) initialize: Option<Handler>,
    pub(super) execute: Handler,
}

impl Handlers {
    fn of(&self, stage: Stage) -> Option<Handler> {
        match stage {
            Stage::Instantiate => self.instantiate,
            Stage::Prepare => self.prepare,
            Stage::Initialize => self.initialize,
            Stage::Execute => Some(self.execute),
        }
    }
}

/// A target behind XLA FFI.
#[derive(Debug)]
pub(super) struct FfiTarget(pub(super) Handlers);

impl Target for FfiTarget {
    fn instantiate(&self, site: Arc<CallSite>) -> Result<Arc<dyn Call>> {
        let Backend::Attributes(attributes) = &site.backend else {
            return Err(Error::bad("a typed handler takes no opaque text"));
        };
        let attributes = Decoded::new(attributes)?;
        let frames = Frames::new(attributes, &site.operands, &site.results)?;
        let call = FfiCall { handlers: self.0, frames, state: Arc::default(), site };
        match call.call(Stage::Instantiate, None, None, None)? {
            Progress::Done => Ok(Arc::new(call)),
            Progress::Pending(event) => {
                event.on_ready(move |_| drop(call));
                Err(Error::Unimplemented("an instantiate handler with a future".to_owned()))
            }
        }
    }
}

/// A target behind XLA FFI at one place of a program.
#[derive(Debug)]
struct FfiCall {
    handlers: Handlers,
    frames: Arc<Frames>,
    /// What the instantiate stage keeps.
    state: Arc<StageState>,
    site: Arc<CallSite>,
}

impl Call for FfiCall {
    fn site(&self) -> &Arc<CallSite> {
        &self.site
    }

    fn has(&self, stage: Stage) -> bool {
        self.handlers.of(stage).is_some()
    }

    /// Without the stages that keep something there is nothing to keep.
    fn begin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let keeps = self.has(Stage::Prepare) || self.has(Stage::Initialize);
        keeps.then(|| Arc::new(LaunchStates::default()) as Arc<dyn Any + Send + Sync>)
    }

    fn run(&self, stage: Stage, moment: &Moment<'_>) -> Result<Progress> {
        let launch = moment.state.and_then(|state| Arc::clone(state).downcast().ok());
        let places = (moment.operands, moment.results);
        self.call(stage, Some(Arc::clone(moment.services)), launch, Some(places))
    }
}

impl FfiCall {
    fn call(
        &self,
        stage: Stage,
        services: Option<Arc<dyn Services>>,
        launch: Option<Arc<LaunchStates>>,
        places: Option<(&[CallMemory], &[CallMemory])>,
    ) -> Result<Progress> {
        let Some(handler) = self.handlers.of(stage) else { return Ok(Progress::Done) };
        let instance = Arc::clone(&self.state);
        let failure = Arc::default();
        let context = Context { stage, services, instance, launch, failure };
        let api = table_of(handler.minor);
        let frame = Frame::new(&self.frames, api, context, places)?;
        let (returned, left) = frame.call(handler.function);
        let explained = |error| metadata::explained(handler.minor, error);
        let outcome = match returned {
            Ok(returned) => error::take(returned).map_err(explained),
            Err(thrown) => Err(error::thrown(&format!("the {} handler", stage.name()), &thrown)),
        };
        let Some(event) = future::take(left)? else {
            let failed = frame.failure().and_then(|failure| failure.end());
            return outcome.and(failed.map_or(Ok(Progress::Done), Err));
        };
        if let Some(failure) = frame.failure() {
            failure.watch(&event);
        }
        if let Some(ended) = event.outcome() {
            return outcome.and_then(|()| ended.clone()).map(|()| Progress::Done);
        }
        // The handler goes on: it may use its frame and its context until it ends its future.
        let over = Event::pending();
        let ended = over.clone();
        event.on_ready(move |end| {
            drop(frame);
            ended.settle(outcome.and_then(|()| end.clone()));
        });
        Ok(Progress::Pending(over))
    }
}
