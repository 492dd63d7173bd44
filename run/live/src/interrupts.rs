//! The eventfds that a client listens to, one per vector.

use aster_device::{Device, Interrupts as Kind};
use aster_wire::vfio_user::{IrqSetFlags, PciIrq, SetIrqs};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::os::fd::AsRawFd;

/// The eventfd for each vector of MSI or MSI-X.
pub(crate) struct Interrupts {
    /// Which of the two the function has.
    index: PciIrq,
    vectors: Vec<Option<OwnedFd>>,
    /// Vectors to signal at the end of this turn: one system call each, however many completions they
    /// announce.
    raised: Vec<u16>,
}

impl Interrupts {
    /// The function's vectors, without eventfds.
    pub(crate) fn new(kind: &Kind) -> Self {
        let vectors = kind.vectors();
        Interrupts {
            index: match kind {
                Kind::Msi { .. } => PciIrq::Msi,
                Kind::MsiX { .. } => PciIrq::MsiX,
            },
            vectors: (0..vectors).map(|_| None).collect(),
            raised: Vec::with_capacity(usize::from(vectors)),
        }
    }

    /// The index that has vectors.
    pub(crate) fn index(&self) -> PciIrq {
        self.index
    }
    /// Vectors of an interrupt index.
    pub(crate) fn count(&self, index: PciIrq) -> u32 {
        if index == self.index { self.vectors.len() as u32 } else { 0 }
    }

    /// VFIO_USER_DEVICE_SET_IRQS. A vector with an eventfd is unmasked in the function, one without is
    /// masked, because the client passes on neither the guest's MSI-X table nor its use of MSI.
    ///
    /// # Errors
    /// The UNIX error for what is wrong with the request.
    pub(crate) fn set(
        &mut self,
        device: &Device,
        request: &SetIrqs,
        data: &[u8],
        files: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let flags = IrqSetFlags(request.flags.get());
        let index = PciIrq::from_raw(request.index.get()).ok_or(Errno::INVAL)?;
        let (start, count) = (request.start.get(), request.count.get());
        let end = start.checked_add(count).filter(|&end| end <= self.count(index)).ok_or(Errno::INVAL)?;
        // Count 0 without data, for an existing index, ends all signalling.
        if count == 0 && flags.none() && flags.trigger() {
            if index == self.index {
                self.clear(device);
            }
            return Ok(());
        }
        let kinds = [flags.none(), flags.boolean(), flags.eventfd()].into_iter().filter(|&k| k).count();
        let actions = [flags.mask(), flags.unmask(), flags.trigger()].into_iter().filter(|&a| a).count();
        if index != self.index || kinds != 1 || actions != 1 {
            return Err(Errno::INVAL);
        }
        let vectors = start as u16..end as u16;
        if flags.eventfd() {
            if !flags.trigger() {
                return Err(Errno::OPNOTSUPP);
            }
            return self.listen(device, vectors, files);
        }
        if flags.boolean() && data.len() < count as usize {
            return Err(Errno::INVAL);
        }
        for (place, vector) in vectors.enumerate() {
            if flags.boolean() && data[place] == 0 {
                continue;
            }
            if flags.trigger() {
                self.signal(vector);
            } else {
                device.set_vector_mask(vector, flags.mask());
            }
        }
        Ok(())
    }

    /// Sets eventfds for these vectors, or removes them.
    fn listen(
        &mut self,
        device: &Device,
        vectors: std::ops::Range<u16>,
        files: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        if !files.is_empty() && files.len() != vectors.len() {
            return Err(Errno::INVAL);
        }
        for file in &files {
            if !is_eventfd(file)? {
                return Err(Errno::INVAL);
            }
            // A full counter must not block the drive.
            fcntl_setfl(file, fcntl_getfl(file)? | OFlags::NONBLOCK)?;
        }
        let mut files = files.into_iter();
        for vector in vectors {
            let file = files.next();
            let masked = file.is_none();
            self.vectors[usize::from(vector)] = file;
            device.set_vector_mask(vector, masked);
        }
        Ok(())
    }

    /// The drive has sent a vector's message. [`Interrupts::deliver`] follows before anything else is done.
    #[inline]
    pub(crate) fn raise(&mut self, vector: u16) {
        if !self.raised.contains(&vector) {
            self.raised.push(vector);
        }
    }

    /// Signals the raised vectors.
    #[inline]
    pub(crate) fn deliver(&mut self) {
        while let Some(vector) = self.raised.pop() {
            self.signal(vector);
        }
    }

    /// Signals a vector, if it has an eventfd.
    #[inline]
    fn signal(&self, vector: u16) {
        if let Some(Some(file)) = self.vectors.get(usize::from(vector)) {
            // A full counter has signalled already.
            let _ = rustix::io::write(file, &1u64.to_ne_bytes());
        }
    }

    /// After a reset of the function's masks: unmasks the vectors with eventfds again.
    pub(crate) fn unmask_again(&self, device: &Device) {
        for (vector, file) in (0..).zip(&self.vectors) {
            if file.is_some() {
                device.set_vector_mask(vector, false);
            }
        }
    }

    /// Removes all eventfds.
    pub(crate) fn clear(&mut self, device: &Device) {
        for (vector, file) in (0..).zip(&mut self.vectors) {
            if file.take().is_some() {
                device.set_vector_mask(vector, true);
            }
        }
    }
}

/// Any other file may block whatever its flags say, for example one on a network file system.
fn is_eventfd(file: &OwnedFd) -> Result<bool, Errno> {
    let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(name.as_os_str() == "anon_inode:[eventfd]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn only_an_eventfd_is_one() {
        assert_eq!(is_eventfd(&eventfd(0, EventfdFlags::empty()).unwrap()), Ok(true));
        let (reader, writer) = std::io::pipe().unwrap();
        assert_eq!(is_eventfd(&reader.into()), Ok(false));
        assert_eq!(is_eventfd(&writer.into()), Ok(false));
        assert_eq!(is_eventfd(&tempfile::tempfile().unwrap().into()), Ok(false));
    }
}
