/// The command and task that something is done for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Owner {
    pub(super) command: Option<u64>,
    pub(super) task: Option<u32>,
}
