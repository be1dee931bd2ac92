//! What a group of options is, so that an option is one field in one place: its flag, its key, its
//! help, and how it goes over a plan's.

/// One set of options over another.
pub(crate) trait Group: Sized {
    /// These options, with those of `below` where these say nothing.
    fn filled(self, below: Self) -> Self;

    /// The same, but an option hides those of `below` that say the same thing in another way.
    fn over(self, below: Self) -> Self {
        self.filled(below)
    }
}

/// One option over another.
pub(crate) trait Said: Default + PartialEq {
    /// This one, or `below` if this one says nothing.
    fn or(self, below: Self) -> Self {
        if self.is_said() { self } else { below }
    }

    /// Whether it was given.
    fn is_said(&self) -> bool {
        *self != Self::default()
    }
}

impl<T: PartialEq> Said for Option<T> {}
impl<T: PartialEq> Said for Vec<T> {}
impl Said for bool {}

/// A group: the heading of its flags, its flags, what stands in a plan only, and which of its options
/// say the same thing in different ways.
///
/// Help comes from the comments of the fields: the first paragraph is the short help (`-h`), all of it
/// the long one (`--help`). `about = None` keeps the struct's own comment from becoming a command's
/// description.
macro_rules! group {
    (
        $heading:literal,
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$of_flag:meta])* pub $flag:ident: $type:ty,)*
        }
        $(tables {
            $($(#[$of_table:meta])* pub $table:ident: $table_type:ty,)*
        })?
        $(one_of { $($way:ident),* })?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, clap::Args, serde::Deserialize)]
        #[command(about = None, long_about = None)]
        #[allow(rustdoc::broken_intra_doc_links, reason = "brackets in help texts are no links")]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$of_flag])* #[arg(help_heading = $heading)] pub $flag: $type,)*
            $($($(#[$of_table])* #[arg(skip)] pub $table: $table_type,)*)?
        }

        impl super::group::Group for $name {
            fn filled(self, below: Self) -> Self {
                use super::group::Said;
                $name {
                    $($flag: Said::or(self.$flag, below.$flag),)*
                    $($($table: Said::or(self.$table, below.$table),)*)?
                }
            }

            $(
                fn over(self, mut below: Self) -> Self {
                    use super::group::Said;
                    if $(self.$way.is_said())||* {
                        $(below.$way = Default::default();)*
                    }
                    self.filled(below)
                }
            )?
        }
    };
}

pub(super) use group;
