//! Compiles a kernel once for every instruction set and picks one at run time.
//!
//! Kernels are plain loops that the compiler vectorises. It neither fuses nor reorders floating-point operations, so
//! every level gives the same bits (of a NaN: that it is one).

use std::sync::LazyLock;

/// Proof that this machine has an instruction set: a value exists only where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Instructions);

/// The instruction sets that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// What every processor of the target has (SSE2, NEON).
    Baseline,
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors and masks.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

static AVAILABLE: LazyLock<Vec<Level>> = LazyLock::new(|| {
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "only x86-64 has more than one level"))]
    let mut levels = vec![Level(Instructions::Baseline)];
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
        levels.push(Level(Instructions::Avx2));
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            levels.push(Level(Instructions::Avx512));
        }
    }
    levels
});

impl Level {
    /// The fastest level of this machine.
    pub fn best() -> Level {
        *AVAILABLE.last().unwrap_or(&Level(Instructions::Baseline))
    }

    /// Every level of this machine, slowest first.
    pub fn available() -> &'static [Level] {
        &AVAILABLE
    }

    /// The instruction set that the level stands for.
    pub const fn instructions(self) -> Instructions {
        self.0
    }
}

/// Defines functions whose body is compiled once for every [`Instructions`].
///
/// `fn dot(a: &[f32], b: &[f32]) -> f32 { .. }` becomes `fn dot(level: Level, a: &[f32], b: &[f32]) -> f32`. What the
/// body calls must be `#[inline(always)]`, or it is compiled for the baseline only. Arguments are plain names, without
/// generics.
macro_rules! simd_dispatch {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block
    )*) => {$(
        $(#[$attribute])*
        $visibility fn $name(level: $crate::quant::simd::Level, $($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,f16c")]
            fn avx2($($argument: $type),*) $(-> $result)? {
                body($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,f16c")]
            fn avx512($($argument: $type),*) $(-> $result)? {
                body($($argument),*)
            }

            match level.instructions() {
                $crate::quant::simd::Instructions::Baseline => body($($argument),*),
                // SAFETY: a level of these instructions exists only where the machine was found to have them.
                #[cfg(target_arch = "x86_64")]
                $crate::quant::simd::Instructions::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::quant::simd::Instructions::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    )*};
}
pub(crate) use simd_dispatch;
