/** Swaps over Meteora DLMM through the API: pools are read from a node with the real program, which carries the transactions out. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { address, type KeyPairSigner } from '@solana/kit'
import type { DexQuote, SwapRouteResponse } from '../../schemas/api/swap.ts'
import { DLMM } from '../../serving/dex/dlmm-accounts.ts'
import { DLMM_PAIR } from '../../serving/dex/dlmm-layout.ts'
import { associatedTokenAddress, TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { type PoolStateRow, poolStatesQuery } from '../../serving/queries/pool-states.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addDlmm,
  putDlmm,
  type RecordedDlmm,
  recordedDlmm,
  setClock,
} from '../support/nodes/meteora-dlmm.ts'
import { createRestReader } from '../support/rest-reader.ts'

const WSOL = 'So11111111111111111111111111111111111111112'
const SOL = 1_000_000_000n
const MINT = 'Df6yfrKC8kZE3KNkrHERKzAetSxbrWeniQfyJY4Jpump'
/** Trades `MINT` for SOL. Without the sums that its bins had before there were limit orders. */
const [RECORDED] = recordedDlmm() as [RecordedDlmm]
const putPool = (status = 0): Promise<void> =>
  putDlmm(node, RECORDED, {
    pair: (data) => {
      data.writeUInt8(1, DLMM_PAIR.functionType)
      data.writeUInt8(status, DLMM_PAIR.status)
    },
  })

let node: LocalSvm
let api: TestApi
let wallet: KeyPairSigner
const { read, codeOf } = createRestReader(() => api)

before(async () => {
  node = await startLocalSvm()
  addDlmm(node)
  wallet = await fundedWallet(node, 1, 500n * SOL)
  await putPool()
  setClock(node, 1_790_000_000, 500_000_000)
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
  await api.warehouse.insert('sol_dex_pools', [
    {
      pool_address: RECORDED.pool,
      token_a: MINT,
      token_b: WSOL,
      base_is_a: 1,
      _ver: 9,
      decimals_a: 6,
      decimals_b: 9,
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
    userAddress: wallet.address,
    amount: String(SOL),
    slippage: 1,
    inputMint: WSOL,
    outputMint: MINT,
    ...asked,
  })
  const headers = { 'content-type': 'application/json', 'x-api-key': api.apiKey }
  const answer = await callApi(api, path, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body as SwapRouteResponse
}

const heldTokens = async (): Promise<bigint> => {
  const key = await associatedTokenAddress(wallet.address, MINT, TOKEN_PROGRAM)
  const account = node.svm.getAccount(address(key))
  return account.exists ? Buffer.from(account.data).readBigUInt64LE(64) : 0n
}

/** What a transaction brings the wallet when it is carried out. */
const received = async ({ serializedTx }: Pick<SwapRouteResponse, 'serializedTx'>) => {
  const before = await heldTokens()
  execute(node, await signedBy(wallet, serializedTx))
  node.svm.expireBlockhash()
  return (await heldTokens()) - before
}

/** The next request reads the pool again. */
const forgetStates = (): void =>
  api.markets.get('sol')?.pools.keepRead(RECORDED.pool, null, Number.NEGATIVE_INFINITY)

test('a quote is what the program pays for the transaction of a route and of a swap', async () => {
  for (const [path, asked] of [
    ['/v2/dex/sol/route', {}],
    ['/v2/dex/sol/route', { dex: 'auto', swapMode: 'ExactOut', amount: '200000000' }],
    ['/v1/dex/sol/swap', { poolAddress: RECORDED.pool, dex: 'auto' }],
    ['/v2/dex/sol/swap', { amount: String(SOL / 2n) }],
    ['/v2/dex/sol/route', { dex: 'jupiter', amount: String(SOL / 1_000n) }],
  ] as const) {
    await putPool()
    forgetStates()
    const amount = 'amount' in asked ? asked.amount : String(SOL)
    const exactIn = String(!('swapMode' in asked))
    const quote = await read<DexQuote>(quotePath({ amount, exactIn }))
    const built = await build(path, asked)
    assert.equal(built.routeInfo.outAmount, quote.amountOut)
    assert.deepEqual(
      built.routeInfo.hops.map(({ dex }) => dex),
      ['meteora_dlmm'],
    )
    assert.equal(await received(built), BigInt(quote.amountOut), JSON.stringify(asked))
  }
})

test('a pool that is disabled is not quoted', async () => {
  await putPool(1)
  forgetStates()
  assert.deepEqual(await codeOf(quotePath()), [422, 50_010])
  await putPool()
  forgetStates()
  assert.ok(await read<DexQuote>(quotePath()))
})

test('a pool without the clock of the chain is not quoted', async () => {
  forgetStates()
  const { data, programAddress: owner } = node.svm.getAccount(address(RECORDED.pool)) as {
    data: Uint8Array
    programAddress: string
  }
  const account = { owner, lamports: 1, data: [Buffer.from(data).toString('base64'), 'base64'] }
  node.answers.set('getMultipleAccounts', {
    context: { slot: 1_000_000 },
    value: Array(6).fill(account),
  })
  try {
    assert.deepEqual(await codeOf(quotePath()), [422, 50_010])
  } finally {
    node.answers.clear()
  }
})
