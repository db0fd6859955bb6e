// The number of a workgroup in a grid whose first dimension may be folded into the second.
fn group_number(group: vec3u, groups: vec3u) -> u32 {
    return group.y * groups.x + group.x;
}
