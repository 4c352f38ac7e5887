import type { Logger } from '../../../core/ops/logger.ts'
import type { CallEndpoint, RpcPool } from '../../../core/rpc/pool.ts'
import type { NativeBalanceChange } from '../../../schemas/block-parts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, orElse } from '../../input/json.ts'
import { addressAt, quantityOf } from '../abi/json.ts'
import { type BlockTransactions, eachTraced } from './traced-block.ts'
import { tracer, type Way } from './tracer.ts'

/** Most accounts of one block whose coin changed: more than a block has room to touch. */
const MAX_ACCOUNTS = 100_000

/** What the transactions of a block made of an account's native token. */
interface Touched {
  /** Before the first transaction that changed it. */
  readonly preRaw: bigint
  /** After the last one; null: the account was destroyed, and what it holds now is for its state to say. */
  readonly postRaw: bigint | null
  /** The last one. */
  readonly txIndex: number
}

/**
 * Reads what accounts hold of the native token after a block, of all whose holding changed in it, from the first endpoint that has the
 * `prestateTracer`; undefined where none has. Throws as `tracer`.
 */
export const nativeBalanceReader = (
  rpc: RpcPool,
  log: Logger,
): ((block: EvmBlock) => Promise<readonly NativeBalanceChange[] | undefined>) => {
  const read = tracer({ rpc, log, ways: [DIFFS], what: 'balances of the native token' })
  return async (block) => {
    const isIdle = block.transactions.length === 0 && paidAccounts(block).length === 0
    return isIdle ? [] : read(block)
  }
}

const DIFFS: Way<readonly NativeBalanceChange[]> = {
  call: ({ hash }) => ({
    method: 'debug_traceBlockByHash',
    params: [hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }],
  }),
  read: async (block, answer, { ask }) =>
    withBalances(block, nativeBalanceDiffs(block, answer), ask),
}

/**
 * A `debug_traceBlockByHash` answer of the `prestateTracer` in `diffMode`: by account, what all transactions together made of
 * its coin. `post` holds balances that changed; who stands in `pre` only was destroyed. Fees, tips and what rollups take for L1
 * are in it. Source: go-ethereum eth/tracers/native/prestate.go. Throws `InvalidInput` as `eachTraced`, and `too-big`.
 */
export const nativeBalanceDiffs = (
  block: BlockTransactions,
  answer: unknown,
): ReadonlyMap<string, Touched> => {
  const touched = new Map<string, Touched>()
  eachTraced(block, answer, (tx, result) => {
    const pre = accountsOf(result.pre, 'trace.pre')
    const post = accountsOf(result.post, 'trace.post')
    for (const account of new Set([...pre.keys(), ...post.keys()])) {
      const postRaw = post.has(account) ? balanceOf(post.get(account)) : null
      const before = balanceOf(pre.get(account)) ?? 0n
      if (postRaw === undefined || (postRaw === null && before === 0n)) continue
      const held = touched.get(account)
      touched.set(account, { preRaw: held?.preRaw ?? before, postRaw, txIndex: tx.index })
      if (touched.size > MAX_ACCOUNTS) throw invalid('too-big', 'traces', touched.size)
    }
  })
  return touched
}

const accountsOf = (value: unknown, at: string): ReadonlyMap<string, Fields> =>
  new Map(
    Object.entries(fieldsOf(value, at)).map(([account, raw]) => [
      addressAt(account, at),
      fieldsOf(raw, `${at}[]`),
    ]),
  )

/** undefined: it did not change. */
const balanceOf = (raw: Fields | undefined): bigint | undefined =>
  orElse(raw?.balance, 'trace.balance', { read: quantityOf, fallback: undefined })

/**
 * Accounts that the block itself pays, behind its transactions: those of withdrawals, and where there is work or a turn to be paid for
 * (difficulty above 0) the maker.
 */
const paidAccounts = ({
  withdrawals = [],
  difficultyRaw,
  coinbase,
}: EvmBlock): readonly string[] => [
  ...new Set([...withdrawals.map(({ to }) => to), ...(difficultyRaw > 0n ? [coinbase] : [])]),
]

/**
 * Changes of a block in the order of the transactions that ended them, accounts of one by name. What transactions do not tell is
 * asked of the state after the block, and where they did not touch the account, of the state before it.
 */
const withBalances = async (
  block: EvmBlock,
  touched: ReadonlyMap<string, Touched>,
  ask: CallEndpoint,
): Promise<readonly NativeBalanceChange[]> => {
  const behind = block.transactions.length
  const paid = new Set(paidAccounts(block))
  const reported = [...touched].flatMap(([account, { preRaw, postRaw, txIndex }]) =>
    postRaw === null || paid.has(account) ? [] : [{ account, txIndex, preRaw, postRaw }],
  )
  const destroyed = [...touched].flatMap(([account, { postRaw }]) =>
    postRaw === null && !paid.has(account) ? [account] : [],
  )
  const requested = [...paid, ...destroyed].map(async (account) => {
    const held = touched.get(account)
    const txIndex = paid.has(account) ? behind : (held?.txIndex ?? behind)
    const [preRaw, postRaw] = await Promise.all([
      held?.preRaw ?? balanceAt(ask, account, block.parentHash),
      balanceAt(ask, account, block.hash),
    ])
    return { account, txIndex, preRaw, postRaw }
  })
  return [...reported, ...(await Promise.all(requested))]
    .filter(({ preRaw, postRaw }) => preRaw !== postRaw)
    .sort((a, b) => a.txIndex - b.txIndex || (a.account < b.account ? -1 : 1))
}

const balanceAt = async (ask: CallEndpoint, account: string, blockHash: string): Promise<bigint> =>
  quantityOf(await ask({ method: 'eth_getBalance', params: [account, { blockHash }] }), 'balance')
