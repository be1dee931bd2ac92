//! Which messages of the server are replies, and which are answered at once: by what is in them.
//!
//! Servers greet, ping and push. Such a message is not the reply to the oldest request only because it comes next.

use candor_memory::Pattern;

/// What decides about a message.
#[derive(Debug, Default)]
pub struct Rules {
    /// One of these is in what is no reply.
    ignore: Vec<Pattern>,
    /// This is in every reply.
    reply: Option<Pattern>,
    /// What is answered with which text; it is no reply.
    answers: Vec<(Pattern, Box<[u8]>)>,
}

impl Rules {
    /// Compiles rules; `None`: there are none.
    ///
    /// # Errors
    /// What is wrong in an expression.
    pub fn new<'t>(
        ignore: impl IntoIterator<Item = &'t str>,
        reply: Option<&str>,
        answers: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Option<Self>, String> {
        let answer = |(pattern, text): (&str, &str)| {
            Ok::<_, String>((Pattern::new(pattern)?, text.as_bytes().into()))
        };
        let rules = Rules {
            ignore: ignore.into_iter().map(Pattern::new).collect::<Result<_, _>>()?,
            reply: reply.map(Pattern::new).transpose()?,
            answers: answers.into_iter().map(answer).collect::<Result<_, _>>()?,
        };
        let Rules { ignore, reply, answers } = &rules;
        let has_any = !ignore.is_empty() || reply.is_some() || !answers.is_empty();
        Ok(has_any.then_some(rules))
    }

    /// Whether a message may be a reply.
    pub(super) fn is_reply(&self, message: &[u8]) -> bool {
        let is_in = |pattern: &Pattern| pattern.is_in(message);
        !self.ignore.iter().any(is_in)
            && !self.answers.iter().any(|(pattern, _)| is_in(pattern))
            && self.reply.as_ref().is_none_or(is_in)
    }

    /// The text that a message is answered with.
    pub(super) fn answer(&self, message: &[u8]) -> Option<&[u8]> {
        let found = self.answers.iter().find(|(pattern, _)| pattern.is_in(message));
        found.map(|(_, text)| &**text)
    }
}
