import { offsetsOf, u64, u128, viewOf } from '../layout/layout.ts'
import { type Moved, movedBelow } from './spl-token.ts'
import {
  byInstruction,
  type InstructionReader,
  LOG_EVENT_START,
  loggedBy,
  type Reading,
  type SvmFamily,
} from './types.ts'
import {
  type Change,
  type Hop,
  loggedOf,
  namedBy,
  opensEmpty,
  type Pair,
  takeChange,
  takeHop,
} from './vault-hops.ts'

const SWAP_EVENT = offsetsOf({
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

const SWAPPED = { tag: '40c6cde8260871e2', bytes: SWAP_EVENT.end }

/** Price and liquidity after the nth hop of the instruction. */
const toldOf = (reading: Reading, pool: string, nth = 0): Hop['told'] => {
  const data = loggedOf(reading, SWAPPED, { pool, nth })
  if (data === undefined) return undefined
  const view = viewOf(data)
  return {
    sqrtPriceX96: u128(view, LOG_EVENT_START + SWAP_EVENT.sqrtPriceX64) << 32n,
    liquidityRaw: u128(view, LOG_EVENT_START + SWAP_EVENT.liquidity),
  }
}

const SWAP = { trader: 0, pool: 2, vaultIn: 5, vaultOut: 6 } as const

const readSwap: InstructionReader = (reading) => {
  const named = namedBy(reading, SWAP)
  if (named === undefined) return 'missing-account'
  const { trader, pool, vaultIn, vaultOut } = named
  const told = toldOf(reading, pool)
  return takeHop(reading, { pool, trader, vaults: [vaultIn, vaultOut], told })
}

const ROUTER = { trader: 0, mintIn: 2, hops: 6 } as const
/** Accounts of a hop, counted from its way in; tick arrays, as many as it needs, stand behind each hop's. */
const ROUTED = { pool: -2, vaultIn: 0, vaultOut: 1, mintOut: 2 } as const

/** A swap through several pools: every two transfers are a hop, whose vaults stand beside each other among the accounts. */
const readRoute: InstructionReader = (reading) => {
  const { accounts } = reading.instruction
  const trader = accounts[ROUTER.trader]
  if (trader === undefined) return 'missing-account'
  const moved = movedBelow(reading.scope, reading.at)
  if (moved.length < 2) return 'no-transfers'
  let mintIn = accounts[ROUTER.mintIn]
  for (let nth = 0; 2 * nth + 1 < moved.length; nth += 1) {
    const [paid, got] = moved.slice(2 * nth) as [Moved, Moved]
    const place = accounts.findIndex(
      (account, at) => at >= ROUTER.hops && account === paid.to && accounts[at + 1] === got.from,
    )
    const pool = accounts[place + ROUTED.pool]
    const mintOut = accounts[place + ROUTED.mintOut]
    if (place === -1 || pool === undefined) return 'foreign-vault'
    if (mintIn === undefined || mintOut === undefined) return 'missing-account'
    const reason = takeHop(reading, {
      pool,
      trader,
      vaults: [paid.to, got.from],
      mints: [mintIn, mintOut],
      moved: [paid, got],
      told: toldOf(reading, pool, nth),
    })
    if (reason !== undefined) return reason
    mintIn = mintOut
  }
  return undefined
}

/** Where a change of liquidity names its accounts; the owner is the one of the position. */
type Form = Readonly<Record<'owner' | 'pool' | 'vault0' | 'vault1', number>>

const OPEN: Form = { owner: 1, pool: 5, vault0: 12, vault1: 13 }
const OPEN_TOKEN_22: Form = { owner: 1, pool: 4, vault0: 11, vault1: 12 }
const INCREASE: Form = { owner: 0, pool: 2, vault0: 9, vault1: 10 }
const DECREASE: Form = { owner: 0, pool: 3, vault0: 5, vault1: 6 }

/** A position may be opened empty. */
const readIncrease =
  (form: Form, more: Pick<Change, 'mayMoveNothing'> = {}): InstructionReader =>
  (reading) => {
    const named = namedBy(reading, form)
    if (named === undefined) return 'missing-account'
    const { owner, pool, vault0, vault1 } = named
    return takeChange(reading, { kind: 'increase', owner, pool, vaults: [vault0, vault1], ...more })
  }

const readOpen = (form: Form): InstructionReader => readIncrease(form, { mayMoveNothing: true })

const DECREASE_EVENT = offsetsOf({
  position: 'key',
  liquidity: 'u128',
  amount0: 'u64',
  amount1: 'u64',
})

const DECREASED = { tag: '3ade563a44325538', bytes: DECREASE_EVENT.end }

/** What the position gave up, without the fees that it earned; undefined where the log was cut off. */
const decreasedBy = ({ instruction }: Reading): Pair | undefined => {
  const [data] = loggedBy(instruction, DECREASED)
  if (data === undefined) return undefined
  const view = viewOf(data)
  return [
    u64(view, LOG_EVENT_START + DECREASE_EVENT.amount0),
    u64(view, LOG_EVENT_START + DECREASE_EVENT.amount1),
  ]
}

/** Behind the tag; zero asks for the fees alone. */
const DECREASE_DATA = offsetsOf({ tag: 'u64', liquidity: 'u128' })

const readDecrease: InstructionReader = (reading) => {
  const named = namedBy(reading, DECREASE)
  if (named === undefined) return 'missing-account'
  const { data } = reading.instruction
  if (data.length < DECREASE_DATA.end) return 'short-data'
  if (u128(viewOf(data), DECREASE_DATA.liquidity) === 0n) return undefined
  const { owner, pool, vault0, vault1 } = named
  return takeChange(reading, {
    kind: 'decrease',
    owner,
    pool,
    vaults: [vault0, vault1],
    toldRaw: decreasedBy(reading),
  })
}

const CREATE = { owner: 0, pool: 2, mintA: 3, mintB: 4 } as const
const CREATE_PERMISSIONED = { owner: 1, pool: 4, mintA: 5, mintB: 6 } as const

/** Raydium's concentrated liquidity; contract/chains.md 4.4. Source: raydium-io/raydium-clmm programs/amm. */
export const raydiumClmm: SvmFamily = {
  family: 'raydium_clmm',
  reader: byInstruction({
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
    e992d18ecf6840bc: opensEmpty(CREATE), // create_pool
    '2b44d4a7592fa401': opensEmpty(CREATE), // create_customizable_pool
    '24f3b3232aef35e5': opensEmpty(CREATE_PERMISSIONED), // create_permissioned_pool
  }),
}
