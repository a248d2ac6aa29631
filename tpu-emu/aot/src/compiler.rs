//! The library of a process: asked by one thread, which keeps its answers.
use crate::cache::Cache;
use crate::child::{self, Child, Silence};
use crate::wire::{Answer, Request};
use crate::{Result, find, key};
use parking_lot::Mutex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// Which library, and how it is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The library's file.
    pub library: PathBuf,
    /// The command `tpu-emu`.
    pub command: PathBuf,
    /// Where answers are kept; without it, in the folder of the user's caches.
    pub cache: Option<PathBuf>,
    /// How long it may take for one program.
    pub limit: Duration,
}

/// A libtpu that programs are shown to.
#[derive(Debug)]
pub struct Compiler {
    worker: Mutex<Sender<(Request, Reply)>>,
}

type Reply = Sender<Result<Answer, Silence>>;

/// An answer that is on its way.
#[derive(Debug)]
pub struct Pending(Receiver<Result<Answer, Silence>>);

impl Compiler {
    /// Starts what asks; the library is loaded when its first answer is needed.
    ///
    /// # Errors
    /// A sentence where the library cannot be read.
    pub fn new(settings: Settings) -> Result<Self> {
        let identity = key::identity(&settings.library)?;
        let (sender, requests) = channel();
        let cache = settings.cache.clone().or_else(find::default_cache).map(Cache::new);
        let environment = child::told();
        let worker = Worker { settings, identity, environment, cache, child: None, useless: None };
        let started = thread::Builder::new()
            .name("tpu-emu libtpu".to_owned())
            .spawn(move || worker.run(&requests));
        started.map_err(|why| format!("no thread can be started: {why}"))?;
        Ok(Self { worker: Mutex::new(sender) })
    }

    /// Asks; what follows runs meanwhile.
    pub fn ask(&self, request: Request) -> Pending {
        let (reply, answer) = channel();
        // Where the thread is gone, the answer's end says so.
        let _ = self.worker.lock().send((request, reply));
        Pending(answer)
    }
}

impl Pending {
    /// The answer; at the latest when the time of the settings is over.
    ///
    /// # Errors
    /// Why there is none.
    pub fn wait(self) -> Result<Answer, Silence> {
        let gone = |_| Err(Silence::Useless("what asks it has ended".to_owned()));
        match self.0.recv().unwrap_or_else(gone) {
            Ok(Answer::NotAsked(why)) => Err(Silence::Useless(why)),
            answer => answer,
        }
    }
}

struct Worker {
    settings: Settings,
    identity: u64,
    environment: Vec<(OsString, OsString)>,
    cache: Option<Cache>,
    child: Option<Child>,
    /// Why the library cannot be used, once that is known.
    useless: Option<String>,
}

impl Worker {
    fn run(mut self, requests: &Receiver<(Request, Reply)>) {
        while let Ok((request, reply)) = requests.recv() {
            // Who asked may have given up.
            let _ = reply.send(self.answer(&request));
        }
    }

    fn answer(&mut self, request: &Request) -> Result<Answer, Silence> {
        let name = key::name(self.identity, &self.environment, request);
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.get(&name)) {
            return Ok(kept);
        }
        if let Some(why) = &self.useless {
            return Err(Silence::Useless(why.clone()));
        }
        let answer = self.asked(request).inspect_err(|silence| {
            self.child = None;
            if let Silence::Useless(why) = silence {
                self.useless = Some(why.clone());
            }
        })?;
        if !matches!(answer, Answer::NotAsked(_))
            && let Some(Err(why)) = self.cache.as_ref().map(|cache| cache.put(&name, &answer))
        {
            tracing::warn!(%why, "an answer of libtpu is not kept");
        }
        Ok(answer)
    }

    fn asked(&mut self, request: &Request) -> Result<Answer, Silence> {
        let Settings { library, command, limit, .. } = &self.settings;
        let child = match self.child.take() {
            Some(child) => child,
            None => Child::start(command, library, *limit)?,
        };
        self.child.insert(child).ask(request, *limit)
    }
}
