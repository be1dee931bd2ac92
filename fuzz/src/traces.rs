//! Traces: frames, each with its checksum, which the target makes right.

use candor_record::trace::format::{
    FRAME_HEAD_BYTES, Frame, FrameHead, parse_payload, put_end, put_head, put_requests,
};
use candor_render::trace::{Summary, csv_rows};

/// The bytes as the file after its beginning, and as one payload whose checksum is right.
pub(crate) fn trace(bytes: &[u8]) {
    let mut summary = Summary::default();
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_first_chunk::<FRAME_HEAD_BYTES>() {
        let Ok(head) = FrameHead::parse(*head) else { break };
        let Some((payload, after)) = after.split_at_checked(head.length) else { break };
        let Ok(frame) = head.frame(payload) else { break };
        take(frame, &mut summary);
        rest = after;
    }
    if let Some(frame) = parse_payload(bytes) {
        take(frame, &mut summary);
    }
    summary.text();
}

/// Shows a frame, and reads its written form.
fn take(frame: Frame, summary: &mut Summary) {
    let mut out = Vec::new();
    match &frame {
        Frame::Head(head) => {
            summary.begin(head.clone());
            put_head(&mut out, head);
            out.drain(..candor_record::trace::format::MAGIC.len());
        }
        Frame::Requests(requests) => {
            summary.add(requests);
            csv_rows(requests, summary.head());
            put_requests(&mut out, requests);
        }
        Frame::End(end) => {
            summary.end(*end);
            put_end(&mut out, end);
        }
    }
    let Some((head, payload)) = out.split_first_chunk::<FRAME_HEAD_BYTES>() else { return };
    let head = FrameHead::parse(*head).expect("a head that was written");
    if let Some(payload) = payload.get(..head.length).filter(|all| all.len() == payload.len()) {
        assert_eq!(head.frame(payload).as_ref(), Ok(&frame));
    }
}
