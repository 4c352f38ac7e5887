import { formatBoundTime } from './scalars.ts'

type Value = string | readonly string[]

/** Collects the values of one statement; SQL text only ever holds the placeholder that comes back. */
export interface QueryParameters {
  bind(value: Value, type: string): string
  /** Binds a time that follows from the moment of a run; both in epoch milliseconds. */
  bindMoment(timeMs: (nowMs: number) => number): string
  count(): number
  /** The values of a run at this moment, by the names of their placeholders. */
  paramsAt(nowMs: number): Readonly<Record<string, Value>>
}

/** Type of a bound time. */
export const TIME_PARAMETER_TYPE = `DateTime64(3, 'UTC')`

/** An empty set of parameters. */
export const createQueryParameters = (): QueryParameters => {
  const values: (Value | ((nowMs: number) => string))[] = []
  const placeholder = (type: string): string => `{p${values.length - 1}:${type}}`
  return {
    bind: (value, type) => {
      values.push(value)
      return placeholder(type)
    },
    bindMoment: (timeMs) => {
      values.push((nowMs) => formatBoundTime(timeMs(nowMs)))
      return placeholder(TIME_PARAMETER_TYPE)
    },
    count: () => values.length,
    paramsAt: (nowMs) => {
      const params: Record<string, Value> = {}
      for (const [index, value] of values.entries())
        params[`p${index}`] = typeof value === 'function' ? value(nowMs) : value
      return params
    },
  }
}
