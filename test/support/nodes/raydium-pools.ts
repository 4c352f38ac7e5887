import { createHash } from 'node:crypto'
import { type Address, address, getProgramDerivedAddress, lamports } from '@solana/kit'
import { base58Decode, base58Encode } from '../../../core/base58.ts'
import { TOKEN_PROGRAM } from '../../../serving/dex/solana-calls.ts'
import { WRAPPED_SOL } from '../../../serving/dex/solana-venues.ts'
import { type LocalSvm, putAccount } from './local-svm.ts'

/** Pools of Raydium's programs as accounts. Layouts: raydium-io/raydium-amm state.rs, raydium-io/raydium-cp-swap states/. */

export const RAYDIUM_V4 = '675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8'
export const RAYDIUM_CPMM = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'

/** A pool of two tokens of the token program, and what its swaps may take out of its vaults. */
export interface RaydiumPool {
  readonly address: string
  readonly tokens: readonly [string, string]
  readonly reserves: readonly [bigint, bigint]
  readonly feePips: bigint
}

/** Lamports that keep a token account of 165 bytes. */
const RENT = 2_039_280n
/** What lies in each vault beside the reserves: fees that others take out. */
const [OWED_0, OWED_1] = [1_234n, 777n]

/** An address of its own for a name of any length. */
export const addressOf = (name: string): string =>
  base58Encode(createHash('sha256').update(name).digest())

const keyBytes = (key: string): Uint8Array => base58Decode(key) ?? new Uint8Array()

const filled = (
  size: number,
  keys: Readonly<Record<number, string>>,
  numbers: Readonly<Record<number, bigint>>,
): Buffer => {
  const data = Buffer.alloc(size)
  for (const [at, key] of Object.entries(keys)) data.set(keyBytes(key), Number(at))
  for (const [at, value] of Object.entries(numbers)) data.writeBigUInt64LE(value, Number(at))
  return data
}

/** First bytes of an account of an Anchor program. */
const accountOfType = (type: string, data: Buffer): Buffer => {
  createHash('sha256').update(`account:${type}`).digest().copy(data, 0, 0, 8)
  return data
}

/** Puts an initialized token without an authority there. */
export const putMint = (node: Pick<LocalSvm, 'svm'>, mint: string): void => {
  const data = Buffer.alloc(82)
  data.writeUInt8(6, 44)
  data.writeUInt8(1, 45)
  putAccount(node, mint, { owner: TOKEN_PROGRAM, data })
}

/** Puts a token account there that holds an amount; of wrapped SOL, its lamports too. */
export const putTokenAccount = (
  { svm }: Pick<LocalSvm, 'svm'>,
  key: string,
  held: { readonly mint: string; readonly owner: string; readonly amount: bigint },
): void => {
  const isNative = held.mint === WRAPPED_SOL
  const data = filled(165, { 0: held.mint, 32: held.owner }, { 64: held.amount })
  data.writeUInt8(1, 108)
  if (isNative) {
    data.writeUInt32LE(1, 109)
    data.writeBigUInt64LE(RENT, 113)
  }
  svm.setAccount({
    address: address(key),
    programAddress: address(TOKEN_PROGRAM) as Address,
    data,
    executable: false,
    lamports: lamports(RENT + (isNative ? held.amount : 0n)),
    space: 165n,
  })
}

const vaultsOf = (pool: string): readonly [string, string] => [
  addressOf(`${pool} vault 0`),
  addressOf(`${pool} vault 1`),
]

const putVaults = (
  node: Pick<LocalSvm, 'svm'>,
  { address: pool, tokens, reserves }: RaydiumPool,
  owner: string,
): void => {
  const [vault0, vault1] = vaultsOf(pool)
  putTokenAccount(node, vault0, { mint: tokens[0], owner, amount: reserves[0] + OWED_0 })
  putTokenAccount(node, vault1, { mint: tokens[1], owner, amount: reserves[1] + OWED_1 })
}

/** Puts a pool of the first AMM there, without an order book as every pool is today. */
export const putV4Pool = async (
  node: Pick<LocalSvm, 'svm'>,
  pool: RaydiumPool,
): Promise<readonly [string, string]> => {
  const [authority, nonce] = await getProgramDerivedAddress({
    programAddress: address(RAYDIUM_V4),
    seeds: ['amm authority'],
  })
  putVaults(node, pool, authority)
  const [vault0, vault1] = vaultsOf(pool.address)
  const data = filled(
    752,
    { 336: vault0, 368: vault1, 400: pool.tokens[0], 432: pool.tokens[1], 464: addressOf('lp') },
    {
      0: 6n,
      8: BigInt(nonce),
      16: 7n,
      24: 3n,
      32: 9n,
      40: 6n,
      48: 1n,
      120: 1_000_000_000n,
      144: 25n,
      152: 10_000n,
      160: 12n,
      168: 100n,
      176: pool.feePips,
      184: 1_000_000n,
      192: OWED_0,
      200: OWED_1,
      720: 10n ** 9n,
    },
  )
  putAccount(node, pool.address, { owner: RAYDIUM_V4, data })
  return vaultsOf(pool.address)
}

/** Puts a constant-product pool there with its fee tier and its record of prices. */
export const putCpmmPool = async (
  node: Pick<LocalSvm, 'svm'>,
  pool: RaydiumPool,
): Promise<readonly [string, string]> => {
  const [authority, bump] = await getProgramDerivedAddress({
    programAddress: address(RAYDIUM_CPMM),
    seeds: ['vault_and_lp_mint_auth_seed'],
  })
  putVaults(node, pool, authority)
  const [vault0, vault1] = vaultsOf(pool.address)
  const [config, observation] = ['config', 'observation'].map((name) =>
    addressOf(`${pool.address} ${name}`),
  ) as [string, string]
  const tier = filled(236, {}, { 12: pool.feePips, 20: 120_000n, 28: 40_000n })
  putAccount(node, config, { owner: RAYDIUM_CPMM, data: accountOfType('AmmConfig', tier) })
  const prices = filled(4_075, { 11: pool.address }, {})
  prices.writeUInt8(1, 8)
  putAccount(node, observation, {
    owner: RAYDIUM_CPMM,
    data: accountOfType('ObservationState', prices),
  })
  const data = filled(
    637,
    {
      8: config,
      72: vault0,
      104: vault1,
      168: pool.tokens[0],
      200: pool.tokens[1],
      232: TOKEN_PROGRAM,
      264: TOKEN_PROGRAM,
      296: observation,
    },
    { 333: 10n ** 9n, 341: OWED_0 - 234n, 349: OWED_1 - 77n, 357: 234n, 365: 77n },
  )
  data.set([bump, 0, 9, 9, 6], 328)
  putAccount(node, pool.address, { owner: RAYDIUM_CPMM, data: accountOfType('PoolState', data) })
  return vaultsOf(pool.address)
}
