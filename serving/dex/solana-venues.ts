import type { PROTOCOLS } from '../../schemas/protocols.ts'
import { meteoraDlmm } from './dlmm-venue.ts'
import type { Pool } from './pool.ts'
import type { AccountReadFamily } from './quotable-protocols.ts'
import {
  ASSOCIATED_TOKEN_PROGRAM,
  accountsOf,
  associatedTokenAddress,
  dataOf,
  keyAt,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  used,
} from './solana-calls.ts'
import { programAddress, type SolanaInstruction } from './solana-message.ts'
import { orcaWhirlpool } from './whirlpool-venue.ts'

/** A swap over one pool, as its instruction is to say it. */
export interface VenueSwap {
  readonly pool: string
  readonly owner: string
  readonly tokenIn: string
  readonly tokenOut: string
  /** Programs of both tokens, and the accounts in which the owner holds them. */
  readonly programIn: string
  readonly programOut: string
  readonly accountIn: string
  readonly accountOut: string
  readonly mode: 'exact_in' | 'exact_out'
  /** What is quoted, and the limits that the slippage leaves. */
  readonly amountInRaw: bigint
  readonly minOutRaw: bigint
  readonly maxInRaw: bigint
}

/** State that the instruction of a swap needs. */
export interface VenueAccounts {
  /** Data of the pool's account. */
  readonly pool: Uint8Array
  /** Data of the program's own settings; empty where it needs none. */
  readonly config: Uint8Array
  /** The pool as it was quoted; missing where its quote is not needed. */
  readonly quoted?: Pool
}

/** How swaps over the pools of a program are said to it. */
export interface SolanaVenue {
  readonly program: string
  /** SOL is taken and given as such, not as its wrapped token. */
  readonly acceptsNativeToken: boolean
  /** What is bought may go to the token account of another wallet than the signer's; its program was run so. */
  readonly paysOthers?: true
  /** Account with the program's settings; null: none is needed. */
  readonly config: (() => Promise<string>) | null
  readonly swap: (swap: VenueSwap, accounts: VenueAccounts) => Promise<SolanaInstruction>
}

/** Program of pump.fun's curves. */
export const PUMP = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P'
const PUMP_AMM = 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'
/** Program that says what pump.fun and PumpSwap charge. */
export const PUMP_FEES = 'pfeeUxB6jkeY1Hxd7CsFCAjcbHA9rWtchMGdZ6VojVZ'
const NO_ADDRESS = SYSTEM_PROGRAM

/** Where accounts of the pump programs keep what an instruction names. Source: pump-fun/pump-public-docs idl/pump.json, idl/pump_amm.json. */
export const CURVE = { creator: 49, isMayhem: 81, isCashback: 82 } as const
const PUMP_GLOBAL = { fee: 41, reservedFee: 483, buyback: 741 } as const
const AMM_POOL = {
  base: 43,
  quote: 75,
  baseVault: 139,
  quoteVault: 171,
  creator: 211,
  isMayhem: 243,
  isCashback: 244,
} as const
const AMM_CONFIG = { fee: 57, reservedFee: 385, buyback: 643 } as const

/** A purchase counts for the rewards of its trader. */
const TRACKED = '01'
const BUY = '66063d1201daebea'
const SELL = '33e685a4017f83ad'

const buyData = (exactIn: string, { mode, ...swap }: VenueSwap): Uint8Array =>
  Buffer.concat([
    mode === 'exact_in'
      ? dataOf(exactIn, swap.maxInRaw, swap.minOutRaw)
      : dataOf(BUY, swap.minOutRaw, swap.maxInRaw),
    Buffer.from(TRACKED, 'hex'),
  ])

const sellData = ({ amountInRaw, minOutRaw }: VenueSwap): Uint8Array =>
  dataOf(SELL, amountInRaw, minOutRaw)

/** The account with the fees of one of pump.fun's programs. */
export const feeConfig = (program: string): Promise<string> =>
  programAddress(PUMP_FEES, [{ word: 'fee_config' }, { key: program }])

const userVolume = (program: string, owner: string): Promise<string> =>
  programAddress(program, [{ word: 'user_volume_accumulator' }, { key: owner }])

