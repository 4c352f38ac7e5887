/** Hand-made block operations of births, pools, trades and balances, as stages get them and as the bus carries them. */
import fc from 'fast-check'
import type {
  Operation,
  OperationRecord,
  StageTopic,
  TopicValue,
} from '../../../processors/runtime/stage.ts'
import type {
  BalanceEvent,
  DexPoolEvent,
  EventMeta,
  Instruction,
  TokenEvent,
  TradeEvent,
  Transaction,
} from '../../../schemas/wire.ts'
import {
  buildTape,
  type ChainStep,
  type TapeBlock,
  type TapeOp,
  tapeBlockEvent,
  tapeMeta,
} from './trade-tape.ts'

/** What happens in a block, in this order. `tx` counts transactions of the block. */
export type WalletAction =
  | {
      readonly kind: 'birth'
      readonly tx: number
      readonly token: string
      readonly dev: string
      readonly creators: readonly string[]
      readonly curve: string
    }
  | { readonly kind: 'pool'; readonly tx: number; readonly token: string; readonly pool: string }
  | {
      readonly kind: 'trade'
      readonly tx: number
      readonly token: string
      readonly wallet: string
      readonly buy: boolean
      readonly failed: boolean
      /** Base units of the token and of a dollar coin, six places both. */
      readonly baseRaw: bigint
      readonly quoteRaw: bigint
    }
  | {
      readonly kind: 'balance'
      readonly tx: number
      readonly token: string
      readonly owner: string
      readonly account: string
      readonly postRaw: bigint
    }

/** A block with what happened in it. */
export interface WalletBlock extends TapeBlock {
  readonly acts: readonly WalletAction[]
}

/** One operation with its block's acts. */
export interface WalletOp extends Omit<TapeOp, 'block'> {
  readonly block: WalletBlock
}

/** Moves whose blocks hold acts. */
export type WalletStep =
  | { readonly kind: 'apply'; readonly stepMs: number; readonly acts: readonly WalletAction[] }
  | Exclude<ChainStep, { readonly kind: 'apply' }>

/** A history of a chain, and where it stands at the end. */
export interface WalletTape {
  readonly ops: readonly WalletOp[]
  readonly blocks: readonly WalletBlock[]
  readonly finalHeight: number
}

/** Plays moves; blocks are told apart by the hash that the tape gives them. */
export const buildWalletTape = (moves: readonly WalletStep[], startMs?: number): WalletTape => {
  const applied = moves.filter((move) => move.kind === 'apply')
  const tape = buildTape(
    moves.map((move): ChainStep => (move.kind === 'apply' ? { ...move, trades: [] } : move)),
    startMs,
  )
  const known = new Map<string, WalletBlock>()
  const withActs = (block: TapeBlock): WalletBlock => {
    const found = known.get(block.hash)
    if (found !== undefined) return found
    const acts = applied[Number(block.hash.slice(3)) - 1]?.acts ?? []
    const made = { ...block, acts }
    known.set(block.hash, made)
    return made
  }
  return {
    ops: tape.ops.map((op) => ({ ...op, block: withActs(op.block) })),
    blocks: tape.blocks.map(withActs),
    finalHeight: tape.finalHeight,
  }
}

/** Signature of a transaction of a block. */
export const transactionSignature = (block: TapeBlock, tx: number): string => `${block.hash}/${tx}`

interface EventPosition {
  readonly instruction: Instruction
  readonly block: null
  readonly transaction: Transaction
  readonly d_app: null
}

const eventPosition = (block: TapeBlock, act: WalletAction, index: number): EventPosition => ({
  instruction: {
    index: 0,
    is_inner_instruction: false,
    inner_instruction_index: 0,
    type: 'made_up',
    event_index: index,
    log_index: index,
  },
  block: null,
  transaction: {
    fee: '5',
    fee_payer: '0xpayer',
    signer: '0xpayer',
    index: act.tx,
    bundles: [],
    signature: transactionSignature(block, act.tx),
    status: act.kind === 'trade' && act.failed ? 'STATUS_FAILED' : 'STATUS_SUCCESS',
  },
  d_app: null,
})

type ActionOf<Kind extends WalletAction['kind']> = Extract<WalletAction, { readonly kind: Kind }>

const tokenEvent = (at: EventPosition, act: ActionOf<'birth'>): TokenEvent => ({
  ...at,
  type: 'EVENT_TYPE_CREATED',
  token: {
    address: act.token,
    name: '',
    symbol: '',
    decimals: 6,
    uri: '',
    metadata_address: '',
    creators: act.creators.map((address) => ({ address, verified: true, share: 0 })),
    additional_metadata: {},
    solana_extra: null,
    evm_extra: null,
  },
  token_processed: null,
  launch_from: {
    program_address: '',
    protocol_family: '',
    protocol_name: '',
    pool_address: act.curve,
  },
  migrated_to: null,
  created_at: 0,
  created_slot: 0,
  created_tx: at.transaction.signature,
  dev: act.dev,
  migrated_at: 0,
})

