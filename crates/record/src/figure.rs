//! What becomes of a figure: begun, emptied, added over workers, followed by a later stretch of time, compared.
//!
//! A struct of figures is declared once, in [`figures!`], which makes all of this of its fields. A field's type says how:
//! counts, histograms and tallies add up both over workers and over time, structs field by field, lists place by place.
//! Where the type does not say it, the declaration does, by a [kind](Figure) behind `as`. Nothing here knows single
//! figures, and only [`count`] runs while requests are recorded.

use crate::add;
use crate::histogram::{Histogram, Layout};

/// A figure of one stretch of time, of one worker or of several.
pub(crate) trait Figure<Kind = Flow>: Sized {
    /// Nothing happened yet. Histograms have this many `digits`.
    fn new(digits: u8) -> Self;

    /// Empties it, keeping the memory.
    fn clear(&mut self);

    /// Adds another worker's of the same time.
    fn merge(&mut self, other: &Self);

    /// Adds that of a later time.
    fn follow(&mut self, later: &Self) {
        self.merge(later);
    }

    /// Whether `other` can be added: both have the same places, and all their histograms this layout.
    fn fits(&self, _other: &Self, _layout: Layout) -> bool {
        true
    }
}

/// Adds up over workers and over time, as its type does: the kind of fields that name none.
pub(crate) struct Flow;

/// A state at the end of the time: over workers it adds up, and a later one replaces it.
pub(crate) struct Gauge;

/// The largest of all.
pub(crate) struct Maximum;

/// The first that is known.
pub(crate) struct First;

/// Says which stretch it is, and does not change by what is added.
pub(crate) struct Own;

/// Made by its first event: other workers, or other times, may not have it.
pub(crate) struct Late;

/// A list of counts by key, in the order in which the keys came.
pub(crate) struct ByKey;

impl Figure for u64 {
    fn new(_: u8) -> Self {
        0
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn merge(&mut self, other: &Self) {
        add(self, *other);
    }
}

impl Figure<Gauge> for u64 {
    fn new(_: u8) -> Self {
        0
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn merge(&mut self, other: &Self) {
        add(self, *other);
    }

    fn follow(&mut self, later: &Self) {
        *self = *later;
    }
}

impl Figure<Maximum> for u64 {
    fn new(_: u8) -> Self {
        0
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn merge(&mut self, other: &Self) {
        *self = (*self).max(*other);
    }
}

impl<T: Clone> Figure<First> for Option<T> {
    fn new(_: u8) -> Self {
        None
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn merge(&mut self, other: &Self) {
        if self.is_none() {
            self.clone_from(other);
        }
    }
}

impl Figure<Own> for u64 {
    fn new(_: u8) -> Self {
        0
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn merge(&mut self, _: &Self) {}
}

impl Figure<Own> for Option<u64> {
    fn new(_: u8) -> Self {
        None
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn merge(&mut self, _: &Self) {}
}

impl Figure for Histogram {
    fn new(digits: u8) -> Self {
        Histogram::new(digits)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn fits(&self, other: &Self, layout: Layout) -> bool {
        [self, other].iter().all(|one| one.layout() == layout)
    }
}

impl<T: Figure> Figure for Box<T> {
    fn new(digits: u8) -> Self {
        Box::new(T::new(digits))
    }

    fn clear(&mut self) {
        T::clear(self);
    }

    fn merge(&mut self, other: &Self) {
        T::merge(self, other);
    }

    fn follow(&mut self, later: &Self) {
        T::follow(self, later);
    }

