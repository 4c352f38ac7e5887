/** New tokens over HTTP: transactions that their mint has signed and their creator has not, and a typed refusal for everything else. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  address,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type KeyPairSigner,
} from '@solana/kit'
import { base58Decode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import type { CreateTokenResponse } from '../../schemas/api/token-creation.ts'
import { buyBaseExactIn } from '../../serving/dex/fee-on-quote.ts'
import { createV2 } from '../../serving/dex/pump-fun-create.ts'
import { associatedTokenAddress, TOKEN_2022_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { programAddress } from '../../serving/dex/solana-message.ts'
import { feeConfig, PUMP, PUMP_FEES } from '../../serving/dex/solana-venues.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  fundedWallet,
  type LocalSvm,
  putAccount,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import { feeConfigData, globalData, INITIAL, RECORDED_TIER } from '../support/pump-fun-settings.ts'

const SOL = 1_000_000_000n
const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111'
const ASSOCIATED_TOKEN = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
const RAN = { value: { err: null, logs: [], unitsConsumed: 90_000 } }
/** As long as the addresses that pinning services give. */
const LONG_URI = `https://ipfs.io/ipfs/${'b'.repeat(59)}`
const TOKEN = { name: 'Lucky Otter', symbol: 'OTTER', uri: 'ipfs://Qm' }

let node: LocalSvm
let api: TestApi
let creator: KeyPairSigner
let [globalAddress, feesAddress] = ['', '']
const putSettings = (): void => {
  putAccount(node, globalAddress, { owner: PUMP, data: globalData() })
  putAccount(node, feesAddress, { owner: PUMP_FEES, data: feeConfigData() })
}
before(async () => {
  node = await startLocalSvm()
  creator = await fundedWallet(node, 1, 50n * SOL)
  globalAddress = await programAddress(PUMP, [{ word: 'global' }])
  feesAddress = await feeConfig(PUMP)
  putSettings()
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
})
after(async () => {
  await api.stop()
  await node.stop()
})

interface Refusal {
  readonly code?: number
  readonly details?: Readonly<Record<string, unknown>>
}

const post = async (path: string, body: object, from = api) => {
  const answer = await callApi(from, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': from.apiKey },
    body: JSON.stringify(body),
  })
  return { ...answer, body: answer.body as CreateTokenResponse & Refusal }
}

const create = (asked: object = {}, path = '/v2/dex/sol/create', from = api) =>
  post(path, { dex: 'pumpfun', userAddress: creator.address, ...TOKEN, ...asked }, from)

const answering = async <T>(
  answers: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> => {
  for (const [method, answer] of Object.entries(answers)) node.answers.set(method, answer)
  try {
    return await work()
  } finally {
    node.answers.clear()
  }
}

/** A creation whose run went well. */
const created = async (asked: object = {}, path?: string) => {
  const answer = await answering({ simulateTransaction: RAN }, () => create(asked, path))
  assert.equal(answer.status, 200, answer.text)
  return { ...answer, ...decode(answer.body.serializedTx) }
}

const decode = (serializedTx: string) => {
  const { messageBytes, signatures } = getTransactionDecoder().decode(
    getBase64Encoder().encode(serializedTx),
  )
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  const calls = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    program: message.staticAccounts[programAddressIndex],
    accounts: accountIndices.map((at) => message.staticAccounts[at]),
    data: Buffer.from(data ?? []),
  }))
  return { message, messageBytes: Uint8Array.from(messageBytes), signatures, calls }
}

