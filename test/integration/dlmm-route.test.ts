/** Swaps over Meteora DLMM through the API: pools are read from the accounts of a node, of pools made up for it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  address,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import type { DexQuote, SwapRouteResponse } from '../../schemas/api/swap.ts'
import type { AccountPoolHead, FoundAccount } from '../../serving/dex/account-pool.ts'
import { DLMM, dlmmFamily } from '../../serving/dex/dlmm-accounts.ts'
import { DLMM_PAIR } from '../../serving/dex/dlmm-layout.ts'
import { TOKEN_2022_PROGRAM } from '../../serving/dex/solana-calls.ts'
import type { SolanaAccount } from '../../serving/dex/solana-node.ts'
import { type PoolStateRow, poolStatesQuery } from '../../serving/queries/pool-states.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { fundedWallet, type LocalSvm, startLocalSvm } from '../support/nodes/local-svm.ts'
import { type DlmmChange, madeUpDlmm, putDlmm, setClock } from '../support/nodes/meteora-dlmm.ts'
import { createRestReader } from '../support/rest-reader.ts'

const WSOL = 'So11111111111111111111111111111111111111112'
const SOL = 1_000_000_000n
const [MINT, POOL] = [addressFor('dlmm mint'), addressFor('dlmm pool')]
const MADE_UP = madeUpDlmm(POOL, [WSOL, MINT])
const [TIME_S, SLOT] = [1_790_000_000, 500_000_000]
const RAN = { value: { err: null, logs: [], unitsConsumed: 90_000 } }
/** X above the active bin, Y below it; the bins lie in three accounts. */
const BINS = Array.from({ length: 161 }, (_, index) => {
  const bin = index - 80
  return { bin, x: bin >= 0 ? 50n * SOL : 0n, y: bin <= 0 ? 50n * SOL : 0n }
})

let node: LocalSvm
let api: TestApi
let owner = ''
const { read, codeOf } = createRestReader(() => api)

const accountOf = (key: string): SolanaAccount | undefined => {
  const found = node.svm.getAccount(address(key))
  if (!found.exists) return undefined
  return { owner: found.programAddress, lamports: 1n, data: Uint8Array.from(found.data) }
}

const HEAD = {
  kind: 'dlmm',
  address: POOL,
  protocol: 'meteora_dlmm',
  tokens: [WSOL, MINT].toSorted() as [string, string],
  tvlUsd: null,
} as const

const put = (change: DlmmChange = {}): Promise<void> =>
  putDlmm(node, MADE_UP, { bins: BINS, ...change })

const readPool = async (
  change: (found: readonly FoundAccount[]) => readonly FoundAccount[] = (found) => found,
  head: AccountPoolHead = HEAD,
) => {
  const data = accountOf(POOL)?.data ?? new Uint8Array()
  const named = await dlmmFamily.accounts(POOL, data)
  const found = named.map((each) => ({ address: each, account: accountOf(each) }))
  return dlmmFamily.pool(head, data, change(found))
}

before(async () => {
  node = await startLocalSvm()
  owner = (await fundedWallet(node, 1, 500n * SOL)).address
  await put()
  setClock(node, TIME_S, SLOT)
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
  const isFirst = MINT < WSOL
  await api.warehouse.insert('sol_dex_pools', [
    {
      pool_address: POOL,
      token_a: isFirst ? MINT : WSOL,
      token_b: isFirst ? WSOL : MINT,
      base_is_a: isFirst ? 1 : 0,
      _ver: 9,
      decimals_a: isFirst ? 6 : 9,
      decimals_b: isFirst ? 9 : 6,
      liquidity_usd: '300000',
      program_address: DLMM,
      protocol_family: 'meteora_dlmm',
      protocol_name: 'Meteora DLMM',
      last_updated: new Date().toISOString(),
    },
  ])
  await api.warehouse.insert('sol_blocks', [
    {
      block_time: new Date(Date.now() - 400).toISOString(),
      block_slot: 7,
      block_height: 7,
      block_hash: addressFor('7'),
      parent_hash: addressFor('6'),
      seq: 1,
      _ver: 1,
    },
  ])
  const market = api.markets.get('sol')
  assert.ok(market)
  const families = [...market.venues.quotable]
  const pools = await api.warehouse.query<PoolStateRow>(poolStatesQuery('sol', families, 10))
  market.pools.load(pools.rows, [], [])
  market.progress.block({ seq: 1, place: { height: 7, slot: 7 }, records: 0 })
})
after(async () => {
  await api.stop()
  await node.stop()
})

