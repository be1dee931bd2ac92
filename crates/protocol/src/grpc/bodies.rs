//! The bodies of responses as captures read them.

use std::borrow::Cow;

use candor_grpc::Codec;
use candor_plan::{CallForm, CallMethod, Parts};

/// What captures look into: the body of a response, or the messages in it where the request is a call.
#[derive(Debug, Clone, Default)]
pub struct Bodies {
    /// The method of each request of the plan that is a call with captures; empty if none is.
    methods: Box<[Option<CallMethod>]>,
    form: CallForm,
    codec: Codec,
}

impl Bodies {
    /// Of the responses to the requests of a plan.
    pub fn of(plan: &Parts) -> Self {
        // The plan's check has read it.
        let Some(calls) = plan.wire.calls() else { return Bodies::default() };
        let Ok(schema) = calls.schema() else { return Bodies::default() };
        let mut methods = vec![None; plan.work.requests().len()];
        let steps = plan.work.journeys().iter().flat_map(|one| &one.steps);
        for step in steps.filter(|one| !one.captures.is_empty()) {
            let number = step.request as usize;
            methods[number] = schema.method(&plan.work.requests()[number].path).ok();
        }
        Bodies { methods: methods.into(), form: calls.form, codec: calls.codec }
    }

    /// The body of a response to this request of the plan as it is read. What is not messages has no values.
    pub fn read<'a>(&self, request: u32, body: &'a [u8]) -> Cow<'a, [u8]> {
        match self.methods.get(request as usize) {
            Some(Some(method)) => {
                let messages = self.form.messages(method.kind, body);
                let json = candor_grpc::show_response(method, self.codec, &messages);
                json.unwrap_or_default().into_bytes().into()
            }
            _ => body.into(),
        }
    }
}
