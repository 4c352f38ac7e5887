import type { Fault } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { QuotedHop } from '../quote.ts'

/** A swap as an aggregator quotes it. */
export interface AggregatedQuote {
  readonly inAmountRaw: bigint
  readonly outAmountRaw: bigint
  readonly minOutRaw: bigint
  readonly maxInRaw: bigint
  /** Percent; null: it does not say. */
  readonly priceImpact: string | null
  readonly hops: readonly QuotedHop[]
}

/** Most swaps of a route that are read. */
const MAX_HOPS = 64
const MAX_WORD = 128

/** Reads fields of an answer; each that is not what it should be throws the aggregator's fault. */
export const fieldReader = (invalid: (reason: string) => Fault) => {
  const amount = (value: unknown, name: string): bigint => {
    const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
    if (typeof text === 'string' && /^\d{1,78}$/.test(text)) return BigInt(text)
    throw invalid(`${name} is not an amount`)
  }
  return {
    amount,
    /** A number that is exact. */
    count: (value: unknown, name: string): number => {
      if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value)
      throw invalid(`${name} is not a count`)
    },
    text: (value: unknown, name: string): string => {
      if (typeof value === 'string' && value.length > 0 && value.length <= MAX_WORD) return value
      throw invalid(`${name} is not a text`)
    },
    object: (value: unknown, name: string): Readonly<Record<string, unknown>> => {
      if (isJsonObject(value)) return value
      throw invalid(`${name} is not an object`)
    },
    list: (value: unknown, name: string): readonly unknown[] => {
      if (Array.isArray(value) && value.length > 0 && value.length <= MAX_HOPS) return value
      throw invalid(`${name} is not a list of a usual length`)
    },
  }
}
