/** Swaps over Orca's Whirlpools through the API: pools are read from a node; where the real program is at hand, it carries the transactions out. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { address, type KeyPairSigner } from '@solana/kit'
import type { DexQuote, SwapRouteResponse } from '../../schemas/api/swap.ts'
import {
  associatedTokenAddress,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../serving/dex/solana-calls.ts'
import { WHIRLPOOL } from '../../serving/dex/whirlpool-accounts.ts'
import { type PoolStateRow, poolStatesQuery } from '../../serving/queries/pool-states.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  putAccount,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import { addWhirlpoolProgram, putWhirlpool, WHIRLPOOL_PROGRAM } from '../support/nodes/whirlpool.ts'
import { createRestReader } from '../support/rest-reader.ts'

const WSOL = 'So11111111111111111111111111111111111111112'
const [MINT, ADAPTIVE, TAXED, GONE, TRADED, LIED] = [
  ...['whirl', 'adaptive', 'taxed', 'gone', 'traded', 'lied'],
].map((name) => addressFor(`${name} mint`)) as [string, string, string, string, string, string]
const SOL = 1_000_000_000n
const START = { tickSpacing: 64, feePips: 3_000, tick: -20_000 }
const POSITIONS = [
  { lower: -24_960, upper: -14_976, liquidity: 10n ** 13n },
  { lower: -20_480, upper: -19_968, liquidity: 10n ** 14n },
]

/** A run in place of the program's, where that is not at hand. */
const RAN = { value: { err: null, logs: [], unitsConsumed: 90_000 } }

let node: LocalSvm
let api: TestApi
let wallet: KeyPairSigner
let pool = ''
let lied = ''
const { read, codeOf } = createRestReader(() => api)

const mintData = (extensions?: Buffer): Buffer => {
  const mint = Buffer.alloc(82)
  mint.writeBigUInt64LE(10n ** 19n, 36)
  mint.writeUInt8(6, 44)
  mint.writeUInt8(1, 45)
  return extensions ? Buffer.concat([mint, Buffer.alloc(83), Buffer.from([1]), extensions]) : mint
}

/** The head of an extension with fees on transfers, and room for its values. Source: solana-program/token-2022. */
const transferFee = (): Buffer => Buffer.concat([Buffer.from([1, 0, 108, 0]), Buffer.alloc(108)])

const poolRow = (address: string, mint: string, unitsForOneSol?: number) => {
  const isFirst = mint < WSOL
  const price = unitsForOneSol && (isFirst ? 1 / unitsForOneSol : unitsForOneSol)
  return {
    pool_address: address,
    token_a: isFirst ? mint : WSOL,
    token_b: isFirst ? WSOL : mint,
    base_is_a: isFirst ? 1 : 0,
    price_a_to_b: price ?? null,
    _ver: 9,
    decimals_a: isFirst ? 6 : 9,
    decimals_b: isFirst ? 9 : 6,
    liquidity_usd: '300000',
    program_address: WHIRLPOOL,
    protocol_family: 'orca_whirlpool',
    protocol_name: 'Orca Whirlpool',
    last_updated: new Date().toISOString(),
  }
}

