import { base58Decode } from '../../core/base58.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { type CallEndpoint, OversizedAnswer, type RpcPool } from '../../core/rpc/pool.ts'
import { isTransactionError } from '../../core/rpc/transaction-errors.ts'
import { askNodes } from './ask-nodes.ts'
import { addressesOfTable } from './lookup-table.ts'
import { nodeReason } from './node-reason.ts'
import type { BlockhashLifetime, LookupTables } from './solana-message.ts'

/** An account as a node has it. */
export interface SolanaAccount {
  /** Program that it belongs to. */
  readonly owner: string
  readonly lamports: bigint
  readonly data: Uint8Array
}

/** What a run against the newest block said. */
interface SolanaRun {
  /** Units of computation; null: the node does not report them. */
  readonly unitsConsumed: number | null
}

/** Reads of a node that building a transaction needs. Each throws `Fault` CHAIN_CONNECTION_ERROR where no node responded. */
export interface SolanaReader {
  /**
   * In the order of the addresses; undefined: there is none. At most 100; of each so many of its first bytes, by default all. As of a slot from
   * `minSlot` on: a node that is behind it is passed over.
   */
  accounts(
    addresses: readonly string[],
    options?: { readonly firstBytes?: number; readonly minSlot?: number | undefined },
  ): Promise<readonly (SolanaAccount | undefined)[]>
  lifetime(): Promise<BlockhashLifetime>
  /** Look-up tables of this installation that can be used; one that is gone or deactivated is missing. */
  lookupTables(): Promise<LookupTables>
  /** Runs an unsigned transaction. Throws `Fault` DEX_SWAP_SIMULATED_FAILED with the end of its log where it fails. */
  run(transaction: string): Promise<SolanaRun>
  /** The same, and what these accounts are afterwards, in their order. */
  runFor(
    transaction: string,
    addresses: readonly string[],
  ): Promise<readonly (SolanaAccount | undefined)[]>
}

/** Accounts and blocks that most of the stake has voted for. */
const COMMITMENT = 'confirmed'
/** Lines of a failed run that an answer shows, and their length. */
const [MAX_LOG_LINES, MAX_LINE_LENGTH] = [8, 200]

/** Most units of computation of a transaction. Source: MAX_COMPUTE_UNIT_LIMIT of the Solana SDK. */
export const MAX_COMPUTE_UNITS = 1_400_000
const KEY_BYTES = 32
/** Largest answer, bytes: accounts of pools and tokens take a few thousand each, the log of a run ten thousand. */
const MAX_ANSWER_BYTES = 262_144
const MAX_LAMPORTS = (1n << 64n) - 1n

const invalid = (method: string): InvalidInput =>
  new InvalidInput('bad-answer', `the node's answer to ${method} has an unexpected format`)

const answerValue = (answer: unknown, method: string): unknown => {
  if (!isJsonObject(answer) || answer.value === undefined) throw invalid(method)
  return answer.value
}

/** Throws `InvalidInput` for an answer of an earlier slot, or one that names none: another node may have a newer one. */
const requireSlot = (answer: unknown, method: string, minSlot: number): void => {
  const context = isJsonObject(answer) ? answer.context : undefined
  const slot = isJsonObject(context) ? context.slot : undefined
  if (!Number.isSafeInteger(slot)) throw invalid(method)
  if (Number(slot) >= minSlot) return
  throw new InvalidInput(
    'behind',
    `the node answers ${method} as of slot ${slot}, before ${minSlot}`,
  )
}

/** Asks one node after the other; what a caller named decides the size of an answer, and not the node. */
const askWithin = async <T>(
  rpc: Pick<RpcPool, 'attempt'>,
  work: (call: CallEndpoint) => Promise<T | Fault>,
): Promise<T> => {
  const { read } = await askNodes(rpc, async (call) => {
    try {
      return { read: await work((asked) => call({ ...asked, maxBytes: MAX_ANSWER_BYTES })) }
    } catch (error) {
      if (!(error instanceof OversizedAnswer)) throw error
      const details = { reason: 'an account is too large for a wallet, a token or a pool' }
      return { read: new Fault('DEX_ROUTE_BUILD_FAILED', undefined, details) }
    }
  })
  if (read instanceof Fault) throw read
  return read
}

/**
 * Reads over a chain's nodes; `tables` are addresses of look-up tables for transactions that are too large without.
 */
