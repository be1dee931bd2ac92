//! The end of a body that has the status of its call: the last frame of gRPC-Web and of Connect's streams, and the JSON
//! of Connect's errors. It is kept until it is whole, within a bound; what it says is read as the fields of trailers are.

use candor_plan::CallForm;
use serde_json::Value;

use super::error::Error;
use super::status::{Told, Wrong, name_code};

/// The longest end that is kept.
pub(super) const MOST_BYTES: usize = 16 << 10;

/// Its text, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct End {
    text: Vec<u8>,
}

impl End {
    /// Takes the next bytes of it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.text.len() + bytes.len() > MOST_BYTES {
            return Err(Error::EndTooLong);
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    /// What the last frame says.
    pub(super) fn of_frame(&self, form: CallForm, message: &mut String) -> Told {
        let garbage = Told { wrong: Some(Wrong::End), ..Told::default() };
        if form != CallForm::Connect {
            return self.fields(message).unwrap_or(garbage);
        }
        match serde_json::from_slice(&self.text) {
            Ok(Value::Object(end)) => match end.get("error") {
                None | Some(Value::Null) => Told::of_code(0),
                // An error without a code that is known is one all the same.
                Some(error) => Told::of_code(code_of(error, message).unwrap_or(UNKNOWN)),
            },
            _ => garbage,
        }
    }

    /// The code in the body of an error; `None`: there is none, so that the status of HTTP says it.
    pub(super) fn of_error(&self, message: &mut String) -> Option<u8> {
        code_of(&serde_json::from_slice(&self.text).ok()?, message)
    }

    /// Lines of fields, as in HTTP/1.1; `None`: one of them is none.
    fn fields(&self, message: &mut String) -> Option<Told> {
        let mut told = Told::default();
        message.clear();
        for line in self.text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.is_empty() {
                continue;
            }
            let colon = line.iter().position(|&byte| byte == b':')?;
            let name = line[..colon].to_ascii_lowercase();
            told.take(&name, line[colon + 1..].trim_ascii(), message);
        }
        Some(told)
    }
}

const UNKNOWN: u8 = 2;

/// The code of an error of Connect, whose text becomes `message`.
fn code_of(error: &Value, message: &mut String) -> Option<u8> {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    super::status::put(text("message").unwrap_or_default(), message);
    text("code").and_then(name_code)
}
