import { dataViewOf, fieldOffsets, u64, u128 } from '../layout/borsh-layout.ts'
import { innerTransfers, type TokenTransfer } from './spl-token.ts'
import {
  type InstructionContext,
  type InstructionReader,
  LOG_EVENT_FIELDS_OFFSET,
  logEventsOf,
  readByInstruction,
  type SvmFamily,
} from './types.ts'
import {
  type AmountPair,
  accountsByName,
  addHopSwap,
  addLiquidityChange,
  type Hop,
  type LiquidityChange,
  poolLogEvent,
  readEmptyPoolCreation,
} from './vault-hops.ts'

const SWAP_EVENT = fieldOffsets({
  pool: 'key',
  sender: 'key',
  tokenAccount0: 'key',
  tokenAccount1: 'key',
  amount0: 'u64',
  transferFee0: 'u64',
  amount1: 'u64',
  transferFee1: 'u64',
  zeroForOne: 'bool',
  sqrtPriceX64: 'u128',
  liquidity: 'u128',
})

const SWAP_LOG = { tag: '40c6cde8260871e2', bytes: SWAP_EVENT.end }

/** Price and liquidity after the nth hop of the instruction. */
const priceFromLog = (reading: InstructionContext, pool: string, nth = 0): Hop['fromLog'] => {
  const data = poolLogEvent(reading, SWAP_LOG, { pool, nth })
  if (data === undefined) return undefined
  const view = dataViewOf(data)
  return {
    sqrtPriceX96: u128(view, LOG_EVENT_FIELDS_OFFSET + SWAP_EVENT.sqrtPriceX64) << 32n,
    liquidityRaw: u128(view, LOG_EVENT_FIELDS_OFFSET + SWAP_EVENT.liquidity),
  }
}

const SWAP = { trader: 0, pool: 2, vaultIn: 5, vaultOut: 6 } as const

const readSwap: InstructionReader = (reading) => {
  const named = accountsByName(reading, SWAP)
  if (named === undefined) return 'missing-account'
  const { trader, pool, vaultIn, vaultOut } = named
  const reported = priceFromLog(reading, pool)
  return addHopSwap(reading, { pool, trader, vaults: [vaultIn, vaultOut], fromLog: reported })
}

const ROUTE_ACCOUNTS = { trader: 0, mintIn: 2, hops: 6 } as const
/** Accounts of a hop, counted from its way in; tick arrays, as many as it needs, stand behind each hop's. */
const ROUTE_HOP_OFFSETS = { pool: -2, vaultIn: 0, vaultOut: 1, mintOut: 2 } as const

/** A swap through several pools: every two transfers are a hop, whose vaults stand beside each other among the accounts. */
const readRoute: InstructionReader = (reading) => {
  const { accounts } = reading.instruction
  const trader = accounts[ROUTE_ACCOUNTS.trader]
  if (trader === undefined) return 'missing-account'
  const moved = innerTransfers(reading.scope, reading.at)
  if (moved.length < 2) return 'no-transfers'
  let mintIn = accounts[ROUTE_ACCOUNTS.mintIn]
  for (let nth = 0; 2 * nth + 1 < moved.length; nth += 1) {
    const [paid, got] = moved.slice(2 * nth) as [TokenTransfer, TokenTransfer]
    const place = accounts.findIndex(
      (account, at) =>
        at >= ROUTE_ACCOUNTS.hops && account === paid.to && accounts[at + 1] === got.from,
    )
    const pool = accounts[place + ROUTE_HOP_OFFSETS.pool]
    const mintOut = accounts[place + ROUTE_HOP_OFFSETS.mintOut]
    if (place === -1 || pool === undefined) return 'unexpected-vault'
    if (mintIn === undefined || mintOut === undefined) return 'missing-account'
    const reason = addHopSwap(reading, {
      pool,
      trader,
      vaults: [paid.to, got.from],
      mints: [mintIn, mintOut],
      transfers: [paid, got],
      fromLog: priceFromLog(reading, pool, nth),
    })
    if (reason !== undefined) return reason
    mintIn = mintOut
  }
  return undefined
}

/** Where a change of liquidity names its accounts; the owner is the one of the position. */
type LiquidityAccountLayout = Readonly<Record<'owner' | 'pool' | 'vault0' | 'vault1', number>>