before(async () => {
  node = await startLocalSvm()
  addWhirlpoolProgram(node)
  wallet = await fundedWallet(node, 1, 500n * SOL)
  for (const mint of [MINT, ADAPTIVE, GONE, TRADED, LIED])
    putAccount(node, mint, { owner: TOKEN_PROGRAM, data: mintData() })
  putAccount(node, TAXED, { owner: TOKEN_2022_PROGRAM, data: mintData(transferFee()) })
  const start = { mintA: WSOL, ...START, positions: POSITIONS }
  pool = await putWhirlpool(node, { ...start, mintB: MINT })
  const adaptive = await putWhirlpool(node, { ...start, mintB: ADAPTIVE, feeTier: 1_024 })
  const taxed = await putWhirlpool(node, { ...start, mintB: TAXED })
  const traded = await putWhirlpool(node, { ...start, mintB: TRADED })
  lied = await putWhirlpool(node, { ...start, mintB: LIED })
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
  await api.warehouse.insert('sol_dex_pools', [
    poolRow(pool, MINT),
    poolRow(adaptive, ADAPTIVE),
    poolRow(taxed, TAXED),
    // The node says 135 units for one SOL.
    poolRow(traded, TRADED, 140),
    poolRow(lied, LIED, 270),
    poolRow(addressFor('gone pool'), GONE),
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
    amount: String(3n * SOL),
    inputMint: WSOL,
    outputMint: MINT,
    exactIn: 'true',
    slippage: '0.5',
    ...asked,
  })}`

const build = async (path: string, asked: object) => {
  const body = JSON.stringify({
    dex: 'orca_whirlpool',
    userAddress: wallet.address,
    amount: String(3n * SOL),
    slippage: 1,
    inputMint: WSOL,
    outputMint: MINT,
    ...asked,
  })
  const headers = { 'content-type': 'application/json', 'x-api-key': api.apiKey }
  if (WHIRLPOOL_PROGRAM === undefined) node.answers.set('simulateTransaction', RAN)
  const answer = await callApi(api, path, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body as SwapRouteResponse
}

const heldTokens = async (): Promise<bigint> => {
  const key = await associatedTokenAddress(wallet.address, MINT, TOKEN_PROGRAM)
  const account = node.svm.getAccount(address(key))
  return account.exists ? Buffer.from(account.data).readBigUInt64LE(64) : 0n
}

/** What a transaction brings the wallet when it is carried out; undefined where the program is not at hand. */
const received = async ({ serializedTx }: Pick<SwapRouteResponse, 'serializedTx'>) => {
  if (WHIRLPOOL_PROGRAM === undefined) return undefined
  const before = await heldTokens()
  execute(node, await signedBy(wallet, serializedTx))
  node.svm.expireBlockhash()
  return (await heldTokens()) - before
}

/** The next request reads the pool again. */
const forgetStates = (): void =>
  api.markets.get('sol')?.pools.keepRead(pool, null, Number.NEGATIVE_INFINITY)

test('a pool is not quoted where the node says another price than its last swap paid', async () => {
  await read(quotePath({ outputMint: TRADED }))
  assert.deepEqual(await codeOf(quotePath({ outputMint: LIED })), [422, 50_010])
  const body = JSON.stringify({
    dex: 'auto',
    poolAddress: lied,
    userAddress: wallet.address,
    amount: String(SOL),
    inputMint: WSOL,
  })
  const headers = { 'content-type': 'application/json', 'x-api-key': api.apiKey }
  const answer = await callApi(api, '/v2/dex/sol/swap', { method: 'POST', headers, body })
  assert.equal(answer.status, 422)
  assert.match(JSON.stringify(answer.body), /50010.*not what its last swap paid/)
})

test('routes and swaps are transactions of what is quoted', async () => {
  for (const [path, asked] of [
    ['/v2/dex/sol/route', {}],
    ['/v2/dex/sol/route', { dex: 'orca', swapMode: 'ExactOut', amount: '200000000' }],
    ['/v1/dex/sol/swap', { poolAddress: pool, dex: 'auto' }],
    ['/v2/dex/sol/swap', { amount: String(40n * SOL) }],
    ['/v2/dex/sol/route', { dex: 'jupiter', amount: String(40n * SOL) }],
  ] as const) {
    forgetStates()
    const amount = 'amount' in asked ? asked.amount : String(3n * SOL)
    const exactIn = String(!('swapMode' in asked))
    const quote = await read<DexQuote>(quotePath({ amount, exactIn }))
    const built = await build(path, asked)
    assert.equal(built.routeInfo.outAmount, quote.amountOut)
    assert.deepEqual(
      built.routeInfo.hops.map(({ dex }) => dex),
      ['orca_whirlpool'],
    )
    const got = await received(built)
    if (got !== undefined) assert.equal(got, BigInt(quote.amountOut), JSON.stringify(asked))
  }
})

test('a state is held for a moment and shared by requests at the same time', async () => {
  forgetStates()
  node.asked.length = 0
  await Promise.all(Array.from({ length: 5 }, () => read<DexQuote>(quotePath())))
  await read<DexQuote>(quotePath())
  assert.equal(node.asked.filter((method) => method === 'getMultipleAccounts').length, 2)
})

test('a fee that follows from swaps, tokens with a fee and pools that are gone are not quoted', async () => {
  for (const outputMint of [ADAPTIVE, TAXED, GONE])
    assert.deepEqual(await codeOf(quotePath({ outputMint })), [422, 50_010], outputMint)
})

test('a pool that a node describes wrongly, or not at all, is left out and fails nothing', async () => {
  const account = {
    owner: WHIRLPOOL,
    lamports: 1,
    data: [Buffer.alloc(653).toString('base64'), 'base64'],
  }
  for (const answer of [null, 'nothing', { value: [null] }, { value: [account] }]) {
    forgetStates()
    node.answers.set('getMultipleAccounts', answer)
    try {
      assert.deepEqual(await codeOf(quotePath()), [422, 50_010], JSON.stringify(answer))
    } finally {
      node.answers.clear()
    }
  }
})

test('a pool of other tokens than the log knows is not quoted', async () => {
  const other = await putWhirlpool(node, {
    mintA: MINT,
    mintB: ADAPTIVE,
    ...START,
    positions: POSITIONS,
  })
  const market = api.markets.get('sol')
  await api.warehouse.insert('sol_dex_pools', [poolRow(other, addressFor('never seen'))])
  const pools = await api.warehouse.query<PoolStateRow>(
    poolStatesQuery('sol', ['orca_whirlpool'], 10),
  )
  market?.pools.load(pools.rows, [], [])
  const outputMint = addressFor('never seen')
  assert.deepEqual(await codeOf(quotePath({ outputMint })), [422, 50_010])
})

test('the pool of a pair is read where pools of its ends with the hubs are deeper', async () => {
  const market = api.markets.get('sol')
  const hub = [...(market?.hubs ?? [])].find((token) => token !== WSOL)
  assert.ok(market && hub)
  const deep = Array.from({ length: 8 }, (_, index) => addressFor(`deep ${index}`))
  const rows = deep.map((each) => ({ ...poolRow(each, hub), liquidity_usd: '9000000' }))
  await api.warehouse.insert('sol_dex_pools', rows)
  const pools = await api.warehouse.query<PoolStateRow>(
    poolStatesQuery('sol', ['orca_whirlpool'], 20),
  )
  market.pools.load(pools.rows, [], [])
  const asked = node.asked.length
  const quote = await read<DexQuote>(quotePath())
  assert.equal(quote.hops[0]?.pool, pool)
  const readings = node.asked.slice(asked).filter((method) => method === 'getMultipleAccounts')
  assert.ok(readings.length <= 2 * 6, `${readings.length} calls of the node`)
})

test('a node that hangs holds up the first request for a moment, and none after it', async () => {
  forgetStates()
  node.answers.set('getMultipleAccounts', null)
  const startedMs = performance.now()
  try {
    for (let request = 0; request < 6; request += 1)
      assert.deepEqual(await codeOf(quotePath()), [422, 50_010])
  } finally {
    node.answers.clear()
  }
  // The node's own time limit is a second here: six requests that wait for a reading each would take six.
  assert.ok(performance.now() - startedMs < 5_000)
})
