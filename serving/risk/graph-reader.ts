import type { Query, Warehouse } from '../../core/clickhouse/client.ts'
import { Fault, Outage } from '../../core/errors.ts'
import type { StatementBudget } from '../../schemas/plans.ts'
import { isRiskCategory, type SearchBounds } from '../../schemas/risk.ts'
import {
  type EdgeRow,
  edgesQuery,
  type LabelRow,
  labelHistoryQuery,
  labelledEdgesQuery,
  labelsQuery,
  MAX_EDGE_ROWS,
  MAX_LABEL_ROWS,
  MAX_LABELLED_ROWS,
  type TotalsRow,
  totalsQuery,
} from '../queries/risk-graph.ts'
import type { AddressLabel, Edge, EdgeAnswer, GraphReader, LabelAnswer, Side } from './search.ts'

/** Addresses of one statement: they travel in the request line, which is bounded at 1 MiB. */
const ADDRESSES_PER_STATEMENT = 5_000

/** What one statement of a search may take; more is cut and said. */
export const STATEMENT_BUDGET: StatementBudget = {
  seconds: 10,
  memoryBytes: 1 << 30,
  rowsToRead: 200_000_000,
  bytesToRead: 20_000_000_000,
  resultRows: 100_000,
  resultBytes: 64 << 20,
}

/** Part of the time of a search that edges leave to the labels of what they lead to. */
const LABEL_TIME_SHARE = 0.1

/** Reads the graph of one chain. */
export interface GraphSource {
  readonly warehouse: Pick<Warehouse, 'query'>
  readonly chain: string
  readonly bounds: SearchBounds
  /** Moment at which labels must be valid. */
  readonly atMs: number
  /** Later transfers are left out. */
  readonly untilMs: number
  /** Time left for the search; 0 or less: statements answer nothing and say that they were cut. */
  readonly remainingMs: () => number
}

const edgeOf = ({ first_ms, last_ms, ...row }: EdgeRow): Edge => ({
  ...row,
  firstMs: first_ms,
  lastMs: last_ms,
})

/** A row as a label; nothing for a category that this build does not know. */
const labelOf = (row: LabelRow): readonly AddressLabel[] =>
  isRiskCategory(row.category)
    ? [
        {
          address: row.address,
          category: row.category,
          entity: row.entity,
          source: row.source,
          confidence: row.confidence,
          evidenceUrl: row.evidence_url,
          validFromMs: row.from_ms,
          validToMs: row.to_ms,
        },
      ]
    : []

/** True for a statement that passed its budget. */
export const isTooExpensive = (error: unknown): boolean =>
  error instanceof Fault && error.faultName === 'QUERY_TOO_EXPENSIVE'

const chunksOf = (addresses: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(addresses.length / ADDRESSES_PER_STATEMENT) }, (_, index) =>
    addresses.slice(index * ADDRESSES_PER_STATEMENT, (index + 1) * ADDRESSES_PER_STATEMENT),
  )

/** Reads of a search, and those about the assessed address itself. */
export interface AssessedGraphReader extends GraphReader {
  /** Labels of the address that are valid. Throws `Outage` where they are not read in time. */
  ownLabels(address: string): Promise<readonly AddressLabel[]>
  /** Every label that the address ever had on the chain, newest first. Throws `Outage` where they are not read in time. */
  labelHistory(address: string): Promise<readonly AddressLabel[]>
  /** What the address moved in all, by side; null: more than a statement may read. */
  totals(address: string): Promise<readonly TotalsRow[] | null>
}

const labelsByAddress = (
  labels: readonly AddressLabel[],
): ReadonlyMap<string, readonly AddressLabel[]> => {
  const byAddress = new Map<string, AddressLabel[]>()
  for (const label of labels) {
    const same = byAddress.get(label.address)
    if (same === undefined) byAddress.set(label.address, [label])
    else same.push(label)
  }
  return byAddress
}

