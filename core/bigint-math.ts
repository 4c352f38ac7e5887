/** The smaller of two integers; Math.min knows no bigint. */
export const minBigint = (a: bigint, b: bigint): bigint => {
  if (a < b) return a
  return b
}

/** Quotient rounded up. */
export const ceilDiv = (value: bigint, by: bigint): bigint => (value + by - 1n) / by

/** Integer square root, rounded down. */
export const integerSqrt = (value: bigint): bigint => {
  if (value < 2n) return value
  let guess = 1n << BigInt((value.toString(2).length + 1) >> 1)
  for (;;) {
    const next = (guess + value / guess) >> 1n
    if (next >= guess) return guess
    guess = next
  }
}