/** The curve of pump.fun, quoted in SOL. Source: idl/pump.json, docs/BREAKING_FEE_RECIPIENT.md of pump-fun/pump-public-docs. */
const pumpFun: SolanaVenue = {
  program: PUMP,
  acceptsNativeToken: true,
  config: () => programAddress(PUMP, [{ word: 'global' }]),
  swap: async (swap, { pool, config }) => {
    const { owner, pool: curve } = swap
    const buys = swap.tokenIn === WRAPPED_SOL
    const [mint, tokenProgram, account] = buys
      ? [swap.tokenOut, swap.programOut, swap.accountOut]
      : [swap.tokenIn, swap.programIn, swap.accountIn]
    const isMayhem = pool[CURVE.isMayhem] === 1
    const recipient = keyAt(config, isMayhem ? PUMP_GLOBAL.reservedFee : PUMP_GLOBAL.fee)
    const creatorVault = await programAddress(PUMP, [
      { word: 'creator-vault' },
      { key: keyAt(pool, CURVE.creator) },
    ])
    const volume = await userVolume(PUMP, owner)
    const isCashback = pool[CURVE.isCashback] === 1
    return {
      program: PUMP,
      data: buys ? buyData('38fc74089edfcd5f', swap) : sellData(swap),
      accounts: accountsOf(
        await programAddress(PUMP, [{ word: 'global' }]),
        ...[used(recipient, 'write'), mint, used(curve, 'write')],
        used(await associatedTokenAddress(curve, mint, tokenProgram), 'write'),
        ...[used(account, 'write'), used(owner, 'sign'), SYSTEM_PROGRAM],
        ...(buys
          ? [tokenProgram, used(creatorVault, 'write')]
          : [used(creatorVault, 'write'), tokenProgram]),
        await programAddress(PUMP, [{ word: '__event_authority' }]),
        PUMP,
        ...(buys
          ? [
              await programAddress(PUMP, [{ word: 'global_volume_accumulator' }]),
              used(volume, 'write'),
            ]
          : []),
        ...[await feeConfig(PUMP), PUMP_FEES],
        ...(!buys && isCashback ? [used(volume, 'write')] : []),
        await programAddress(PUMP, [{ word: 'bonding-curve-v2' }, { key: mint }]),
        used(keyAt(config, PUMP_GLOBAL.buyback), 'write'),
      ),
    }
  },
}

/** Pools of PumpSwap. Source: idl/pump_amm.json, docs/BREAKING_FEE_RECIPIENT.md of pump-fun/pump-public-docs. */
const pumpSwap: SolanaVenue = {
  program: PUMP_AMM,
  acceptsNativeToken: false,
  config: () => programAddress(PUMP_AMM, [{ word: 'global_config' }]),
  swap: async (swap, { pool, config }) => {
    const { owner } = swap
    const [base, quote] = [keyAt(pool, AMM_POOL.base), keyAt(pool, AMM_POOL.quote)]
    const buys = swap.tokenIn === quote
    const [ofBase, ofQuote] = buys
      ? [
          [swap.accountOut, swap.programOut],
          [swap.accountIn, swap.programIn],
        ]
      : [
          [swap.accountIn, swap.programIn],
          [swap.accountOut, swap.programOut],
        ]
    const [baseAccount = '', baseProgram = ''] = ofBase ?? []
    const [quoteAccount = '', quoteProgram = ''] = ofQuote ?? []
    const quoteOf = (holder: string) => associatedTokenAddress(holder, quote, quoteProgram)
    const isMayhem = pool[AMM_POOL.isMayhem] === 1
    const recipient = keyAt(config, isMayhem ? AMM_CONFIG.reservedFee : AMM_CONFIG.fee)
    const creator = keyAt(pool, AMM_POOL.creator)
    const creatorVault = await programAddress(PUMP_AMM, [
      { word: 'creator_vault' },
      { key: creator },
    ])
    const volume = await userVolume(PUMP_AMM, owner)
    const buyback = keyAt(config, AMM_CONFIG.buyback)
    const cashback =
      pool[AMM_POOL.isCashback] === 1
        ? [used(await quoteOf(volume), 'write'), ...(buys ? [] : [used(volume, 'write')])]
        : []
    return {
      program: PUMP_AMM,
      data: buys ? buyData('c62e1552b4d9e870', swap) : sellData(swap),
      accounts: accountsOf(
        ...[used(swap.pool, 'write'), used(owner, 'sign')],
        await programAddress(PUMP_AMM, [{ word: 'global_config' }]),
        ...[base, quote, used(baseAccount, 'write'), used(quoteAccount, 'write')],
        used(keyAt(pool, AMM_POOL.baseVault), 'write'),
        used(keyAt(pool, AMM_POOL.quoteVault), 'write'),
        ...[recipient, used(await quoteOf(recipient), 'write'), baseProgram, quoteProgram],
        ...[SYSTEM_PROGRAM, ASSOCIATED_TOKEN_PROGRAM],
        await programAddress(PUMP_AMM, [{ word: '__event_authority' }]),
        PUMP_AMM,
        ...[used(await quoteOf(creatorVault), 'write'), creatorVault],
        ...(buys
          ? [
              await programAddress(PUMP_AMM, [{ word: 'global_volume_accumulator' }]),
              used(volume, 'write'),
            ]
          : []),
        ...[await feeConfig(PUMP_AMM), PUMP_FEES],
        ...cashback,
        ...(creator === NO_ADDRESS
          ? []
          : [await programAddress(PUMP_AMM, [{ word: 'pool-v2' }, { key: base }])]),
        ...[buyback, used(await quoteOf(buyback), 'write')],
      ),
    }
  },
}