/** Rows of a statement within the time that is left; null where it passed its budget or there is no time. */
const createBoundedRead =
  ({ warehouse, bounds, remainingMs }: GraphSource) =>
  async <Row>(query: Query, reservedMs = 0): Promise<readonly Row[] | null> => {
    const timeMs = Math.min(remainingMs(), bounds.timeMs) - reservedMs
    if (timeMs <= 0) return null
    const seconds = Math.min(Math.ceil(timeMs / 1_000), STATEMENT_BUDGET.seconds)
    const signal = AbortSignal.timeout(Math.ceil(timeMs))
    try {
      const options = { budget: { ...STATEMENT_BUDGET, seconds }, share: 'scan', signal } as const
      return (await warehouse.query<Row>(query, options)).rows
    } catch (error) {
      if (isTooExpensive(error) || signal.aborted) return null
      throw error
    }
  }

/** The graph in the warehouse. A statement that passes its budget answers nothing and says that it was cut. */
export const createGraphReader = (source: GraphSource): AssessedGraphReader => {
  const { chain, bounds, atMs, untilMs } = source
  const read = createBoundedRead(source)
  // What the last edges led to is worth nothing without its labels.
  const readEdges = (query: Query) => read<EdgeRow>(query, bounds.timeMs * LABEL_TIME_SHARE)
  const labels = async (addresses: readonly string[]): Promise<LabelAnswer> => {
    const found: AddressLabel[] = []
    let cut = false
    for (const chunk of chunksOf(addresses)) {
      const rows = await read<LabelRow>(labelsQuery(chain, chunk, atMs))
      found.push(...(rows ?? []).slice(0, MAX_LABEL_ROWS).flatMap(labelOf))
      cut ||= rows === null || rows.length > MAX_LABEL_ROWS
    }
    return { labels: labelsByAddress(found), cut }
  }
  const notInTime = (): Outage =>
    new Outage('warehouse', 'the labels of an address were not read in time')
  return {
    edges: async (addresses, side): Promise<EdgeAnswer> => {
      const edges: Edge[] = []
      let cut = false
      for (const chunk of chunksOf(addresses)) {
        const rows = await readEdges(edgesQuery(chain, { side, addresses: chunk, untilMs }, bounds))
        const kept = (rows ?? []).slice(0, MAX_EDGE_ROWS)
        const cutFans = withinFanOut(kept.map(edgeOf), bounds.fanOut)
        edges.push(...cutFans.edges)
        cut ||= rows === null || rows.length > MAX_EDGE_ROWS || cutFans.cut
      }
      return { edges, cut }
    },
    labelledEdges: async (address: string, side: Side): Promise<EdgeAnswer> => {
      const filter = { side, addresses: [address], untilMs }
      const rows = await readEdges(labelledEdgesQuery(chain, filter, atMs))
      if (rows === null) return { edges: [], cut: true }
      const edges = rows.slice(0, MAX_LABELLED_ROWS).map(edgeOf)
      return { edges, cut: rows.length > MAX_LABELLED_ROWS }
    },
    labels,
    ownLabels: async (address) => {
      const own = await labels([address])
      if (own.cut) throw notInTime()
      return own.labels.get(address) ?? []
    },
    labelHistory: async (address) => {
      const rows = await read<LabelRow>(labelHistoryQuery(chain, address))
      if (rows === null) throw notInTime()
      return rows.flatMap(labelOf)
    },
    totals: (address) => read<TotalsRow>(totalsQuery(chain, address)),
  }
}

/** The largest edges of each address; `cut` where one had more. Edges come largest first. */
const withinFanOut = (edges: readonly Edge[], fanOut: number): EdgeAnswer => {
  const counts = new Map<string, number>()
  const kept = edges.filter(({ address }) => {
    const count = (counts.get(address) ?? 0) + 1
    counts.set(address, count)
    return count <= fanOut
  })
  return { edges: kept, cut: kept.length < edges.length }
}