const OPEN: LiquidityAccountLayout = { owner: 1, pool: 5, vault0: 12, vault1: 13 }
const OPEN_TOKEN_22: LiquidityAccountLayout = { owner: 1, pool: 4, vault0: 11, vault1: 12 }
const INCREASE: LiquidityAccountLayout = { owner: 0, pool: 2, vault0: 9, vault1: 10 }
const DECREASE: LiquidityAccountLayout = { owner: 0, pool: 3, vault0: 5, vault1: 6 }

/** A position may be opened empty. */
const readIncrease =
  (
    form: LiquidityAccountLayout,
    more: Pick<LiquidityChange, 'mayMoveNothing'> = {},
  ): InstructionReader =>
  (reading) => {
    const named = accountsByName(reading, form)
    if (named === undefined) return 'missing-account'
    const { owner, pool, vault0, vault1 } = named
    return addLiquidityChange(reading, {
      kind: 'increase',
      owner,
      pool,
      vaults: [vault0, vault1],
      ...more,
    })
  }

const readOpen = (form: LiquidityAccountLayout): InstructionReader =>
  readIncrease(form, { mayMoveNothing: true })

const DECREASE_EVENT = fieldOffsets({
  position: 'key',
  liquidity: 'u128',
  amount0: 'u64',
  amount1: 'u64',
})

const DECREASE_LOG = { tag: '3ade563a44325538', bytes: DECREASE_EVENT.end }

/** What the position gave up, without the fees that it earned; undefined where the log was cut off. */
const decreasedAmounts = ({ instruction }: InstructionContext): AmountPair | undefined => {
  const [data] = logEventsOf(instruction, DECREASE_LOG)
  if (data === undefined) return undefined
  const view = dataViewOf(data)
  return [
    u64(view, LOG_EVENT_FIELDS_OFFSET + DECREASE_EVENT.amount0),
    u64(view, LOG_EVENT_FIELDS_OFFSET + DECREASE_EVENT.amount1),
  ]
}

/** Behind the tag; zero asks for the fees alone. */
const DECREASE_DATA = fieldOffsets({ tag: 'u64', liquidity: 'u128' })

const readDecrease: InstructionReader = (reading) => {
  const named = accountsByName(reading, DECREASE)
  if (named === undefined) return 'missing-account'
  const { data } = reading.instruction
  if (data.length < DECREASE_DATA.end) return 'truncated-data'
  if (u128(dataViewOf(data), DECREASE_DATA.liquidity) === 0n) return undefined
  const { owner, pool, vault0, vault1 } = named
  return addLiquidityChange(reading, {
    kind: 'decrease',
    owner,
    pool,
    vaults: [vault0, vault1],
    reportedRaw: decreasedAmounts(reading),
  })
}

const CREATE = { owner: 0, pool: 2, mintA: 3, mintB: 4 } as const
const CREATE_PERMISSIONED = { owner: 1, pool: 4, mintA: 5, mintB: 6 } as const

/** Raydium's concentrated liquidity. Source: raydium-io/raydium-clmm programs/amm. */
export const raydiumClmm: SvmFamily = {
  family: 'raydium_clmm',
  reader: readByInstruction({
    f8c69e91e17587c8: readSwap, // swap
    '2b04ed0b1ac91e62': readSwap, // swap_v2
    '457d73daf5baf2c4': readRoute, // swap_router_base_in
    '87802f4d0f98f031': readOpen(OPEN), // open_position
    '4db84ad67056f1c7': readOpen(OPEN), // open_position_v2
    '4dffae527d1dc92e': readOpen(OPEN_TOKEN_22), // open_position_with_token22_nft
    '2e9cf3760dcdfbb2': readIncrease(INCREASE), // increase_liquidity
    '851d59df45eeb00a': readIncrease(INCREASE), // increase_liquidity_v2
    a026d06f685b2c01: readDecrease, // decrease_liquidity
    '3a7fbc3e4f52c460': readDecrease, // decrease_liquidity_v2
    e992d18ecf6840bc: readEmptyPoolCreation(CREATE), // create_pool
    '2b44d4a7592fa401': readEmptyPoolCreation(CREATE), // create_customizable_pool
    '24f3b3232aef35e5': readEmptyPoolCreation(CREATE_PERMISSIONED), // create_permissioned_pool
  }),
}
