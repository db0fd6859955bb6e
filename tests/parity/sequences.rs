//! Sequences on a backend: checkpoints, provisional passes, several in one batch. What holds here holds for every
//! backend, since it is asked of the trait.

use crate::adapter::adapter;
use crate::recording::{bits, tokens};
use crate::support::fixture;
use redlite::backend::gpu::{self, Gpu};
use redlite::backend::reference::{self, Reference};
use redlite::backend::{Backend, Batch, Block, Hidden, Phase, Row, RowInput, SequenceId, SlotTable};
use redlite::experts::load_resident;
use redlite::gguf::Gguf;
use redlite::memory::KvType;
use redlite::model::Model;
use std::sync::Arc;

/// A backend with all experts resident.
struct Device {
    backend: Box<dyn Backend>,
    slots: Vec<SlotTable>,
    layers: usize,
    vocabulary: usize,
}

impl Device {
    /// One for each backend that this machine has.
    fn all() -> Vec<Device> {
        let model = Arc::new(Model::open(Arc::new(Gguf::open(&fixture("zoo.gguf")).unwrap())).unwrap());
        let options = reference::Options { threads: None, kv_type: KvType::F16, next_token: true };
        let reference = Box::new(Reference::load(model.clone(), &options).unwrap());
        let mut devices = vec![Device::new(&model, reference)];
        if let Some(adapter) = adapter() {
            let options = gpu::Options {
                adapter: Some(adapter),
                kv_type: KvType::F16,
                rows: 64,
                next_token: true,
                slab_bytes: None,
            };
            devices.push(Device::new(&model, Box::new(Gpu::load(model.clone(), &options).unwrap())));
        }
        devices
    }

    fn new(model: &Model, backend: Box<dyn Backend>) -> Device {
        let slots = load_resident(model, &*backend.expert_memory(), &|_| true).unwrap();
        Device { backend, slots, layers: model.config.layers, vocabulary: model.config.vocabulary }
    }

    fn open(&mut self) -> SequenceId {
        self.backend.open(300).unwrap()
    }

    /// Runs rows and gives the bits of each row's logits.
    fn pass(&mut self, batch: &Batch, keep: &[(SequenceId, u32)]) -> Vec<Vec<u32>> {
        let layers = match batch.block {
            Block::Trunk => 0..self.layers,
            Block::NextToken => self.layers..self.layers + 1,
        };
        let mut pass = self.backend.begin(batch).unwrap();
        for layer in layers {
            self.backend.mix(&mut pass, layer).unwrap();
            self.backend.experts(&mut pass, layer, &self.slots[layer]).unwrap();
        }
        let all: Vec<u32> = (0..batch.rows.len() as u32).collect();
        let logits = self.backend.head(&mut pass, &all).unwrap().wait().unwrap();
        assert_eq!(logits.values.len(), batch.rows.len() * self.vocabulary);
        self.backend.commit(pass, keep).unwrap();
        logits.rows().map(bits).collect()
    }

    fn decode(&mut self, rows: &[Row]) -> Vec<Vec<u32>> {
        self.pass(&Batch { rows, phase: Phase::Decode, block: Block::Trunk, provisional: false }, &[])
    }

    /// Runs the trunk and then the next-token block, one token after the other.
    fn steps(&mut self, sequence: SequenceId, first: u32, tokens: &[u32]) -> Vec<Vec<u32>> {
        let mut logits = Vec::new();
        for row in rows(sequence, first, tokens) {
            logits.extend(self.decode(&[row]));
            let draft = [draft(row)];
            logits.extend(
                self.pass(
                    &Batch { rows: &draft, phase: Phase::Decode, block: Block::NextToken, provisional: false },
                    &[],
                ),
            );
        }
        logits
    }
}

fn rows(sequence: SequenceId, first: u32, tokens: &[u32]) -> Vec<Row> {
    let row = |(position, token): (u32, &u32)| Row { sequence, position, input: RowInput::Token(*token) };
    (first..).zip(tokens).map(row).collect()
}

/// The next-token block's row for the same token.
fn draft(row: Row) -> Row {
    let hidden = match row.position.checked_sub(1) {
        Some(position) => Hidden::Trunk { position },
        None => Hidden::Zeros,
    };
    Row { input: RowInput::Draft { token: row.input.token(), hidden }, ..row }
}

