/** Contracts keep numbers of claims and times in at most this many bits; more is forged or misread. */
const MAX_BITS = 32n

/** A number of claims, or seconds, of a red packet; undefined for what no contract can hold. */
export const packetNumber = (word: bigint): number | undefined =>
  word >> MAX_BITS === 0n ? Number(word) : undefined
