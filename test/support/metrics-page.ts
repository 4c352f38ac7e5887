import { METRICS_BY_TYPE, type MetricDefinition } from '../../core/ops/metric-definitions.ts'

const HEAD = `# Metrics

\`GET /metrics\` on \`OPS_PORT\` is for Prometheus. Labels are bounded: chains, protocols and reasons of this build, methods, hosts of configured nodes; never
an address. A histogram has the series \`_bucket\`, \`_sum\` and \`_count\`. Beside these rows stand the Node.js metrics \`process_*\` and \`nodejs_*\`.
What to alarm on: [running in production](running-in-production.md#what-to-watch). Written by \`npm run generate\`.

| metric | type | what it tells |
| --- | --- | --- |
`

const seriesOf = ({ name, labels }: MetricDefinition): string =>
  labels.length === 0 ? name : `${name}{${labels.join(',')}}`

/** The page `docs/metrics.md`: a row per metric, by name. */
export const metricsPage = (): string =>
  HEAD +
  Object.entries(METRICS_BY_TYPE)
    .flatMap(([type, definitions]) => definitions.map((definition) => ({ type, definition })))
    .sort((a, b) => (a.definition.name < b.definition.name ? -1 : 1))
    .map(
      ({ type, definition }) =>
        `| \`${seriesOf(definition)}\` | ${type} | ${definition.help.replaceAll('|', '\\|')} |\n`,
    )
    .join('')
