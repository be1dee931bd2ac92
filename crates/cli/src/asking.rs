//! Questions to a server while a plan is made: a run of one request.

use candor_engine::Control;
use candor_lab::{Credentials, alternatives};
use candor_plan::Plan;
use candor_plan::options::Unanswered;
use candor_record::{ErrorKind, Outcome};

use crate::onlooker::Onlooker;
use crate::{console, remedy};

/// The body of the response to the single request of `plan`. Signals stop no run yet: the first ends the process.
pub(crate) fn ask(plan: &Plan) -> Result<Vec<u8>, Unanswered> {
    let most = plan.wire.calls().map_or(0, |calls| calls.message_bytes) as usize;
    let mut onlooker = Onlooker::silent(most);
    let control = Control::default();
    let asked = alternatives::follow(plan, &control).and_then(|plan| {
        let _own = Credentials::take(&plan, &control, console::hear)?;
        Ok(candor_engine::run(&plan, &control, &mut onlooker)?)
    });
    if let Err(error) = asked {
        return Err(Unanswered::Because(remedy::told(&error)));
    }
    let Some(one) = onlooker.exchanged().pop() else {
        return Err(Unanswered::Because("no connection could be made".to_owned()));
    };
    match (one.end.outcome, one.exchange.response) {
        (Outcome::Ok, Some(response)) if !response.body.is_cut() => Ok(response.body.bytes),
        (Outcome::Ok, _) => Err(Unanswered::Because("its response is too long".to_owned())),
        // Some servers say so of a service that they do not know.
        (Outcome::Failed(ErrorKind::GrpcUnimplemented | ErrorKind::GrpcUnknown), _) => {
            Err(Unanswered::NoMethod)
        }
        (Outcome::Failed(kind), _) => {
            let problem = one.exchange.problem.map(|problem| problem.words.into_string());
            Err(Unanswered::Because(problem.unwrap_or_else(|| kind.sentence().to_owned())))
        }
        _ => Err(Unanswered::Because("it did not respond".to_owned())),
    }
}
