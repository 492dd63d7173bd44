//! Tables of columns, handed to whoever in Python reads Arrow (pandas, Polars, DuckDB, PyArrow) without a
//! copy: Arrow's C data interface, by its protocol for Python
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use crate::errors::RunError;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt8Array,
    UInt16Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use aster_lab::watch::{CommandRows, CommandTable, SampleTable};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A table of columns.
#[pyclass(frozen, module = "aster._aster")]
pub(crate) struct Columns {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Columns {
    /// The columns as a stream. A schema that is asked for is not heeded, which the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns' names and types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Bytes of memory that the columns take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }
}

fn failed(error: ArrowError) -> PyErr {
    RunError::new_err(error.to_string())
}

/// `parts` as batches of columns, which take over the memory.
fn batches(fields: Vec<Field>, parts: Vec<Vec<ArrayRef>>) -> PyResult<Columns> {
    let schema = Arc::new(Schema::new(fields));
    let batch = |columns| RecordBatch::try_new(Arc::clone(&schema), columns).map_err(failed);
    let batches = parts.into_iter().map(batch).collect::<PyResult<_>>()?;
    Ok(Columns { schema, batches })
}

/// Words by number, as one column.
fn dictionary(keys: Vec<Option<u8>>, words: &[String]) -> PyResult<ArrayRef> {
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(words));
    let column = DictionaryArray::<UInt8Type>::try_new(UInt8Array::from(keys), words).map_err(failed)?;
    Ok(Arc::new(column))
}

/// The most jobs that the column `job` tells apart; those of further queues are null.
const JOBS_MAX: usize = 255;

/// The work's commands, a row for each.
pub(crate) fn of_commands(table: CommandTable) -> PyResult<Columns> {
    let words = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
    let fields = [
        ("number", DataType::UInt64),
        ("submit_us", DataType::Float64),
        ("complete_us", DataType::Float64),
        ("latency_us", DataType::Float64),
        ("command", words.clone()),
        ("lba", DataType::UInt64),
        ("bytes", DataType::UInt64),
        ("queue", DataType::UInt16),
        ("job", words),
        ("status", DataType::UInt16),
    ];
    let fields = fields.into_iter().map(|(name, kind)| Field::new(name, kind, name == "job")).collect();
    let CommandTable { parts, block_bytes, jobs } = table;
    let used: BTreeSet<u8> = parts.iter().flat_map(|part| part.opcode.iter().copied()).collect();
    let names: Vec<String> = used.iter().map(|&opcode| CommandTable::name_of(opcode)).collect();
    let mut name_of = [0; 1 << u8::BITS];
    used.iter().zip(0..).for_each(|(&opcode, place)| name_of[usize::from(opcode)] = place);
    let mut jobs_known: Vec<String> = Vec::new();
    let mut job_of: BTreeMap<u16, u8> = BTreeMap::new();
    for (queue, job) in jobs.into_iter().filter_map(|(queue, job)| Some((queue, job?))) {
        let place = jobs_known.iter().position(|known| *known == job).unwrap_or_else(|| {
            jobs_known.push(job);
            jobs_known.len() - 1
        });
        job_of.extend(u8::try_from(place).ok().filter(|_| place < JOBS_MAX).map(|place| (queue, place)));
    }
    jobs_known.truncate(JOBS_MAX);
    let columns = |part: CommandRows| {
        let latency: Vec<f64> =
            part.complete_us.iter().zip(&part.submit_us).map(|(end, begin)| end - begin).collect();
        let lba: Vec<u64> = part.offset.iter().map(|offset| offset / u64::from(block_bytes)).collect();
        let opcode = part.opcode.iter().map(|&opcode| Some(name_of[usize::from(opcode)])).collect();
        let job = part.queue.iter().map(|queue| job_of.get(queue).copied()).collect();
        Ok::<Vec<ArrayRef>, PyErr>(vec![
            Arc::new(UInt64Array::from(part.number)),
            Arc::new(Float64Array::from(part.submit_us)),
            Arc::new(Float64Array::from(part.complete_us)),
            Arc::new(Float64Array::from(latency)),
            dictionary(opcode, &names)?,
            Arc::new(UInt64Array::from(lba)),
            Arc::new(UInt64Array::from(part.bytes)),
            Arc::new(UInt16Array::from(part.queue)),
            dictionary(job, &jobs_known)?,
            Arc::new(UInt16Array::from(part.status)),
        ])
    };
    let parts = parts.into_iter().map(columns).collect::<PyResult<_>>()?;
    batches(fields, parts)
}

/// The operation monitor's samples.
pub(crate) fn of_samples(SampleTable { from_us, until_us, entries }: SampleTable) -> PyResult<Columns> {
    let times = [("from_us".to_owned(), from_us), ("until_us".to_owned(), until_us)];
    let (fields, columns) = times
        .into_iter()
        .chain(entries)
        .map(|(name, values)| {
            let is_time = name == "from_us" || name == "until_us";
            // An entry without a value has none in Arrow as well.
            let column: ArrayRef = match is_time {
                true => Arc::new(Float64Array::from(values)),
                false => Arc::new(Float64Array::from_iter(
                    values.into_iter().map(|value| (!value.is_nan()).then_some(value)),
                )),
            };
            (Field::new(name, DataType::Float64, !is_time), column)
        })
        .unzip();
    batches(fields, vec![columns])
}