test('a token creation is signed by the mint but not by the creator, and has no further instructions', async () => {
  const mints = new Set<string>()
  for (const version of ['v1', 'v2']) {
    const made = await created({}, `/${version}/dex/sol/create`)
    const { body, message, messageBytes, signatures, calls } = made
    const { mintAddress: mint } = body
    assert.deepEqual(Object.keys(signatures), [creator.address, mint])
    assert.equal(signatures[creator.address], null)
    const signature = Uint8Array.from(signatures[address(mint)] ?? [])
    const key = base58Decode(mint) ?? new Uint8Array()
    assert.ok(isEd25519Signature(signature, messageBytes, key), 'the signature of the mint')
    assert.equal(message.staticAccounts[0], creator.address)
    assert.deepEqual(
      calls.map(({ program }) => program),
      [COMPUTE_BUDGET, PUMP],
    )
    assert.equal(calls[0]?.data.readUInt32LE(1), 103_500)
    const built = await createV2({
      ...TOKEN,
      mint,
      creator: creator.address,
      cashback: undefined,
    })
    assert.equal(calls[1]?.data.toString('hex'), Buffer.from(built.data).toString('hex'))
    assert.deepEqual(
      calls[1]?.accounts,
      built.accounts.map(([account]) => account),
    )
    assert.equal(body.recentBlockhash, node.svm.latestBlockhash())
    assert.deepEqual([body.lastValidBlockHeight, body.buy], [250, undefined])
    assert.equal(made.headers.get('x-cu-cost'), '5')
    mints.add(mint)
  }
  assert.equal(mints.size, 2, 'every token has a key of its own')
})

test('a first purchase is made for its lamports in the transaction of the token creation', async () => {
  const asked = { extra: { buyAmount: String(SOL), slippage: 2.5, decimals: 6 } }
  const { body, calls } = await created(asked)
  const mint = body.mintAddress
  assert.deepEqual(
    calls.map(({ program }) => program),
    [COMPUTE_BUDGET, PUMP, ASSOCIATED_TOKEN, PUMP],
  )
  const feePips = [RECORDED_TIER.protocol, RECORDED_TIER.creator].map((bps) => Number(bps) * 100)
  const curve = { quote: INITIAL.sol, base: INITIAL.tokens, heldBase: INITIAL.forSale, feePips }
  const bought = buyBaseExactIn({ ...curve, kind: 'curve', heldQuote: 0n }, SOL) ?? 0n
  const least = (bought * 9_750n) / 10_000n
  assert.deepEqual(body.buy, {
    inAmount: String(SOL),
    outAmount: String(bought),
    minOutAmount: String(least),
  })
  const [, , made, buy] = calls
  const held = await associatedTokenAddress(creator.address, mint, TOKEN_2022_PROGRAM)
  assert.deepEqual(made?.accounts.slice(0, 4), [creator.address, held, creator.address, mint])
  assert.deepEqual(
    [buy?.accounts[2], buy?.accounts[5], buy?.accounts[6]],
    [...[mint, held, creator.address]],
  )
  assert.equal(buy?.data.readBigUInt64LE(8), SOL)
  assert.equal(buy?.data.readBigUInt64LE(16), least)
  const number = await created({ extra: { buyAmount: Number(SOL) } })
  assert.equal(number.body.buy?.minOutAmount, String((bought * 95n) / 100n), 'by default 5 %')
})

test('a token creation spreads its priority fee over all compute units and sets cashback only on request', async () => {
  const { calls } = await created({ priorityFee: '103500', extra: { cashback: true } })
  assert.equal(calls[1]?.program, COMPUTE_BUDGET)
  assert.equal(calls[1]?.data.readBigUInt64LE(1), 1_000_000n)
  assert.equal(calls[2]?.data.at(-1), 1)
  const { calls: plain } = await created({ uri: undefined })
  assert.equal(plain[1]?.data.length, 8 + 4 + 11 + 4 + 5 + 4 + 32 + 1, 'without a uri')
})

test('a token creation too large with a compute limit is built without one, or refused if it has a priority fee', async () => {
  const asked = { uri: LONG_URI, extra: { buyAmount: '100000000' } }
  const { calls, body } = await created(asked)
  assert.deepEqual(
    calls.map(({ program }) => program),
    [PUMP, ASSOCIATED_TOKEN, PUMP],
  )
  assert.ok(Buffer.byteLength(body.serializedTx, 'base64') <= 1_232)
  const paid = await answering({ simulateTransaction: RAN }, () =>
    create({ ...asked, priorityFee: '5000' }),
  )
  assert.deepEqual([paid.status, paid.body.code], [422, 40_039])
  const uri = `https://e.x/${'x'.repeat(188)}`
  const longNames = { name: 'x'.repeat(32), symbol: 'x'.repeat(10) }
  const fits = async (bytes: number, more: object = {}) => {
    const answer = await answering({ simulateTransaction: RAN }, () =>
      create({ ...asked, ...longNames, uri: uri.slice(0, bytes), ...more }),
    )
    return [answer.status, answer.body.code]
  }
  const refused = [422, 40_039]
  assert.deepEqual([await fits(93), await fits(94)], [[200, undefined], refused])
  const fee = { priorityFee: '5000' }
  assert.deepEqual([await fits(41, fee), await fits(42, fee)], [[200, undefined], refused])
  await created({ uri, ...longNames, ...fee })
})

