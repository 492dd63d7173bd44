use aster_units::SectorRange;

/// Which of the transactions that are built over and over this is: what decides when its latches and bursts
/// come.
///
/// All transactions of one shape on one channel have the same operations. Only their addresses, buffers and
/// immediate values differ, and the way, so an engine plans the first one and goes by that plan for the
/// others. Whoever builds a transaction names its shape; one without a name is planned each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    form: Form,
    sectors: SectorRange,
}

/// What a transaction of a known shape does. A controller in software and one in hardware lay the same work
/// out differently, and a channel may have both, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// READ STATUS by software.
    Status,
    /// READ STATUS ENHANCED by software.
    StatusEnhanced,
    /// READ by software.
    Read,
    /// A page's sectors out of the page register, by software.
    Transfer,
    /// The same, and the READ of another page behind it.
    TransferThenRead,
    /// PROGRAM of a page by software.
    Program,
    /// BLOCK ERASE by software.
    Erase,
    /// READ STATUS by hardware.
    FixedStatus,
    /// READ by hardware.
    FixedTrigger,
    /// A page's sectors out of the page register, by hardware.
    FixedTransfer,
    /// PROGRAM of a page by hardware.
    FixedProgram,
    /// BLOCK ERASE by hardware.
    FixedErase,
}

/// Forms that there are.
const FORMS: usize = Form::FixedErase as usize + 1;
/// Sector ranges with a number of their own: pages of up to 16 sectors.
const SECTORS: usize = 16;

impl Shape {
    /// Shapes with a number ([`Shape::number`]).
    pub const COUNT: usize = FORMS * SECTORS * SECTORS;

    /// A shape that moves these sectors.
    pub const fn new(form: Form, sectors: SectorRange) -> Self {
        Shape { form, sectors }
    }
    /// A shape that always moves the same bytes, or none.
    pub const fn of(form: Form) -> Self {
        Shape { form, sectors: SectorRange::whole(1) }
    }

    /// A number below [`Shape::COUNT`] that no other shape has. `None` for sectors of a larger page than any
    /// that there is.
    #[inline]
    pub const fn number(self) -> Option<usize> {
        let (first, more) = (self.sectors.first as usize, self.sectors.count.wrapping_sub(1) as usize);
        if first < SECTORS && more < SECTORS {
            Some((self.form as usize * SECTORS + first) * SECTORS + more)
        } else {
            None
        }
    }
}
