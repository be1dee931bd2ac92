//! Which messages of the server are replies, and which are answered at once: by what is in them.
//!
//! Servers greet, ping and push. Such a message is not the reply to the oldest request only because it comes next. And
//! some requests have a rule of their own.

use candor_memory::Pattern;
use candor_plan::OwnReply;

/// What decides about a message.
#[derive(Debug, Default)]
pub struct Rules {
    /// One of these is in what is no reply.
    ignore: Vec<Pattern>,
    /// This is in every reply.
    reply: Option<Pattern>,
    /// What is answered with which text; it is no reply.
    answers: Vec<(Pattern, Box<[u8]>)>,
    /// Before a message with this, no request may be sent.
    ready: Option<Pattern>,
    /// Of each request of the table; empty: none has a rule of its own.
    own: Box<[Own]>,
}

/// Which message answers a request.
#[derive(Debug)]
pub(super) enum Own {
    /// The rules of all decide.
    Common,
    /// None.
    Nothing,
    /// One with this in it.
    With(Pattern),
    /// The same, for a request that sends nothing.
    Awaited(Pattern),
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
            ..Rules::default()
        };
        let Rules { ignore, reply, answers, .. } = &rules;
        let has_any = !ignore.is_empty() || reply.is_some() || !answers.is_empty();
        Ok(has_any.then_some(rules))
    }

    /// The same, or new ones, with rules of single requests and of what comes before the first. `keeps`: messages are read
    /// as a whole in any case.
    ///
    /// # Errors
    /// What is wrong in an expression.
    pub fn and<'t>(
        rules: Option<Self>,
        ready: Option<&str>,
        own: impl IntoIterator<Item = Option<&'t OwnReply>>,
        keeps: bool,
    ) -> Result<Option<Self>, String> {
        let rule = |own: Option<&OwnReply>| {
            Ok::<_, String>(match own {
                None => Own::Common,
                Some(OwnReply::Nothing) => Own::Nothing,
                Some(OwnReply::With(pattern)) => Own::With(Pattern::new(pattern)?),
                Some(OwnReply::Awaited(pattern)) => Own::Awaited(Pattern::new(pattern)?),
            })
        };
        let mut own = own.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        if own.iter().all(|one| matches!(one, Own::Common)) {
            own.clear();
        }
        if ready.is_none() && own.is_empty() && !keeps {
            return Ok(rules);
        }
        let ready = ready.map(Pattern::new).transpose()?;
        let rules = rules.unwrap_or_default();
        Ok(Some(Rules { ready, own: own.into(), ..rules }))
    }

    /// Whether a message must come before the first request.
    pub(super) fn awaits_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Whether it is this one.
    pub(super) fn is_ready(&self, message: &[u8]) -> bool {
        self.ready.as_ref().is_none_or(|pattern| pattern.is_in(message))
    }

    /// Whether requests have rules of their own.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// The rule of a request.
    pub(super) fn own(&self, request: u32) -> &Own {
        self.own.get(request as usize).unwrap_or(&Own::Common)
    }

    /// The requests that wait for this message.
    pub(super) fn awaited(&self, message: &[u8]) -> impl Iterator<Item = usize> {
        let is = |own: &Own| matches!(own, Own::Awaited(pattern) if pattern.is_in(message));
        self.own.iter().enumerate().filter(move |(_, own)| is(own)).map(|(at, _)| at)
    }

    /// How many requests have rules.
    pub(super) fn count(&self) -> usize {
        self.own.len()
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
