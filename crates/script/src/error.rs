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

/// The longest message that is passed on, in bytes; a script can make one of any length.
pub(crate) const MOST_WORDS: usize = 2000;

/// A message of Lua's up to its stack trace.
pub(crate) fn first_part(text: &str) -> String {
    let end = text.find("\nstack traceback:").unwrap_or(text.len());
    let most = text.floor_char_boundary(MOST_WORDS);
    let cut = if end > most { "…" } else { "" };
    format!("{}{cut}", text[..end.min(most)].trim_end())
}
