import type { Warehouse } from '../../core/clickhouse/client.ts'
import { Fault } from '../../core/errors.ts'
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
  MAX_LABELLED_ROWS,
} from '../queries/risk-graph.ts'
import type { AddressLabel, Edge, EdgeAnswer, GraphReader, Side } from './search.ts'

/** Addresses of one statement: they travel in the request line, which is bounded at 1 MiB. */
const ADDRESSES_PER_STATEMENT = 5_000

/** What one statement of a search may take; more is cut and said. */
const STATEMENT_BUDGET: StatementBudget = {
  seconds: 10,
  memoryBytes: 1 << 30,
  rowsToRead: 200_000_000,
  bytesToRead: 20_000_000_000,
  resultRows: 100_000,
  resultBytes: 64 << 20,
}

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

const isTooExpensive = (error: unknown): boolean =>
  error instanceof Fault && error.faultName === 'QUERY_TOO_EXPENSIVE'

const chunksOf = (addresses: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(addresses.length / ADDRESSES_PER_STATEMENT) }, (_, index) =>
    addresses.slice(index * ADDRESSES_PER_STATEMENT, (index + 1) * ADDRESSES_PER_STATEMENT),
  )

/** Every label that an address ever had on a chain, newest first. */
export const readLabelHistory = async (
  { warehouse, chain }: Pick<GraphSource, 'warehouse' | 'chain'>,
  address: string,
): Promise<readonly AddressLabel[]> => {
  const { rows } = await warehouse.query<LabelRow>(labelHistoryQuery(chain, address))
  return rows.flatMap(labelOf)
}

/** The graph in the warehouse. A statement that passes its budget answers nothing and says that it was cut. */
export const createGraphReader = (source: GraphSource): GraphReader => {
  const { warehouse, chain, bounds, atMs, untilMs, remainingMs } = source
  const read = async (
    query: Parameters<Warehouse['query']>[0],
  ): Promise<readonly EdgeRow[] | null> => {
    const seconds = Math.ceil(remainingMs() / 1_000)
    if (seconds <= 0) return null
    try {
      const { rows } = await warehouse.query<EdgeRow>(query, {
        budget: { ...STATEMENT_BUDGET, seconds: Math.min(seconds, STATEMENT_BUDGET.seconds) },
        share: 'scan',
      })
      return rows
    } catch (error) {
      if (isTooExpensive(error)) return null
      throw error
    }
  }
  return {
    edges: async (addresses, side): Promise<EdgeAnswer> => {
      const edges: Edge[] = []
      let cut = false
      for (const chunk of chunksOf(addresses)) {
        const rows = await read(edgesQuery(chain, { side, addresses: chunk, untilMs }, bounds))
        const kept = (rows ?? []).slice(0, MAX_EDGE_ROWS)
        const cutFans = withinFanOut(kept.map(edgeOf), bounds.fanOut)
        edges.push(...cutFans.edges)
        cut ||= rows === null || rows.length > MAX_EDGE_ROWS || cutFans.cut
      }
      return { edges, cut }
    },
    labelledEdges: async (address: string, side: Side): Promise<EdgeAnswer> => {
      const filter = { side, addresses: [address], untilMs }
      const rows = await read(labelledEdgesQuery(chain, filter, atMs))
      if (rows === null) return { edges: [], cut: true }
      const edges = rows.slice(0, MAX_LABELLED_ROWS).map(edgeOf)
      return { edges, cut: rows.length > MAX_LABELLED_ROWS }
    },
    labels: async (addresses) => {
      const byAddress = new Map<string, AddressLabel[]>()
      for (const chunk of chunksOf(addresses)) {
        const { rows } = await warehouse.query<LabelRow>(labelsQuery(chain, chunk, atMs), {
          share: 'scan',
        })
        for (const label of rows.flatMap(labelOf)) {
          byAddress.set(label.address, [...(byAddress.get(label.address) ?? []), label])
        }
      }
      return byAddress
    },
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