    fn fits(&self, other: &Self, layout: Layout) -> bool {
        T::fits(self, other, layout)
    }
}

/// The plan decides whether it is there, and [`Interval::new`](crate::Interval::new) knows the plan.
impl<T: Figure + Clone> Figure for Option<T> {
    fn new(_: u8) -> Self {
        None
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(T::clear);
    }

    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (none @ None, theirs) => none.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    fn follow(&mut self, later: &Self) {
        match (self, later) {
            (Some(mine), Some(theirs)) => mine.follow(theirs),
            (none @ None, theirs) => none.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    fn fits(&self, other: &Self, layout: Layout) -> bool {
        match (self, other) {
            (Some(mine), Some(theirs)) => mine.fits(theirs, layout),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        }
    }
}

impl<T: Figure + Clone> Figure<Late> for Option<T> {
    fn new(digits: u8) -> Self {
        <Self as Figure>::new(digits)
    }

    fn clear(&mut self) {
        <Self as Figure>::clear(self);
    }

    fn merge(&mut self, other: &Self) {
        <Self as Figure>::merge(self, other);
    }

    fn follow(&mut self, later: &Self) {
        <Self as Figure>::follow(self, later);
    }

    fn fits(&self, other: &Self, layout: Layout) -> bool {
        self.iter().chain(other).all(|one| one.fits(one, layout))
    }
}

/// One for each request or journey of the plan, which [`Interval::new`](crate::Interval::new) knows.
impl<T: Figure> Figure for Vec<T> {
    fn new(_: u8) -> Self {
        Vec::new()
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(T::clear);
    }

    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn follow(&mut self, later: &Self) {
        self.iter_mut().zip(later).for_each(|(mine, theirs)| mine.follow(theirs));
    }

    fn fits(&self, other: &Self, layout: Layout) -> bool {
        let mut pairs = self.iter().zip(other);
        self.len() == other.len() && pairs.all(|(mine, theirs)| mine.fits(theirs, layout))
    }
}

/// A count of one key of many.
pub(crate) trait Keyed: Clone {
    /// The most keys that are counted by themselves: servers may make them up.
    const MOST: usize = usize::MAX;

    /// Whether both have the same key.
    fn is_alike(&self, other: &Self) -> bool;

    /// The count.
    fn count(&mut self) -> &mut u64;

    /// Beyond the most, the last one collects all others: under the key that came last.
    fn collect(&mut self, mut more: Self) {
        add(more.count(), *self.count());
        *self = more;
    }
}

/// Adds to the count of a key.
#[inline]
pub(crate) fn count<T: Keyed>(list: &mut Vec<T>, mut more: T) {
    if let Some(known) = list.iter_mut().find(|known| known.is_alike(&more)) {
        return add(known.count(), *more.count());
    }
    let is_full = list.len() == T::MOST;
    match list.last_mut().filter(|_| is_full) {
        Some(last) => last.collect(more),
        None => list.push(more),
    }
}

impl<T: Keyed> Figure<ByKey> for Vec<T> {
    fn new(_: u8) -> Self {
        Vec::new()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn merge(&mut self, other: &Self) {
        other.iter().for_each(|one| count(self, one.clone()));
    }
}

/// Declares a struct of [figures](Figure). A field whose type does not say how it is added has its kind behind `as`.
macro_rules! figures {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$field_attribute:meta])* pub $field:ident: $type:ty $(as $kind:ident)?,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$field_attribute])* pub $field: $type,)*
        }

        impl $crate::figure::Figure for $name {
            fn new(digits: u8) -> Self {
                $name {
                    $($field: <$type as $crate::figure::Figure$(<$crate::figure::$kind>)?>::new(digits),)*
                }
            }

            fn clear(&mut self) {
                $(<$type as $crate::figure::Figure$(<$crate::figure::$kind>)?>::clear(&mut self.$field);)*
            }

            fn merge(&mut self, other: &Self) {
                $(<$type as $crate::figure::Figure$(<$crate::figure::$kind>)?>::merge(
                    &mut self.$field,
                    &other.$field,
                );)*
            }

            fn follow(&mut self, later: &Self) {
                $(<$type as $crate::figure::Figure$(<$crate::figure::$kind>)?>::follow(
                    &mut self.$field,
                    &later.$field,
                );)*
            }

            fn fits(&self, other: &Self, layout: $crate::histogram::Layout) -> bool {
                $(<$type as $crate::figure::Figure$(<$crate::figure::$kind>)?>::fits(
                    &self.$field,
                    &other.$field,
                    layout,
                ))&&*
            }
        }
    };
}

pub(crate) use figures;
