//! A LUN's page registers, and the positions of data out and data in.

use crate::config::NandConfig;
use crate::register::{Holds, Register};
use crate::store::Die;
use crate::work::{ArrayWork, Bank, PageAddr, PageJob};
use alloc::boxed::Box;
use aster_ports::layout::{PageLayout, Span};
use aster_ports::package::{DataIn, DataOut, ProtocolError};
use aster_units::Column;
use core::cell::RefCell;

/// One register per plane and bank. The array fills and empties them; the host accesses those of
/// [`Bank::Cache`].
pub(super) struct PageRegisters {
    planes: usize,
    /// Bank after bank.
    registers: Box<[Register]>,
    /// The plane whose register data out reads.
    plane: u8,
    /// The next column of data in and out.
    column: u32,
    /// Planes whose register a COPYBACK READ has filled, one bit each.
    copied: u8,
}

impl PageRegisters {
    /// `banks` registers for each plane, none of which holds anything.
    pub fn new(banks: usize, config: &NandConfig) -> Self {
        let planes = usize::from(config.geometry.planes);
        let registers = (0..banks * planes).map(|_| Register::new(&config.layout, config.content)).collect();
        PageRegisters { planes, registers, plane: 0, column: 0, copied: 0 }
    }

    #[inline]
    fn of(&mut self, bank: Bank, plane: u8) -> &mut Register {
        &mut self.registers[bank as usize * self.planes + usize::from(plane)]
    }
    #[inline]
    fn shown(&self) -> &Register {
        &self.registers[usize::from(self.plane)]
    }

