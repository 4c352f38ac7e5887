import { createHash } from 'node:crypto'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import { RISK_LEVELS, type RiskLevel } from '../../schemas/risk.ts'
import type { RiskAssessment } from '../../schemas/wire.ts'
import type { AddressLabel, FoundExposure, Side } from './search.ts'

/** A record without what was found. */
export type AssessmentRow = Omit<RiskAssessment, 'result'>

/** How an assessment stands. */
export type AssessmentStatus = 'PENDING' | 'COMPLETE' | 'FAILED'

/** What was asked, as it is stored. `network` is the caller's word in the contract's writing, `chain` its internal id. */
export type AssessmentRequest =
  | {
      readonly kind: 'address'
      readonly address: string
      /** Chains that it was screened on; before that those that were enabled when it was registered. */
      readonly chains: readonly string[]
    }
  | {
      readonly kind: 'transfer'
      readonly network: string
      readonly chain: string
      readonly asset: string
      readonly transferReference: string
      readonly direction: Side
    }
  | {
      readonly kind: 'withdrawal'
      readonly network: string
      readonly chain: string
      readonly asset: string
      readonly address: string
      readonly assetAmount: string
      readonly attemptTimestamp: string
      readonly assetPrice: string | null
      readonly assetDenomination: string | null
      readonly assetId: string | null
      readonly memo: string | null
    }

/** An exposure with its level and score. */
export interface ScoredExposure extends FoundExposure {
  readonly chain: string
  readonly usd: number | null
  readonly level: RiskLevel
  readonly score: number
  readonly isAlert: boolean
}

/** The transfer that was found on the chain. */
export interface FoundTransfer {
  readonly tx: string
  readonly idx: number
  readonly assetId: string
  readonly sender: string
  readonly outputAddress: string
  readonly assetAmount: string | null
  readonly usdAmount: string | null
  readonly timeMs: number
  /** Its block, which tells whether a reorg took it back. Absent in results of older builds. */
  readonly blockSlot?: number
  readonly blockHash?: string
}

/** A finding beside exposures that makes an address High at least: it imitates another one, or is new and met a mixer. */
export type RaisingFinding = 'address_poisoning' | 'new_mixer_user'

/** What screening found out. */
export interface AssessmentResult {
  readonly level: RiskLevel
  readonly score: number
  readonly reason: string
  /** True: a bound cut the search, so there may be more. */
  readonly truncated: boolean
  readonly labelsVersion: number
  readonly engineVersion: string
  /** Gravest first. */
  readonly exposures: readonly ScoredExposure[]
  /** Labels of the assessed address itself that are over. */
  readonly formerLabels: readonly AddressLabel[]
  readonly ownLabels: readonly AddressLabel[]
  /** Behaviour of the assessed address. */
  readonly profile: readonly string[]
  readonly firstSeenMs: number | null
  readonly transfer: FoundTransfer | null
  /** Addresses of the organization that this one looks like. */
  readonly lookAlikes: readonly string[]
  /** Absent in results of older builds. */
  readonly raisedBy?: readonly RaisingFinding[]
  /** Price of a withdrawal's asset when it was registered, US dollars; null: not known here. Absent: not looked for. */
  readonly assetPriceUsd?: string | null
}

/** Namespace of the ids: random, made once. */
const ID_NAMESPACE = Buffer.from('6f1d5f0e0c9b4a2f9a3e6d1b8c47e2a5', 'hex')