test('a token creation needs the valid signatures of creator and mint to be sent', async () => {
  const { body } = await created({ extra: { buyAmount: '1000000' } })
  const send = (signedTx: string) => post('/v2/transaction/sol/send', { signedTx })
  const early = await send(body.serializedTx)
  assert.deepEqual([early.status, early.body.code], [400, 40_026])
  // The program is not in this runtime, so that the node refuses to run what is signed well.
  const late = await send(await signedBy(creator, body.serializedTx))
  assert.deepEqual([late.status, late.body.code], [422, 40_010], late.text)
})

test('an invalid token creation request is refused with the code of its mistake', async () => {
  const wrong: readonly (readonly [object, number, number])[] = [
    [{ name: undefined }, 400, 40_004],
    [{ userAddress: undefined }, 400, 40_004],
    [{ dex: undefined }, 400, 40_004],
    [{ name: 7 }, 400, 40_002],
    [{ name: '' }, 400, 40_002],
    [{ name: 'é'.repeat(17) }, 400, 40_002],
    [{ symbol: 'x'.repeat(11) }, 400, 40_002],
    [{ symbol: '\u0007' }, 400, 40_002],
    [{ uri: `https://e.x/${'x'.repeat(189)}` }, 400, 40_002],
    [{ uri: 'javascript:alert(1)' }, 400, 40_002],
    [{ userAddress: 'nobody' }, 400, 40_005],
    [{ userAddress: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' }, 400, 40_005],
    [{ userAddress: '11111111111111111111111111111111' }, 400, 40_005],
    [{ userAddress: PUMP }, 400, 40_005],
    [{ userAddress: addressFor('creator').slice(4) }, 400, 40_005],
    [{ extra: { buyAmount: '0' } }, 400, 40_015],
    [{ extra: { buyAmount: 0 } }, 400, 40_015],
    [{ extra: { buyAmount: '-1' } }, 400, 40_014],
    [{ extra: { buyAmount: 0.5 } }, 400, 40_014],
    [{ extra: { buyAmount: '0.5' } }, 400, 40_014],
    [{ extra: { buyAmount: String(2n ** 64n) } }, 400, 40_016],
    [{ extra: { buyAmount: 2 ** 64 } }, 400, 40_014],
    [{ extra: { buyAmount: true } }, 400, 40_002],
    [{ extra: { slippage: 0 } }, 400, 40_019],
    [{ extra: { slippage: 50.01 } }, 400, 40_008],
    [{ extra: { slippage: '-1' } }, 400, 40_018],
    [{ extra: { buyAmount: '1', slippage: 51 } }, 400, 40_008],
    [{ extra: 'all' }, 400, 40_002],
    [{ priorityFee: '-1' }, 400, 40_022],
    [{ image: 'data:image/png;base64,AAAA' }, 501, 40_024],
    [{ extra: { supply: '1' } }, 501, 40_024],
    [{ extra: { buyAmount: '1000000', slipage: 1 } }, 400, 40_001],
    [{ Extra: { buyAmount: '1000000' } }, 400, 40_001],
    [{ extra: { migrateType: 'amm' } }, 501, 40_024],
    [{ extra: { decimals: 9 } }, 501, 40_024],
  ]
  for (const [asked, status, code] of wrong) {
    const answer = await create(asked)
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(asked))
  }
})

test('a token creation on another launchpad or chain is refused with its own code', async () => {
  const wrong: readonly (readonly [string, string, number, number])[] = [
    ...['raydium', 'moonshot', 'candy', 'launchpad'].map(
      (dex) => ['sol', dex, 400, 50_009] as const,
    ),
    ['sol', 'nowhere', 404, 40_406],
    ['sol', '', 404, 40_406],
    ...['eth', 'bsc', 'sui'].map((chain) => [chain, 'pumpfun', 501, 40_024] as const),
    ['nowhere', 'pumpfun', 404, 40_405],
  ]
  for (const [chain, dex, status, code] of wrong) {
    const answer = await create({ dex }, `/v2/dex/${chain}/create`)
    assert.deepEqual([answer.status, answer.body.code], [status, code], `${chain} ${dex}`)
    assert.equal(answer.headers.get('x-cu-cost'), '0')
  }
  await created({ dex: 'pump_fun' }, '/v1/dex/solana/create')
})

test('a first purchase that buys nothing, exceeds the supply or exceeds the balance is refused', async () => {
  const buy = async (buyAmount: bigint, more: object = {}) => {
    const { status, body } = await create({ ...more, extra: { buyAmount: String(buyAmount) } })
    return [status, body.code]
  }
  assert.deepEqual(await buy(1n), [400, 40_015])
  assert.deepEqual(await buy(100n * SOL), [422, 40_006])
  assert.deepEqual(await buy(2n ** 64n - 1n), [422, 40_006])
  assert.deepEqual(await buy(51n * SOL), [422, 50_017])
  assert.deepEqual(await buy(50n * SOL, { priorityFee: '1' }), [422, 50_017])
  const poor = { userAddress: addressFor('poor') }
  assert.deepEqual(await buy(SOL, poor), [422, 50_017])
})

test('a token creation that fails in simulation is refused with the end of its log', async () => {
  const { status, body } = await create()
  assert.deepEqual([status, body.code], [422, 50_012])
  const { logs } = body.details ?? {}
  assert.ok(Array.isArray(logs) && logs.length > 0, JSON.stringify(body))
})

test('a first purchase is refused if the launchpad settings on the chain are invalid', async () => {
  const extra = { buyAmount: '1000000' }
  const codeWith = async (broken: string, account: Parameters<typeof putAccount>[2]) => {
    putAccount(node, broken, account)
    try {
      const answer = await answering({ simulateTransaction: RAN }, () => create({ extra }))
      await created()
      return [answer.status, answer.body.code]
    } finally {
      putSettings()
    }
  }
  const refused = [422, 50_010]
  const foreign = { owner: TOKEN_2022_PROGRAM, data: globalData() }
  assert.deepEqual(await codeWith(globalAddress, foreign), refused)
  const short = { owner: PUMP, data: globalData().subarray(0, 300) }
  assert.deepEqual(await codeWith(globalAddress, short), refused)
  const empty = { owner: PUMP_FEES, data: feeConfigData([]) }
  assert.deepEqual(await codeWith(feesAddress, empty), refused)
  await created({ extra })
})

test('a token creation answers 503 as an outage of the chain if the node response is invalid or missing', async () => {
  const bad: readonly (readonly [string, unknown])[] = [
    ['getLatestBlockhash', { value: { blockhash: 'not base 58 !', lastValidBlockHeight: 9 } }],
    ['getLatestBlockhash', null],
    ['getMultipleAccounts', { value: [] }],
    ['simulateTransaction', { value: { err: null, unitsConsumed: 2 ** 40 } }],
  ]
  for (const [method, answer] of bad) {
    const { status, body } = await answering({ simulateTransaction: RAN, [method]: answer }, () =>
      create(),
    )
    assert.deepEqual([status, body.code], [503, 50_002], `${method} ${JSON.stringify(answer)}`)
  }
})

test('a token creation is refused without a node or without the chain', async () => {
  const { warehouse } = api
  const shared = { ...warehouse, close: async () => {} }
  const cases = [
    [['eth', 'sol'], 503, 50_018],
    [['eth'], 400, 50_008],
  ] as const
  for (const [chains, status, code] of cases) {
    const other = await startApi({ warehouse: shared, chains })
    try {
      const answer = await create({}, '/v2/dex/sol/create', other)
      assert.deepEqual([answer.status, answer.body.code], [status, code])
      const wrong = await create({ dex: 'moonshot' }, '/v2/dex/sol/create', other)
      assert.equal(wrong.status, 400, 'the request is read first')
    } finally {
      await other.stop()
    }
  }
})

test('a token creation without a credential answers 401', async () => {
  const answer = await callApi(api, '/v2/dex/sol/create', { method: 'POST', headers: {} })
  assert.equal(answer.status, 401)
})
