//! Functions of single values.

/// `1 / (1 + e^-x)`.
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// `x sigmoid(x)`.
pub fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

/// `ln(1 + e^x)`, which above 20 is `x` in single precision.
pub fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}

/// `gate[i] = silu(gate[i]) up[i]`.
pub fn swiglu(gate: &mut [f32], up: &[f32]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate = silu(*gate) * up;
    }
}

/// `x[i] += y[i]`.
pub fn add(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_arguments_stay_finite() {
        assert_eq!((sigmoid(-1000.0), sigmoid(1000.0)), (0.0, 1.0));
        assert_eq!((silu(-1000.0), silu(1000.0)), (-0.0, 1000.0));
        assert_eq!((softplus(-1000.0), softplus(1000.0)), (0.0, 1000.0));
    }
}
