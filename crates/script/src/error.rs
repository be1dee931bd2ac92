//! The failures of a script: one sentence with file and line, in Lua's words.

/// A failure that stops a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It could not be loaded or prepared; nothing was sent.
    #[error("script: {0}")]
    Load(String),
    /// Its top level, or one of its functions, exceeded the time limit of a call.
    #[error("script: {}{message}", in_function(*function))]
    Late {
        /// The hook; none for the script's own lines.
        function: Option<&'static str>,
        /// File, line and message.
        message: String,
    },
    /// One of its functions failed.
    #[error("script: {}{message}", in_function(Some(*function)))]
    Call {
        /// The hook.
        function: &'static str,
        /// File, line and message.
        message: String,
    },
    /// It makes requests or reads responses, and the connection was upgraded to HTTP/2.
    #[error(
        "script: a script that makes requests or reads responses does not work with an upgrade to HTTP/2"
    )]
    Upgrade,
}

fn in_function(function: Option<&'static str>) -> String {
    function.map_or(String::new(), |name| format!("in {name}(): "))
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
