/** Bits of one number among several that are kept under one name. */
const BITS = 128n

/** Whether a number can be packed. */
export const fitsPacked = (value: bigint): boolean => BigInt.asIntN(Number(BITS), value) === value

/** Several numbers as one: running amounts are kept one by one. Numbers that do not fit are cut. */
export const packNumbers = (values: readonly bigint[]): bigint =>
  values.reduceRight((packed, value) => (packed << BITS) | BigInt.asUintN(Number(BITS), value), 0n)

/** The inverse of `packNumbers` for as many numbers. */
export const unpackNumbers = (packed: bigint, count: number): readonly bigint[] =>
  Array.from({ length: count }, (_, index) =>
    BigInt.asIntN(Number(BITS), packed >> (BITS * BigInt(index))),
  )
