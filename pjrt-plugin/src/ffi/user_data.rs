//! What a client gives to the handlers of an execution, by its type.
use crate::boundary::UserPointer;
use parking_lot::RwLock;
use std::ffi::c_void;
use tpu_emu::{Code, Error, Result};

/// The user data of one execute context: a pointer of the client's for each type.
#[derive(Debug, Default)]
pub(crate) struct UserData {
    entries: RwLock<Vec<(i64, UserPointer)>>,
}

impl UserData {
    /// Adds the data of a type. The client keeps it alive.
    ///
    /// # Errors
    /// `BadArgument` for type 0; `AlreadyExists` where the type has data.
    pub(crate) fn add(&self, type_id: i64, data: UserPointer) -> Result<()> {
        if type_id == 0 {
            return Err(Error::bad("user data of type id 0, which no type has"));
        }
        let mut entries = self.entries.write();
        if entries.iter().any(|&(known, _)| known == type_id) {
            let message = format!("the execute context has user data of type id {type_id} already");
            return Err(Error::Verbatim { code: Code::AlreadyExists, message: message.into() });
        }
        entries.push((type_id, data));
        Ok(())
    }

    /// The data of a type.
    pub(crate) fn get(&self, type_id: i64) -> Option<*mut c_void> {
        let entries = self.entries.read();
        entries.iter().find(|&&(known, _)| known == type_id).map(|&(_, data)| data.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::without_provenance_mut;

    #[test]
    fn each_type_has_one_pointer() {
        let data = UserData::default();
        let pointer = |number| UserPointer(without_provenance_mut(number));
        data.add(7, pointer(16)).unwrap();
        data.add(8, UserPointer(std::ptr::null_mut())).unwrap();
        assert_eq!(data.get(7).map(<*mut c_void>::addr), Some(16));
        assert_eq!(data.get(8).map(<*mut c_void>::addr), Some(0));
        assert_eq!(data.get(9), None);
        let again = data.add(7, pointer(32)).unwrap_err();
        assert_eq!(again.code(), Code::AlreadyExists);
        assert!(data.add(0, pointer(32)).is_err());
    }
}
