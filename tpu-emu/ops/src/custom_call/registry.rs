//! The targets that programs of this process can call.
use super::{Partitioner, Target};
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};

/// The platforms whose targets programs may call, the first one first.
const OURS: [&str; 2] = ["tpu", "host"];

/// A target that asks to be known.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The name that programs use.
    pub name: Arc<str>,
    /// The platform it is for, in any case. Targets of other platforms are kept and not called.
    pub platform: String,
    /// Whether it is called through the typed interface.
    pub typed: bool,
    /// What it is made of: two registrations are the same if these numbers are.
    pub identity: Vec<usize>,
    /// Who registers it, in words.
    pub origin: String,
    /// The target.
    pub target: Arc<dyn Target>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TargetKey {
    platform: String,
    name: Arc<str>,
    typed: bool,
}

impl Registration {
    /// Whether programs may call it.
    pub(crate) fn is_ours(&self) -> bool {
        OURS.contains(&platform_of(&self.platform).as_str())
    }
}

/// Targets by name.
#[derive(Debug, Default)]
pub struct Registry {
    targets: RwLock<BTreeMap<TargetKey, Registration>>,
    partitioners: RwLock<BTreeMap<String, Arc<dyn Partitioner>>>,
}

impl Registry {
    /// Makes a target known, whatever the machine itself answers to.
    ///
    /// # Errors
    /// As for [`Registry::register`].
    pub(crate) fn insert(&self, registration: Registration) -> Result<()> {
        let name = Arc::clone(&registration.name);
        if name.is_empty() {
            return Err(Error::bad("a custom call target without a name"));
        }
        let platform = platform_of(&registration.platform);
        let key = TargetKey { platform, name, typed: registration.typed };
        let mut targets = self.targets.write();
        let Some(known) = targets.get(&key) else {
            targets.insert(key, registration);
            return Ok(());
        };
        if known.identity == registration.identity {
            return Ok(());
        }
        let message = format!(
            "custom call target \"{}\" is registered already for platform {}, by {}; \
             {} registers another function",
            key.name, key.platform, known.origin, registration.origin
        );
        Err(Error::Verbatim { code: Code::AlreadyExists, message: message.into() })
    }

    /// The target with this name.
    ///
    /// # Errors
    /// `Unimplemented` that says what is known under that name, and which targets there are.
    pub fn find(&self, name: &str, typed: bool) -> Result<Arc<dyn Target>> {
        let targets = self.targets.read();
        let key = |platform: &str, typed| TargetKey {
            platform: platform.to_owned(),
            name: name.into(),
            typed,
        };
        let found = OURS.iter().find_map(|platform| targets.get(&key(platform, typed)));
        if let Some(found) = found {
            return Ok(Arc::clone(&found.target));
        }
        let mut message = format!("custom call target \"{name}\" is not registered");
        if OURS.iter().any(|platform| targets.contains_key(&key(platform, !typed))) {
            let (wants, has) = if typed { ("typed", "an untyped") } else { ("untyped", "a typed") };
            message =
                format!("custom call target \"{name}\" has {has} handler; the call is {wants}");
        } else {
            let elsewhere: Vec<&str> = targets
                .keys()
                .filter(|key| &*key.name == name)
                .map(|key| key.platform.as_str())
                .collect();
            if !elsewhere.is_empty() {
                message.push_str(" for platform tpu, only for ");
                message.push_str(&elsewhere.join(", "));
            }
        }
        drop(targets);
        let known = self.names();
        message.push_str("; registered targets: ");
        message.push_str(if known.is_empty() { "none" } else { "" });
        message.push_str(&known.join(", "));
        Err(Error::Unimplemented(message))
    }

    /// Lets a partitioner split the calls of a target, in the place of the one that did.
    ///
    /// # Errors
    /// `BadArgument` for a name that is empty.
    pub fn register_partitioner(
        &self,
        name: &str,
        partitioner: Arc<dyn Partitioner>,
    ) -> Result<()> {
        if name.is_empty() {
            return Err(Error::bad("a partitioner of a target without a name"));
        }
        self.partitioners.write().insert(name.to_owned(), partitioner);
        Ok(())
    }

    pub(super) fn partitioner_of(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        self.partitioners.read().get(target).cloned()
    }

    /// The names that programs can call, sorted.
    pub fn names(&self) -> Vec<String> {
        let targets = self.targets.read();
        let ours = targets.keys().filter(|key| OURS.contains(&key.platform.as_str()));
        let mut names: Vec<String> = ours.map(|key| key.name.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// One spelling of a platform: XLA's name of its CPU platform is `Host`.
fn platform_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    if name == "cpu" { "host".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::super::{Call, CallSite};
    use super::*;

    #[derive(Debug)]
    struct Nothing;

    impl Target for Nothing {
        fn instantiate(&self, _: Arc<CallSite>) -> Result<Arc<dyn Call>> {
            Err(Error::bad("nobody calls it"))
        }
    }

    fn registration(name: &str, platform: &str, identity: usize) -> Registration {
        Registration {
            name: name.into(),
            platform: platform.to_owned(),
            typed: true,
            identity: vec![identity],
            origin: format!("library {identity}"),
            target: Arc::new(Nothing),
        }
    }

    #[test]
    fn a_target_may_come_again_and_another_one_of_its_name_is_refused() {
        let registry = Registry::default();
        registry.register(registration("f", "tpu", 1)).unwrap();
        registry.register(registration("f", "TPU", 1)).unwrap();
        let error = registry.register(registration("f", "Tpu", 2)).unwrap_err();
        assert_eq!(error.code(), Code::AlreadyExists);
        assert_eq!(
            error.to_string(),
            "custom call target \"f\" is registered already for platform tpu, by library 1; \
             library 2 registers another function"
        );
        registry.register(registration("f", "CUDA", 2)).unwrap();
        assert!(registry.register(registration("Sharding", "tpu", 1)).is_err());
        assert!(registry.register(registration("", "tpu", 1)).is_err());
    }

    #[test]
    fn an_unknown_target_is_told_what_there_is() {
        let registry = Registry::default();
        let text = |name: &str, typed| registry.find(name, typed).unwrap_err().to_string();
        assert_eq!(
            text("f", true),
            "custom call target \"f\" is not registered; registered targets: none"
        );
        registry.register(registration("b", "Host", 1)).unwrap();
        registry.register(registration("a", "tpu", 2)).unwrap();
        registry.register(registration("c", "CUDA", 3)).unwrap();
        assert_eq!(
            text("c", true),
            "custom call target \"c\" is not registered for platform tpu, only for cuda; \
             registered targets: a, b"
        );
        assert_eq!(
            text("a", false),
            "custom call target \"a\" has a typed handler; the call is untyped; \
             registered targets: a, b"
        );
        assert!(registry.find("b", true).is_ok());
    }
}
