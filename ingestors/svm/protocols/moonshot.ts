import type { DropReason } from '../../../schemas/drop-reasons.ts'
import {
  dataViewOf,
  fieldOffsets,
  isDefaultPubkey,
  readPubkey,
  readStrings,
  u64,
} from '../layout/borsh-layout.ts'
import { balanceAfter, innerTransfers, lamportsSentBelow, mintedRawBelow } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext, WRAPPED_SOL } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  type InstructionReader,
  type ListedInstruction,
  readLogEvents,
  type SvmFamily,
} from './types.ts'

/** First eight bytes of the two trades. */
const BUY_DISCRIMINATOR = '66063d1201daebea'
const SELL_DISCRIMINATOR = '33e685a4017f83ad'

/** Where both name their accounts; the native token lies in the user and in the curve themselves. */
const TRADE = { user: 0, userTokens: 1, curve: 2, vault: 3, mint: 6 } as const

/** The collateral is what the curve got or gave; of a sale the fees are taken from it. */
const TRADE_EVENT = fieldOffsets({
  tokens: 'u64',
  collateral: 'u64',
  dexFee: 'u64',
  helioFee: 'u64',
  allocation: 'u64',
  curve: 'key',
  costToken: 'key',
})

interface Trade {
  readonly buys: boolean
  readonly quote: string
  readonly tokensRaw: bigint
  readonly quoteRaw: bigint
}

const addTrade = (
  scope: SvmTxContext,
  ran: ListedInstruction,
  trade: Trade,
): DropReason | undefined => {
  const { row, program, instruction, at } = ran
  const { buys, quote, tokensRaw, quoteRaw } = trade
  const { accounts } = instruction
  if (accounts.length <= TRADE.mint) return 'missing-account'
  if (tokensRaw === 0n && quoteRaw === 0n) return 'zero-amount'
  const named = (index: number): string => accounts[index] ?? ''
  const [mint, pool, user] = [named(TRADE.mint), named(TRADE.curve), named(TRADE.user)]
  const [userTokens, vault] = [named(TRADE.userTokens), named(TRADE.vault)]
  const reserves = reservesAfter(scope, ran)
  registerPool(scope, { row, program }, { address: pool, tokenA: mint, tokenB: quote })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    pool,
    protocol: row.id,
    trader: user,
    tokenIn: buys ? quote : mint,
    tokenOut: buys ? mint : quote,
    amountInRaw: buys ? quoteRaw : tokensRaw,
    amountOutRaw: buys ? tokensRaw : quoteRaw,
    ...(reserves && { reservesInOut: buys ? [reserves[1], reserves[0]] : reserves }),
    accounts: buys
      ? { userIn: user, userOut: userTokens, vaultIn: pool, vaultOut: vault }
      : { userIn: userTokens, userOut: user, vaultIn: vault, vaultOut: pool },
  })
  return undefined
}

/** Lamports of the curve around the transaction, where no other instruction of the program names it. */
const curveLamportChange = ({ tx }: SvmTxContext, { program, instruction }: ListedInstruction) => {
  const curve = instruction.accounts[TRADE.curve] ?? ''
  const naming = tx.instructions.filter(
    (each) => each.program === program && each.accounts.includes(curve),
  )
  return naming.length === 1 ? tx.lamports.find(({ account }) => account === curve) : undefined
}

/** Tokens and lamports that lie in the curve behind the trade. */
const reservesAfter = (
  scope: SvmTxContext,
  ran: ListedInstruction,
): readonly [bigint, bigint] | undefined => {
  const tokensRaw = balanceAfter(scope, ran.at, ran.instruction.accounts[TRADE.vault] ?? '')
  const lamports = curveLamportChange(scope, ran)
  return tokensRaw === undefined || lamports === undefined
    ? undefined
    : [tokensRaw, lamports.postRaw]
}

const readTradeEvent: EventType['read'] = (
  scope,
  { row, program, data, view, caller, callerIndex },
) => {
  const tag = Buffer.from(caller.data.subarray(0, 8)).toString('hex')
  if (tag !== BUY_DISCRIMINATOR && tag !== SELL_DISCRIMINATOR) return 'unknown-instruction'
  const costAt = EVENT_FIELDS_OFFSET + TRADE_EVENT.costToken
  return addTrade(
    scope,
    { row, program, instruction: caller, at: callerIndex },
    {
      buys: tag === BUY_DISCRIMINATOR,
      quote: isDefaultPubkey(view, costAt) ? WRAPPED_SOL : readPubkey(data, costAt),
      tokensRaw: u64(view, EVENT_FIELDS_OFFSET + TRADE_EVENT.tokens),
      quoteRaw: u64(view, EVENT_FIELDS_OFFSET + TRADE_EVENT.collateral),
    },
  )
}

