//! Pins: leases of states.

use std::time::Duration;

use tarsia_table_meta::{Pin, TxnId, names};

use crate::error::{Error, ErrorKind, Result};
use crate::lease::pin;
use crate::refs;
use crate::roots::list_refs;
use crate::spec::CommitInfo;
use crate::table::{Table, check_writable};

impl Table {
    /// Keeps a state from garbage collection for some time. Returns the id of the pin.
    ///
    /// A pin cannot be made longer: make another one, then remove the first.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::TooOld`] for a state that may be about to be deleted;
    /// [`ErrorKind::InvalidInput`] for a lease of no time, or of more than 400 days; [`ErrorKind::Unsupported`] for a
    /// store that does not say the time; errors of the store.
    pub fn pin(&self, state: &str, lease: Duration, info: &CommitInfo) -> Result<TxnId> {
        check_writable(self.store())?;
        let commit = self.at(state)?.id();
        self.check_nameable(commit, state)?;
        Ok(pin(self.shared(), commit, lease, None, info)?.0)
    }

    /// The pins, by id, those whose time is over too.
    ///
    /// # Errors
    /// Errors of the store, [`ErrorKind::Corrupt`].
    pub fn pins(&self) -> Result<Vec<(TxnId, Pin)>> {
        let listed = list_refs(self.shared())?;
        let ids: Vec<TxnId> = listed
            .keys()
            .filter_map(|key| names::pin_of_key(key))
            .collect();
        self.shared().run(|desk, _| async move {
            let mut pins = Vec::with_capacity(ids.len());
            for id in ids {
                let pin = refs::pin(&desk, &id).await?;
                pins.extend(pin.map(|pin| (id, pin)));
            }
            Ok(pins)
        })
    }

    /// Removes a pin.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; errors of the store.
    pub fn unpin(&self, id: &TxnId) -> Result<()> {
        let asked = *id;
        let found = self
            .shared()
            .run(|desk, _| async move { refs::pin(&desk, &asked).await });
        match found {
            Ok(None) => return Err(Error::not_found(format!("there is no pin {id}"))),
            // One that cannot be read can be removed.
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            _ => {}
        }
        Ok(tarsia_io::block_on(
            self.store().delete(&names::pin_key(id)),
        )?)
    }
}
