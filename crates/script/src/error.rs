//! Why a script cannot go on: one sentence with file and line, as Lua says it.

/// Why a script cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It could not be loaded or prepared; nothing was sent.
    #[error("script: {0}")]
    Load(String),
    /// One of its functions failed.
    #[error("script: in {function}(): {message}")]
    Call {
        /// The hook.
        function: &'static str,
        /// File, line and message.
        message: String,
    },
}

/// Lua's message without its stack trace.
pub(crate) fn words(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return words(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    first_part(&text)
}

/// A message of Lua's up to its stack trace.
pub(crate) fn first_part(text: &str) -> String {
    let end = text.find("\nstack traceback:").unwrap_or(text.len());
    text[..end].trim_end().to_owned()
}
