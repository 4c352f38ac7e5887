import { findProgramAddress } from '../../core/program-derived-address.ts'
import type { StateReader } from '../node/state.ts'
import { type Account, lamportsOf, type Mint, supplyOf, type TokenAccount } from './accounts.ts'
import { TOTAL_SUPPLY } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import { KNOWN_ACCOUNTS, RENT } from './known-accounts.ts'
import type { Launch } from './launches.ts'
import type { TokenName } from './listings.ts'
import type { RaydiumPool, Scenario } from './scenario.ts'

/** What a node knows of an account. */
export interface AccountInfo {
  readonly lamports: bigint
  readonly owner: string
  readonly executable: boolean
  readonly data: Uint8Array
}

const EMPTY = new Uint8Array()
const NATIVE_RENT = 2_039_280n

/** Source: SPL token `Mint`, 82 bytes; a mint of a launch has no authority any more. */
const encodeMint = (mint: Mint, supply: bigint): BorshWriter =>
  new BorshWriter()
    .raw(new Uint8Array(36))
    .u64(supply)
    .u8(mint.decimals)
    .u8(1)
    .raw(new Uint8Array(36))

/** Token-2022 extensions of a launch: metadata pointer and metadata. Source: SPL token-2022 extension types 18 and 19. */
const encodeLaunchMint = (launch: Launch, supply: bigint): Uint8Array => {
  const { mint, isToken2022, name, symbol, uri } = launch
  const data = encodeMint(mint, supply)
  if (!isToken2022) return data.toBytes()
  const metadata = new BorshWriter().raw(new Uint8Array(32)).pubkey(mint.account)
  const bytes = metadata.text(name).text(symbol).text(uri).u32(0).toBytes()
  data.raw(new Uint8Array(83)).u8(1)
  data.u16(18).u16(64).raw(new Uint8Array(32)).pubkey(mint.account)
  return data.u16(19).u16(bytes.length).raw(bytes).toBytes()
}

/** Source: SPL token `AccountInfo`, 165 bytes. */
const encodeTokenAccount = ({ mint, owner }: TokenAccount, amount: bigint): Uint8Array => {
  const data = new BorshWriter().pubkey(mint.account).pubkey(owner).u64(amount)
  data.raw(new Uint8Array(36)).u8(1)
  if (mint.native) data.u32(1).u64(NATIVE_RENT)
  else data.raw(new Uint8Array(12))
  return data.u64(0n).raw(new Uint8Array(36)).toBytes()
}

/** Source: raydium-amm `AmmInfo`, 752 bytes: decimals at 32 and 40, vaults at 336 and 368, mints at 400 and 432. */
const encodeRaydiumPool = (pool: RaydiumPool): Uint8Array => {
  const { coin, pc, coinVault, pcVault, openOrders, targetOrders, market } = pool
  const data = new BorshWriter().u64(6n).raw(new Uint8Array(24))
  data.u64(BigInt(coin.decimals)).u64(BigInt(pc.decimals)).raw(new Uint8Array(288))
  data
    .pubkey(coinVault)
    .pubkey(pcVault)
    .pubkey(coin.account)
    .pubkey(pc.account)
    .raw(new Uint8Array(32))
  data.pubkey(openOrders)
  if (market[0] !== undefined) data.pubkey(market[0])
  data.pubkey(KNOWN_ACCOUNTS.openBook).pubkey(targetOrders)
  return data.raw(new Uint8Array(752 - 624)).toBytes()
}

/** Source: pump-public-docs idl/pump.json `BondingCurve`. */
const encodeBondingCurve = (
  read: StateReader,
  { layout }: Scenario,
  { slot, creator }: Launch,
): Uint8Array => {
  const at = (field: Parameters<typeof layout.launch>[1]): bigint =>
    read(layout.launch(slot, field))
  const data = new BorshWriter()
    .hex('17b7f83760d8ac60')
    .u64(at('virtualToken'))
    .u64(at('virtualSol'))
  data
    .u64(at('realToken'))
    .u64(at('realSol'))
    .u64(TOTAL_SUPPLY)
    .bool(at('phase') > 1n)
  return data.pubkey(creator.account).toBytes()
}

/** Source: pump-public-docs idl/pump_amm.json `Pool`. */
const encodePumpSwapPool = (read: StateReader, launch: Launch): Uint8Array => {
  const { mint, lpMint, authority, poolBase, poolQuote, creator } = launch
  const data = new BorshWriter().hex('f19a6d0411b16dbc').u8(248).u16(0).pubkey(authority)
  data
    .pubkey(mint.account)
    .pubkey(KNOWN_ACCOUNTS.wsol)
    .pubkey(lpMint.account)
    .pubkey(poolBase)
    .pubkey(poolQuote)
  return data.u64(supplyOf(read, lpMint)).pubkey(creator.account).toBytes()
}

const accountInfo = (
  read: StateReader,
  account: Account,
  owner: string,
  data: Uint8Array = EMPTY,
): AccountInfo => ({
  lamports: lamportsOf(read, account),
  owner,
  executable: false,
  data,
})

