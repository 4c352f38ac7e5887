import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { SvmInstruction } from '../../../schemas/events.ts'
import { fieldOffsets, matchDiscriminator, readStrings } from '../layout/borsh-layout.ts'
import { balanceAfter, mintedRawBelow } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  emittedAlso,
  eventU64,
  type InstructionReader,
  type ProgramEvent,
  readByInstruction,
  readCpiEvents,
  type SvmFamily,
} from './types.ts'
import { addVaultSwap, type VaultSwap } from './vault-swap.ts'

/** Where every form of a trade names its accounts. */
const TRADE = {
  curve: 2,
  userIn: 3,
  userOut: 4,
  baseVault: 5,
  quoteVault: 6,
  base: 7,
  quote: 8,
  user: 9,
} as const

const isTrade = matchDiscriminator<true>({
  f8c69e91e17587c8: true, // swap
  '414b3f4ceb5b5b88': true, // swap2
  b75d992818e6c297: true, // swap2_with_transfer_hook
})

/** The first layout; direction 0 sells, 1 buys. */
const SWAP_EVENT = fieldOffsets({
  curve: 'key',
  config: 'key',
  direction: 'u8',
  hasReferral: 'bool',
  paramIn: 'u64',
  minimumOut: 'u64',
  actualIn: 'u64',
  amountOut: 'u64',
  nextSqrtPrice: 'u128',
  tradingFee: 'u64',
  protocolFee: 'u64',
  referralFee: 'u64',
  amountIn: 'u64',
})

/** Told behind the first one for the same trade. */
const SWAP_2_EVENT = fieldOffsets({
  curve: 'key',
  config: 'key',
  direction: 'u8',
  hasReferral: 'bool',
  param0: 'u64',
  param1: 'u64',
  swapMode: 'u8',
  amountIn: 'u64',
  excludedFeeIn: 'u64',
  amountLeft: 'u64',
  amountOut: 'u64',
  nextSqrtPrice: 'u128',
  tradingFee: 'u64',
  protocolFee: 'u64',
  referralFee: 'u64',
  quoteReserve: 'u64',
  migrationThreshold: 'u64',
})

const SWAP_2_DISCRIMINATOR = 'bd4233a826507599'

