//! A group of options. Each option is one field in one place: its flag, its key, its help, and how
//! it overrides a plan's value.

/// One set of options laid over another.
pub(crate) trait Group: Sized {
    /// These options, with those of `below` where an option is not given.
    fn filled(self, below: Self) -> Self;

    /// The same, but an option also hides its alternatives in `below`.
    fn over(self, below: Self) -> Self {
        self.filled(below)
    }
}

/// One option laid over another.
pub(crate) trait Said: Default + PartialEq {
    /// This one, or `below` if this one was not given.
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

/// A group: the heading of its flags, its flags, the tables that only a plan has, and which of its
/// options are alternatives to each other.
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
