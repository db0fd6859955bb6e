//! Rows: the one form in which tokens reach a backend.
//!
//! An ingest chunk, one decode token, a verify of several drafts and a batch of several sequences differ in their
//! rows only.

/// A sequence of tokens with its own keys, values and recurrent state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub(crate) u32);

/// One token at one position of one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The sequence.
    pub sequence: SequenceId,
    /// The position, from 0.
    pub position: u32,
    /// What the row reads.
    pub input: RowInput,
}

/// What a row reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowInput {
    /// A token, for the trunk.
    Token(u32),
    /// A token and a hidden row, for the next-token block.
    Draft {
        /// The token at the row's position.
        token: u32,
        /// The hidden row of the position before.
        hidden: Hidden,
    },
}

/// A hidden row (after the final norm) that the backend kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Nothing: the row is at the start of its sequence.
    Zeros,
    /// The trunk's row at this position, which is one of the sequence's last committed trunk pass or the one before
    /// its first.
    Trunk {
        /// The position.
        position: u32,
    },
}

impl RowInput {
    /// The row's token.
    pub fn token(&self) -> u32 {
        match *self {
            RowInput::Token(token) | RowInput::Draft { token, .. } => token,
        }
    }
}

/// The class of kernels a pass uses. It follows what the rows are for, never how many there are, so that a row's
/// bytes do not depend on its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A chunk of a prompt.
    Ingest,
    /// Steps, verifies, several sequences at once.
    Decode,
}

/// Which block a pass runs through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// All layers.
    Trunk,
    /// The next-token-prediction block.
    NextToken,
}

/// Rows that go through a block together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The rows, those of one sequence in order of position and next to each other.
    pub rows: &'a [Row],
    /// What they are for.
    pub phase: Phase,
    /// Where they go.
    pub block: Block,
    /// Whether only a prefix of them may be kept (see [`Backend::commit`](super::Backend::commit)).
    pub provisional: bool,
}