/** Name-based UUID (RFC 9562, version 5): the same request of an organization has the same id. */
export const assessmentId = (orgId: string, request: AssessmentRequest): string => {
  const name = JSON.stringify([orgId, ...identityOf(request)])
  const hash = createHash('sha1').update(ID_NAMESPACE).update(name).digest().subarray(0, 16)
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

const identityOf = (request: AssessmentRequest): readonly string[] => {
  if (request.kind === 'address') return ['address', request.address]
  if (request.kind === 'transfer') {
    const { chain, asset, transferReference, direction } = request
    return ['transfer', chain, asset, transferReference, direction]
  }
  const { chain, asset, address, attemptTimestamp, assetAmount } = request
  return ['withdrawal', chain, asset, address, attemptTimestamp, assetAmount]
}

/** Pauses between two screenings of a finished record, by its level. */
const RESCREEN_MS: Readonly<Record<RiskLevel, number>> = {
  Severe: DAY_MS,
  High: DAY_MS,
  Medium: 7 * DAY_MS,
  Low: 30 * DAY_MS,
}
/** How long a transaction that is not there is waited for, and screening that fails is tried; the pause between two looks. */
const MAX_WAIT_MS = 1_800_000
/** The same where the transaction is there without the transfer: names of tokens and moves of native tokens are read after their block. */
const MISMATCH_WAIT_MS = 120_000
const RECHECK_MS = 30_000
/** Pause of a finished record whose next screening met an unexpected error. */
const RETRY_FINISHED_MS = HOUR_MS

/** What is missing of a transfer: its transaction, or in that a transfer of the asset, or one of it to the address. */
export type MissingReason = 'tx_not_found' | 'asset_mismatch' | 'address_mismatch'

/** Outcome of one screening. */
export type Screening =
  | {
      readonly outcome: 'done'
      readonly result: AssessmentResult
      /** When it is worth screening again, as money up to the record's moment is not summed yet; epoch ms. Absent: it is. */
      readonly againAtMs?: number
      /** Chains that an address was screened on. Absent: another kind of record. */
      readonly chains?: readonly string[]
    }
  | { readonly outcome: 'not found'; readonly reason: MissingReason }
  /** An unexpected error, which may be over at the next try. */
  | { readonly outcome: 'error' }
  | { readonly outcome: 'failed'; readonly reason: string }

const failureOf = (screening: Exclude<Screening, { readonly outcome: 'done' }>): string =>
  screening.outcome === 'error' ? 'internal' : screening.reason

/** What a pending record keeps of a transaction that is there, while the transfer is not. */
interface Mismatch {
  /** When that was first found, epoch ms. */
  readonly mismatchSinceMs: number
}

/** The mismatch of an earlier screening, or of this one; undefined where an outcome is not one. */
const mismatchOf = (
  { status, result }: RiskAssessment,
  screening: Screening,
  nowMs: number,
): Mismatch | undefined => {
  if (screening.outcome !== 'not found' || screening.reason === 'tx_not_found') return undefined
  const known = status === 'PENDING' && result !== null ? (JSON.parse(result) as Mismatch) : null
  return known ?? { mismatchSinceMs: nowMs }
}

/** Reasons of a failure that a repeated request may change: they stand after some time of tries. */
const REPEATABLE: readonly unknown[] = [
  ...['internal', 'tx_not_found'],
  ...['asset_mismatch', 'address_mismatch'],
  'chain_not_supported',
]

/**
 * The record after the same request came again at `nowMs`: pending where it had failed for a reason that may be over; otherwise
 * itself.
 */
export const afterRepeat = (
  record: RiskAssessment,
  request: AssessmentRequest,
  nowMs: number,
): RiskAssessment => {
  if (record.status !== 'FAILED' || record.result === null) return record
  const { reason } = JSON.parse(record.result) as { readonly reason?: unknown }
  if (!REPEATABLE.includes(reason)) return record
  return {
    ...record,
    status: 'PENDING',
    // What could not be read is replaced as well.
    request: JSON.stringify(request),
    result: null,
    updated_at: nowMs,
    next_at: nowMs,
  }
}

/** The stored result; nothing before there is one, and where it cannot be read. */
const storedResult = ({ status, result }: RiskAssessment): Partial<AssessmentResult> => {
  if (status !== 'COMPLETE' || result === null) return {}
  try {
    return (JSON.parse(result) as Partial<AssessmentResult> | null) ?? {}
  } catch {
    return {}
  }
}

/** The transfer that a finished record was assessed for; undefined for another record, and where the result cannot be read. */
export const storedTransfer = (record: RiskAssessment): FoundTransfer | undefined =>
  storedResult(record).transfer ?? undefined

/** Level of the stored result; undefined before there is one, and where it cannot be read. */
const storedLevel = (record: RiskAssessment): RiskLevel | undefined => {
  const { level } = storedResult(record)
  return RISK_LEVELS.find((each) => each === level)
}

/** Whether the one transfer that a record was assessed for is there no more. */
const isTransferGone = (screening: Exclude<Screening, { readonly outcome: 'done' }>): boolean =>
  screening.outcome === 'not found' ||
  (screening.outcome === 'failed' && screening.reason === 'ambiguous_reference')

/** The request with the chains that its address was screened on. */
const screenedRequest = (
  { request }: RiskAssessment,
  chains: readonly string[] | undefined,
): string => (chains === undefined ? request : JSON.stringify({ ...JSON.parse(request), chains }))

/**
 * The record after a screening that began with labels of version `labelsVersion`: finished, failed, or waiting for its transaction
 * or for the end of an unexpected error, for up to half an hour since it was asked for, errors with pauses that grow; for two minutes
 * since the transaction was first found without the transfer. A result that lacks money which is not summed yet is due when that is. A
 * finished record whose screening fails keeps its result, and is due again after its period; one whose transfer is there no more, as a
 * reorg took it back, waits for it like a new one.
 */
export const afterScreening = (
  record: RiskAssessment,
  screening: Screening,
  { nowMs, labelsVersion }: { readonly nowMs: number; readonly labelsVersion: number },
): RiskAssessment => {
  const changed = { ...record, updated_at: nowMs }
  if (screening.outcome === 'done') {
    const { result } = screening
    // The price of then stays: the trades that it was read from may have left the store since.
    const assetPriceUsd = storedResult(record).assetPriceUsd ?? result.assetPriceUsd
    const kept = assetPriceUsd === undefined ? result : { ...result, assetPriceUsd }
    return {
      ...changed,
      status: 'COMPLETE',
      request: screenedRequest(record, screening.chains),
      result: JSON.stringify(kept),
      labels_version: result.labelsVersion,
      next_at: Math.min(nowMs + RESCREEN_MS[result.level], screening.againAtMs ?? Infinity),
    }
  }
  const level = storedLevel(record)
  if (level !== undefined && !isTransferGone(screening)) {
    const pauseMs = screening.outcome === 'error' ? RETRY_FINISHED_MS : RESCREEN_MS[level]
    return { ...changed, labels_version: labelsVersion, next_at: nowMs + pauseMs }
  }
  const waiting: RiskAssessment =
    level === undefined ? record : { ...changed, status: 'PENDING', result: null }
  // Since the registration, its repeat or the loss of the transfer: what is pending is not changed otherwise.
  const waitedMs = nowMs - waiting.updated_at
  const mismatch = mismatchOf(waiting, screening, nowMs)
  const isOver =
    screening.outcome === 'failed' ||
    waiting.status !== 'PENDING' ||
    waitedMs >= MAX_WAIT_MS ||
    (mismatch !== undefined && nowMs - mismatch.mismatchSinceMs >= MISMATCH_WAIT_MS)
  if (!isOver) {
    const pauseMs = screening.outcome === 'error' ? Math.max(RECHECK_MS, waitedMs) : RECHECK_MS
    const result = mismatch ? JSON.stringify(mismatch) : waiting.result
    return { ...waiting, result, next_at: nowMs + pauseMs }
  }
  const reason = failureOf(screening)
  return { ...changed, status: 'FAILED', result: JSON.stringify({ reason }), next_at: 0 }
}

/** Whether a record is to be screened now: its time has come, or labels came since. */
export const isDue = (record: AssessmentRow, labelsVersion: number, nowMs: number): boolean => {
  if (record.status === 'FAILED') return false
  return (
    record.next_at <= nowMs ||
    (record.status === 'COMPLETE' && record.labels_version < labelsVersion)
  )
}
