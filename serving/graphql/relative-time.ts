import { GraphQLInputObjectType } from 'graphql'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import { AgoType } from './scalars.ts'

/** A moment before the one at which a query runs. */
export interface RelativeTime {
  readonly msAgo: number
  readonly monthsAgo: number
}

const UNIT_MS = {
  seconds_ago: 1_000,
  minutes_ago: 60_000,
  hours_ago: HOUR_MS,
  days_ago: DAY_MS,
  weeks_ago: 604_800_000,
} as const
const UNIT_MONTHS = { months_ago: 1, years_ago: 12 } as const
/** Further back than any stored time: what a count of months may become before it is a date. */
const MAX_MONTHS = 12 * 400

/** `{hours_ago: 1, minutes_ago: 30}`: the units add up; none is the moment of the query itself. */
export const RelativeTimeType = new GraphQLInputObjectType({
  name: 'RelativeTime',
  description:
    'So long before the query runs; units add up, months and years are those of the calendar.',
  fields: Object.fromEntries(
    [...Object.keys(UNIT_MS), ...Object.keys(UNIT_MONTHS)].map((name) => [name, { type: AgoType }]),
  ),
})

const sumOf = (
  units: Readonly<Record<string, number>>,
  given: Readonly<Record<string, unknown>>,
): number =>
  Object.entries(units).reduce((sum, [name, size]) => sum + size * Number(given[name] ?? 0), 0)

/** The relative time of an operand. */
export const parseRelative = (units: Readonly<Record<string, unknown>>): RelativeTime => ({
  msAgo: sumOf(UNIT_MS, units),
  monthsAgo: Math.min(sumOf(UNIT_MONTHS, units), MAX_MONTHS),
})

/** Unix milliseconds. A day that the earlier month does not have is its last one. */
export const relativeTimeMs = ({ msAgo, monthsAgo }: RelativeTime, nowMs: number): number => {
  const now = new Date(nowMs)
  const at = new Date(nowMs)
  at.setUTCDate(1)
  at.setUTCMonth(now.getUTCMonth() - monthsAgo)
  const days = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()
  at.setUTCDate(Math.min(now.getUTCDate(), days))
  return at.getTime() - msAgo
}
