//! What became of the requests that did not end as intended, by kind.

use candor_record::StatusCount;

use super::Document;

/// The id of responses with an unexpected status.
const STATUS: &str = "status";

impl Document {
    /// The statuses of responses that failed by their status, the most frequent first. None if the counts cannot say
    /// which these are: requests that expect different ones, hops of redirects.
    pub fn unexpected_statuses(&self) -> Vec<StatusCount> {
        let requests = self.plan.work.requests();
        let is_meant =
            |status| requests.iter().any(|request| request.expect.status.contains(status));
        let mut all: Vec<StatusCount> =
            self.statuses.iter().filter(|one| !is_meant(one.status)).copied().collect();
        let of_kind = self.errors.iter().find(|one| one.kind == STATUS).map(|one| one.count);
        let sum = all.iter().fold(0, |sum: u64, one| sum.saturating_add(one.count));
        if of_kind != Some(sum) {
            return Vec::new();
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.count));
        all
    }

    /// The requests that did not end as intended, by kind, the most frequent first; `status 500` where the status is
    /// known. If none was sent, those of the warm-up come first: they are why.
    pub fn failures(&self) -> Vec<(String, u64)> {
        let ledger = &self.ledger;
        let mut kinds: Vec<(String, u64)> =
            [("shed", ledger.shed), ("unsent", ledger.unsent), ("unfinished", ledger.unfinished)]
                .map(|(kind, count)| (kind.to_owned(), count))
                .into();
        let statuses = self.unexpected_statuses();
        kinds.extend(statuses.iter().map(|one| (format!("{STATUS} {}", one.status), one.count)));
        let others = self.errors.iter().filter(|one| statuses.is_empty() || one.kind != STATUS);
        kinds.extend(others.map(|one| (one.kind.clone(), one.count)));
        kinds.retain(|(_, count)| *count > 0);
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        if ledger.sent > 0 || self.warm_up.succeeded() > 0 || self.parts.count > 0 {
            return kinds;
        }
        let errors = self.warm_up_errors.iter().map(|one| (one.kind.as_str(), one.count));
        let mut before: Vec<(&str, u64)> =
            errors.chain([("unfinished", self.warm_up.unfinished)]).collect();
        before.retain(|(_, count)| *count > 0);
        before.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let before =
            before.into_iter().map(|(kind, count)| (format!("{kind} in the warm-up"), count));
        before.chain(kinds).collect()
    }
}

#[cfg(test)]
mod tests {
    use candor_record::StatusCount;

    use crate::experiment::figures::Figures;
    use crate::testing;

    fn of(kind: &str, count: u64) -> (String, u64) {
        (kind.to_owned(), count)
    }

    #[test]
    fn a_status_is_named_where_the_counts_say_which_it_was() {
        let mut document = testing::failing(500);
        let all = document.ledger.scheduled;
        assert_eq!(document.failures(), [of("status 500", all)]);
        document.statuses = [(200, 7), (503, 2), (500, all - 2)]
            .map(|(status, count)| StatusCount { status, count })
            .into();
        assert_eq!(document.failures(), [of("status 500", all - 2), of("status 503", 2)]);
        // Not as many as failed: others may have been hops.
        document.statuses[1].count = 5;
        assert_eq!(document.failures(), [of("status", all)]);
    }

    #[test]
    fn requests_that_nothing_sent_have_the_warm_ups_reason() {
        let mut document = testing::failing(500);
        document.errors.clear();
        document.statuses.clear();
        document.ledger = Default::default();
        (document.ledger.scheduled, document.ledger.unsent) = (300, 300);
        document.warm_up = Default::default();
        document.warm_up_errors.clear();
        (document.warm_up.scheduled, document.warm_up.sent) = (10, 10);
        document.warm_up.unfinished = 10;
        let expected = [of("unfinished in the warm-up", 10), of("unsent", 300)];
        assert_eq!(document.failures(), expected);
        // A closed loop has nothing due meanwhile, and is as broken.
        document.ledger = Default::default();
        assert_eq!(document.failures(), expected[..1]);
        assert!(Figures::of(&document).nothing_worked());
        (document.ledger.scheduled, document.ledger.unsent) = (300, 300);
        document.warm_up.ok = 1;
        assert_eq!(document.failures(), [of("unsent", 300)]);
    }
}
