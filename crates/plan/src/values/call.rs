//! Values of calls: the name of a method.

use std::str::FromStr;

use super::ValueError;

/// A method of a service of gRPC, such as `package.Service/Method`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallName {
    path: String,
}

impl CallName {
    /// The value of `:path`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Without the slash in front.
    pub fn name(&self) -> &str {
        &self.path[1..]
    }
}

impl FromStr for CallName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match candor_grpc::path(text) {
            Ok(path) => Ok(CallName { path }),
            Err(error) => super::refuse(error.to_string()),
        }
    }
}
