//! Files that are changed in place: the trait.

use std::io;

use crate::read::ReadAt;

/// A file that one owner reads and changes in place. Its length is what writes and [`ChangeAt::set_len`] made it.
///
/// What was written is read back at once. It is on the disk after [`ChangeAt::sync`]; before that, a loss of power may
/// keep any part of it, in any order.
pub trait ChangeAt: ReadAt {
    /// Writes the bytes from `place` on. A write beyond the end extends the file; bytes between the old end and `place`
    /// are zero.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`], and nothing written, where the end is beyond 2^63; else what the system
    /// reports, such as [`io::ErrorKind::StorageFull`]: then any part of the bytes may be written.
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until all that was written, and the length, are on the disk.
    ///
    /// # Errors
    /// What the system reports.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file off at `len`, or extends it with zeros, for which the system need not allocate space.
    ///
    /// # Errors
    /// What the system reports.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Checks that the name by which the file was opened still leads to it. The answer is of this moment: the name may
    /// lead elsewhere right after it. Files without a name pass.
    ///
    /// # Errors
    /// [`Conflict::Replaced`](crate::Conflict::Replaced); what the system reports.
    fn check_named(&self) -> io::Result<()> {
        Ok(())
    }
}