const tokenAccountInfo = (read: StateReader, account: TokenAccount): AccountInfo =>
  accountInfo(
    read,
    account,
    account.mint.program.address,
    encodeTokenAccount(account, read(account.stateIndex) - 1n),
  )

const METADATA_SEED = Buffer.from('metadata')

/** A text in a field of fixed width. */
const paddedText = (text: string, width: number): string => text.padEnd(width, '\0')

/** Source: mpl-token-metadata `Metadata`: kind, authority, mint, texts of fixed width, fee, flags; 679 bytes. */
const encodeMetaplex = ({ account }: Mint, { name, symbol }: TokenName): Uint8Array => {
  const data = new BorshWriter().u8(4).raw(new Uint8Array(32)).pubkey(account)
  data.text(paddedText(name, 32)).text(paddedText(symbol, 10)).text(paddedText('', 200))
  return data.raw(new Uint8Array(679 - 319)).toBytes()
}

/** Address of the Metaplex account of a mint, and what stands there. */
const metaplexAccount = (mint: Mint, named: TokenName): readonly [string, AccountInfo] => {
  const program = KNOWN_ACCOUNTS.metadata
  const seeds = [METADATA_SEED, program.key, mint.account.key]
  const address = findProgramAddress(program.address, seeds)
  if (address === undefined) throw new RangeError(`no metadata address for ${named.symbol}`)
  const data = encodeMetaplex(mint, named)
  return [address, { lamports: RENT.metadata, owner: program.address, executable: false, data }]
}

/** Accounts of a scenario that are older than the chain, by address. */
export const createAccountDirectory = (
  scenario: Scenario,
): ReadonlyMap<string, (read: StateReader) => AccountInfo> => {
  const directory = new Map<string, (read: StateReader) => AccountInfo>()
  const programs = new Set<Account>([
    KNOWN_ACCOUNTS.system,
    KNOWN_ACCOUNTS.token,
    KNOWN_ACCOUNTS.token2022,
    KNOWN_ACCOUNTS.ata,
    KNOWN_ACCOUNTS.pump,
  ])
  for (const account of Object.values(KNOWN_ACCOUNTS))
    directory.set(account.address, (read) => ({
      ...accountInfo(read, account, KNOWN_ACCOUNTS.system.address),
      executable: programs.has(account),
    }))
  for (const mint of [scenario.sol, scenario.usdc, ...scenario.coins])
    directory.set(mint.account.address, (read) =>
      accountInfo(
        read,
        mint.account,
        mint.program.address,
        encodeMint(mint, supplyOf(read, mint)).toBytes(),
      ),
    )
  for (const [mint, named] of scenario.names) {
    const [address, facts] = metaplexAccount(mint, named)
    directory.set(address, () => facts)
  }
  for (const pool of scenario.pools) {
    directory.set(pool.account.address, (read) =>
      accountInfo(read, pool.account, KNOWN_ACCOUNTS.raydium.address, encodeRaydiumPool(pool)),
    )
    for (const vault of [pool.coinVault, pool.pcVault])
      directory.set(vault.address, (read) => tokenAccountInfo(read, vault))
  }
  for (const { account, wsol, usdc, coins, ammVault } of scenario.wallets) {
    directory.set(account.address, (read) =>
      accountInfo(read, account, KNOWN_ACCOUNTS.system.address),
    )
    for (const token of [wsol, usdc, ammVault, ...coins])
      directory.set(token.address, (read) => tokenAccountInfo(read, token))
  }
  return directory
}

/** An account of a launch that lives in the state that is read. */
export const launchAccountInfo = (
  read: StateReader,
  scenario: Scenario,
  { launch, account }: { readonly launch: Launch; readonly account: Account },
): AccountInfo => {
  if (account.kind === 'token') return tokenAccountInfo(read, account)
  const { mint, lpMint, curve, pool } = launch
  if (account === mint.account)
    return accountInfo(
      read,
      account,
      mint.program.address,
      encodeLaunchMint(launch, supplyOf(read, mint)),
    )
  if (account === lpMint.account) {
    const data = encodeMint(lpMint, supplyOf(read, lpMint)).toBytes()
    return accountInfo(read, account, lpMint.program.address, data)
  }
  if (account === curve)
    return accountInfo(
      read,
      account,
      KNOWN_ACCOUNTS.pump.address,
      encodeBondingCurve(read, scenario, launch),
    )
  if (account === pool)
    return accountInfo(read, account, KNOWN_ACCOUNTS.amm.address, encodePumpSwapPool(read, launch))
  return accountInfo(read, account, KNOWN_ACCOUNTS.system.address)
}

/** The mint of a launch whose place in the state was given to another: all that can still be asked about it. */
export const retiredMintInfo = ({ mint, ...launch }: Launch): AccountInfo => ({
  lamports: mint.account.rentRaw,
  owner: mint.program.address,
  executable: false,
  data: encodeLaunchMint({ mint, ...launch }, TOTAL_SUPPLY),
})