const quotePath = (asked: Readonly<Record<string, string>> = {}): string =>
  `/v2/dex/sol/quote?${new URLSearchParams({
    dex: 'auto',
    amount: String(SOL),
    inputMint: WSOL,
    outputMint: MINT,
    exactIn: 'true',
    slippage: '0.5',
    ...asked,
  })}`

const build = async (path: string, asked: object) => {
  const body = JSON.stringify({
    dex: 'meteora_dlmm',
    userAddress: owner,
    amount: String(SOL),
    slippage: 1,
    inputMint: WSOL,
    outputMint: MINT,
    ...asked,
  })
  const headers = { 'content-type': 'application/json', 'x-api-key': api.apiKey }
  node.answers.set('simulateTransaction', RAN)
  try {
    const answer = await callApi(api, path, { method: 'POST', headers, body })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body as SwapRouteResponse
  } finally {
    node.answers.clear()
  }
}

/** The next request reads the pool again. */
const forgetStates = (): void =>
  api.markets.get('sol')?.pools.keepRead(POOL, null, Number.NEGATIVE_INFINITY)

test('a pool is quoted at the price and the fee of its bins, from the accounts of a node', async () => {
  forgetStates()
  // Bin 0 is at a price of one and has a fee of 0.2 %.
  const sold = await read<DexQuote>(quotePath())
  assert.equal(sold.amountOut, String((SOL * 998n) / 1_000n))
  const bought = await read<DexQuote>(
    quotePath({ exactIn: 'false', amount: sold.amountOut, inputMint: MINT, outputMint: WSOL }),
  )
  assert.ok(BigInt(bought.amountIn) >= SOL - 10n && BigInt(bought.amountIn) <= SOL + 10n)
  const wide = await read<DexQuote>(quotePath({ amount: String(400n * SOL) }))
  assert.ok(BigInt(wide.amountOut) < (400n * SOL * 998n) / 1_000n, 'eight bins, each a step lower')
  assert.deepEqual(await codeOf(quotePath({ amount: String(10_000n * SOL) })), [422, 40_006])
})

test('routes and swaps are transactions of what is quoted, with the bins on the way', async () => {
  for (const [path, asked] of [
    ['/v2/dex/sol/route', {}],
    ['/v2/dex/sol/route', { dex: 'auto', swapMode: 'ExactOut', amount: '200000000' }],
    ['/v1/dex/sol/swap', { poolAddress: POOL, dex: 'auto' }],
    ['/v2/dex/sol/route', { dex: 'jupiter', amount: String(SOL / 1_000n) }],
  ] as const) {
    forgetStates()
    const amount = 'amount' in asked ? asked.amount : String(SOL)
    const exactIn = String(!('swapMode' in asked))
    const quote = await read<DexQuote>(quotePath({ amount, exactIn }))
    const built = await build(path, asked)
    assert.equal(built.routeInfo.outAmount, quote.amountOut)
    const bytes = getBase64Encoder().encode(built.serializedTx)
    const message = getCompiledTransactionMessageDecoder().decode(
      getTransactionDecoder().decode(bytes).messageBytes,
    )
    assert.ok(message.version === 0)
    const accounts = message.staticAccounts.map(String)
    const named = await dlmmFamily.accounts(POOL, accountOf(POOL)?.data ?? new Uint8Array())
    // X is sold: the bins at and below the active one.
    for (const key of [DLMM, POOL, named[0]]) assert.ok(accounts.includes(key ?? ''), key)
  }
})

