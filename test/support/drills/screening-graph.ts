/** A graph of transfers for the screening drill, as statements of the engine, and what must be found in it. */
import { DAY_MS, MINUTE_MS } from '../../../core/time.ts'

/** Days that the transfers are spread over. */
export const DAYS = 10
/** The token of every transfer. */
export const TOKEN = `0x${'70'.repeat(20)}`
const TRANSFERS_PER_ADDRESS = 5
/** Exponent of the draw of an end: an address has about its number to the power of -3/4 of the transfers, the first 2.7 % of 10,000,000. */
const STEEPNESS = 4
/** Labelled addresses are numbers at this distance from each other, so that some have many transfers and most have few. */
const LABEL_STEP = 7_919
const LABELLED = 500
const FIRST_LABELLED = 100

/** What a graph is made of. */
export interface GraphTerms {
  /** Transfers, each an edge of both of its ends. */
  readonly edges: number
  readonly seed: number
  readonly startMs: number
}

const addressCount = (edges: number): number =>
  Math.max(1_000, Math.ceil(edges / TRANSFERS_PER_ADDRESS))

/** SQL of the address of a number. */
export const addressSql = ({ seed }: GraphTerms, n: string): string =>
  `concat('0x', lower(hex(MD5(concat('${seed}/', toString(${n}))))), '00000000')`

/** SQL of the hash of a transfer. */
export const txSql = ({ seed }: GraphTerms, n: string): string =>
  `concat('0x', lower(hex(SHA256(concat('${seed}/', toString(${n}))))))`

/** SQL of a number from 0 to 1 that follows from another one. */
const unitSql = ({ seed }: GraphTerms, n: string, purpose: string): string =>
  `(sipHash64(${seed}, '${purpose}', ${n}) % 1000000007 / 1000000007.)`

/** SQL of the number of an address, drawn by a power law. */
export const endSql = (graph: GraphTerms, n: string, purpose: string): string =>
  `toUInt64(floor(${addressCount(graph.edges)} * pow(${unitSql(graph, n, purpose)}, ${STEEPNESS})))`

const timeMsSql = ({ edges, startMs }: GraphTerms): string =>
  `toInt64(${startMs} + intDiv(number * ${DAYS * DAY_MS}, ${edges}))`

/** Between 1 and 22,000 US dollars. */
const usdSql = (graph: GraphTerms): string =>
  `toDecimal128(exp(10 * ${unitSql(graph, 'number', 'usd')}), 12)`

const ends = (graph: GraphTerms): readonly [string, string] => [
  addressSql(graph, endSql(graph, 'number', 'sender')),
  addressSql(graph, endSql(graph, 'number', 'receiver')),
]

/** Every transfer, in one statement. */
export const transfersSql = (chain: string, graph: GraphTerms): string => {
  const [sender, receiver] = ends(graph)
  return `INSERT INTO ${chain}_transfers (block_time, block_slot, block_height, block_hash, tx_hash, tx_status, event_index, token_address,
  decimals, sender, receiver, amount, amount_usd, success, _ver)
SELECT fromUnixTimestamp64Milli(${timeMsSql(graph)}), intDiv(number, 200), intDiv(number, 200), toString(intDiv(number, 200)),
  ${txSql(graph, 'number')}, 'SUCCESS', number % 200, '${TOKEN}', 6, ${sender}, ${receiver}, toUInt256(1000000), ${usdSql(graph)}, 1, 1
FROM numbers(${graph.edges})`
}

/** The edges of the same transfers at both of their ends, in one statement. */
export const edgesSql = (chain: string, graph: GraphTerms): string => {
  const [sender, receiver] = ends(graph)
  return `INSERT INTO ${chain}_transfer_edges (side, address, counterparty, minute, usd, transfers, _ver)
SELECT edge.1, edge.2, edge.3, toStartOfMinute(time), usd, 1, 1 FROM (
  SELECT ${sender} AS sender, ${receiver} AS receiver, fromUnixTimestamp64Milli(${timeMsSql(graph)}) AS time, ${usdSql(graph)} AS usd
  FROM numbers(${graph.edges}))
ARRAY JOIN [('received', receiver, sender), ('sent', sender, receiver)] AS edge WHERE sender != receiver`
}

