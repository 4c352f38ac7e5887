import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import {
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  type MetricDefinition,
  OBSERVED_GAUGES,
} from './metric-definitions.ts'

const DURATION_BUCKETS_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

type LabelsOf<Row extends MetricDefinition> = Row['labels'][number]
type Counters = { readonly [K in keyof typeof COUNTERS]: Counter<LabelsOf<(typeof COUNTERS)[K]>> }
type Gauges = { readonly [K in keyof typeof GAUGES]: Gauge<LabelsOf<(typeof GAUGES)[K]>> }
type Histograms = {
  readonly [K in keyof typeof HISTOGRAMS]: Histogram<LabelsOf<(typeof HISTOGRAMS)[K]>>
}

/** The process's metrics, one of each row above, and the registry that prints them. */
export interface Metrics extends Counters, Gauges, Histograms {
  readonly registry: Registry
  /**
   * Calls `read` whenever the metrics are read; returns what ends that. `summed`: values with the same labels add up. `sole`:
   * throws where another one gives a value with the same labels now.
   */
  readonly observe: <Key extends keyof typeof OBSERVED_GAUGES>(
    metric: Key,
    read: () => readonly Observation<LabelsOf<(typeof OBSERVED_GAUGES)[Key]>>[],
    sharing?: 'summed' | 'sole',
  ) => () => void
}

/** One value of a gauge; no value where it is not known. */
export interface Observation<Label extends string = string> {
  readonly labels: Readonly<Record<Label, string>>
  readonly value: number
}

/** Makes one registry with every metric of the product; one per process. */
export const makeMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const each = <Made>(
    rows: Readonly<Record<string, MetricDefinition>>,
    make: (options: {
      readonly name: string
      readonly help: string
      readonly labelNames: string[]
      readonly registers: Registry[]
    }) => Made,
  ) =>
    Object.fromEntries(
      Object.entries(rows).map(([key, { name, help, labels }]) => [
        key,
        make({ name, help, labelNames: [...labels], registers: [registry] }),
      ]),
    )
  return {
    registry,
    observe: makeObserver(registry),
    ...(each(COUNTERS, (options) => new Counter(options)) as unknown as Counters),
    ...(each(GAUGES, (options) => new Gauge(options)) as unknown as Gauges),
    ...(each(
      HISTOGRAMS,
      (options) => new Histogram({ ...options, buckets: DURATION_BUCKETS_SECONDS }),
    ) as unknown as Histograms),
  }
}

const makeObserver = (registry: Registry): Metrics['observe'] => {
  const readers = Object.fromEntries(
    Object.entries(OBSERVED_GAUGES).map(([key, { name, help, labels }]) => {
      const reads = new Set<() => readonly Observation[]>()
      new Gauge<string>({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset()
          // Without labels a reset leaves a zero, which says more than is known.
          if (labels.length === 0) this.remove()
          for (const read of reads) {
            for (const each of read()) this.inc({ ...each.labels }, each.value)
          }
        },
      })
      return [key, reads]
    }),
  )
  return (metric, read, sharing = 'summed') => {
    const others = [...(readers[metric] ?? [])]
    const taken =
      sharing === 'sole'
        ? sameLabels(
            read(),
            others.flatMap((other) => other()),
          )
        : ''
    if (taken !== '') throw new Error(`${OBSERVED_GAUGES[metric].name}${taken} is observed twice`)
    readers[metric]?.add(read)
    return () => void readers[metric]?.delete(read)
  }
}

/** Labels that are in both lists, as they are written; empty = none. */
const sameLabels = (own: readonly Observation[], others: readonly Observation[]): string => {
  const written = ({ labels }: Observation): string =>
    JSON.stringify(labels, Object.keys(labels).toSorted())
  const known = new Set(others.map(written))
  return own.map(written).find((labels) => known.has(labels)) ?? ''
}
