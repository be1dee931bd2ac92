//! The data files of plans that an agent keeps, each under its digest: a file is fetched once, however many runs use it.
//!
//! They are in a folder of the agent's user alone. There is a bound for all of them together, and those that were used
//! least lately go first. A file has its name only when all of it is there and the digest was checked.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::SystemTime;

use candor_fleet::codec::PIECE_BYTES;
use candor_fleet::{DataFile, Digest, Hasher, MOST_DATA_BYTES};

/// The most bytes of all files: those of a few plans.
const MOST_BYTES: u64 = 4 * MOST_DATA_BYTES;
/// The end of the name of a file that is not complete.
const PARTIAL: &str = ".partial";

/// The files.
pub(super) struct Files {
    folder: PathBuf,
    incoming: Option<Incoming>,
    /// How many were fetched: each has a name of its own until it is complete, because the last look at one may still
    /// go on when it is fetched again.
    begun: u64,
}

/// The file that is fetched now.
struct Incoming {
    digest: Digest,
    path: PathBuf,
    /// Or why it cannot be kept.
    file: io::Result<File>,
}

impl Files {
    /// Those in this folder, which need not be there yet.
    pub(super) fn new(folder: PathBuf) -> Self {
        Files { folder, incoming: None, begun: 0 }
    }

    /// Where a file is, if it is complete.
    pub(super) fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    /// Which of these files are missing. There is room for them then.
    pub(super) fn missing(&mut self, files: &[DataFile]) -> Result<Vec<DataFile>, String> {
        self.forget();
        self.find(files).map_err(|error| format!("{}: {error}", self.folder.display()))
    }

    fn find(&self, files: &[DataFile]) -> io::Result<Vec<DataFile>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut missing = files.to_vec();
        let mut others = Vec::new();
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        for entry in fs::read_dir(&self.folder)? {
            let (entry, is_wanted) = (entry?, |name: &str| {
                files.iter().position(|file| file.digest.to_string() == name)
            });
            let (path, metadata) = (entry.path(), entry.metadata()?);
            let name = entry.file_name();
            match name.to_str().and_then(is_wanted) {
                Some(at) if metadata.len() == files[at].bytes => {
                    File::options().append(true).open(&path)?.set_modified(SystemTime::now())?;
                    missing.retain(|file| *file != files[at]);
                }
                // Of a process that was killed, or no file of ours.
                _ if name.to_str().is_none_or(|name| name.parse::<Digest>().is_err()) => {
                    if path.as_os_str().as_encoded_bytes().ends_with(PARTIAL.as_bytes()) {
                        fs::remove_file(&path)?;
                    }
                }
                _ => {
                    bytes += metadata.len();
                    others.push((metadata.modified()?, metadata.len(), path));
                }
            }
        }
        others.sort_unstable();
        for (_, length, path) in others {
            if bytes <= MOST_BYTES {
                break;
            }
            fs::remove_file(path)?;
            bytes -= length;
        }
        Ok(missing)
    }

    /// Keeps a piece of a file that was missing.
    pub(super) fn take(&mut self, of: Digest, index: u32, bytes: &[u8]) {
        if self.incoming.as_ref().is_none_or(|one| one.digest != of) {
            self.forget();
            self.begun += 1;
            let path = self.folder.join(format!("{of}.{}{PARTIAL}", self.begun));
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path);
            self.incoming = Some(Incoming { digest: of, path, file });
        }
        if let Some(Incoming { file, .. }) = &mut self.incoming
            && let Ok(open) = file
            && let Err(error) = open.write_all_at(bytes, u64::from(index) * PIECE_BYTES as u64)
        {
            *file = Err(error);
        }
    }

    /// All pieces were taken. What is returned checks the digest and names the file, and may take long.
    pub(super) fn seal(
        &mut self,
        of: Digest,
    ) -> impl FnOnce() -> Result<(), String> + Send + use<> {
        let incoming = self.incoming.take().filter(|one| one.digest == of);
        let path = self.path(of);
        move || {
            let Some(Incoming { path: partial, file, .. }) = incoming else {
                return Err(format!("{}: nothing came", path.display()));
            };
            let sealed = file.and_then(|file| match digest(&file)? == of {
                true => fs::rename(&partial, &path),
                false => Err(io::Error::other("what came has another digest")),
            });
            if sealed.is_err() {
                // The next look would do it.
                let _ = fs::remove_file(&partial);
            }
            sealed.map_err(|error| format!("{}: {error}", path.display()))
        }
    }

    /// What is fetched now is not needed any more.
    pub(super) fn forget(&mut self) {
        if let Some(Incoming { path, .. }) = self.incoming.take() {
            let _ = fs::remove_file(path);
        }
    }
}

