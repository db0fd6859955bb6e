//! The kernel table: one row an operation. Pipelines, tests and benches iterate over it, and the declarations of
//! bindings and parameters in a shader's text are made from it.

mod decode;
mod source;
mod table;

pub use decode::{block_bytes, block_values, codebook};
pub use source::wgsl;
pub use table::*;

use crate::quant::Type;

/// An operation.
#[derive(Debug)]
pub struct Kernel {
    /// The stem of its source file, `folder/name`.
    pub name: &'static str,
    /// Storage buffers, in the order of their binding numbers.
    pub bindings: &'static [Binding],
    /// Parameters, 32 bits each, in order.
    pub parameters: &'static [Parameter],
    /// Matrices whose quantisation type is spliced in: prefix of the decoder's functions, and the binding it reads.
    pub decoders: &'static [Decoder],
    /// Constants spliced in: sizes that shape the code.
    pub constants: &'static [&'static str],
    /// Threads of a workgroup.
    pub workgroup: u32,
}

/// A storage buffer of a kernel.
#[derive(Debug)]
pub struct Binding {
    /// Its name in the shader.
    pub name: &'static str,
    /// The type of its elements in WGSL.
    pub element: &'static str,
    /// Whether the kernel writes to it.
    pub written: bool,
}

/// A parameter of a kernel.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in the shader.
    pub name: &'static str,
    /// `u32` or `f32`.
    pub kind: &'static str,
}

/// A place for a quantisation decoder.
#[derive(Debug)]
pub struct Decoder {
    /// What `$` becomes in the decoder's text.
    pub prefix: &'static str,
    /// The binding that holds the blocks, as 32-bit words.
    pub words: &'static str,
}

/// A kernel with all that is spliced into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The types of its decoders, in order.
    pub kinds: Vec<Type>,
    /// The values of its constants, in order.
    pub constants: Vec<u32>,
}

impl Kernel {
    /// The kernel with these types and constants spliced in.
    pub fn variant(&self, kinds: &[Type], constants: &[u32]) -> Variant {
        debug_assert_eq!(kinds.len(), self.decoders.len(), "{}: decoders", self.name);
        debug_assert_eq!(constants.len(), self.constants.len(), "{}: constants", self.name);
        Variant { kernel: self.name, kinds: kinds.to_vec(), constants: constants.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    /// The values that a constant takes.
    fn values_of(constant: &str) -> &'static [u32] {
        match constant {
            "INPUTS" => &[1, 2, 4, 8],
            "HEAD" => &[32, 48, 128, 256],
            "TAPS" => &[2, 4],
            "KV_F16" => &[0, 1],
            "TILE" => &[EXPERT_TILE],
            _ => panic!("no values for the constant {constant}"),
        }
    }

    /// Every way to give each of `count` places one of `choices`.
    fn combinations<T: Copy>(choices: impl Fn(usize) -> Vec<T>, count: usize) -> Vec<Vec<T>> {
        (0..count).fold(vec![vec![]], |all, place| {
            let longer =
                |start: &Vec<T>| choices(place).into_iter().map(|next| [&start[..], &[next]].concat()).collect();
            all.iter().flat_map(|start| -> Vec<Vec<T>> { longer(start) }).collect()
        })
    }

    #[test]
    fn every_kernel_is_valid_wgsl_with_every_type_and_constant() {
        for kernel in KERNELS {
            let constants = combinations(|i| values_of(kernel.constants[i]).to_vec(), kernel.constants.len());
            let kinds = combinations(|_| Type::ALL.to_vec(), kernel.decoders.len());
            for kinds in &kinds {
                for constants in &constants {
                    let text = wgsl(&kernel.variant(kinds, constants));
                    let what = format!("{} of {kinds:?} with {constants:?}", kernel.name);
                    let module = naga::front::wgsl::parse_str(&text)
                        .unwrap_or_else(|error| panic!("{what}: {}", error.emit_to_string(&text)));
                    Validator::new(
                        ValidationFlags::all(),
                        Capabilities::IMMEDIATES | Capabilities::SHADER_FLOAT16_IN_FLOAT32,
                    )
                    .validate(&module)
                    .unwrap_or_else(|error| panic!("{what}: {}", error.emit_to_string(&text)));
                }
            }
        }
    }

    #[test]
    fn every_kernel_is_found_under_its_own_name() {
        for kernel in KERNELS {
            assert!(std::ptr::eq(super::kernel(kernel.name), *kernel), "{} is there twice", kernel.name);
        }
    }
}
