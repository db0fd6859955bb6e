// Pairs by expert: order = the numbers of all pairs, sorted by expert and then by number; tiles of up to TILE pairs
//   of one expert, in expert order.
// Shapes: ids (pairs), order (pairs); tiles (most tiles, 3): expert, first place in order, count. Unused tiles have
//   count 0.
// Grid: one workgroup. Between the choice of experts and their matrix products.
// Numerics: integers; the result is a function of ids alone. At most 4,096 experts, of which the caller makes sure.
// Pairs are counted by atomic additions, which give the same counts in any order. To place them each thread looks
//   through all pairs for those of its own experts, in order: no race, and a row of ids is read for four tests.
const MOST_EXPERTS: u32 = 4096u;
var<workgroup> counts: array<atomic<u32>, MOST_EXPERTS>;
// Pairs and tiles of all experts up to a thread's last.
var<workgroup> ends: array<vec2u, WORKGROUP>;
var<workgroup> staged: array<vec4u, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) thread: u32) {
    let experts = parameters.experts;
    for (var expert = thread; expert < experts; expert += WORKGROUP) {
        atomicStore(&counts[expert], 0u);
    }
    workgroupBarrier();
    for (var pair = thread; pair < parameters.pairs; pair += WORKGROUP) {
        atomicAdd(&counts[ids[pair]], 1u);
    }
    workgroupBarrier();

    let each = (experts + WORKGROUP - 1u) / WORKGROUP;
    let first = min(thread * each, experts);
    let last = min(first + each, experts);
    var own = vec2u();
    for (var expert = first; expert < last; expert += 1u) {
        let count = atomicLoad(&counts[expert]);
        own += vec2u(count, (count + TILE - 1u) / TILE);
    }
    ends[thread] = own;
    for (var width = 1u; width < WORKGROUP; width *= 2u) {
        workgroupBarrier();
        var before = vec2u();
        if thread >= width {
            before = ends[thread - width];
        }
        workgroupBarrier();
        ends[thread] += before;
    }
    workgroupBarrier();
    var place = ends[thread] - own;
    for (var expert = first; expert < last; expert += 1u) {
        let count = atomicLoad(&counts[expert]);
        for (var done = 0u; done < count; done += TILE) {
            tiles[3u * place.y] = expert;
            tiles[3u * place.y + 1u] = place.x + done;
            tiles[3u * place.y + 2u] = min(TILE, count - done);
            place.y += 1u;
        }
        // From here on the place of the expert's next pair.
        atomicStore(&counts[expert], place.x);
        place.x += count;
    }
    for (var tile = ends[WORKGROUP - 1u].y + thread; tile < parameters.most_tiles; tile += WORKGROUP) {
        tiles[3u * tile] = 0u;
        tiles[3u * tile + 1u] = 0u;
        tiles[3u * tile + 2u] = 0u;
    }

    for (var start = 0u; start < parameters.pairs; start += 4u * WORKGROUP) {
        // Past the last pair stands a number that is no expert's.
        var four = vec4u(0xffffffffu);
        for (var i = 0u; i < 4u; i += 1u) {
            if start + 4u * thread + i < parameters.pairs {
                four[i] = ids[start + 4u * thread + i];
            }
        }
        workgroupBarrier();
        staged[thread] = four;
        workgroupBarrier();
        let quads = min(WORKGROUP, (parameters.pairs - start + 3u) / 4u);
        for (var k = 0u; k < quads; k += 1u) {
            let mine = (staged[k] >= vec4u(first)) & (staged[k] < vec4u(last));
            if any(mine) {
                for (var i = 0u; i < 4u; i += 1u) {
                    if mine[i] {
                        order[atomicAdd(&counts[staged[k][i]], 1u)] = start + 4u * k + i;
                    }
                }
            }
        }
    }
}
