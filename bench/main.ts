import { NotInstalled } from './not-installed.ts'

/**
 * `npm run bench [-- NAME...]`: one JSON line per row. Every row measures our code against the bare minimum loop of the
 * same work in the same run; the ratio is what counts, absolute times drift with the machine.
 */
interface Row {
  readonly name: string
  readonly about: string
  /** Loads the row's file; what it gives runs the row and prints its lines. */
  readonly run: () => Promise<() => void | Promise<void>>
}

const ROWS: readonly Row[] = [
  {
    name: 'decode',
    about: 'blocks to trades against a bare decoder of one event; aim 0.8',
    run: async () => (await import('./decode.ts')).decodeBench,
  },
  {
    name: 'decode-sol',
    about: 'Solana blocks to trades against a bare decoder of three events',
    run: async () => (await import('./decode-sol.ts')).decodeSolBench,
  },
  {
    name: 'produce',
    about: 'one commit per block on real Kafka against bare kafkajs with the same bytes; aim 0.9',
    run: async () => (await import('./produce.ts')).produceBench,
  },
  {
    name: 'catch-up',
    about: 'a past range on the embedded log, blocks sharing commits against one commit for each',
    run: async () => (await import('./catch-up.ts')).catchUpBench,
  },
  {
    name: 'fold',
    about: 'candles with reorgs, finality and state against seconds and roll-ups of what closes',
    run: async () => (await import('./fold.ts')).foldBench,
  },
  {
    name: 'reducers',
    about: 'every reducer of a lane against the loop of `fold`; processing time per trade',
    run: async () => (await import('./reducers.ts')).reducersBench,
  },
  {
    name: 'lane-threads',
    about:
      'lanes in one and two threads of their own against one; aim 1.6; delay of the main thread',
    run: async () => (await import('./lane-threads.ts')).laneThreadsBench,
  },
  {
    name: 'statistics',
    about: 'statistics of windows and their records against windows of fixed hours; processor time',
    run: async () => (await import('./statistics.ts')).statisticsBench,
  },
  {
    name: 'pipe',
    about:
      'blocks of trades through a whole lane on real Kafka against kafkajs copies; aims 0.8 and 0.35',
    run: async () => (await import('./pipe.ts')).pipeBench,
  },
  {
    name: 'insert',
    about: 'a sink batch against the bare client with the same bytes; aim 0.9',
    run: async () => (await import('./insert.ts')).insertBench,
  },
  {
    name: 'cube-query',
    about:
      'GraphQL against hand-written SQL at 50, 1,000 and 10,000 rows; aims 1.1 at p50, 1.25 at p99',
    run: async () => (await import('./cube-query.ts')).cubeQueryBench,
  },
  {
    name: 'rest',
    about: 'hot REST reads against a bare Fastify route with the same statements; aim 0.9',
    run: async () => (await import('./rest.ts')).restBench,
  },
  {
    name: 'quotes',
    about: 'quotes over 10,000 pools against the bare loop of single paths; aim p99 of 50 ms',
    run: async () => (await import('./quotes.ts')).quotesBench,
  },
  {
    name: 'fanout',
    about: 'publications to sockets against a bare uWebSockets.js loop; aim 0.9',
    run: async () => (await import('./fanout.ts')).fanoutBench,
  },
  {
    name: 'latency',
    about:
      'block in the hands of the ingestor to its `dex-trade` frames, over Kafka and embedded, against kafkajs alone; aims p50 3, p99 4',
    run: async () => (await import('./latency.ts')).latencyBench,
  },
  {
    name: 'webhooks',
    about: 'token events to delivered webhooks against a bare signed undici loop; aim 0.5',
    run: async () => (await import('./webhooks.ts')).webhooksBench,
  },
  {
    name: 'versus',
    about: 'blocks of a real node to rows of swaps, transfers and balances against Ponder; aim 10',
    run: async () => (await import('./versus/main.ts')).versusBench,
  },
  {
    name: 'versus-streams',
    about: 'publications to 1,000 sockets (VERSUS_SOCKETS) against Centrifugo; needs Go',
    run: async () => (await import('./versus/streams/main.ts')).versusStreamsBench,
  },
]

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !ROWS.some((row) => row.name === name))
if (unknown.length > 0) {
  console.error(
    `no such row: ${unknown.join(', ')}; rows are ${ROWS.map(({ name }) => name).join(', ')}`,
  )
  process.exit(2)
}
let failed = false
for (const { name, about, run } of ROWS) {
  if (asked.length > 0 && !asked.includes(name)) continue
  console.error(`# ${name}: ${about}`)
  try {
    const bench = await run()
    await bench()
  } catch (error) {
    failed = true
    console.error(`# ${name} failed:`, error instanceof NotInstalled ? error.message : error)
  }
}
process.exit(failed ? 1 : 0)
