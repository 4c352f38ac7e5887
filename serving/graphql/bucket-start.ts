import type { QueryParameters } from './query-parameters.ts'
import type { Interval } from './selection.ts'

const INTERVAL_FUNCTION = {
  seconds: 'toIntervalSecond',
  minutes: 'toIntervalMinute',
  hours: 'toIntervalHour',
  days: 'toIntervalDay',
  weeks: 'toIntervalWeek',
  months: 'toIntervalMonth',
  quarters: 'toIntervalQuarter',
  years: 'toIntervalYear',
} as const

/** Width of a bucket. */
export const intervalSql = ({ unit, count }: Interval, binder: QueryParameters): string =>
  `${INTERVAL_FUNCTION[unit]}(${binder.bind(String(count), 'UInt32')})`

/** Start of the bucket that holds a time, UTC. Days of a zone begin at its midnight; weeks and longer come as a day of it. */
export const bucketStartSql = (
  time: string,
  interval: Interval,
  binder: QueryParameters,
): string => {
  const { zone } = interval
  if (zone === undefined)
    return `toDateTime64(toStartOfInterval(${time}, ${intervalSql(interval, binder)}), 0, 'UTC')`
  const bound = binder.bind(zone, 'String')
  const bucket = `toStartOfInterval(${time}, ${intervalSql(interval, binder)}, ${bound})`
  return `toTimeZone(toDateTime64(${bucket}, 0, ${bound}), 'UTC')`
}