const RAYDIUM_V4 = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'
const RAYDIUM_CPMM = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'
/** Signs for the vaults of every pool. Source: raydium-io/raydium-amm program/src/processor.rs. */
const RAYDIUM_V4_AUTHORITY = '5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1'

const exactData = (
  { mode, amountInRaw, minOutRaw, maxInRaw }: VenueSwap,
  [exactIn, exactOut]: readonly [string, string],
): Uint8Array =>
  mode === 'exact_in'
    ? dataOf(exactIn, amountInRaw, minOutRaw)
    : dataOf(exactOut, maxInRaw, minOutRaw)

/** Vaults of the coin and of the pc in the account of a pool. Source: raydium-io/raydium-amm program/src/state.rs (`AmmInfo`). */
const V4_POOL = { coinVault: 336, pcVault: 368 } as const

/** Raydium's first AMM, in its shorter instructions. Source: raydium-io/raydium-amm program/src/instruction.rs. */
const raydiumV4: SolanaVenue = {
  program: RAYDIUM_V4,
  acceptsNativeToken: false,
  paysOthers: true,
  config: null,
  swap: async (swap, { pool }) => ({
    program: RAYDIUM_V4,
    data: exactData(swap, ['10', '11']),
    accounts: accountsOf(
      ...[TOKEN_PROGRAM, used(swap.pool, 'write'), RAYDIUM_V4_AUTHORITY],
      used(keyAt(pool, V4_POOL.coinVault), 'write'),
      used(keyAt(pool, V4_POOL.pcVault), 'write'),
      ...[used(swap.accountIn, 'write'), used(swap.accountOut, 'write')],
      used(swap.owner, 'sign'),
    ),
  }),
}

/** Source: raydium-io/raydium-cp-swap programs/cp-swap/src/states/pool.rs (`PoolState`). */
const CPMM_POOL = { config: 8, vault0: 72, vault1: 104, mint0: 168, observation: 296 } as const

/** Raydium's constant-product pools. Source: raydium-io/raydium-cp-swap programs/cp-swap/src/instructions/swap_base_input.rs. */
const raydiumCpmm: SolanaVenue = {
  program: RAYDIUM_CPMM,
  acceptsNativeToken: false,
  paysOthers: true,
  config: null,
  swap: async (swap, { pool }) => {
    const vaults = [keyAt(pool, CPMM_POOL.vault0), keyAt(pool, CPMM_POOL.vault1)]
    const [into = '', outOf = ''] =
      swap.tokenIn === keyAt(pool, CPMM_POOL.mint0) ? vaults : vaults.toReversed()
    return {
      program: RAYDIUM_CPMM,
      data: exactData(swap, ['8fbe5adac41e33de', '37d96256a34ab4ad']),
      accounts: accountsOf(
        used(swap.owner, 'sign'),
        await programAddress(RAYDIUM_CPMM, [{ word: 'vault_and_lp_mint_auth_seed' }]),
        ...[keyAt(pool, CPMM_POOL.config), used(swap.pool, 'write')],
        ...[used(swap.accountIn, 'write'), used(swap.accountOut, 'write')],
        ...[used(into, 'write'), used(outOf, 'write')],
        ...[swap.programIn, swap.programOut, swap.tokenIn, swap.tokenOut],
        used(keyAt(pool, CPMM_POOL.observation), 'write'),
      ),
    }
  },
}

/** Token of wrapped SOL. */
export const WRAPPED_SOL = 'So11111111111111111111111111111111111111112'

/** By the id of the protocol. */
export const SOLANA_VENUES = {
  meteora_dlmm: meteoraDlmm,
  orca_whirlpool: orcaWhirlpool,
  pump_fun: pumpFun,
  pumpswap: pumpSwap,
  raydium_amm_v4: raydiumV4,
  raydium_cpmm: raydiumCpmm,
} as const satisfies Readonly<
  Partial<Record<(typeof PROTOCOLS)[number]['id'], SolanaVenue>> &
    Record<AccountReadFamily, SolanaVenue>
>

/** The venue of a protocol; undefined: swaps over it are not built. */
export const solanaVenue = (protocol: string): SolanaVenue | undefined =>
  Object.hasOwn(SOLANA_VENUES, protocol)
    ? SOLANA_VENUES[protocol as keyof typeof SOLANA_VENUES]
    : undefined
