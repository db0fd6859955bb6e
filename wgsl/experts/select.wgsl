// Choice of experts: the `used` highest logits in descending order, the lower id first among equals; weights p[k] /
//   max(sum of the chosen p, 2^-14), p = softmax of all logits.
// Shapes: logits (rows, experts); ids, weights (rows, used).
// Grid: a workgroup a row. After the router's product.
// Numerics: ids are exact: logits are compared as integers, with NaN as the lowest and both zeros equal. Weights in
//   f32, each sum in a fixed order.
// Each thread keeps the best of its experts; every round all threads find the best of those, and its owner looks for
//   its next. Two sets of candidates, by turns, make one barrier a round enough.
// #include common/group
// #include common/reduce
var<workgroup> candidate_keys: array<u32, 2u * WORKGROUP>;
var<workgroup> candidate_ids: array<u32, 2u * WORKGROUP>;
const SMALLEST_SUM: f32 = 6.103515625e-5;

// An integer that orders as the logit does.
fn key_of(logit: f32) -> u32 {
    var bits = bitcast<u32>(logit);
    let magnitude = bits & 0x7fffffffu;
    if magnitude == 0u {
        bits = 0u;
    }
    if magnitude > 0x7f800000u {
        bits = 0xff800000u;
    }
    return bits ^ select(0x80000000u, 0xffffffffu, bits >> 31u == 1u);
}

fn precedes(key: u32, id: u32, other_key: u32, other_id: u32) -> bool {
    return key > other_key || (key == other_key && id < other_id);
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = group_number(group, groups);
    if row >= parameters.rows {
        return;
    }
    let start = row * parameters.experts;
    // The last expert that was chosen, before all at first, and the thread's best after it. No logit has key 0.
    var chosen_key = 0xffffffffu;
    var chosen_id = 0u;
    var owner = true;
    var best_key = 0u;
    var best_id = 0xffffffffu;
    var largest = 0.0;
    var total = 0.0;
    var chosen_sum = 0.0;
    for (var k = 0u; k < parameters.used; k += 1u) {
        if owner {
            best_key = 0u;
            best_id = 0xffffffffu;
            for (var id = thread; id < parameters.experts; id += WORKGROUP) {
                let key = key_of(logits[start + id]);
                if precedes(chosen_key, chosen_id, key, id) && precedes(key, id, best_key, best_id) {
                    best_key = key;
                    best_id = id;
                }
            }
        }
        let side = (k % 2u) * WORKGROUP;
        candidate_keys[side + thread] = best_key;
        candidate_ids[side + thread] = best_id;
        workgroupBarrier();
        chosen_key = 0u;
        chosen_id = 0xffffffffu;
        for (var i = side; i < side + WORKGROUP; i += 1u) {
            if precedes(candidate_keys[i], candidate_ids[i], chosen_key, chosen_id) {
                chosen_key = candidate_keys[i];
                chosen_id = candidate_ids[i];
            }
        }
        owner = best_id == chosen_id;
        let logit = logits[start + chosen_id];
        if k == 0u {
            largest = logit;
            var part = 0.0;
            for (var id = thread; id < parameters.experts; id += WORKGROUP) {
                part += exp(logits[start + id] - largest);
            }
            total = workgroup_sum(thread, part);
        }
        let probability = exp(logit - largest) / total;
        chosen_sum += probability;
        if thread == k % WORKGROUP {
            ids[row * parameters.used + k] = chosen_id;
            weights[row * parameters.used + k] = probability;
        }
    }
    chosen_sum = max(chosen_sum, SMALLEST_SUM);
    for (var k = thread; k < parameters.used; k += WORKGROUP) {
        weights[row * parameters.used + k] /= chosen_sum;
    }
}
