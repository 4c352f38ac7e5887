/** The value below which `level` (0 to 1) of the values lie, in any order; 0 when there are none. */
export const quantile = (values: readonly number[], level: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * level)] ?? 0