    /// Data out reads this plane's register.
    #[inline]
    pub fn select(&mut self, plane: u8) {
        self.plane = plane;
    }
    /// Data in and out continue at this column.
    #[inline]
    pub fn set_column(&mut self, column: Column) {
        self.column = u32::from(column.0);
    }
    /// Whether data out has something to show.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.shown().holds != Holds::Nothing
    }
    /// Exchanges the registers of two banks of a plane.
    pub fn swap(&mut self, plane: u8, one: Bank, other: Bank) {
        let of = |bank| bank as usize * self.planes + usize::from(plane);
        self.registers.swap(of(one), of(other));
    }
    /// Sets a plane's register to all ones for a program. Nothing of a COPYBACK READ is left.
    #[inline]
    pub fn clear(&mut self, plane: u8) {
        self.copied = 0;
        self.of(Bank::Cache, plane).clear();
    }
    /// Discards what all registers hold.
    pub fn invalidate(&mut self) {
        self.copied = 0;
        self.registers.iter_mut().for_each(Register::invalidate);
    }

    /// A COPYBACK READ fills the registers of these planes, one bit each; 0 for any other operation.
    #[inline]
    pub fn set_copied(&mut self, planes: u8) {
        debug_assert!(u32::from(planes) >> self.planes == 0, "planes {planes:#b} of {}", self.planes);
        self.copied = planes;
    }
    /// Whether a COPYBACK READ has filled a plane's register.
    pub fn has_copied(&self, plane: u8) -> bool {
        self.copied & 1 << plane != 0
    }

    /// The array has done `work` in one plane. Returns that plane's bit if it failed, else 0.
    #[inline]
    pub fn carry_out(&mut self, die: &mut Die, work: ArrayWork, level_mv: f64) -> u8 {
        match work {
            ArrayWork::Idle | ArrayWork::Other => 0,
            ArrayWork::Read(PageJob { at, bank }) => {
                die.load(at, level_mv, self.of(bank, at.plane));
                0
            }
            ArrayWork::Program(PageJob { at, bank }) => {
                let register = self.of(bank, at.plane);
                let passed = die.program(at, register, false);
                register.invalidate();
                u8::from(!passed) << at.plane
            }
            ArrayWork::Erase(at) => self.erase(die, at),
        }
    }
    fn erase(&mut self, die: &mut Die, at: PageAddr) -> u8 {
        // Registers that show pages of the block keep their content.
        for register in &mut self.registers {
            if register.lying.is_some_and(|lying| lying.block == at.block) {
                die.fetch(u16::MAX, register);
            }
        }
        u8::from(!die.erase(at.block)) << at.plane
    }
    /// The array has been cut off in the middle of `work`. A program leaves a torn page, an erase a
    /// half-erased block.
    pub fn cut_off(&mut self, die: &mut Die, work: ArrayWork) {
        match work {
            ArrayWork::Program(PageJob { at, bank }) => {
                die.program(at, self.of(bank, at.plane), true);
            }
            ArrayWork::Erase(at) => die.half_erase(at.block),
            ArrayWork::Idle | ArrayWork::Read(_) | ArrayWork::Other => {}
        }
    }

    /// Passes `take` the next `length` columns of the plane that data out reads; the plane's register must
    /// hold something. Data that are in memory are passed by reference, so that a page goes from the cells to
    /// the reader without a copy.
    #[inline]
    pub fn data_out<R>(
        &mut self,
        die: &RefCell<Die>,
        length: u32,
        config: &NandConfig,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        let column = self.take_columns(length, config)?;
        let register = self.shown();
        if let Some(lying) = register.lying {
            let die = die.borrow();
            if let Some(data) = die.in_memory(lying, config.layout.sectors()) {
                return Ok(take(&register.out_of(data, column, length)));
            }
        }
        Ok(take(&self.out(die, column, length, &config.layout)))
    }
    /// What data out would show from the next column to the page's end.
    pub fn rest(&mut self, die: &RefCell<Die>, config: &NandConfig) -> DataOut<'_> {
        let (column, raw) = (self.column, config.geometry.raw_page_bytes());
        self.out(die, column, raw - column, &config.layout)
    }
    /// `layout` says which sectors must be fetched from the cells for these columns.
    #[inline]
    fn out(&mut self, die: &RefCell<Die>, column: u32, length: u32, layout: &PageLayout) -> DataOut<'_> {
        let register = &mut self.registers[usize::from(self.plane)];
        if register.lying.is_some() && length > 0 {
            let wanted = layout.sectors_in(Span { column: Column(column as u16), length });
            if register.lacks(wanted) != 0 {
                die.borrow_mut().fetch(wanted, register);
            }
        }
        register.out(column, length)
    }
    /// The next `length` columns, if the page has so many: the first of them.
    #[inline]
    fn take_columns(&mut self, length: u32, config: &NandConfig) -> Result<u32, ProtocolError> {
        let (column, raw) = (self.column, config.geometry.raw_page_bytes());
        if length > raw - column {
            return Err(ProtocolError::Length { available: raw - column, requested: length });
        }
        self.column += length;
        Ok(column)
    }

    /// Puts data into a plane's register, from the next column on. `copyback` when it keeps what a COPYBACK
    /// READ has read.
    #[inline]
    pub fn data_in(
        &mut self,
        (plane, copyback): (u8, bool),
        length: u32,
        data: DataIn<'_>,
        config: &NandConfig,
    ) -> Result<(), ProtocolError> {
        let (column, raw) = (self.column, config.geometry.raw_page_bytes());
        if length > raw - column {
            return Err(ProtocolError::Length { available: raw - column, requested: length });
        }
        let register = self.of(Bank::Cache, plane);
        match data {
            DataIn::Page(page) => {
                // A whole page may replace what a COPYBACK READ has read.
                if column != 0 || (register.holds != Holds::Erased && !copyback) {
                    return Err(ProtocolError::Column { column: Column(column as u16) });
                }
                config.check_page(&page, length)?;
                register.set_page(&page);
            }
            DataIn::Bytes(bytes) => {
                if bytes.len() != length as usize {
                    return Err(ProtocolError::Length { available: bytes.len() as u32, requested: length });
                }
                // Overwriting a part of a page that is kept plain would need its code word.
                if register.holds == Holds::Page {
                    return Err(ProtocolError::UnexpectedData);
                }
                register.set_bytes(raw as usize, column as usize, bytes);
            }
        }
        self.column += length;
        Ok(())
    }
}
