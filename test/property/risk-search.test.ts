import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SEARCH_BOUNDS } from '../../schemas/risk.ts'
import {
  type AddressLabel,
  type Edge,
  type GraphReader,
  searchExposures,
} from '../../serving/risk/search.ts'

const NODES = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const

interface Graph {
  readonly usd: readonly (readonly [from: string, to: string, usd: number])[]
  readonly labelled: ReadonlySet<string>
}

const labelOf = (address: string): AddressLabel => ({
  address,
  category: 'mixer',
  entity: '',
  source: 'test',
  confidence: 1,
  evidenceUrl: '',
  validFromMs: 0,
  validToMs: null,
})

const edgesOf = ({ usd }: Graph, address: string): readonly Edge[] => {
  const own = usd.filter(([from]) => from === address)
  const total = own.reduce((sum, [, , amount]) => sum + amount, 0)
  return own.map(([, counterparty, amount]) => ({
    address,
    counterparty,
    usd: amount,
    share: amount / total,
    firstMs: 1,
    lastMs: 2,
    degree: own.length,
  }))
}

const readerOf = (graph: Graph): GraphReader => ({
  edges: async (addresses) => ({
    edges: addresses.flatMap((one) => edgesOf(graph, one)),
    cut: false,
  }),
  labelledEdges: async (address) => ({
    edges: edgesOf(graph, address).filter(({ counterparty }) => graph.labelled.has(counterparty)),
    cut: false,
  }),
  labels: async (addresses) => ({
    labels: new Map(
      addresses.filter((one) => graph.labelled.has(one)).map((one) => [one, [labelOf(one)]]),
    ),
    cut: false,
  }),
})

/** All simple ways from `a` to labelled nodes over unlabelled ones; of each node those of its least length. */
const bruteForce = (graph: Graph): ReadonlyMap<string, readonly [hops: number, share: number]> => {
  const found = new Map<string, readonly [number, number]>()
  const lengths = new Map<string, number>([['a', 0]])
  const ways: { readonly path: readonly string[]; readonly share: number }[] = []
  const walk = (path: readonly string[], share: number): void => {
    const at = path.at(-1) ?? ''
    ways.push({ path, share })
    lengths.set(at, Math.min(lengths.get(at) ?? 99, path.length - 1))
    if (path.length > 1 && graph.labelled.has(at)) return
    for (const edge of edgesOf(graph, at)) {
      if (!path.includes(edge.counterparty)) walk([...path, edge.counterparty], share * edge.share)
    }
  }
  walk(['a'], 1)
  for (const { path, share } of ways) {
    const at = path.at(-1) ?? ''
    const hops = path.length - 1
    if (hops === 0 || hops > SEARCH_BOUNDS.maxHops || !graph.labelled.has(at)) continue
    if (hops === lengths.get(at)) found.set(at, [hops, (found.get(at)?.[1] ?? 0) + share])
  }
  return found
}

const graph: fc.Arbitrary<Graph> = fc.record({
  usd: fc
    .uniqueArray(
      fc.tuple(
        fc.constantFrom(...NODES),
        fc.constantFrom(...NODES),
        fc.integer({ min: 10, max: 999 }),
      ),
      { selector: ([from, to]) => `${from}${to}`, maxLength: 24 },
    )
    .map((edges) => edges.filter(([from, to]) => from !== to)),
  labelled: fc.subarray(NODES.slice(1)).map((names) => new Set<string>(names)),
})

const search = (of: Graph, bounds = SEARCH_BOUNDS, nowMs = () => 0) =>
  searchExposures(readerOf(of), { start: 'a', side: 'received', bounds, nowMs })

test('the search finds what a walk over all simple ways finds, with the same hops and shares', async () => {
  await fc.assert(
    fc.asyncProperty(graph, async (of) => {
      const { exposures, truncated } = await search(of)
      const wanted = bruteForce(of)
      assert.equal(truncated, false)
      assert.deepEqual(
        exposures.map(({ label }) => label.address).toSorted(),
        [...wanted.keys()].toSorted(),
      )
      for (const { label, hops, share, path } of exposures) {
        const [wantedHops, wantedShare] = wanted.get(label.address) ?? [0, 0]
        assert.equal(hops, wantedHops)
        assert.ok(Math.abs(share - wantedShare) < 1e-9, `${share} is not ${wantedShare}`)
        assert.equal(path.length, hops + 1)
        assert.deepEqual([path[0], path.at(-1)], ['a', label.address])
      }
    }),
    { numRuns: 500 },
  )
})

const CHAIN: Graph = {
  usd: [
    ['a', 'b', 50],
    ['a', 'c', 50],
    ['b', 'd', 100],
    ['c', 'e', 100],
    ['d', 'f', 100],
  ],
  labelled: new Set(['f', 'e']),
}

test('a screening search is marked truncated when a bound of frontier, degree or time cuts it', async () => {
  const whole = await search(CHAIN)
  assert.deepEqual(
    whole.exposures.map(({ label, hops }) => [label.address, hops]),
    [
      ['e', 2],
      ['f', 3],
    ],
  )
  const narrow = await search(CHAIN, { ...SEARCH_BOUNDS, frontier: 1 })
  assert.deepEqual([narrow.truncated, narrow.exposures.length], [true, 1])
  const shallow = await search(CHAIN, { ...SEARCH_BOUNDS, maxHops: 2 })
  assert.deepEqual(
    shallow.exposures.map(({ label }) => label.address),
    ['e'],
  )
  const busy = await search(CHAIN, { ...SEARCH_BOUNDS, maxDegree: 0 })
  assert.deepEqual([busy.truncated, busy.exposures.length], [true, 0])
  let clock = 0
  const late = await search(CHAIN, { ...SEARCH_BOUNDS, timeMs: 1 }, () => clock++)
  assert.deepEqual([late.truncated, late.exposures.length], [true, 0])
})

test('a search whose labels were cut tells those that were read, follows nothing further and is marked truncated', async () => {
  const reader = readerOf(CHAIN)
  const searched = await searchExposures(
    {
      ...reader,
      labels: async (addresses) => ({
        ...(await reader.labels(addresses)),
        cut: addresses.includes('e'),
      }),
    },
    { start: 'a', side: 'received', bounds: SEARCH_BOUNDS, nowMs: () => 0 },
  )
  assert.deepEqual(
    searched.exposures.map(({ label }) => label.address),
    ['e'],
  )
  assert.equal(searched.truncated, true)
})