#[test]
fn a_restored_checkpoint_continues_as_if_nothing_had_happened_in_any_sequence() {
    for mut device in Device::all() {
        let tokens = tokens("toks300.txt");
        let sequence = device.open();
        device.steps(sequence, 0, &tokens[..30]);
        let checkpoint = device.backend.save(sequence).unwrap();
        assert_eq!(checkpoint.position, 30);
        assert!(checkpoint.bytes > 0);
        let expected = device.steps(sequence, 30, &tokens[30..50]);

        device.backend.restore(sequence, &checkpoint).unwrap();
        assert!(device.steps(sequence, 30, &tokens[30..50]) == expected, "in the same sequence");

        let other = device.open();
        device.steps(other, 0, &tokens[200..240]);
        device.backend.restore(other, &checkpoint).unwrap();
        assert!(device.steps(other, 30, &tokens[30..50]) == expected, "in another sequence");

        device.backend.close(sequence);
        device.backend.restore(other, &checkpoint).unwrap();
        assert!(device.steps(other, 30, &tokens[30..50]) == expected, "after its own sequence was closed");
    }
}

#[test]
fn a_provisional_pass_keeps_any_prefix_of_its_rows_bit_for_bit() {
    for mut device in Device::all() {
        let tokens = tokens("toks300.txt");
        let most = device.backend.capabilities().provisional_rows;
        assert!(most >= 2);
        let start = 20;
        let sequence = device.open();
        let mut plain: Vec<Vec<u32>> = Vec::new();
        for row in rows(sequence, 0, &tokens[..start + 2 * most]) {
            plain.extend(device.decode(&[row]));
        }
        for keep in 0..=most {
            let sequence = device.open();
            device.decode(&rows(sequence, 0, &tokens[..start]));
            // Rows behind the kept ones are drafts that turn out wrong.
            let mut drafts = tokens[start..start + keep].to_vec();
            drafts.extend(tokens[250..].iter().take(most - keep));
            let batch = Batch {
                rows: &rows(sequence, start as u32, &drafts),
                phase: Phase::Decode,
                block: Block::Trunk,
                provisional: true,
            };
            let verified = device.pass(&batch, &[(sequence, keep as u32)]);
            assert!(verified[..keep] == plain[start..start + keep], "the rows themselves, {keep} of {most} kept");
            let kept = start + keep;
            for row in rows(sequence, kept as u32, &tokens[kept..kept + most]) {
                let found = device.decode(&[row]);
                assert!(found[0] == plain[row.position as usize], "position {}, {keep} of {most} kept", row.position);
            }
        }
    }
}

#[test]
fn sequences_in_one_batch_give_what_each_gives_alone() {
    for mut device in Device::all() {
        let all = tokens("toks300.txt");
        let texts = [&all[..25], &all[100..140], &all[200..210]];
        let alone: Vec<Vec<Vec<u32>>> = texts
            .iter()
            .map(|text| {
                let sequence = device.open();
                rows(sequence, 0, text).iter().flat_map(|row| device.decode(&[*row])).collect()
            })
            .collect();
        let sequences = texts.map(|_| device.open());
        let mut together: [Vec<Vec<u32>>; 3] = Default::default();
        // Rows of a text are spread over passes of one, two and three rows, so that the sequences are at unlike positions.
        for pass in 0.. {
            let mut batch = Vec::new();
            for (index, (sequence, text)) in sequences.iter().zip(texts).enumerate() {
                let done = together[index].len();
                let count = (1 + (pass + index) % 3).min(text.len() - done);
                batch.extend(rows(*sequence, done as u32, &text[done..done + count]));
            }
            if batch.is_empty() {
                break;
            }
            for (row, logits) in batch.iter().zip(device.decode(&batch)) {
                let index = sequences.iter().position(|sequence| *sequence == row.sequence).unwrap();
                together[index].push(logits);
            }
        }
        for (index, (together, alone)) in together.iter().zip(&alone).enumerate() {
            assert!(together == alone, "sequence {index}");
        }
    }
}

#[test]
fn provisional_passes_of_two_sequences_keep_what_each_is_told() {
    for mut device in Device::all() {
        let tokens = tokens("toks300.txt");
        let (a, b) = (device.open(), device.open());
        let mut batch = rows(a, 0, &tokens[..4]);
        batch.extend(rows(b, 0, &tokens[50..54]));
        let batch = Batch { rows: &batch, phase: Phase::Decode, block: Block::Trunk, provisional: true };
        device.pass(&batch, &[(a, 1), (b, 3)]);
        for (sequence, text, kept) in [(a, &tokens[..10], 1), (b, &tokens[50..60], 3)] {
            let found: Vec<_> =
                rows(sequence, kept, &text[kept as usize..]).iter().flat_map(|row| device.decode(&[*row])).collect();
            let plain = device.open();
            let expected: Vec<_> = rows(plain, 0, text).iter().flat_map(|row| device.decode(&[*row])).collect();
            assert!(found == expected[kept as usize..], "{kept} kept");
        }
    }
}