const poolEvent = (at: EventPosition, act: ActionOf<'pool'>): DexPoolEvent => ({
  ...at,
  quote_price_in_usd: '',
  quote_price_in_native: '',
  type: 'DEX_POOL_EVENT_TYPE_INITIALIZE',
  pool: {
    address: act.pool,
    token_a_vault_address: `${act.pool}.a`,
    token_a_vault_owner_address: `${act.pool}.owner`,
    token_a_address: act.token,
    token_a_amount: '',
    token_a_decimals: 6,
    token_a_vault_pre_amount: '',
    token_a_vault_post_amount: '',
    token_b_vault_address: '',
    token_b_vault_owner_address: '',
    token_b_address: '0xusdc',
    token_b_amount: '',
    token_b_vault_pre_amount: '',
    token_b_vault_post_amount: '',
    token_b_decimals: 6,
    lp_wallet: '',
  },
  pool_processed: null,
  bonding_curve: null,
  concentrated: null,
  pricing: null,
  bins: null,
})

const tradeEvent = (at: EventPosition, act: ActionOf<'trade'>): TradeEvent => ({
  ...at,
  quote_price_in_usd: '1',
  quote_price_in_native: '',
  trade: {
    token_a_address: act.token,
    token_b_address: '0xusdc',
    user_a_token_account_address: '',
    user_a_account_owner_address: act.wallet,
    user_b_token_account_address: '',
    user_b_account_owner_address: act.wallet,
    user_a_amount: String(act.baseRaw),
    user_b_amount: String(act.quoteRaw),
    user_a_pre_amount: '',
    user_a_post_amount: '',
    user_b_pre_amount: '',
    user_b_post_amount: '',
    was_original_direction: !act.buy,
    token_a_decimals: 6,
    token_b_decimals: 6,
    pool_address: '0xp',
    vault_a: '',
    vault_b: '',
    vault_a_owner_address: '',
    vault_b_owner_address: '',
    vault_a_amount: '',
    vault_b_amount: '',
    vault_a_pre_amount: '',
    vault_b_pre_amount: '',
    vault_a_post_amount: '',
    vault_b_post_amount: '',
    pool_config_address: '',
  },
  bonding_curve: null,
  trade_processed: null,
})

const balanceEvent = (
  at: EventPosition,
  act: ActionOf<'balance'>,
  preRaw: bigint,
): BalanceEvent => ({
  ...at,
  balance: {
    token_account_address: act.account,
    account_owner_address: act.owner,
    token_address: act.token,
    pre_amount: String(preRaw),
    post_amount: String(act.postRaw),
    decimals: 6,
    lifecycle: 'ACCOUNT_LIFECYCLE_EXISTING',
  },
  balance_processed: null,
})

/** Tokens that are older than the run: every account holds this much before its first change. */
export const PREEXISTING_TOKEN = '0xold'
export const PREEXISTING_BALANCE_RAW = 1_000n

/** What an account of a token holds before its first change. */
export const initialBalanceRaw = (token: string): bigint =>
  token === PREEXISTING_TOKEN ? PREEXISTING_BALANCE_RAW : 0n

type WalletTapeTopic = 'tokens' | 'pools' | 'trades' | 'balances' | 'holderDeltas'

/** Events of one topic that travel under one key. */
export interface KeyedEvents<Topic extends StageTopic = WalletTapeTopic> {
  readonly topic: Topic
  readonly key: string
  readonly events: TopicValue<Topic>['events']
}

const groupByKey = (
  topic: WalletTapeTopic,
  items: readonly (readonly [key: string, event: { readonly instruction: unknown }])[],
): readonly KeyedEvents[] => {
  const groups = new Map<string, unknown[]>()
  for (const [key, event] of items) groups.set(key, [...(groups.get(key) ?? []), event])
  return [...groups].map(([key, events]) => ({ topic, key, events: events as never }))
}

