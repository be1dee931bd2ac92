//! Doubly linked lists over small indices, without allocation per element.
//!
//! A timeout that is the same for all entries needs no heap: the entry that was added first is due
//! first. A [`Chain`] keeps that order, and an element leaves it from anywhere in constant time.
//! Several chains can share one [`Links`] as long as an index is in at most one of them.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    linked: bool,
}

/// The links of all indices.
#[derive(Debug, Default)]
pub(crate) struct Links {
    links: Vec<Link>,
}

/// One list: first in, first out, with removal anywhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { first: NONE, last: NONE }
    }
}

impl Chain {
    /// The element that was put in first.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

impl Links {
    /// Makes room for indices below `len`.
    pub(crate) fn grow(&mut self, len: usize) {
        if len > self.links.len() {
            self.links.resize(len, Link { previous: NONE, next: NONE, linked: false });
        }
    }

    /// Puts `index` at the end of `chain`. It must be in no chain of these links.
    #[inline]
    pub(crate) fn push(&mut self, chain: &mut Chain, index: u32) {
        debug_assert!(!self.links[index as usize].linked);
        self.links[index as usize] = Link { previous: chain.last, next: NONE, linked: true };
        match chain.last {
            NONE => chain.first = index,
            last => self.links[last as usize].next = index,
        }
        chain.last = index;
    }

    /// Takes `index` out of `chain`; nothing happens if it is in none.
    #[inline]
    pub(crate) fn remove(&mut self, chain: &mut Chain, index: u32) {
        let Link { previous, next, linked } = self.links[index as usize];
        if !linked {
            return;
        }
        self.links[index as usize].linked = false;
        match previous {
            NONE => chain.first = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => chain.last = previous,
            next => self.links[next as usize].previous = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(links: &mut Links, chain: &mut Chain) -> Vec<u32> {
        let mut all = Vec::new();
        while let Some(first) = chain.first() {
            all.push(first);
            links.remove(chain, first);
        }
        all
    }

    #[test]
    fn order_is_kept_through_removals_anywhere() {
        let mut links = Links::default();
        links.grow(6);
        let mut chain = Chain::default();
        for index in 0..6 {
            links.push(&mut chain, index);
        }
        for index in [2, 0, 5, 5] {
            links.remove(&mut chain, index);
        }
        links.push(&mut chain, 2);
        assert_eq!(drained(&mut links, &mut chain), [1, 3, 4, 2]);
        assert_eq!(chain.first(), None);
    }

    #[test]
    fn chains_share_links() {
        let mut links = Links::default();
        links.grow(4);
        let (mut even, mut odd) = (Chain::default(), Chain::default());
        for index in 0..4 {
            links.push(if index % 2 == 0 { &mut even } else { &mut odd }, index);
        }
        assert_eq!(drained(&mut links, &mut odd), [1, 3]);
        assert_eq!(drained(&mut links, &mut even), [0, 2]);
    }
}
