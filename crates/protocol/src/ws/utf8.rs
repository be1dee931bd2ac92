//! UTF-8, checked as it comes (RFC 6455 8.1, RFC 3629).

/// The check of one text. A fault is found with the byte that makes it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utf8 {
    /// The beginning of a character whose end has not come.
    begun: [u8; 4],
    have: usize,
}

impl Utf8 {
    /// Takes the next bytes. False: no continuation makes this a valid text.
    #[inline]
    pub(super) fn handle(&mut self, mut bytes: &[u8]) -> bool {
        while self.have > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return true };
            bytes = rest;
            self.begun[self.have] = byte;
            self.have += 1;
            match std::str::from_utf8(&self.begun[..self.have]) {
                Ok(_) => self.have = 0,
                // At its fourth byte a character is valid or has a fault.
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                let rest = &bytes[error.valid_up_to()..];
                self.begun[..rest.len()].copy_from_slice(rest);
                self.have = rest.len();
                true
            }
        }
    }

    /// Whether the text may end here.
    pub(super) fn is_complete(self) -> bool {
        self.have == 0
    }
}
