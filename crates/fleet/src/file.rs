//! Data files of a plan, by their content.
//!
//! A plan that goes to agents names its data files by length and digest. An agent that has such a file uses its own, and
//! fetches the others in chunks, as the plan. No path of another machine is ever opened.

use candor_plan::{DataSet, Kept, Plan};

use crate::identity::Digest;
use crate::refusal::{MOST_DATA_BYTES, Refusal, words};

/// A data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataFile {
    /// The digest of its bytes.
    pub digest: Digest,
    /// How many they are.
    pub bytes: u64,
}

impl DataFile {
    /// The file in the place of a data set's content.
    pub fn content(&self) -> Kept<u8> {
        Kept::LeftOut { count: self.bytes, hash: self.digest.to_string() }
    }

    /// The file of a data set; `None`: it has its content with it, or is a file of this machine.
    pub fn of(set: &DataSet) -> Option<Result<Self, Refusal>> {
        let content = set.content.as_ref().filter(|content| content.is_left_out())?;
        let digest = content.hash().unwrap_or_default().parse();
        let name = &set.name;
        Some(match digest {
            Ok(digest) => Ok(DataFile { digest, bytes: content.count() }),
            Err(why) => Err(Refusal::Plan(words(format!("the file of {name}: {why}")))),
        })
    }

    /// The files of a plan, each once.
    pub fn all(plan: &Plan) -> Result<Vec<Self>, Refusal> {
        let mut files = plan.data.iter().filter_map(DataFile::of).collect::<Result<Vec<_>, _>>()?;
        files.sort_unstable();
        files.dedup();
        let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.bytes));
        if bytes > MOST_DATA_BYTES {
            return Err(Refusal::DataSize(bytes));
        }
        Ok(files)
    }
}
