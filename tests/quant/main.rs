//! Decoders against values made by the Python package `gguf`, and the table of types.

use std::{fs, path::PathBuf};

use proptest::prelude::*;
use redlite::quant::{
    Type, UnknownType,
    grids::{self, Grid},
    simd::{Instructions, Level},
};
use sha2::{Digest, Sha256};

/// Blocks of a type and the values that `gguf` decodes them to, as `ci/make_quant_fixtures.py` wrote them.
fn fixture(t: Type) -> (Vec<u8>, Vec<f32>) {
    let name = format!("{}.bin", t.name().to_lowercase());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/quant").join(name);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let per_block = t.block_bytes() + 4 * t.block_length();
    assert!(bytes.len().is_multiple_of(per_block), "{t}: the fixture is not whole blocks");
    let (blocks, values) = bytes.split_at(bytes.len() / per_block * t.block_bytes());
    let values = values.as_chunks().0.iter().map(|&value| f32::from_le_bytes(value)).collect();
    (blocks.to_vec(), values)
}

fn decoded(t: Type, level: Level, bytes: &[u8]) -> Vec<f32> {
    // Garbage beforehand: a value that the decoder forgets shows.
    let mut values = vec![f32::from_bits(0xdead_beef); bytes.len() / t.block_bytes() * t.block_length()];
    t.decode_at(level, bytes, &mut values);
    values
}

/// The bits of values, all NaNs alike: which NaN an operation gives is the processor's choice.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| if value.is_nan() { f32::NAN } else { *value }.to_bits()).collect()
}

fn first_difference(found: &[f32], expected: &[f32]) -> Option<String> {
    assert_eq!(found.len(), expected.len());
    let index = bits(found).iter().zip(bits(expected)).position(|(found, expected)| *found != expected)?;
    Some(format!("element {index}: {:e} instead of {:e}", found[index], expected[index]))
}

#[test]
fn every_type_decodes_bit_for_bit_as_gguf_does() {
    for &t in Type::ALL {
        let (bytes, expected) = fixture(t);
        assert!(bytes.len() / t.block_bytes() >= 8, "{t}: too few blocks");
        assert!(expected.iter().filter(|value| value.is_finite() && **value != 0.0).count() >= 64, "{t}: too little");
        let mut found = vec![0.0; expected.len()];
        t.decode(&bytes, &mut found);
        if let Some(difference) = first_difference(&found, &expected) {
            panic!("{t}: {difference}");
        }
    }
}

#[test]
fn every_instruction_set_of_this_machine_decodes_to_the_same_bits() {
    assert_eq!(Level::available()[0].instructions(), Instructions::Baseline);
    assert_eq!(Level::available().last(), Some(&Level::best()));
    for &t in Type::ALL {
        let (bytes, expected) = fixture(t);
        for &level in Level::available() {
            if let Some(difference) = first_difference(&decoded(t, level, &bytes), &expected) {
                panic!("{t} with {:?}: {difference}", level.instructions());
            }
        }
    }
}

#[test]
fn every_half_precision_number_decodes_to_its_value() {
    let patterns: Vec<u16> = (0..=u16::MAX).collect();
    let bytes: Vec<u8> = patterns.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let halves: Vec<f32> = patterns.iter().map(|&bits| half::f16::from_bits(bits).to_f32()).collect();
    let brains: Vec<f32> = patterns.iter().map(|&bits| half::bf16::from_bits(bits).to_f32()).collect();
    for &level in Level::available() {
        assert_eq!(first_difference(&decoded(Type::F16, level, &bytes), &halves), None);
        assert_eq!(first_difference(&decoded(Type::BF16, level, &bytes), &brains), None);
    }
}

