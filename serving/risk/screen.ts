import { storedAddress } from '../../core/addresses.ts'
import { formatUnits } from '../../core/amounts.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { nativeTokensOf } from '../../core/prices/native-token.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { SEARCH_BOUNDS, type SearchBounds } from '../../schemas/risk.ts'
import {
  edgesEndQuery,
  labelsVersionQuery,
  retractionQuery,
  type TransferRow,
  transactionTransfersQuery,
} from '../queries/risk-graph.ts'
import { chainsOfAddress } from './address-chains.ts'
import type {
  AssessmentRequest,
  FoundTransfer,
  MissingReason,
  ScoredExposure,
  Screening,
} from './assessment.ts'
import { type AssessmentFacts, assessmentResult, type Findings, mergeFindings } from './findings.ts'
import { createGraphReader } from './graph-reader.ts'
import { type Subject, scoreExposure } from './score.ts'
import { type AddressLabel, type FoundExposure, type Side, searchExposures } from './search.ts'
import { readAssetPrice } from './withdrawal-value.ts'

/** What screening reads from. */
export interface ScreenDeps {
  readonly warehouse: Pick<Warehouse, 'query'>
  readonly nowMs: () => number
  /** Enabled chains, by internal id: an address is screened on those that have such addresses. */
  readonly chains: readonly string[]
  readonly bounds?: SearchBounds
  /** Configured rows of chains, by internal id: what else wraps their native tokens. */
  readonly chainExtra?: Readonly<Record<string, ChainExtra>>
}

/** Version of the labels that results are assessed with. */
export const readLabelsVersion = async (warehouse: Pick<Warehouse, 'query'>): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly version: number }>(labelsVersionQuery())
  return rows[0]?.version ?? 0
}

/** Least pause before a result that lacks money is made again; after that, this part of the time since the record's moment. */
const MIN_AGAIN_MS = 60_000
const AGAIN_PART = 0.25

/**
 * When all transfers up to `momentMs` are likely to be summed: sums are as far behind the clock as they are now. Epoch ms; null: they
 * are summed. Answers later the longer sums are halted.
 */
const whenSummed = async (
  { warehouse, nowMs }: ScreenDeps,
  chain: string,
  momentMs: number,
): Promise<number | null> => {
  const { rows } = await warehouse.query<{ readonly summed: number }>(edgesEndQuery(chain))
  const missingMs =
    Math.floor(momentMs / MINUTE_MS + 1) * MINUTE_MS - (rows[0]?.summed ?? 0) * 1_000
  if (missingMs <= 0) return null
  const waitedMs = nowMs() - momentMs
  return nowMs() + Math.max(MIN_AGAIN_MS, missingMs, Math.ceil(waitedMs * AGAIN_PART))
}

/** One address on one chain, or the other side of one transfer. */
interface ScreeningTarget {
  readonly subject: Subject
  readonly chain: string
  readonly address: string
  readonly sides: readonly Side[]
  readonly startHops: number
  readonly untilMs: number
  /** Value of the transfer, where that is assessed. */
  readonly usd: number | null
}

/** Own labels of the assessed address: direct, with all of its money. */
const ownExposures = (
  { address, sides, startHops }: ScreeningTarget,
  labels: readonly AddressLabel[],
): readonly FoundExposure[] =>
  labels.map((label) => ({
    side: sides[0] ?? 'received',
    label,
    hops: startHops,
    share: 1,
    path: [address],
    lastEdge: { usd: 0, firstMs: 0, lastMs: 0 },
  }))