test('a pool that does not trade yet, or in a way that is not known here, is not quoted', async () => {
  const opensAt = (byTime: number, point: number) => (data: Buffer) => {
    data.writeUInt8(byTime, DLMM_PAIR.activationType)
    data.writeBigUInt64LE(BigInt(point), DLMM_PAIR.activationPoint)
    data.writeUInt8(1, DLMM_PAIR.pairType)
  }
  const set = (at: number, value: number) => (data: Buffer) => void data.writeUInt8(value, at)
  for (const pair of [
    set(DLMM_PAIR.status, 1),
    set(DLMM_PAIR.pairType, 4),
    set(DLMM_PAIR.functionType, 3),
    set(DLMM_PAIR.collectFeeMode, 2),
    set(DLMM_PAIR.activationType, 2),
    opensAt(0, SLOT + 1),
    opensAt(1, TIME_S + 1),
    (data: Buffer) => void data.writeInt32LE(70 * 512, DLMM_PAIR.activeBin),
  ]) {
    await put({ pair })
    assert.equal(await readPool(), null)
    forgetStates()
    assert.deepEqual(await codeOf(quotePath()), [422, 50_010])
  }
  for (const pair of [opensAt(0, SLOT), opensAt(1, TIME_S)]) {
    await put({ pair })
    assert.ok(await readPool())
  }
  await put()
})

test('an account that is not what it should be leaves no quote, one that is missing ends what is known', async () => {
  await put()
  const at =
    (place: number, change: (account: SolanaAccount) => SolanaAccount | undefined) =>
    (found: readonly FoundAccount[]): readonly FoundAccount[] =>
      found.map((each, index) =>
        index === place && each.account ? { ...each, account: change(each.account) } : each,
      )
  const short = (account: SolanaAccount) => ({ ...account, data: account.data.subarray(1) })
  const foreign = (account: SolanaAccount) => ({ ...account, owner: addressFor('a program') })
  const flipped = (byte: number) => (account: SolanaAccount) => {
    const data = Uint8Array.from(account.data)
    data[byte] = (data[byte] ?? 0) ^ 1
    return { ...account, data }
  }
  const named = await dlmmFamily.accounts(POOL, accountOf(POOL)?.data ?? new Uint8Array())
  const [clock, mint] = [named.length - 3, named.length - 1]
  for (const change of [short, foreign, flipped(0), flipped(8), flipped(24)])
    assert.equal(await readPool(at(0, change)), null, 'bins')
  for (const place of [clock, mint])
    for (const change of [short, foreign, () => undefined])
      assert.equal(await readPool(at(place, change)), null, named[place])
  const fee = (account: SolanaAccount) => ({
    owner: TOKEN_2022_PROGRAM,
    lamports: 1n,
    data: Buffer.concat([
      account.data,
      Buffer.alloc(83),
      Buffer.from([1, 1, 0, 108, 0]),
      Buffer.alloc(108),
    ]),
  })
  assert.equal(await readPool(at(mint, fee)), null, 'a token with a fee on transfers')
  const whole = await readPool()
  assert.ok(whole?.kind === 'dlmm')
  const { sellingX, sellingY } = whole.binArrays
  assert.ok(sellingX.length > 1 && sellingY.length > 1)
  const upTo = (all: readonly string[], missing = ''): readonly string[] =>
    all.includes(missing) ? all.slice(0, all.indexOf(missing)) : all
  for (const [place, missing] of named.slice(0, clock).entries()) {
    const cut = await readPool(at(place, () => undefined))
    assert.ok(cut?.kind === 'dlmm')
    const expected = { sellingX: upTo(sellingX, missing), sellingY: upTo(sellingY, missing) }
    assert.deepEqual(cut.binArrays, expected, 'nothing behind a gap')
  }
  const others = { ...HEAD, tokens: [addressFor('another'), MINT] as [string, string] }
  assert.equal(await readPool((found) => found, others), null, 'tokens of another pool')
  assert.equal(await readPool((found) => found.slice(1)), null)
})
