import { type Static, Type } from 'typebox'
import { namedObject } from './common.ts'

const units = (about: string) => Type.Number({ description: about })

/** Share of one route in a month. */
const RouteUsage = namedObject('RouteUsage', {
  route: Type.String({ description: 'Method and path without version, graphql or streams' }),
  calls: Type.Integer(),
  used: units('Compute units'),
})
/** Share of one day in a month. */
const DayUsage = namedObject('DayUsage', {
  day: Type.String({ description: 'UTC, YYYY-MM-DD' }),
  calls: Type.Integer(),
  used: units('Compute units'),
})

/** What the organization used of the current month. */
export const AccountUsage = namedObject('AccountUsage', {
  period: namedObject('UsagePeriod', { from: Type.String(), to: Type.String() }),
  used: units('Compute units'),
  total: units('-1 = without end'),
  remaining: units('-1 = without end'),
  byRoute: Type.Array(RouteUsage),
  byDay: Type.Array(DayUsage),
})
export type AccountUsage = Static<typeof AccountUsage>

/** The plan of the organization. */
export const AccountPlan = namedObject('AccountPlan', {
  plan: Type.String(),
  requestsPerSecond: Type.Integer(),
  used: units('Compute units of this month'),
  total: units('-1 = without end'),
  remaining: units('-1 = without end'),
  resetAt: Type.String({ description: 'When the next month starts' }),
})
export type AccountPlan = Static<typeof AccountPlan>