const examine = async (
  { warehouse, nowMs, bounds = SEARCH_BOUNDS }: ScreenDeps,
  target: ScreeningTarget,
): Promise<Findings> => {
  const { chain, address, sides, startHops, untilMs, subject } = target
  const atMs = nowMs()
  // All reads share the time, or a search over both sides would take twice as long; the last side has all that is left.
  const allEndMs = nowMs() + bounds.timeMs
  let endMs = allEndMs
  const remainingMs = (): number => endMs - nowMs()
  const reader = createGraphReader({ warehouse, chain, bounds, atMs, untilMs, remainingMs })
  const ownLabels = await reader.ownLabels(address)
  const history = await reader.labelHistory(address)
  const totals = await reader.totals(address)
  const sums = Object.fromEntries((totals ?? []).map(({ side, usd }) => [side, usd]))
  const found: FoundExposure[] = [...ownExposures(target, ownLabels)]
  let truncated = totals === null
  for (const [index, side] of sides.entries()) {
    const timeMs = Math.max(0, allEndMs - nowMs()) / (sides.length - index)
    endMs = nowMs() + timeMs
    const searched = await searchExposures(reader, {
      start: address,
      side,
      startHops,
      bounds: { ...bounds, timeMs },
      nowMs,
    })
    found.push(...searched.exposures)
    truncated ||= searched.truncated
  }
  const exposures = found.map((exposure): ScoredExposure => {
    const { label, hops, share, side } = exposure
    const all = subject === 'transfer' ? target.usd : (sums[side] ?? null)
    const usd = all === null ? null : all * share
    const score = scoreExposure(subject, { category: label.category, hops, share, usd })
    return { ...exposure, chain, usd, ...score }
  })
  return {
    exposures,
    truncated,
    ownLabels,
    formerLabels: history.filter(({ validToMs }) => validToMs !== null && validToMs <= atMs),
    totalUsd: totals?.reduce((sum, { usd }) => sum + usd, 0) ?? null,
    firstSeenMs: totals?.length ? Math.min(...totals.map(({ first_ms }) => first_ms)) : null,
  }
}

/** Money up to that moment counts, epoch ms. Absent: what is summed is enough. */
interface AssessedMoment {
  readonly momentMs?: number | undefined
}

const assess = async (
  deps: ScreenDeps,
  parts: readonly ScreeningTarget[],
  { momentMs, transfer = null, lookAlikes = [] }: AssessedMoment & Partial<AssessmentFacts>,
): Promise<Screening> => {
  const labelsVersion = await readLabelsVersion(deps.warehouse)
  const each: Findings[] = []
  const ends: number[] = []
  for (const part of parts) {
    // Read before the sums: what is summed meanwhile is looked at once more, not missed.
    const end = momentMs === undefined ? null : await whenSummed(deps, part.chain, momentMs)
    if (end !== null) ends.push(end)
    each.push(await examine(deps, part))
  }
  const isPartial = ends.length > 0
  const facts = { labelsVersion, nowMs: deps.nowMs(), transfer, lookAlikes, isPartial }
  const result = assessmentResult(mergeFindings(each), facts)
  return { outcome: 'done', result, ...(isPartial && { againAtMs: Math.min(...ends) }) }
}

const BOTH_SIDES = ['received', 'sent'] as const

const foundTransfer = (row: TransferRow): FoundTransfer => ({
  tx: row.tx_hash,
  idx: row.event_index,
  assetId: row.token_address,
  sender: row.sender,
  outputAddress: row.receiver,
  assetAmount: row.decimals === null ? null : formatUnits(BigInt(row.amount), row.decimals),
  usdAmount: row.usd,
  timeMs: row.time_ms,
  blockSlot: row.block_slot,
  blockHash: row.block_hash,
})

/** The transfers of a reference, or why there are none. */
type MatchedTransfers = readonly TransferRow[] | MissingReason

/**
 * Of the transfers of a transaction those in the asset and to the address that were named. Of the native token in several forms and of
 * tokens with one symbol the first of `tokens` counts.
 */
const matchTransfers = (
  rows: readonly TransferRow[],
  tokens: readonly string[],
  named: string | undefined,
): MatchedTransfers => {
  if (rows.length === 0) return 'tx_not_found'
  const ofAsset = rows.filter(({ is_asset }) => is_asset === 1)
  if (ofAsset.length === 0) return 'asset_mismatch'
  const fitting = ofAsset.filter(({ receiver }) => named === undefined || receiver === named)
  if (fitting.length === 0) return 'address_mismatch'
  for (const token of tokens) {
    const same = fitting.filter(({ token_address }) => token_address === token)
    if (same.length > 0) return same
  }
  return fitting
}

type TransferRequest = AssessmentRequest & { readonly kind: 'transfer' }

