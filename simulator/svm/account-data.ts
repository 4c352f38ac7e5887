import type { Read } from '../node/state.ts'
import { type Account, lamportsOf, type Mint, supplyOf, type TokenAccount } from './accounts.ts'
import { Fields } from './bytes.ts'
import { TOTAL_SUPPLY } from './curve.ts'
import { IDS } from './ids.ts'
import type { Launch } from './launches.ts'
import type { RaydiumPool, World } from './world.ts'

/** What a node knows of an account. */
export interface AccountFacts {
  readonly lamports: bigint
  readonly owner: string
  readonly executable: boolean
  readonly data: Uint8Array
}

const EMPTY = new Uint8Array()
const NATIVE_RENT = 2_039_280n

/** Source: SPL token `Mint`, 82 bytes; a mint of a launch has no authority any more. */
const mintData = (mint: Mint, supply: bigint): Fields =>
  new Fields().raw(new Uint8Array(36)).u64(supply).u8(mint.decimals).u8(1).raw(new Uint8Array(36))

/** Token-2022 extensions of a launch: metadata pointer and metadata. Source: SPL token-2022 extension types 18 and 19. */
const launchMintData = (launch: Launch, supply: bigint): Uint8Array => {
  const { mint, isV2, name, symbol, uri } = launch
  const data = mintData(mint, supply)
  if (!isV2) return data.done()
  const metadata = new Fields().raw(new Uint8Array(32)).key(mint.account)
  const bytes = metadata.text(name).text(symbol).text(uri).u32(0).done()
  data.raw(new Uint8Array(83)).u8(1)
  data.u16(18).u16(64).raw(new Uint8Array(32)).key(mint.account)
  return data.u16(19).u16(bytes.length).raw(bytes).done()
}

/** Source: SPL token `Account`, 165 bytes. */
const tokenData = ({ mint, owner }: TokenAccount, amount: bigint): Uint8Array => {
  const data = new Fields().key(mint.account).key(owner).u64(amount)
  data.raw(new Uint8Array(36)).u8(1)
  if (mint.native) data.u32(1).u64(NATIVE_RENT)
  else data.raw(new Uint8Array(12))
  return data.u64(0n).raw(new Uint8Array(36)).done()
}

/** Source: raydium-amm `AmmInfo`, 752 bytes: decimals at 32 and 40, vaults at 336 and 368, mints at 400 and 432. */
const raydiumData = (pool: RaydiumPool): Uint8Array => {
  const { coin, pc, coinVault, pcVault, openOrders, targetOrders, market } = pool
  const data = new Fields().u64(6n).raw(new Uint8Array(24))
  data.u64(BigInt(coin.decimals)).u64(BigInt(pc.decimals)).raw(new Uint8Array(288))
  data.key(coinVault).key(pcVault).key(coin.account).key(pc.account).raw(new Uint8Array(32))
  data.key(openOrders)
  if (market[0] !== undefined) data.key(market[0])
  data.key(IDS.openBook).key(targetOrders)
  return data.raw(new Uint8Array(752 - 624)).done()
}

/** Source: pump-public-docs idl/pump.json `BondingCurve`. */
const curveData = (read: Read, { layout }: World, { slot, creator }: Launch): Uint8Array => {
  const at = (field: Parameters<typeof layout.launch>[1]): bigint =>
    read(layout.launch(slot, field))
  const data = new Fields().hex('17b7f83760d8ac60').u64(at('virtualToken')).u64(at('virtualSol'))
  data
    .u64(at('realToken'))
    .u64(at('realSol'))
    .u64(TOTAL_SUPPLY)
    .bool(at('phase') > 1n)
  return data.key(creator.account).done()
}

/** Source: pump-public-docs idl/pump_amm.json `Pool`. */
const poolData = (read: Read, launch: Launch): Uint8Array => {
  const { mint, lpMint, authority, poolBase, poolQuote, creator } = launch
  const data = new Fields().hex('f19a6d0411b16dbc').u8(248).u16(0).key(authority)
  data.key(mint.account).key(IDS.wsol).key(lpMint.account).key(poolBase).key(poolQuote)
  return data.u64(supplyOf(read, lpMint)).key(creator.account).done()
}

const plain = (
  read: Read,
  account: Account,
  owner: string,
  data: Uint8Array = EMPTY,
): AccountFacts => ({
  ...{ lamports: lamportsOf(read, account), owner, executable: false, data },
})

const tokenFacts = (read: Read, account: TokenAccount): AccountFacts =>
  plain(read, account, account.mint.program.address, tokenData(account, read(account.place) - 1n))

/** Accounts of a world that are older than the chain, by address. */
export const makeDirectory = (world: World): ReadonlyMap<string, (read: Read) => AccountFacts> => {
  const directory = new Map<string, (read: Read) => AccountFacts>()
  const programs = new Set<Account>([IDS.system, IDS.token, IDS.token2022, IDS.ata, IDS.pump])
  for (const account of Object.values(IDS))
    directory.set(account.address, (read) => ({
      ...plain(read, account, IDS.system.address),
      executable: programs.has(account),
    }))
  for (const mint of [world.sol, world.usdc, ...world.coins])
    directory.set(mint.account.address, (read) =>
      plain(read, mint.account, mint.program.address, mintData(mint, supplyOf(read, mint)).done()),
    )
  for (const pool of world.pools) {
    directory.set(pool.account.address, (read) =>
      plain(read, pool.account, IDS.raydium.address, raydiumData(pool)),
    )
    for (const vault of [pool.coinVault, pool.pcVault])
      directory.set(vault.address, (read) => tokenFacts(read, vault))
  }
  for (const { account, wsol, usdc, coins, ammVault } of world.wallets) {
    directory.set(account.address, (read) => plain(read, account, IDS.system.address))
    for (const token of [wsol, usdc, ammVault, ...coins])
      directory.set(token.address, (read) => tokenFacts(read, token))
  }
  return directory
}

/** An account of a launch that lives in the state that is read. */
export const launchFacts = (
  read: Read,
  world: World,
  { launch, account }: { readonly launch: Launch; readonly account: Account },
): AccountFacts => {
  if (account.kind === 'token') return tokenFacts(read, account)
  const { mint, lpMint, curve, pool } = launch
  if (account === mint.account)
    return plain(read, account, mint.program.address, launchMintData(launch, supplyOf(read, mint)))
  if (account === lpMint.account) {
    const data = mintData(lpMint, supplyOf(read, lpMint)).done()
    return plain(read, account, lpMint.program.address, data)
  }
  if (account === curve)
    return plain(read, account, IDS.pump.address, curveData(read, world, launch))
  if (account === pool) return plain(read, account, IDS.amm.address, poolData(read, launch))
  return plain(read, account, IDS.system.address)
}

/** The mint of a launch whose place in the state was given to another: all that can still be asked about it. */
export const retiredMint = ({ mint, ...launch }: Launch): AccountFacts => ({
  lamports: mint.account.rentRaw,
  owner: mint.program.address,
  executable: false,
  data: launchMintData({ mint, ...launch }, TOTAL_SUPPLY),
})
