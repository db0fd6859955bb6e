//! Writing the file: large pieces of pools, as fast as the disk takes them.

use super::pool::Pool;
use super::random::{Distribution, generator};
use super::tensors::{Fill, Tensor};
use super::vocabulary::vocabulary;
use super::{Plan, Shape};
use crate::error::{Error, RequestError, Result};
use crate::gguf::{
    self,
    writer::{Body, Writer},
};
use crate::memory::Bytes;
use crate::quant::Type;
use rand::Rng;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The alignment of tensors in the file.
const ALIGNMENT: u32 = 32;

/// The largest piece that is written at once. Between two pieces, progress is told.
const PIECE_BYTES: usize = 8 << 20;

/// Values that are drawn from one stream of random numbers.
const PART_VALUES: usize = 1 << 16;

/// Is told how many bytes of tensors are written, and returns false to stop.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> bool;

type Pools = HashMap<(Type, u32), Pool>;

impl Plan {
    /// Bytes of all tensors, with the padding between them: what progress goes up to.
    pub fn tensor_bytes(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.bytes.next_multiple_of(ALIGNMENT.into())).sum()
    }

    /// Bytes of the whole file.
    ///
    /// # Errors
    /// The header would be longer than a file can have.
    pub fn file_bytes(&self) -> Result<u64> {
        let mut header = Vec::new();
        self.begin("the file", &mut header)?;
        Ok(header.len() as u64 + self.tensor_bytes())
    }

    /// Writes the file: under the name with `.partial` behind it, which is renamed once all of it is on the disk and
    /// removed where that fails.
    ///
    /// # Errors
    /// There is a file of this name and `overwrite` is not given, or there is something else than a file; the disk is
    /// full or the file cannot be written; or [`Error::Cancelled`], where `progress` returned false.
    pub fn write_file(&self, path: &Path, overwrite: bool, progress: Progress) -> Result<()> {
        let name = path.display().to_string();
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(gguf::Error::NotRegular { file: name }.into()),
            Ok(_) if !overwrite => return Err(RequestError::FileExists { file: name }.into()),
            _ => {}
        }
        let failed = |source| Error::from(gguf::Error::Write { file: name.clone(), source });
        let mut partial = OsString::from(path);
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(failed)?;
        let written = self.write(&name, file, progress).and_then(|file| {
            file.sync_all().map_err(failed)?;
            drop(file);
            fs::rename(&partial, path).map_err(failed)
        });
        if written.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// Writes the file to `out`, in pieces large enough to need no buffer, and hands `out` back.
    ///
    /// # Errors
    /// `out` failed, or `progress` returned false. `name` is what errors call the file.
    pub fn write<W: Write>(&self, name: &str, out: W, progress: Progress) -> Result<W> {
        let pools = self.pools();
        let mut body = self.begin(name, out)?;
        let mut before = 0;
        let mut cancelled = false;
        for tensor in &self.tensors {
            let written = body.tensor(&tensor.name, |out| {
                let mut out = Reporting { out, written: before, progress, cancelled: &mut cancelled };
                match tensor.fill {
                    Fill::Pool { deviation } => {
                        let start = generator(self.options.seed, &tensor.name, 0).random();
                        cut(&pools[&(tensor.kind, deviation.to_bits())], start, tensor.bytes, &mut out)
                    }
                    Fill::Drawn(distribution) => draw(self.options.seed, tensor, distribution, &mut out),
                }
            });
            match written {
                Err(_) if cancelled => return Err(Error::Cancelled),
                Err(gguf::Error::Write { file, source }) => {
                    return Err(gguf::Error::Write { file, source: self.with_size(source) }.into());
                }
                written => written?,
            }
            before += tensor.bytes.next_multiple_of(ALIGNMENT.into());
        }
        Ok(body.finish()?)
    }

    /// A full disk is told with what would have been needed.
    fn with_size(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::StorageFull => {
                io::Error::other(format!("{error}; the whole file takes {}", Bytes(self.tensor_bytes())))
            }
            _ => error,
        }
    }

    /// One pool for each type and deviation, as large as its largest tensor needs.
    fn pools(&self) -> Pools {
        let mut largest: HashMap<(Type, u32), u64> = HashMap::new();
        for tensor in &self.tensors {
            if let Fill::Pool { deviation } = tensor.fill {
                let bytes = largest.entry((tensor.kind, deviation.to_bits())).or_default();
                *bytes = tensor.bytes.max(*bytes);
            }
        }
        let made = largest.into_par_iter().map(|((kind, bits), bytes)| {
            ((kind, bits), Pool::new(self.options.seed, kind, f32::from_bits(bits), bytes))
        });
        made.collect()
    }

    /// Writes metadata and tensor directory.
    fn begin<W: Write>(&self, name: &str, out: W) -> Result<Body<W>> {
        let mut writer = Writer::new(name);
        self.metadata(&mut writer)?;
        for tensor in &self.tensors {
            writer.tensor(&tensor.name, &tensor.shape, tensor.kind)?;
        }
        Ok(writer.begin(out)?)
    }

    fn metadata(&self, writer: &mut Writer) -> std::result::Result<(), gguf::Error> {
        let (shape, mix, seed) = (self.options.shape, self.options.mix, self.options.seed);
        writer.set("general.architecture", "qwen3next")?;
        writer.set("general.type", "model")?;
        writer.set("general.name", format!("random qwen3next {} seed {seed}", mix.name()))?;
        writer.set("general.alignment", ALIGNMENT)?;
        writer.set("general.quantization_version", 2u32)?;
        writer.set("general.file_type", mix.file_type())?;
        for (key, value) in [
            ("block_count", shape.layers),
            ("context_length", shape.context),
            ("embedding_length", shape.hidden),
            ("attention.head_count", shape.heads),
            ("attention.head_count_kv", shape.kv_heads),
            ("attention.key_length", shape.head_size),
            ("attention.value_length", shape.head_size),
            ("rope.dimension_count", shape.rotary_size),
            ("expert_count", shape.experts),
            ("expert_used_count", shape.experts_used),
            ("expert_feed_forward_length", shape.expert_feed_forward),
            ("expert_shared_feed_forward_length", shape.shared_feed_forward),
            ("ssm.conv_kernel", shape.conv_kernel),
            ("ssm.state_size", shape.linear_head_size),
            ("ssm.group_count", shape.key_heads),
            ("ssm.time_step_rank", shape.value_heads),
            ("ssm.inner_size", shape.value_size()),
            ("full_attention_interval", Shape::ATTENTION_INTERVAL),
        ] {
            writer.set(&format!("qwen3next.{key}"), value)?;
        }
        writer.set("qwen3next.rope.freq_base", 1e7f32)?;
        writer.set("qwen3next.attention.layer_norm_rms_epsilon", 1e-6f32)?;
        if let Some(vocabulary) = vocabulary(shape.vocabulary as usize) {
            writer.set("tokenizer.ggml.model", "gpt2")?;
            writer.set("tokenizer.ggml.pre", "qwen2")?;
            writer.set("tokenizer.ggml.tokens", vocabulary.tokens)?;
            writer.set("tokenizer.ggml.token_type", vocabulary.kinds)?;
            writer.set("tokenizer.ggml.merges", vocabulary.merges)?;
            writer.set("tokenizer.ggml.bos_token_id", vocabulary.begin)?;
            writer.set("tokenizer.ggml.eos_token_id", vocabulary.end)?;
            writer.set("tokenizer.ggml.padding_token_id", vocabulary.begin)?;
            writer.set("tokenizer.ggml.add_bos_token", false)?;
        }
        Ok(())
    }
}