proptest! {
    #[test]
    fn bytes_of_any_content_decode_alike_at_every_level(bytes in prop::collection::vec(any::<u8>(), 3 * 210)) {
        for &t in Type::ALL {
            let blocks = &bytes[..bytes.len() / t.block_bytes() * t.block_bytes()];
            let expected = decoded(t, Level::available()[0], blocks);
            for &level in Level::available() {
                prop_assert_eq!(first_difference(&decoded(t, level, blocks), &expected), None, "{}", t);
            }
        }
    }
}

#[test]
fn blocks_of_all_ones_and_all_zeros_decode() {
    for &t in Type::ALL {
        for byte in [0, u8::MAX] {
            let values = decoded(t, Level::best(), &vec![byte; 2 * t.block_bytes()]);
            assert_eq!(bits(&values[..t.block_length()]), bits(&values[t.block_length()..]), "{t}");
        }
    }
}

#[test]
#[should_panic(expected = "Q8_0: not whole blocks")]
fn decoding_part_of_a_block_is_a_bug_that_shows() {
    Type::Q8_0.decode(&[0; 33], &mut [0.0; 32]);
}

#[test]
#[should_panic(expected = "Q8_0: wrong output length")]
fn decoding_to_the_wrong_length_is_a_bug_that_shows() {
    Type::Q8_0.decode(&[0; 34], &mut [0.0; 64]);
}

#[test]
fn rows_are_whole_blocks() {
    for &t in Type::ALL {
        let (length, bytes) = (t.block_length() as u64, t.block_bytes() as u64);
        assert_eq!(t.row_bytes(0), Some(0), "{t}");
        assert_eq!(t.row_bytes(8 * length), Some(8 * bytes), "{t}");
        if length > 1 {
            assert_eq!(t.row_bytes(length - 1), None, "{t}");
            assert_eq!(t.row_bytes(8 * length + 1), None, "{t}");
        }
    }
}

#[test]
fn rows_too_long_to_count_are_refused() {
    assert_eq!(Type::F32.row_bytes(u64::MAX), None);
    assert_eq!(Type::Q8_0.row_bytes(u64::MAX - 31), None);
    assert_eq!(Type::Q2K.row_bytes(u64::MAX), None);
}

#[test]
fn types_are_found_by_number_and_by_name_in_any_case() {
    for &t in Type::ALL {
        assert_eq!(Type::from_id(t.info().id), Ok(t));
        assert_eq!(Type::from_name(t.name()), Some(t));
        assert_eq!(Type::from_name(&t.name().to_lowercase()), Some(t));
    }
    assert_eq!(Type::from_name("iq2_xxs"), Some(Type::Iq2Xxs));
    assert_eq!(Type::from_name("Q4_K_M"), None);
    assert_eq!(Type::from_name(""), None);
}

#[test]
fn a_type_that_is_not_supported_is_named() {
    assert_eq!(Type::from_id(40), Err(UnknownType(40)));
    assert_eq!(UnknownType(40).to_string(), "NVFP4, which is not supported");
    assert_eq!(UnknownType(4000).to_string(), "number 4000, which this version does not know");
}

#[test]
fn packed_grids_hold_the_published_tables() {
    let grids: [(&Grid, usize, &str); 6] = [
        (&grids::IQ2_XXS_GRID, 256, "05826b5d3e472a3a"),
        (&grids::IQ2_XS_GRID, 512, "06e47aaca60b4dc1"),
        (&grids::IQ2_S_GRID, 1024, "e1aa1473412b0552"),
        (&grids::IQ3_XXS_GRID, 256, "46e35f5a997efdee"),
        (&grids::IQ3_S_GRID, 512, "bd1af4945a1717c6"),
        (&grids::IQ1_GRID, 2048, "07540ffc1aeaf6ad"),
    ];
    for (grid, entries, expected) in grids {
        assert_eq!(grid.packed.len(), entries);
        let mut digest = Sha256::new();
        for entry in 0..entries {
            for lane in 0..grid.lanes {
                digest.update(grid.value(entry, lane).to_le_bytes());
            }
        }
        let digest: String = digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected);
    }
}