export const createSolanaReader = (
  rpc: Pick<RpcPool, 'attempt'>,
  tables: readonly string[] = [],
): SolanaReader => {
  const request = <T>(
    method: string,
    params: readonly unknown[],
    read: (answer: unknown) => T,
  ): Promise<T> => askWithin(rpc, async (call) => read(await call({ method, params })))
  const accounts: SolanaReader['accounts'] = (addresses, { firstBytes, minSlot } = {}) => {
    const method = 'getMultipleAccounts'
    const dataSlice = firstBytes !== undefined && { dataSlice: { offset: 0, length: firstBytes } }
    const options = { encoding: 'base64', commitment: COMMITMENT, ...dataSlice }
    return request(method, [addresses, options], (answer) => {
      if (minSlot !== undefined) requireSlot(answer, method, minSlot)
      return readAccounts(answerValue(answer, method), addresses.length)
    })
  }
  const simulate = <T>(
    transaction: string,
    more: object,
    read: (answer: unknown) => T | Fault,
  ): Promise<T> => {
    const options = { encoding: 'base64', commitment: COMMITMENT, sigVerify: false, ...more }
    const params = [transaction, { ...options, replaceRecentBlockhash: true }]
    return askWithin(rpc, async (call) => {
      try {
        return read(await call({ method: 'simulateTransaction', params }))
      } catch (error) {
        // The transaction is to blame and not the node, which would be rested otherwise.
        if (isTransactionError('svm', 'run', error)) return failedRun([nodeReason(error.message)])
        throw error
      }
    })
  }
  return {
    accounts,
    lookupTables: async () => {
      if (tables.length === 0) return {}
      const read = await accounts(tables)
      return Object.fromEntries(
        tables.flatMap((table, index) => {
          const held = addressesOfTable(read[index])
          return held.length === 0 ? [] : [[table, held] as const]
        }),
      )
    },
    lifetime: () => request('getLatestBlockhash', [{ commitment: COMMITMENT }], readLifetime),
    run: (transaction) => simulate(transaction, {}, readRun),
    runFor: (transaction, addresses) => {
      const asked = { accounts: { encoding: 'base64', addresses } }
      return simulate(transaction, asked, (answer) => {
        const run = readRun(answer)
        if (run instanceof Fault) return run
        const { accounts: after } = Object(answerValue(answer, 'simulateTransaction'))
        return readAccounts(after, addresses.length)
      })
    },
  }
}

/** 32 bytes in base 58: an address, a hash of a block. */
const isKey = (value: unknown): value is string =>
  typeof value === 'string' && base58Decode(value)?.length === KEY_BYTES

const isCount = (value: unknown, most: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most

const readLamports = (value: unknown): bigint | undefined => {
  const isWhole = typeof value === 'bigint' || Number.isInteger(value)
  const lamports = isWhole ? BigInt(value as number | bigint) : -1n
  return lamports >= 0n && lamports <= MAX_LAMPORTS ? lamports : undefined
}

const readAccounts = (value: unknown, count: number): readonly (SolanaAccount | undefined)[] => {
  if (!Array.isArray(value) || value.length !== count) throw invalid('getMultipleAccounts')
  return value.map((account) => (account === null ? undefined : readAccount(account)))
}

const readAccount = (account: unknown): SolanaAccount => {
  const { owner, lamports: given, data } = isJsonObject(account) ? account : {}
  const text = Array.isArray(data) ? data[0] : undefined
  const lamports = readLamports(given)
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined
  const isWhole = bytes !== undefined && bytes.toString('base64') === text
  if (!isKey(owner) || lamports === undefined || !isWhole) throw invalid('getMultipleAccounts')
  return { owner, lamports, data: bytes }
}

const readLifetime = (answer: unknown): BlockhashLifetime => {
  const value = answerValue(answer, 'getLatestBlockhash')
  const { blockhash, lastValidBlockHeight } = isJsonObject(value) ? value : {}
  if (!isKey(blockhash) || !isCount(lastValidBlockHeight, Number.MAX_SAFE_INTEGER)) {
    throw invalid('getLatestBlockhash')
  }
  return { blockhash, lastValidBlockHeight }
}

const readRun = (answer: unknown): SolanaRun | Fault => {
  const value = answerValue(answer, 'simulateTransaction')
  const { err, logs, unitsConsumed } = isJsonObject(value) ? value : {}
  if (err === undefined) throw invalid('simulateTransaction')
  if (err === null) {
    const units = unitsConsumed ?? null
    if (units !== null && !isCount(units, MAX_COMPUTE_UNITS)) throw invalid('simulateTransaction')
    return { unitsConsumed: units }
  }
  const lines = Array.isArray(logs) ? logs.filter((line) => typeof line === 'string') : []
  return failedRun([...lines.slice(-MAX_LOG_LINES), JSON.stringify(err)])
}

const failedRun = (lines: readonly string[]): Fault =>
  new Fault('DEX_SWAP_SIMULATED_FAILED', undefined, {
    logs: lines.map((line) => line.slice(0, MAX_LINE_LENGTH)),
  })