/// Writes `bytes` bytes of a pool, from a block on that `start` tells, over its end and on from its beginning.
fn cut(pool: &Pool, start: u64, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut at = (start % pool.blocks() as u64) as usize * pool.block_bytes;
    let mut left = bytes;
    while left > 0 {
        let piece = (pool.bytes.len() - at).min(left.min(PIECE_BYTES as u64) as usize);
        out.write_all(&pool.bytes[at..at + piece])?;
        left -= piece as u64;
        at = (at + piece) % pool.bytes.len();
    }
    Ok(())
}

/// Draws and writes the values of a tensor.
fn draw(seed: u64, tensor: &Tensor, distribution: Distribution, out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = vec![0; tensor.bytes.min(PIECE_BYTES as u64) as usize];
    let mut left = tensor.bytes;
    let mut part = 0;
    while left > 0 {
        let piece = &mut bytes[..left.min(PIECE_BYTES as u64) as usize];
        piece.par_chunks_mut(4 * PART_VALUES).enumerate().for_each(|(index, bytes)| {
            let mut random = generator(seed, &tensor.name, part + index as u64);
            for bytes in bytes.chunks_exact_mut(4) {
                bytes.copy_from_slice(&distribution.draw(&mut random).to_le_bytes());
            }
        });
        out.write_all(piece)?;
        left -= piece.len() as u64;
        part += (PIECE_BYTES / (4 * PART_VALUES)) as u64;
    }
    Ok(())
}

/// Tells of every piece that is written.
struct Reporting<'a> {
    out: &'a mut dyn Write,
    written: u64,
    progress: &'a mut dyn FnMut(u64) -> bool,
    cancelled: &'a mut bool,
}

impl Write for Reporting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !(self.progress)(self.written) {
            *self.cancelled = true;
            return Err(io::Error::other("cancelled"));
        }
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