const readTrade = (
  scope: SvmTxContext,
  event: ProgramEvent,
  layout: Readonly<Record<'amountIn' | 'amountOut', number>>,
): DropReason | undefined => {
  const { accounts, data } = event.caller
  if (isTrade(data, 0) === undefined) return 'unknown-instruction'
  if (accounts.length <= TRADE.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  return addVaultSwap(scope, event, {
    pool: named(TRADE.curve),
    trader: named(TRADE.user),
    tokens: [named(TRADE.base), named(TRADE.quote)],
    vaults: [named(TRADE.baseVault), named(TRADE.quoteVault)],
    firstTokenIn: event.view.getUint8(EVENT_FIELDS_OFFSET + SWAP_EVENT.direction) === 0,
    userIn: named(TRADE.userIn),
    userOut: named(TRADE.userOut),
    reportedRaw: [eventU64(event, layout.amountIn), eventU64(event, layout.amountOut)],
    ...(layout === SWAP_2_EVENT && curveStateOf(scope, event)),
  })
}

/** The quote that counts towards the migration is told without the fees that lie beside it in the vault. */
const curveStateOf = (
  scope: SvmTxContext,
  event: ProgramEvent,
): Pick<VaultSwap, 'reserves' | 'more'> => {
  const { callerIndex, caller } = event
  const baseRaw = balanceAfter(scope, callerIndex, caller.accounts[TRADE.baseVault] ?? '')
  const realQuoteRaw = eventU64(event, SWAP_2_EVENT.quoteReserve)
  const goalRaw = eventU64(event, SWAP_2_EVENT.migrationThreshold)
  const realTokenRaw = baseRaw ?? null
  return {
    reserves: baseRaw === undefined ? undefined : [baseRaw, realQuoteRaw],
    more: {
      curve: { virtualQuoteRaw: null, virtualTokenRaw: null, realQuoteRaw, realTokenRaw },
      ...(goalRaw > 0n && { curveProgress: Math.min(1, Number(realQuoteRaw) / Number(goalRaw)) }),
    },
  }
}

const readSwapEvent: EventType['read'] = (scope, event) =>
  emittedAlso(scope, event, SWAP_2_DISCRIMINATOR) ? undefined : readTrade(scope, event, SWAP_EVENT)
const readSwap2Event: EventType['read'] = (scope, event) => readTrade(scope, event, SWAP_2_EVENT)

/** Where every form of an opening names its accounts. */
const INITIALIZE_ACCOUNTS = { creator: 2, base: 3, quote: 4, curve: 5 } as const

const isInitializePool = matchDiscriminator<true>({
  '8c55d7b06636684f': true, // initialize_virtual_pool_with_spl_token
  a2d0681ceb203b31: true, // initialize_virtual_pool_with_spl_token2
  a976334e916edc9b: true, // initialize_virtual_pool_with_token2022
  b40c1c96a766a29d: true, // initialize_virtual_pool_with_token2022_2
  b60de9b12a918702: true, // initialize_virtual_pool_with_token2022_transfer_hook
  e2af7f0d26833af3: true, // initialize_virtual_pool_with_token2022_transfer_hook2
})

const INITIALIZE_POOL_EVENT = fieldOffsets({
  curve: 'key',
  config: 'key',
  creator: 'key',
  base: 'key',
  type: 'u8',
  activationPoint: 'u64',
})

/** Name, symbol and address of the metadata are the instruction's own arguments. */
const readMetadataStrings = ({ data }: SvmInstruction & { readonly data: Uint8Array }) =>
  readStrings(data, 8, 3)

const readInitializePool: EventType['read'] = (scope, event) => {
  const { caller, callerIndex, row } = event
  if (isInitializePool(caller.data, 0) === undefined) return 'unknown-instruction'
  const { accounts } = caller
  const creator = accounts[INITIALIZE_ACCOUNTS.creator]
  const mint = accounts[INITIALIZE_ACCOUNTS.base]
  const quote = accounts[INITIALIZE_ACCOUNTS.quote]
  const pool = accounts[INITIALIZE_ACCOUNTS.curve]
  if (!creator || !mint || !quote || !pool) return 'missing-account'
  const reported = readMetadataStrings(caller)
  if (reported === undefined) return 'truncated-data'
  const [name = '', symbol = '', uri = ''] = reported.texts
  const made = scope.newMints.mints.get(mint)
  const suppliedRaw = mintedRawBelow(scope, callerIndex, mint)
  const txIndex = scope.tx.index
  const path = instructionPath(caller)
  scope.newMints.launchpadMints.add(mint)
  registerPool(scope, event, { address: pool, tokenA: mint, tokenB: quote })
  scope.out.tokenCreations.push({
    kind: 'token-created',
    txIndex,
    logIndex: callerIndex,
    path,
    metadata: {
      address: mint,
      decimals: made?.decimals ?? null,
      name,
      symbol,
      totalSupplyRaw: suppliedRaw,
      uri,
      ...(made && { program: made.program }),
      ...(made?.mintAuthority && { mintAuthority: made.mintAuthority }),
      ...(made?.freezeAuthority && { freezeAuthority: made.freezeAuthority }),
    },
    dev: creator,
    creators: [creator],
    launch: { protocol: row.id, pool },
  })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex,
    logIndex: callerIndex,
    path,
    pool,
    protocol: row.id,
    owner: creator,
    tokenA: mint,
    tokenB: quote,
    amountARaw: suppliedRaw,
    amountBRaw: 0n,
    reserves: [suppliedRaw, 0n],
  })
  return undefined
}

/** No event tells a migration: its instruction names the curve, the new pool and the token. */
const readMigration =
  (to: string, tokenAt: number): InstructionReader =>
  ({ scope, row, instruction, at }) => {
    const [curve, , , , pool] = instruction.accounts
    const token = instruction.accounts[tokenAt]
    if (curve === undefined || pool === undefined || token === undefined) return 'missing-account'
    scope.out.migrations.push({
      kind: 'migration',
      txIndex: scope.tx.index,
      logIndex: at,
      path: instructionPath(instruction),
      token,
      from: { protocol: row.id, pool: curve },
      to: { protocol: to, pool },
    })
    return undefined
  }

const readEvents = readCpiEvents({
  '1b3c15d58aaabb93': { bytes: SWAP_EVENT.end, read: readSwapEvent }, // EvtSwap
  [SWAP_2_DISCRIMINATOR]: { bytes: SWAP_2_EVENT.end, read: readSwap2Event }, // EvtSwap2
  '863ba8785e3372e7': { bytes: SWAP_2_EVENT.end, read: readSwap2Event }, // EvtSwap2WithTransferHook
  e432f655cb428625: { bytes: INITIALIZE_POOL_EVENT.end, read: readInitializePool }, // EvtInitializePool
  d589a435c14a0f6e: { bytes: INITIALIZE_POOL_EVENT.end, read: readInitializePool }, // EvtInitializePoolWithTransferHook
})

const readInstructions = readByInstruction({
  '1b013016b43f76d9': readMigration('meteora_damm_v1', 7), // migrate_meteora_damm
  '9ca9e66735e45040': readMigration('meteora_damm_v2', 13), // migration_damm_v2
})

/**
 * Meteora's launch curves, on which many launchpads stand. Source: MeteoraAg/dynamic-bonding-curve
 * programs/dynamic-bonding-curve/src/event.
 */
export const meteoraDbc: SvmFamily = {
  family: 'meteora_dbc',
  reader: (row, program) => {
    const readReported = readEvents(row, program)
    const readRan = readInstructions(row, program)
    return (scope, instruction, at) =>
      readReported(scope, instruction, at) ?? readRan(scope, instruction, at)
  },
}