fn digest(file: &File) -> io::Result<Digest> {
    let (mut hasher, mut at) = (Hasher::default(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read_at(&mut piece, at)? {
            0 => return Ok(hasher.digest()),
            read => {
                hasher.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what a test sets up is there, or the test fails")]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> DataFile {
        DataFile { digest: Digest::of(bytes), bytes: bytes.len() as u64 }
    }

    fn fetched(files: &mut Files, bytes: &[u8], of: Digest) -> Result<(), String> {
        let pieces = bytes.chunks(PIECE_BYTES).enumerate();
        // The last one comes first.
        for (index, piece) in pieces.rev() {
            files.take(of, index as u32, piece);
        }
        files.seal(of)()
    }

    #[test]
    fn a_file_is_missing_until_all_of_it_is_there_with_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder.path().join("data"));
        let bytes: Vec<u8> = (0..3 * PIECE_BYTES + 5).map(|at| (at % 251) as u8).collect();
        let (one, other) = (file(&bytes), file(b"other"));
        assert_eq!(files.missing(&[one, other]), Ok(vec![one, other]));
        assert!(fetched(&mut files, &bytes[1..], one.digest).is_err(), "another digest");
        assert_eq!(files.missing(&[one]), Ok(vec![one]));
        fetched(&mut files, &bytes, one.digest).unwrap();
        assert_eq!(files.missing(&[one, other]), Ok(vec![other]));
        assert_eq!(fs::read(files.path(one.digest)).unwrap(), bytes);
        // One that was cut short is fetched again, and one that was on its way is no file.
        files.take(other.digest, 0, b"oth");
        File::options().write(true).open(files.path(one.digest)).unwrap().set_len(7).unwrap();
        let mut later = Files::new(folder.path().join("data"));
        assert_eq!(later.missing(&[one, other]), Ok(vec![one, other]));
        let names = fs::read_dir(folder.path().join("data")).unwrap().count();
        assert_eq!(names, 1, "no partial file");
        fetched(&mut later, &bytes, one.digest).unwrap();
        assert_eq!(later.missing(&[one]), Ok(Vec::new()));
    }

    /// A run that was given up is still looked at when the next one fetches the same file.
    #[test]
    fn a_late_look_names_no_file_that_is_not_complete() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder.path().to_owned());
        let bytes = vec![7; PIECE_BYTES + 1];
        let one = file(&bytes);
        assert_eq!(files.missing(&[one]), Ok(vec![one]));
        files.take(one.digest, 0, &bytes[..PIECE_BYTES]);
        files.take(one.digest, 1, &bytes[PIECE_BYTES..]);
        let late = files.seal(one.digest);
        assert_eq!(files.missing(&[one]), Ok(vec![one]));
        files.take(one.digest, 0, &bytes[..PIECE_BYTES]);
        // Its own file is gone, and it touches no other.
        assert!(late().is_err() && !files.path(one.digest).exists());
        files.take(one.digest, 1, &bytes[PIECE_BYTES..]);
        files.seal(one.digest)().unwrap();
        assert_eq!(fs::read(files.path(one.digest)).unwrap(), bytes);
    }

    #[test]
    fn those_that_were_used_least_lately_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder.path().to_owned());
        let all: Vec<DataFile> = [b"a", b"b", b"c"].iter().map(|bytes| file(*bytes)).collect();
        for (age_s, one) in (1..).zip(&all) {
            assert_eq!(files.missing(&[*one]), Ok(vec![*one]));
            let bytes: &[u8] = [b"a", b"b", b"c"][age_s as usize - 1];
            fetched(&mut files, bytes, one.digest).unwrap();
            let before = SystemTime::now() - std::time::Duration::from_secs(100 - age_s);
            let file = File::options().append(true).open(files.path(one.digest)).unwrap();
            file.set_modified(before).unwrap();
        }
        // The first one is used again, and a large one needs all the room but two bytes.
        assert_eq!(files.missing(&all[..1]), Ok(Vec::new()));
        let large = DataFile { digest: Digest::of(b"large"), bytes: MOST_BYTES - 2 };
        assert_eq!(files.missing(&[large]), Ok(vec![large]));
        let is_there = |one: &DataFile| files.path(one.digest).exists();
        assert_eq!(all.iter().map(is_there).collect::<Vec<_>>(), [true, false, true]);
    }
}
