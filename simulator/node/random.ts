/** Randomness that is a function of a seed: 32-bit integer arithmetic only, the same on every machine. */
export interface Random {
  /** 32 random bits, unsigned. */
  uint32(): number
  /** 0 <= x < 1. */
  unit(): number
  /** Integer with 0 <= x < limit. */
  below(limit: number): number
  /** True with the given probability. */
  chance(probability: number): boolean
  /** Bell-shaped, mean 0, deviation 1, between -6 and 6: sum of twelve, so that no libm function decides a price. */
  gaussian(): number
  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T
  /** Hex digits. */
  hex(digits: number): string
}

const mixHash = (state: number, value: number): number => {
  let x = Math.imul(state ^ value, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

/** 32 bits that depend on every number given, low and high half of each. */
export const hashToUint32 = (...parts: readonly number[]): number => {
  let state = 0x9e3779b9
  for (const part of parts) {
    state = mixHash(state, part >>> 0)
    state = mixHash(state + 0x6d2b79f5, Math.floor(part / 0x1_0000_0000) >>> 0)
  }
  return state
}

/** A generator that starts from the given numbers (small fast counter, 128 bits of state). */
export const createRandom = (...parts: readonly number[]): Random => {
  let a = hashToUint32(1, ...parts)
  let b = hashToUint32(2, ...parts)
  let c = hashToUint32(3, ...parts)
  let counter = 1
  const word = (): number => {
    const sum = (a + b + counter) >>> 0
    counter = (counter + 1) >>> 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) >>> 0
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0
    return sum
  }
  for (let i = 0; i < 12; i += 1) word()
  const unit = (): number => word() / 0x1_0000_0000
  const below = (limit: number): number => Math.floor(unit() * limit)
  return {
    uint32: word,
    unit,
    below,
    chance: (probability) => unit() < probability,
    gaussian: () => {
      let sum = -6
      for (let i = 0; i < 12; i += 1) sum += unit()
      return sum
    },
    pick: (list) => {
      const item = list[below(list.length)]
      if (item === undefined) throw new RangeError('pick from an empty list')
      return item
    },
    hex: (digits) => {
      let text = ''
      while (text.length < digits) text += word().toString(16).padStart(8, '0')
      return text.slice(0, digits)
    },
  }
}