/** A trade whose log was cut off: tokens moved below it; a buyer sends lamports there, a sale only changes what the curve has. */
const readTradeWithoutEvent =
  (buys: boolean): InstructionReader =>
  (reading) => {
    const { scope, instruction, at } = reading
    const vault = instruction.accounts[TRADE.vault]
    const curve = instruction.accounts[TRADE.curve]
    if (vault === undefined || curve === undefined) return 'missing-account'
    const moved = innerTransfers(scope, at).find(({ from, to }) => (buys ? from : to) === vault)
    const lamports = curveLamportChange(scope, reading)
    const soldRaw = lamports && lamports.preRaw - lamports.postRaw
    const quoteRaw = buys ? lamportsSentBelow(scope, at, curve) : soldRaw
    if (moved === undefined || quoteRaw === undefined || quoteRaw < 0n) return 'no-transfers'
    const tokensRaw = moved.amountRaw
    return addTrade(scope, reading, { buys, quote: WRAPPED_SOL, tokensRaw, quoteRaw })
  }

const MINT = { user: 0, curve: 2, mint: 3, tokenProgram: 7 } as const

/** Behind name, symbol and address of the metadata. */
const MINT_PARAMS = fieldOffsets({ decimals: 'u8', currency: 'u8', amount: 'u64', curveType: 'u8' })

const readMint: InstructionReader = ({ scope, row, program, instruction, at }) => {
  const { accounts, data } = instruction
  const user = accounts[MINT.user]
  const pool = accounts[MINT.curve]
  const mint = accounts[MINT.mint]
  const tokenProgram = accounts[MINT.tokenProgram]
  if (!user || !pool || !mint || !tokenProgram) return 'missing-account'
  const reported = readStrings(data, 8, 3)
  if (reported === undefined || data.length < reported.end + MINT_PARAMS.end)
    return 'truncated-data'
  const [name = '', symbol = '', uri = ''] = reported.texts
  const suppliedRaw = mintedRawBelow(scope, at, mint)
  const txIndex = scope.tx.index
  const path = instructionPath(instruction)
  scope.newMints.launchpadMints.add(mint)
  registerPool(scope, { row, program }, { address: pool, tokenA: mint, tokenB: WRAPPED_SOL })
  scope.out.tokenCreations.push({
    kind: 'token-created',
    txIndex,
    logIndex: at,
    path,
    metadata: {
      address: mint,
      decimals: dataViewOf(data).getUint8(reported.end + MINT_PARAMS.decimals),
      name,
      symbol,
      totalSupplyRaw: suppliedRaw,
      uri,
      program: tokenProgram,
    },
    dev: user,
    creators: [user],
    launch: { protocol: row.id, pool },
  })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex,
    logIndex: at,
    path,
    pool,
    protocol: row.id,
    owner: user,
    tokenA: mint,
    tokenB: WRAPPED_SOL,
    amountARaw: suppliedRaw,
    amountBRaw: 0n,
    reserves: [suppliedRaw, 0n],
  })
  return undefined
}

const MIGRATE = { curve: 2, mint: 5 } as const

/** The funds go to the launchpad's own account, which opens the pool in a transaction that does not name the curve. */
const readMigrate: InstructionReader = ({ scope, row, instruction, at }) => {
  const pool = instruction.accounts[MIGRATE.curve]
  const token = instruction.accounts[MIGRATE.mint]
  if (pool === undefined || token === undefined) return 'missing-account'
  scope.out.migrations.push({
    kind: 'migration',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    token,
    from: { protocol: row.id, pool },
    to: null,
  })
  return undefined
}

/** The Moonshot launchpad and its curves. Source: gomoonit/moonit-sdk tokenLaunchpadIdlV4.ts. */
export const moonshot: SvmFamily = {
  family: 'moonshot',
  reader: readLogEvents(
    { bddb7fd34ee661ee: { bytes: TRADE_EVENT.end, read: readTradeEvent } }, // TradeEvent
    {
      [BUY_DISCRIMINATOR]: readTradeWithoutEvent(true),
      [SELL_DISCRIMINATOR]: readTradeWithoutEvent(false),
      '032ca4b87b0df5b3': readMint, // token_mint
      '2ae50ae7bd3ec1ae': readMigrate, // migrate_funds
    },
  ),
}
