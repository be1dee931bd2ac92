//! Replies that may be those of other messages.

use candor_plan::units::fmt_plural;

use super::{Finding, Severity};
use crate::document::Document;

/// An unrequested message came, and each message is taken for the reply to the oldest of ours: so replies may
/// have shifted, and times with them. What greets once shifts all of them.
pub(super) fn mispaired(document: &Document) -> Option<Finding> {
    let socket = document.plan.wire.websocket()?;
    let unasked = document.parts.unasked;
    // Messages with rules of their own are not paired by order.
    let is_ordered = document.plan.work.requests().iter().any(|one| one.reply.is_none());
    if !socket.pairs_by_order() || !is_ordered || unasked == 0 {
        return None;
    }
    Some(Finding {
        severity: Severity::Invalid,
        sentence: format!(
            "The server sent {} that nobody asked for, so replies may be those of other messages.",
            fmt_plural(unasked, "message")
        ),
        evidence: vec![("unasked", unasked as f64)],
        remedy: "Name them with --ignore, or the replies with --reply or --reply-field, and run again.",
    })
}

#[cfg(test)]
mod tests {
    use candor_plan::{OwnReply, Replies, Wire};

    use super::super::found;
    use crate::testing;

    #[test]
    fn what_nobody_asked_for_shifts_replies_only_where_order_pairs_them() {
        let mut document = testing::messages();
        assert!(found(&document, "replies-mispaired").is_none());
        document.parts.unasked = 1;
        let mut own = document.clone();
        for request in own.plan.work.requests_mut() {
            request.reply = Some(OwnReply::Nothing);
        }
        assert!(found(&own, "replies-mispaired").is_none());
        let verdict = found(&document, "replies-mispaired").unwrap();
        assert_eq!(verdict.evidence["unasked"], 1.0);
        for change in [
            |socket: &mut candor_plan::WebSocket| socket.ignore.push("welcome".to_owned()),
            |socket: &mut candor_plan::WebSocket| socket.reply = Some("id".to_owned()),
            |socket: &mut candor_plan::WebSocket| socket.replies = Replies::Nothing,
        ] {
            let mut document = document.clone();
            let Wire::WebSocket(socket) = &mut document.plan.wire else { panic!() };
            change(socket);
            assert!(found(&document, "replies-mispaired").is_none());
        }
    }
}