/** Records of every operation, in order: balances carry what the branch at hand held before. */
export const walletTapeRecords = ({ ops }: WalletTape): readonly (readonly KeyedEvents[])[] => {
  const held = new Map<string, bigint>()
  const pres = new Map<string, readonly bigint[]>()
  const keyOf = ({ token, account }: ActionOf<'balance'>): string => `${token}|${account}`
  return ops.map(({ op, block }) => {
    if (op === 'finalize') return []
    const of = <Kind extends WalletAction['kind']>(kind: Kind): readonly ActionOf<Kind>[] =>
      block.acts.filter((act): act is ActionOf<Kind> => act.kind === kind)
    const balances = of('balance')
    if (op === 'apply') {
      const before = balances.map((act) => {
        const pre = held.get(keyOf(act)) ?? initialBalanceRaw(act.token)
        held.set(keyOf(act), act.postRaw)
        return pre
      })
      pres.set(block.hash, before)
    } else {
      const before = pres.get(block.hash) ?? []
      for (const [index, act] of [...balances.entries()].toReversed()) {
        held.set(keyOf(act), before[index] ?? 0n)
      }
    }
    const before = pres.get(block.hash) ?? []
    const turned = <Item>(items: readonly Item[]): readonly Item[] =>
      op === 'revert' ? items.toReversed() : items
    const events = balances.map((act, index) =>
      balanceEvent(eventPosition(block, act, index), act, before[index] ?? 0n),
    )
    const byKey = (key: 'token' | 'owner') =>
      balances.map((act, index) => [act[key], events[index] ?? { instruction: null }] as const)
    return [
      ...groupByKey(
        'tokens',
        turned(
          of('birth').map((a, i) => [a.token, tokenEvent(eventPosition(block, a, i), a)] as const),
        ),
      ),
      ...groupByKey(
        'pools',
        turned(
          of('pool').map((a, i) => [a.token, poolEvent(eventPosition(block, a, i), a)] as const),
        ),
      ),
      ...groupByKey(
        'trades',
        turned(
          of('trade').map((a, i) => [a.token, tradeEvent(eventPosition(block, a, i), a)] as const),
        ),
      ),
      ...groupByKey('balances', turned(byKey('owner'))),
      ...groupByKey('holderDeltas', turned(byKey('token'))),
    ]
  })
}

/** Operations as a stage with these inputs gets them. */
export const walletTapeOperations = (
  tape: WalletTape,
  inputs: readonly StageTopic[],
): readonly Operation[] => {
  const records = walletTapeRecords(tape)
  return tape.ops.map((op, at) => {
    const own = (records[at] ?? []).filter(({ topic }) => inputs.includes(topic))
    const metaAt = (part: number): EventMeta => tapeMeta(op, part, own.length)
    return {
      block: tapeBlockEvent(op),
      records: own.map(
        ({ topic, key, events }, part) =>
          ({ topic, key, part, value: { meta: metaAt(part), events } }) as OperationRecord,
      ),
    }
  })
}

/** Owners are their own accounts of this one, as on EVM chains; of the others they have several. */
const OWN_ACCOUNT_TOKEN = '0xt2'
const TOKENS = ['0xt1', OWN_ACCOUNT_TOKEN, PREEXISTING_TOKEN] as const
const OWNERS = ['0xo1', '0xo2', '0xo3', '0xo4', '0xp1.owner', '0xcurve'] as const
const BURNED = '0x000000000000000000000000000000000000dead'
const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

const tokenArbitrary = fc.constantFrom(...TOKENS)
const createdTokenArbitrary = fc.constantFrom('0xt1', OWN_ACCOUNT_TOKEN)
const ownerArbitrary = fc.constantFrom(...OWNERS, BURNED, ZERO_ADDRESS)
const transactionIndexArbitrary = fc.nat({ max: 2 })
const walletActionArbitrary: fc.Arbitrary<WalletAction> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('birth' as const),
      tx: transactionIndexArbitrary,
      token: createdTokenArbitrary,
      dev: fc.constantFrom('0xo1', '0xo2', ''),
      creators: fc.subarray(['0xo1', '0xo3']),
      curve: fc.constantFrom('0xcurve', ''),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('pool' as const),
      tx: transactionIndexArbitrary,
      token: createdTokenArbitrary,
      pool: fc.constantFrom('0xp1', '0xo4'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('trade' as const),
      tx: transactionIndexArbitrary,
      token: createdTokenArbitrary,
      wallet: fc.constantFrom(...OWNERS),
      buy: fc.boolean(),
      failed: fc.constantFrom(false, false, true),
      baseRaw: fc.bigInt(1n, 100n),
      quoteRaw: fc.bigInt(0n, 10n ** 9n),
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        tx: transactionIndexArbitrary,
        token: tokenArbitrary,
        owner: ownerArbitrary,
        account: fc.nat({ max: 2 }),
        postRaw: fc.bigInt(0n, 9n),
      })
      .map(({ account, ...act }) => ({
        ...act,
        kind: 'balance' as const,
        account: act.token === OWN_ACCOUNT_TOKEN ? act.owner : `${act.owner}.${account || 'a'}`,
      })),
  },
)

const STEPS = [0, 1_000, 12_000, 1_800_000, 3_600_000] as const

/** Any history of a chain of acts. */
export const walletStepsArbitrary: fc.Arbitrary<readonly WalletStep[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('apply' as const),
        stepMs: fc.constantFrom(...STEPS),
        acts: fc.array(walletActionArbitrary, { maxLength: 6 }),
      }),
    },
    { weight: 3, arbitrary: fc.constant({ kind: 'revert' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('finalize' as const),
        keep: fc.nat({ max: 4 }),
      }),
    },
  ),
  { maxLength: 40 },
)
