//! The codebook grids of the IQ types: tables of vectors of 8 or 4 small integers that an index in a block picks from.
//!
//! The tables are ggml's, under `LICENSES/MIT-ggml.txt`; `ci/make_grids.py` packs them.

mod packed;

/// A grid, packed for storage and for upload to a device.
pub struct Grid {
    /// One word an entry: the code of lane `i` in `bits` bits from bit `i * bits`.
    pub packed: &'static [u16],
    /// The value that each code stands for.
    pub values: &'static [i8],
    /// Bits of a code.
    pub bits: u32,
    /// Values in an entry: 8 or 4.
    pub lanes: usize,
}

/// Grid of IQ2_XXS: 256 entries.
pub static IQ2_XXS_GRID: Grid = Grid { packed: &packed::IQ2_XXS, values: &IQ2_VALUES, bits: 2, lanes: 8 };
/// Grid of IQ2_XS: 512 entries.
pub static IQ2_XS_GRID: Grid = Grid { packed: &packed::IQ2_XS, values: &IQ2_VALUES, bits: 2, lanes: 8 };
/// Grid of IQ2_S: 1024 entries.
pub static IQ2_S_GRID: Grid = Grid { packed: &packed::IQ2_S, values: &IQ2_VALUES, bits: 2, lanes: 8 };
/// Grid of IQ3_XXS: 256 entries.
pub static IQ3_XXS_GRID: Grid =
    Grid { packed: &packed::IQ3_XXS, values: &[4, 12, 20, 28, 36, 44, 52, 62], bits: 3, lanes: 4 };
/// Grid of IQ3_S: 512 entries.
pub static IQ3_S_GRID: Grid = Grid { packed: &packed::IQ3_S, values: &[1, 3, 5, 7, 9, 11, 13, 15], bits: 3, lanes: 4 };
/// Grid of IQ1_S and IQ1_M: 2048 entries.
pub static IQ1_GRID: Grid = Grid { packed: &packed::IQ1_S, values: &[-1, 0, 1], bits: 2, lanes: 8 };

static IQ2_VALUES: [i8; 3] = [8, 25, 43];

// The decoders look entries up unpacked.
pub(super) static IQ2_XXS: [[i8; 8]; 256] = IQ2_XXS_GRID.unpack();
pub(super) static IQ2_XS: [[i8; 8]; 512] = IQ2_XS_GRID.unpack();
pub(super) static IQ2_S: [[i8; 8]; 1024] = IQ2_S_GRID.unpack();
pub(super) static IQ3_XXS: [[i8; 4]; 256] = IQ3_XXS_GRID.unpack();
pub(super) static IQ3_S: [[i8; 4]; 512] = IQ3_S_GRID.unpack();
pub(super) static IQ1: [[i8; 8]; 2048] = IQ1_GRID.unpack();

impl Grid {
    /// The value of one lane of an entry.
    pub const fn value(&self, entry: usize, lane: usize) -> i8 {
        let code = (self.packed[entry] as u32 >> (lane as u32 * self.bits)) & ((1 << self.bits) - 1);
        self.values[code as usize]
    }

    const fn unpack<const LANES: usize, const ENTRIES: usize>(&self) -> [[i8; LANES]; ENTRIES] {
        assert!(self.lanes == LANES && self.packed.len() == ENTRIES);
        let mut table = [[0; LANES]; ENTRIES];
        // `for` is not available in constant functions.
        let mut entry = 0;
        while entry < ENTRIES {
            let mut lane = 0;
            while lane < LANES {
                table[entry][lane] = self.value(entry, lane);
                lane += 1;
            }
            entry += 1;
        }
        table
    }
}