/** SQL of the numbers of labelled addresses. */
export const labelledSql = ({ edges }: GraphTerms): string =>
  `SELECT (${FIRST_LABELLED} + number * ${LABEL_STEP}) % ${addressCount(edges)} AS n FROM numbers(${LABELLED})`

/** Planted addresses, which no drawn number has. */
const planted = (n: number): string => `0x${'fe'.repeat(16)}${n.toString(16).padStart(8, '0')}`
const plantedTx = (n: number): string => `0x${n.toString(16).padStart(64, 'f')}`

/** The label of the planted source, and its own category: no other label has it. */
export const PLANTED_LABEL = { address: planted(1), category: 'darknet_market' } as const

/** A transfer as it is planted. */
interface PlantedMove {
  readonly tx: string
  readonly sender: string
  readonly receiver: string
  readonly usd: number
  readonly timeMs: number
}

/** What an answer must say of the way to the planted label. */
export interface ExpectedWay {
  readonly hops: number
  readonly sharePercent: number
  readonly score: number
  readonly path: readonly string[]
}

/** A question with a known answer; null: the graph around it decides that. */
export type PlantedQuestion = {
  readonly rating: string | null
  readonly riskScore: number | null
  readonly way: ExpectedWay
} & (
  | { readonly kind: 'address' | 'withdrawal'; readonly address: string }
  | { readonly kind: 'transfer'; readonly tx: string }
)

/** Parts of what each member of the planted way has received that come from its source, percent. */
const SHARES = [50, 40, 40, 12]
const MEMBERS = [1, 2, 3, 4, 5].map(planted) as [string, string, string, string, string]

const wayOf = (hops: number): ExpectedWay => ({
  hops,
  sharePercent: SHARES[hops - 1] ?? 0,
  score: hops === 1 ? 100 : 100 * 0.5 ** hops,
  path: MEMBERS.slice(0, hops + 1).toReversed(),
})

/**
 * A way of four steps from a labelled address. Of what its members receive, 50, 80, 100 and 30 percent come over it; the rest comes from an
 * address that received nothing. One more address receives a tenth from the first of them, and the rest from `hub`, one of the graph.
 */
export const plantedMoves = (startMs: number, hub: string): readonly PlantedMove[] => {
  const [source, one, two, three, four] = MEMBERS
  const [clean, mixed] = [planted(99), planted(6)]
  const sums = [
    [source, one, 500],
    [clean, one, 500],
    [one, two, 800],
    [clean, two, 200],
    [two, three, 1_000],
    [three, four, 300],
    [clean, four, 700],
    [one, mixed, 100],
    [hub, mixed, 900],
  ] as const
  return sums.map(([sender, receiver, usd], index) => ({
    tx: plantedTx(index),
    sender,
    receiver,
    usd,
    timeMs: startMs + DAY_MS + index * MINUTE_MS,
  }))
}

/** Questions about the planted way, of each kind. */
export const plantedQuestions = (): readonly PlantedQuestion[] => {
  const [source, one, two, three, four] = MEMBERS
  const mixed = planted(6)
  const about = (kind: 'address' | 'withdrawal', address: string, hops: number, rating: string) =>
    ({ kind, address, rating, riskScore: wayOf(hops).score, way: wayOf(hops) }) as const
  return [
    about('address', one, 1, 'SEVERE'),
    about('address', two, 2, 'HIGH'),
    about('address', three, 3, 'HIGH'),
    about('withdrawal', four, 4, 'HIGH'),
    {
      kind: 'address',
      address: mixed,
      rating: null,
      riskScore: null,
      way: { ...wayOf(2), sharePercent: 5, path: [mixed, one, source] },
    },
    {
      kind: 'transfer',
      tx: plantedTx(5),
      rating: 'HIGH',
      riskScore: wayOf(4).score,
      // The sender's way, a step further away.
      way: { ...wayOf(3), hops: 4, score: wayOf(4).score },
    },
  ]
}