/** The transfer that a reference names: `<tx>:<receiver>`, or the only one of a transaction. Or why there is none. */
const findTransfer = async (
  deps: ScreenDeps,
  request: TransferRequest,
): Promise<FoundTransfer | Exclude<Screening, { readonly outcome: 'done' }>> => {
  const { chain, transferReference } = request
  const [tx = '', output] = transferReference.split(':')
  const asset = storedAddress(chain, request.asset) ?? request.asset
  const named = output === undefined ? undefined : storedAddress(chain, output)
  const nativeTokens = nativeTokensOf(chain, asset, deps.chainExtra?.[chain])
  const query = transactionTransfersQuery(chain, { tx, asset, nativeTokens })
  const { rows } = await deps.warehouse.query<TransferRow>(query)
  const fitting = matchTransfers(rows, [...nativeTokens, asset], named)
  if (typeof fitting === 'string') return { outcome: 'not found', reason: fitting }
  const [first] = fitting
  if (first === undefined || (fitting.length > 1 && named === undefined))
    return { outcome: 'failed', reason: 'ambiguous_reference' }
  return foundTransfer(first)
}

const isRetracted = async (
  { warehouse }: ScreenDeps,
  chain: string,
  { tx, blockSlot: slot = 0, blockHash = '' }: FoundTransfer,
): Promise<boolean> => {
  const query = retractionQuery(chain, { tx, slot, blockHash })
  const { rows } = await warehouse.query<{ readonly retracted: number }>(query)
  return rows[0]?.retracted === 1
}

/** What is known of a record that is screened. */
export interface ScreenedRecord {
  /** When an address or a withdrawal was asked about, epoch ms; money that moved until then and is not summed yet makes the result partial. */
  readonly askedMs?: number | undefined
  /** The transfer that the record was assessed for before; undefined: it was not. */
  readonly storedTransfer?: () => Promise<FoundTransfer | undefined>
}

/** A transfer that was assessed before is assessed again from its record where it has left the store; not where a reorg took it back. */
const screenTransfer = async (
  deps: ScreenDeps,
  request: TransferRequest,
  { storedTransfer }: ScreenedRecord,
): Promise<Screening> => {
  const { chain, direction } = request
  const found = await findTransfer(deps, request)
  const transfer = 'outcome' in found ? await storedTransfer?.() : found
  if (transfer === undefined || (transfer !== found && (await isRetracted(deps, chain, transfer))))
    return found as Exclude<typeof found, FoundTransfer>
  const usd = transfer.usdAmount === null ? null : Number(transfer.usdAmount)
  const target: ScreeningTarget = {
    subject: 'transfer',
    chain,
    address: direction === 'received' ? transfer.sender : transfer.outputAddress,
    sides: [direction],
    startHops: 1,
    untilMs: direction === 'received' ? transfer.timeMs : deps.nowMs(),
    usd,
  }
  return assess(deps, [target], { transfer, momentMs: transfer.timeMs })
}

/** Screens what a record asks for. `lookAlikes`: addresses of the organization that the target imitates. */
export const screen = async (
  deps: ScreenDeps,
  request: AssessmentRequest,
  lookAlikes: readonly string[],
  record: ScreenedRecord = {},
): Promise<Screening> => {
  if (request.kind === 'transfer') return screenTransfer(deps, request, record)
  const { askedMs } = record
  const isAddress = request.kind === 'address'
  const chains = isAddress ? chainsOfAddress(request.address, deps.chains) : [request.chain]
  // No chain is searched: nothing found would read as no risk.
  if (chains.length === 0) return { outcome: 'failed', reason: 'chain_not_supported' }
  const parts = chains.map(
    (chain): ScreeningTarget => ({
      subject: 'address',
      chain,
      address: request.address,
      sides: BOTH_SIDES,
      startHops: 0,
      untilMs: deps.nowMs(),
      usd: null,
    }),
  )
  const screened = await assess(deps, parts, { lookAlikes, momentMs: askedMs })
  if (screened.outcome !== 'done') return screened
  if (request.kind === 'address') return { ...screened, chains }
  const assetPriceUsd = await readAssetPrice(deps, request, askedMs ?? deps.nowMs())
  return { ...screened, result: { ...screened.result, assetPriceUsd } }
}
