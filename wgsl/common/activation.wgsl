// Functions of single values. None overflows for any argument.
fn sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}

fn silu(x: f32) -> f32 {
    return x * sigmoid(x);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|). A small e would be lost in 1 + e, so the logarithm is taken as
// ln(1 + e) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ..) with s = e / (2 + e) <= 1/3, to 2e-8 of its size.
fn softplus(x: f32) -> f32 {
    let e = exp(-abs(x));
    let s = e / (2.0 + e);
    let square = s * s;
    var series = 1.0 / 13.0;
    series = fma(series, square, 1.0 / 11.0);
    series = fma(series, square, 1.0 / 9.0);
    series = fma(series, square, 1.0 / 7.0);
    series = fma(series, square, 1.0 / 5.0);
    series = fma(series, square, 1.0 / 3.0);
    series = fma(series, square, 1.0);
    return max(x, 0.0) + 2.0 * s * series;
}
